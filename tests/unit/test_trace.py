"""What is written down of a query accounts for every picosecond of its latency, and for every read and task."""

import numpy as np
import pytest
from traced_runs import MEASURED, WARMUP, traced_run

from riftsim.assembly.simulation import traced_arrivals
from riftsim.config.machines import TraceConfig
from riftsim.config.sweep import load_experiment
from riftsim.errors import ConfigError, ResultsError
from riftsim.results import trace as tables
from riftsim.results.trace import READ_TIMES, Trace, trace_of
from riftsim.search.messages import Blocked


@pytest.fixture(scope="module")
def riftann():
    run = traced_run()
    return run, trace_of(run.trace, WARMUP)


def test_the_parts_of_each_step_are_the_querys_times(riftann):
    run, trace = riftann
    assert trace.queries["row"].tolist() == list(range(MEASURED))
    for row, query in enumerate(run.runs):
        one = trace.of(row)
        facts = one.queries.iloc[0]
        assert (facts.arrival_ps, facts.start_ps, facts.end_ps) == (query.arrival_ps, query.start_ps, query.end_ps)
        steps = one.steps
        own_ps = (one.tasks["ended_ps"] - one.tasks["started_ps"])[one.tasks["by_main"]].sum()
        computing = steps["computed_ps"] - steps["polled_ps"] + steps["until_ps"] - steps["posted_ps"]
        assert computing.sum() + own_ps == query.evaluation_ps
        assert (steps["posted_ps"] - steps["computed_ps"]).sum() == query.posting_ps
        assert (steps["polled_ps"] - steps["from_ps"]).sum() == query.polling_ps
        waits = steps["from_ps"].to_numpy()[1:] - steps["until_ps"].to_numpy()[:-1]
        assert (waits >= 0).all()
        assert waits.sum() - own_ps == sum(query.waited_ps)
        assert steps["from_ps"].iloc[0] == query.start_ps
        assert steps["until_ps"].iloc[-1] == query.end_ps
        assert steps["done"].tolist() == [False] * (len(steps) - 1) + [True]
        assert set(steps["blocked"]) <= set(map(int, Blocked))


def test_every_read_is_followed_from_doorbell_to_poll(riftann):
    run, trace = riftann
    for row, query in enumerate(run.runs):
        reads = trace.of(row).reads
        counts = query.answer.counts
        assert len(reads) == counts["reads_record"] + counts["reads_vector"] + counts["reads_adjacency"]
        times = reads[list(READ_TIMES)].to_numpy()
        assert (times[:, 0] >= query.start_ps).all()
        assert (np.diff(times, axis=1) >= 0).all()
        assert (times[:, -1] <= query.end_ps).all()


def test_every_task_is_followed_from_queue_to_merging(riftann):
    _, trace = riftann
    tasks = trace.tasks
    assert len(tasks)
    assert tasks["by_main"].any()
    times = tasks[["queued_ps", "started_ps", "ended_ps", "merged_ps"]].to_numpy()
    assert (np.diff(times, axis=1) >= 0).all()
    assert len(trace.control)
    assert (trace.control["window"] >= 1).all()


def test_a_trace_can_be_written_and_read(riftann, tmp_path):
    _, trace = riftann
    trace.write(tmp_path / "trace")
    again = Trace.read(tmp_path / "trace")
    for name in ("queries", "steps", "reads", "tasks", "control"):
        assert getattr(again, name).equals(getattr(trace, name)), name
    (tmp_path / "trace" / "reads.parquet").write_bytes(b"PAR1")
    with pytest.raises(ResultsError, match="the run's trace cannot be read"):
        Trace.read(tmp_path / "trace")


def test_only_the_queries_asked_for_are_traced():
    run = traced_run(traced=range(WARMUP + 2, WARMUP + 4))
    trace = trace_of(run.trace, WARMUP)
    assert trace.queries["row"].tolist() == [2, 3]
    with pytest.raises(ResultsError, match="query 0 was not traced; expected one of 2 to 3"):
        trace.of(0)
    assert traced_run(traced=None).trace is None


def test_rounds_have_no_tasks_and_nothing_unfinished():
    trace = trace_of(traced_run("remote").trace, WARMUP)
    assert not len(trace.tasks)
    assert set(trace.steps["unfinished"]) == {0}
    assert len(trace.reads)


def test_arrivals_to_trace_follow_from_the_configuration():
    assert traced_arrivals(None, 5, 10) is None
    assert traced_arrivals(TraceConfig(first=2, queries=3), 5, 10) == range(7, 10)
    assert traced_arrivals(TraceConfig(first=8, queries=30), 5, 10) == range(13, 15)
    with pytest.raises(ConfigError, match=r"driver.trace.first: found 10, expected less than the 10 measured"):
        traced_arrivals(TraceConfig(first=10), 5, 10)


def test_no_trace_is_the_configuration_of_before():
    plain = load_experiment("quickstart").points[0]
    silent = load_experiment("quickstart", {"driver": {"kind": "sim", "trace": None}}).points[0]
    traced = load_experiment("quickstart", {"driver": {"kind": "sim", "trace": {"queries": 2}}}).points[0]
    assert silent.hash == plain.hash
    assert traced.hash != plain.hash


def test_what_a_query_waits_for_has_the_numbers_of_the_messages():
    numbers = (tables.BLOCKED_READS, tables.BLOCKED_GATE, tables.BLOCKED_DRAIN)
    assert numbers == (Blocked.READS, Blocked.GATE, Blocked.DRAIN)
