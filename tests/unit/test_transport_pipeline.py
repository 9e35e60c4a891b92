"""The read pipeline: credits, what a completion implies, first causes, other memory nodes."""

import numpy as np
import pytest
from fake_port import FakeMemoryNode, FakePort

from riftsim.errors import ProtocolError, TransportError
from riftsim.transport.pipeline import ReadPipeline
from riftsim.transport.port import Completion, Read, Status

SLOT = 64


def region(size=4096):
    return (np.arange(size) % 251).astype(np.uint8)


def pipeline_over(nodes, *, slots=32, last_only=False, **settings):
    port = FakePort(nodes, slots, SLOT, **settings)
    return ReadPipeline(port, signal_last_only=last_only), port


def drain(pipeline, polls=200):
    completed, lost = [], []
    for _ in range(polls):
        progress = pipeline.poll()
        completed += progress.completed
        lost += progress.lost
    return completed, lost


@pytest.mark.parametrize("last_only", [False, True])
@pytest.mark.parametrize("depth", [1, 3, 64])
def test_every_read_completes_once_with_its_bytes(last_only, depth):
    nodes = [FakeMemoryNode(region(), node, f"fake-{node}:1") for node in range(2)]
    pipeline, port = pipeline_over(nodes, last_only=last_only, depth=depth, queue_pairs=2, seed=1)
    reads = [Read(slot, 37 * slot, 1 + slot) for slot in range(32)]
    for first in range(0, 32, 8):
        pipeline.submit(first // 8 % 2, reads[first : first + 8])
    completed, lost = drain(pipeline)
    assert sorted(completed) == list(range(32))
    assert not lost
    assert pipeline.in_flight == 0
    assert pipeline.posted == 32
    for read in reads:
        landed = port.buffer[read.slot * SLOT :][: read.length_bytes]
        assert np.array_equal(landed, region()[read.remote_offset :][: read.length_bytes])


@pytest.mark.parametrize("last_only", [False, True])
def test_a_failure_in_a_chain_serves_what_was_before_and_loses_the_rest(last_only):
    node = FakeMemoryNode(region(), refused={3: Status.REM_ACCESS_ERR})
    pipeline, _ = pipeline_over([node], last_only=last_only)
    pipeline.submit(0, [Read(slot, 0, 8) for slot in range(6)])
    completed, lost = drain(pipeline, 2)
    assert completed == [0, 1, 2]
    assert lost == [3, 4, 5]
    (failure,) = pipeline.failures
    assert str(failure) == (
        "memory node 0 (fake:1), queue pair 17, work request 3 (8 bytes at offset 0): REM_ACCESS_ERR"
    )
    with pytest.raises(
        TransportError, match=r"no queue pair is left; failed before: .*work request 3 .*REM_ACCESS_ERR"
    ):
        pipeline.submit(0, [Read(7, 0, 8)])


@pytest.mark.parametrize(
    ("read", "status"),
    [
        (Read(0, 4096, 8), "REM_ACCESS_ERR"),
        (Read(0, 4090, 8), "REM_ACCESS_ERR"),
        (Read(0, 0, SLOT + 1), "LOC_PROT_ERR"),
    ],
)
def test_reads_out_of_bounds_are_lost(read, status):
    pipeline, port = pipeline_over([FakeMemoryNode(region())])
    pipeline.submit(0, [read])
    assert drain(pipeline, 1) == ([], [0])
    assert str(pipeline.failures[0]).endswith(status)
    assert (port.buffer == 0xEE).all(), "nothing was written"


def test_the_other_replica_takes_what_waits_and_what_comes():
    nodes = [FakeMemoryNode(region(), 0, "a:1"), FakeMemoryNode(region(), 0, "b:1")]
    nodes[0].killed_after = 2
    pipeline, _ = pipeline_over(nodes, depth=4)
    for first in range(0, 32, 8):
        pipeline.submit(0, [Read(slot, slot, 8) for slot in range(first, first + 8)])
    completed, lost = drain(pipeline, 20)
    assert lost == [2, 3]
    assert sorted(completed + lost) == list(range(32))
    pipeline.submit(0, [Read(slot, slot, 8) for slot in lost])
    assert drain(pipeline, 5) == (lost, [])
    assert [failure.queue_pair.address for failure in pipeline.failures] == ["a:1"]


def test_a_failed_queue_pair_takes_the_others_of_its_memory_node_out_of_use():
    nodes = [FakeMemoryNode(region(), 0, "a:1", refused={0: Status.REM_ACCESS_ERR}), FakeMemoryNode(region(), 0, "b:1")]
    pipeline, port = pipeline_over(nodes, queue_pairs=2)
    pipeline.submit(0, [Read(0, 0, 8)])
    drain(pipeline, 1)
    for slot in range(1, 5):
        pipeline.submit(0, [Read(slot, 0, 8)])
    assert {queue_pair for queue_pair, _ in port.chains[1:]} == {2, 3}


def test_a_flush_without_a_cause_is_the_cause():
    pipeline, port = pipeline_over([FakeMemoryNode(region())])
    port._in_error[0] = True
    pipeline.submit(0, [Read(0, 0, 8), Read(1, 0, 8)])
    assert drain(pipeline, 1) == ([], [0, 1])
    assert [failure.status for failure in pipeline.failures] == [Status.WR_FLUSH_ERR]


def test_what_never_completes_is_named():
    pipeline, _ = pipeline_over([FakeMemoryNode(region(), stalled=True)])
    pipeline.submit(0, [Read(slot, 0, 8) for slot in range(4)])
    drain(pipeline, 5)
    error = pipeline.overdue({2, 3}, 1.5)
    assert "memory node 0 (fake:1), queue pair 17, work request 2" in str(error)
    assert "no completion within 1.5 s" in str(error)


def test_an_overrun_completion_queue_loses_completions_and_is_noticed():
    pipeline, _ = pipeline_over([FakeMemoryNode(region())], cq_depth=2)
    pipeline.submit(0, [Read(slot, 0, 8) for slot in range(5)])
    assert drain(pipeline, 3) == ([0, 1], [])
    assert "work request 2" in str(pipeline.overdue(set(range(5)), 1))


@pytest.mark.parametrize("wr", [5, 0])
def test_completions_of_nothing_are_refused(wr):
    pipeline, port = pipeline_over([FakeMemoryNode(region())])
    pipeline.submit(0, [Read(0, 0, 8)])
    pipeline.poll()
    port._entries = [Completion(wr, Status.SUCCESS, 0)]
    with pytest.raises(ProtocolError, match=f"work request {wr} completed, but no such request is posted"):
        pipeline.poll()


def test_posting_beyond_the_depth_is_refused_by_the_port():
    port = FakePort([FakeMemoryNode(region())], 8, SLOT, depth=2)
    with pytest.raises(TransportError, match="ENOMEM"):
        port.post(0, [Read(slot, 0, 8) for slot in range(3)], last_only=False)
