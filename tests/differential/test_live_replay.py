"""Live runs record what their searches were told; a replay decides the same, request by request."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from live_runs import memory_nodes_of, run_on_fake
from search_runs import system_of

from riftsim.computenode.completion_log import CompletionLog, read_log
from riftsim.computenode.drivers.replay import run_replay
from riftsim.errors import ProtocolError, ResultsError

SYSTEMS = [("remote", {}), ("async", {}), ("riftann", {}), ("riftann", {"chunk": 2})]


def recorded(tmp_path, system, world, **settings):
    path = tmp_path / "completions.parquet"
    log = CompletionLog(path)
    run = run_on_fake(replace(system, new_program=lambda: log.recorded(system.new_program())), world, **settings)
    log.write()
    return path, run


@pytest.mark.parametrize(("name", "settings"), SYSTEMS)
@pytest.mark.parametrize("fails", [False, True])
def test_a_replay_repeats_every_request_and_result(tmp_path, photos, name, settings, fails):
    system = system_of(name, photos, **settings)
    nodes = memory_nodes_of(photos, replicas=2)
    if fails:
        nodes[0].killed_after = 200
    path, run = recorded(tmp_path, system, photos, nodes=nodes, concurrency=5, warmup=5)
    queries, answers = run_replay(path, system.new_program)
    assert len(answers) >= len(run.runs) == 20
    for each in run.runs:  # a query may have been searched more than once
        assert any(
            query == each.query and np.array_equal(answer.ids, each.answer.ids) and answer.counts == each.answer.counts
            for query, answer in zip(queries, answers, strict=True)
        )
    calls = read_log(path)
    assert any(call.call == "retry" for call in calls) == fails
    assert any(call.call == "apply" for call in calls) == (name == "riftann")


def test_a_search_that_decides_otherwise_is_found_out(tmp_path, photos):
    path, _ = recorded(tmp_path, system_of("riftann", photos), photos)
    where = r"completions\.parquet: row \d+ \(.* of search \d+, query \d+\): found requests"
    with pytest.raises(ProtocolError, match=where):
        run_replay(path, system_of("riftann", photos, gate={"kind": "ungated"}, window=2).new_program)


def test_a_log_is_never_overwritten_and_other_files_are_refused(tmp_path, photos):
    path = tmp_path / "there.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(ResultsError, match="is there already"):
        CompletionLog(path)
    for wrong in (path, tmp_path / "missing"):
        with pytest.raises(ResultsError, match=r"driver\.log"):
            run_replay(wrong, system_of("remote", photos).new_program)
