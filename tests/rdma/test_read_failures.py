"""What a device answers when reads fail: as recorded, in time, and said in words."""

import os
import time
from contextlib import ExitStack

import numpy as np
import pytest
from nodes import NodeProcess, node_in_thread, pattern, port_to
from read_scenarios import REGION_BYTES, SCENARIOS, SLOT_BYTES, SLOTS, play, recorded

from riftsim.errors import TransportError
from riftsim.rdma.queue_pairs import Retries
from riftsim.transport.pipeline import ReadPipeline
from riftsim.transport.port import Read

pytestmark = pytest.mark.rdma

REGION = pattern(REGION_BYTES)
IMPATIENT = Retries(timeout=10, retry_cnt=2)
PATIENT = Retries(timeout=14, retry_cnt=6)


@pytest.fixture(scope="module")
def node():
    with node_in_thread(REGION) as made:
        yield made


@pytest.fixture(scope="module")
def killed(node):
    """Ports that were connected to a memory node's process before it was killed, one for each use.

    By scenario, by ``Retries``, and ``"replica"``: connected to the surviving ``node`` as well. One process for all of
    them: where processors are emulated, starting one takes longer than any of these tests.
    """
    sizes = {"slots": SLOTS, "slot_bytes": SLOT_BYTES, "retries": IMPATIENT}
    with ExitStack() as ports, NodeProcess(REGION_BYTES) as process:
        found = {
            name: ports.enter_context(port_to([process.address], **sizes))
            for name, scenario in SCENARIOS.items()
            if scenario.fault == "killed"
        }
        for retries in (PATIENT, IMPATIENT):
            found[retries] = ports.enter_context(port_to([process.address], retries=retries))
        both = [process.address, node.address]
        found["replica"] = ports.enter_context(port_to(both, parts=[0, 0], retries=IMPATIENT))
        process.kill()
        yield found


def completions_of(name: str, node, killed) -> list[list]:
    """The completions of a scenario on this device."""
    scenario = SCENARIOS[name]
    if scenario.fault == "killed":
        return play(killed[name], scenario, quiet_s=0.5)
    with port_to([node.address], slots=SLOTS, slot_bytes=SLOT_BYTES) as port:
        if scenario.fault == "rkey":
            (key, address), *_ = port._remotes
            port._remotes[0] = key ^ 0x5A5A00, address
        return play(port, scenario, quiet_s=0.5)


@pytest.mark.parametrize("name", SCENARIOS)
def test_completions_come_as_they_were_recorded(node, killed, name):
    assert completions_of(name, node, killed) == recorded()["sequences"][name]


def test_reads_beyond_the_region_name_memory_node_queue_pair_work_request_and_status(node):
    with port_to([node.address]) as port:
        pipeline = ReadPipeline(port)
        pipeline.submit(0, [Read(3, 0, 8), Read(4, REGION_BYTES, 8), Read(5, 0, 8)])
        lost = []
        while len(lost) < 2:
            lost += pipeline.poll().lost
        number = port.queue_pairs[0].number
        with pytest.raises(TransportError) as error:
            pipeline.submit(0, [Read(6, 0, 8)])
        assert str(error.value) == (
            f"memory node 0: no queue pair is left; failed before: memory node 0 ({node.address}), "
            f"queue pair {number}, work request 4 (8 bytes at offset {REGION_BYTES}): REM_ACCESS_ERR"
        )


@pytest.mark.parametrize(("retries", "limit_s"), [(PATIENT, 3.0), (IMPATIENT, 1.0)])
def test_a_killed_memory_node_is_noticed_in_time(killed, retries, limit_s):
    pipeline = ReadPipeline(killed[retries])
    pipeline.submit(0, [Read(0, 0, 8)])
    begin = time.monotonic()
    while not (lost := pipeline.poll().lost) and time.monotonic() - begin < 30:
        pass
    assert lost == [0]
    assert time.monotonic() - begin < limit_s * float(os.environ.get("RIFTSIM_SLOW_MACHINE", "3"))
    assert str(pipeline.failures[0]).endswith("RETRY_EXC_ERR")


def test_a_replica_takes_over_from_a_killed_memory_node(killed):
    port = killed["replica"]
    pipeline = ReadPipeline(port)
    waiting = {slot: Read(slot, 100 * slot, 516) for slot in range(32)}
    for read in waiting.values():
        pipeline.submit(0, [read])
    retried, until = 0, time.monotonic() + 30
    open_slots = set(waiting)
    while open_slots and time.monotonic() < until:
        progress = pipeline.poll()
        open_slots -= set(progress.completed)
        for slot in progress.lost:
            retried += 1
            pipeline.submit(0, [waiting[slot]])
    assert not open_slots
    assert retried > 0
    for slot, read in waiting.items():
        assert np.array_equal(port.buffer[slot * port.slot_bytes :][:516], REGION[read.remote_offset :][:516])


def test_more_work_requests_than_the_queue_pair_takes_are_refused(node):
    with port_to([node.address], slots=512, depth=4) as port:
        reads = [Read(slot, 0, 8) for slot in range(512)]
        with pytest.raises(TransportError, match="512 work requests from 0 on were not taken"):
            port.post(0, reads, last_only=False)


def test_an_overrun_completion_queue_is_noticed(node, monkeypatch):
    from riftsim.rdma import reader

    made = reader.VerbsPort._new_completion_queue

    def too_small(self, memory_nodes, settings):
        return made(self, 1, reader.ReaderSettings(depth=1))

    monkeypatch.setattr(reader.VerbsPort, "_new_completion_queue", too_small)
    with port_to([node.address], depth=32) as port:
        pipeline = ReadPipeline(port)
        pipeline.submit(0, [Read(slot, 0, 8) for slot in range(32)])
        time.sleep(0.3)
        completed, until = [], time.monotonic() + 1
        while len(completed) < 32 and time.monotonic() < until:
            completed += pipeline.poll().completed
        assert len(completed) < 32
        assert "no completion within 1 s" in str(pipeline.overdue(set(range(32)), 1))


def test_a_reader_that_dislikes_the_descriptor_makes_no_queue_pair(node):
    from riftsim.rdma.reader import ReaderSettings, VerbsPort

    def accept(descriptors):
        raise TransportError("another index")

    with pytest.raises(TransportError, match="another index"):
        VerbsPort([node.address], accept, 4, 64, ReaderSettings())
    with port_to([node.address]) as port:
        port.post(0, [Read(0, 0, 8)], last_only=False)
        while not port.poll():
            pass


def test_closing_twice_is_harmless_and_gives_the_queue_pairs_back(node):
    before = node.compute_nodes
    for _ in range(5):
        with port_to([node.address], queue_pairs=4) as port:
            port.close()
    until = time.monotonic() + 20
    while node.compute_nodes > before and time.monotonic() < until:
        time.sleep(0.01)
    assert node.compute_nodes == before
