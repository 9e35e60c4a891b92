"""Critical paths have no gaps, replays without a change give the recorded latency, and known traces known answers."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from traced_runs import WARMUP, traced_run

from riftsim.results import critical_path as cp
from riftsim.results.critical_path import QueryPath, critical_path, latency_if_free, summary
from riftsim.results.timeline import lanes, main_thread
from riftsim.results.trace import READ_TIMES, Trace, trace_of

RUNS = {
    "riftann": {},
    "several queries per thread": {"per_thread": 2},
    "own evaluation": {"workers": 0},
    "static split": {"split": "static", "workers": 1},
    "wait-all gate": {"gate": {"kind": "wait-all"}},
    "a free network": {"profile": "zero-wait"},
    "remote": {"name": "remote"},
    "async": {"name": "async"},
}


@pytest.fixture(scope="module", params=RUNS)
def trace(request):
    return trace_of(traced_run(**RUNS[request.param]).trace, WARMUP)


def test_critical_paths_have_no_gaps_and_add_up_to_the_latency(trace):
    for row in trace.queries["row"]:
        path = QueryPath(trace.of(row))
        pieces = critical_path(path)
        assert pieces[0].from_ps == path.arrival_ps
        assert pieces[-1].until_ps == path.end_ps
        for before, after in pairwise(pieces):
            assert before.until_ps == after.from_ps
        assert all(piece.until_ps > piece.from_ps and piece.resource in cp.RESOURCES for piece in pieces)


def test_a_replay_without_a_change_is_the_run(trace):
    for row in trace.queries["row"]:
        path = QueryPath(trace.of(row))
        assert latency_if_free(path) == path.end_ps - path.arrival_ps


def test_what_is_free_never_costs_and_all_free_takes_nothing(trace):
    for row in trace.queries["row"]:
        path = QueryPath(trace.of(row))
        latency_ps = path.end_ps - path.arrival_ps
        spent = dict.fromkeys(cp.RESOURCES, 0)
        for piece in critical_path(path):
            spent[piece.resource] += piece.until_ps - piece.from_ps
        for resource in cp.RESOURCES:
            free_ps = latency_if_free(path, frozenset([resource]))
            # Some other chain takes over at the latest when the resource's whole part of this one is gone.
            assert latency_ps - spent[resource] <= free_ps <= latency_ps
        assert latency_if_free(path, frozenset([*cp.RESOURCES, cp.GATE])) == 0


def test_intervals_of_the_main_thread_have_no_gaps(trace):
    for row in trace.queries["row"]:
        one = trace.of(row)
        thread, facts = main_thread(one), one.queries.iloc[0]
        assert (thread["until_ps"].to_numpy()[:-1] == thread["from_ps"].to_numpy()[1:]).all()
        assert (thread["from_ps"].iloc[0], thread["until_ps"].iloc[-1]) == (facts.arrival_ps, facts.end_ps)


def test_the_summary_adds_up(trace):
    table = summary(trace)
    latency_us = (trace.queries["end_ps"] - trace.queries["arrival_ps"]).mean() / 1e6
    parts = table[table["resource"] != cp.GATE]
    assert parts["critical_us"].sum() == pytest.approx(latency_us)
    assert parts["share"].sum() == pytest.approx(1.0)
    assert (table["gate_closed_us"] <= table["critical_us"] + 1e-9).all()


def test_a_closed_gate_is_seen():
    table = summary(trace_of(traced_run(gate={"kind": "wait-all"}).trace, WARMUP)).set_index("resource")
    assert table.loc[cp.GATE, "critical_us"] > 0
    assert table.loc[cp.TASKS, "gate_closed_us"] > 0


def one_read() -> Trace:
    """A query that waits 5 ps in the queue, posts two reads, and computes for 10 ps after each."""
    queries = pd.DataFrame({"row": [0], "compute_node": 0, "thread": 0, "arrival_ps": 0, "start_ps": 5, "end_ps": 160})
    columns = ("from_ps", "polled_ps", "computed_ps", "posted_ps", "until_ps", "blocked", "done")
    steps = [(5, 5, 15, 20, 20, 0, False), (104, 106, 116, 116, 116, 0, False), (140, 150, 160, 160, 160, 0, True)]
    steps = pd.DataFrame(steps, columns=columns).assign(row=0, unfinished=0)
    # Each stage of the first read takes 5 ps but the last, whose completion entry comes 4 ps after it; the second read,
    # posted at the same time, is 40 ps longer on the wire.
    times = np.array([[18 + 5 * stage for stage in range(17)] + [104, 104]])
    times = np.concatenate([times, times])
    times[0, 0] = 18
    times[1, 7:17] += 36
    times[1, 17:] = 140
    reads = pd.DataFrame(times, columns=list(READ_TIMES)).assign(row=0, tag=[0, 1], node=7, kind=0, memory_node=0)
    tasks = pd.DataFrame(
        {name: np.zeros(0, np.int64) for name in ("row", "task", "queued_ps", "started_ps", "ended_ps", "merged_ps")}
    ).assign(neighbors=0, by_main=False)
    return Trace(queries, steps, reads, tasks, tasks.iloc[:0])


def test_a_known_trace_has_the_known_path():
    path = QueryPath(one_read())
    spent = dict.fromkeys(cp.RESOURCES, 0)
    for piece in critical_path(path):
        spent[piece.resource] += piece.until_ps - piece.from_ps
    # The second read wakes the thread last: 18 to 140 is its way, before it the start, after it poll and computing.
    assert spent[cp.ADMISSION] == 5
    assert spent[cp.COMPUTE] == 10 + 10
    assert spent[cp.POSTING] == 3
    assert spent[cp.POLLING] == 10
    assert spent[cp.WIRE] == 30 + 36
    assert spent[cp.NIC] == 15
    assert spent[cp.MEMORY_NODE] == 5
    assert sum(spent.values()) == 160
    assert latency_if_free(path, frozenset([cp.ADMISSION])) == 155
    # Without the wire the first read is back at 74, and the thread's work after it hides what is left of the second.
    assert latency_if_free(path, frozenset([cp.WIRE])) == 74 + 12 + 20


def test_lanes_hold_what_does_not_overlap():
    starts, ends = np.array([0, 1, 2, 5, 6]), np.array([5, 2, 9, 6, 7])
    assert lanes(starts, ends).tolist() == [0, 1, 1, 0, 0]
