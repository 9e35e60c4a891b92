"""What a live run does when a memory node fails: it goes on with a replica, or ends with an error that says why."""

import threading

import numpy as np
import pytest
from live_runs import memory_nodes_of, run_on_fake
from search_runs import answers_of, assert_same, local_answers, system_of

from riftsim.errors import TransportError
from riftsim.transport.port import Status

SYSTEMS = ["remote", "async", "riftann"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_killed_memory_node_without_a_replica_ends_the_run(photos, name):
    nodes = memory_nodes_of(photos)
    nodes[0].killed_after = 300
    ports = []
    with pytest.raises(
        TransportError, match=r"memory node 0 \(fake-0-0:1\), queue pair \d+, work request \d+ .*RETRY_EXC"
    ):
        run_on_fake(system_of(name, photos), photos, nodes, ports=ports)
    assert [port.closed for port in ports] == [1]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(("evaluation", "event-loop"))]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("last_only", [False, True])
def test_a_replica_takes_over_and_no_result_is_wrong(photos, name, last_only):
    system = system_of(name, photos)
    nodes = memory_nodes_of(photos, replicas=2)
    nodes[1].killed_after = 300
    run = run_on_fake(system, photos, nodes, signal_last_only=last_only, port={"queue_pairs": 2})
    assert sum(each.answer.counts["retried"] for each in run.runs) > 0
    assert all("fake-0-1:1" in failure and "RETRY_EXC_ERR" in failure for failure in run.facts["failures"])
    assert 1 <= len(run.facts["failures"]) <= 2
    if name == "riftann":
        local = local_answers(system)
        overlap = [len(np.intersect1d(one.ids, local[query].ids)) for query, one in answers_of(run).items()]
        assert np.mean(overlap) > 9.8
    else:
        reads = ("reads_record", "bytes_read", "chains", "retried", "insertions")
        assert_same(answers_of(run), local_answers(system), but=reads)


def test_both_replicas_lost_names_both_causes(photos):
    nodes = memory_nodes_of(photos, replicas=2)
    nodes[0].refused = {100: Status.REM_ACCESS_ERR}
    nodes[1].killed_after = 300
    with pytest.raises(TransportError) as error:
        run_on_fake(system_of("remote", photos), photos, nodes)
    assert "fake-0-0:1" in str(error.value)
    assert "REM_ACCESS_ERR" in str(error.value)
    assert "fake-0-1:1" in str(error.value)
    assert "RETRY_EXC_ERR" in str(error.value)
    assert "FLUSH" not in str(error.value)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("event_loops", [1, 2])
def test_reads_that_hang_exceed_the_deadline(photos, name, event_loops):
    nodes = memory_nodes_of(photos)
    nodes[0].stalled = True
    with pytest.raises(TransportError, match=r"memory node 0 .*queue pair 17, work request \d+ .*no completion within"):
        run_on_fake(system_of(name, photos), photos, nodes, deadline_s=0.05, event_loops=event_loops)


def test_an_overrun_completion_queue_exceeds_the_deadline(photos):
    with pytest.raises(TransportError, match=r"no completion within 0\.05 s"):
        run_on_fake(system_of("remote", photos), photos, deadline_s=0.05, port={"cq_depth": 2, "seed": None})
