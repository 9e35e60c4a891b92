"""Reads on a device: bytes, chains, signalling, limits, several queue pairs and memory nodes, passivity."""

import signal
import time
from pathlib import Path

import numpy as np
import pytest
from nodes import NodeProcess, node_in_thread, pattern, port_to

from riftsim.errors import TransportError
from riftsim.transport.pipeline import ReadPipeline
from riftsim.transport.port import Read

pytestmark = pytest.mark.rdma

REGION = pattern(1 << 18)
SIZES = [1, 2, 3, 4, 7, 8, 63, 64, 65, 128, 255, 256, 388, 516, 1023, 1024, 1025, 4095, 4096, 4097, 8192, 65536]


@pytest.fixture(scope="module")
def node():
    with node_in_thread(REGION) as made:
        yield made


def complete(pipeline, count, limit_s=30):
    """Poll until so many reads are over."""
    completed, lost, until = [], [], time.monotonic() + limit_s
    while len(completed) + len(lost) < count and time.monotonic() < until:
        progress = pipeline.poll()
        completed += progress.completed
        lost += progress.lost
    return completed, lost


def require_bytes(port, reads, region=REGION):
    for read in reads:
        landed = port.buffer[read.slot * port.slot_bytes :][: read.length_bytes]
        expected = region[read.remote_offset :][: read.length_bytes]
        assert np.array_equal(landed, expected), read


@pytest.mark.parametrize("posting", ["chained", "extended"])
def test_every_size_and_offset_brings_its_bytes_and_no_more(node, posting):
    with port_to([node.address], slots=2, slot_bytes=1 << 17, posting=posting) as port:
        pipeline = ReadPipeline(port)
        for size in SIZES:
            for offset in (0, 1, 3, 64, 4095, len(REGION) - size):
                port.buffer[: size + 8] = 0xEE
                read = Read(0, offset, size)
                pipeline.submit(0, [read])
                assert complete(pipeline, 1) == ([0], [])
                require_bytes(port, [read])
                assert (port.buffer[size : size + 8] == 0xEE).all()


@pytest.mark.parametrize("posting", ["chained", "extended"])
@pytest.mark.parametrize("last_only", [False, True])
def test_chains_of_any_length_use_their_requests_again(node, posting, last_only):
    rng = np.random.default_rng(5)
    with port_to([node.address], posting=posting, queue_pairs=2, depth=16, outstanding_reads=4) as port:
        pipeline = ReadPipeline(port, signal_last_only=last_only)
        for length in [1, 2, 3, 8, 16, 31, 32] * 4:
            slots = rng.permutation(32)[:length].tolist()
            reads = [Read(slot, int(rng.integers(0, 1 << 17)), int(rng.choice([128, 388, 516]))) for slot in slots]
            pipeline.submit(0, reads)
            completed, lost = complete(pipeline, length)
            assert sorted(completed) == sorted(slots)
            assert not lost
            require_bytes(port, reads)
        assert pipeline.in_flight == 0


@pytest.mark.parametrize("posting", ["chained", "extended"])
def test_one_port_signals_as_each_chain_asks(node, posting):
    reads = [Read(slot, 64 * slot, 64) for slot in range(4)]
    with port_to([node.address], posting=posting) as port:
        for last_only in (True, False, True):
            port.post(0, reads, last_only=last_only)
            found, until = [], time.monotonic() + 30
            while (not found or found[-1].wr != 3) and time.monotonic() < until:
                found += port.poll()
            assert [entry.wr for entry in found] == ([3] if last_only else [0, 1, 2, 3])


def test_several_memory_nodes_are_told_apart(node):
    others = pattern(1 << 16)[::-1].copy()
    with (
        node_in_thread(others) as second,
        port_to([node.address, second.address], queue_pairs=2) as port,
    ):
        pipeline = ReadPipeline(port)
        for _ in range(20):
            pipeline.submit(0, first := [Read(slot, 100 * slot, 516) for slot in range(16)])
            pipeline.submit(1, then := [Read(slot, 100 * slot, 516) for slot in range(16, 32)])
            assert complete(pipeline, 32)[1] == []
            require_bytes(port, first)
            require_bytes(port, then, others)


def test_the_smaller_limit_of_outstanding_reads_holds():
    with node_in_thread(REGION, outstanding_reads=2) as node, port_to([node.address], outstanding_reads=16) as port:
        assert node.descriptor.outstanding_reads == 2
        pipeline = ReadPipeline(port)
        pipeline.submit(0, reads := [Read(slot, slot, 516) for slot in range(32)])
        assert complete(pipeline, 32)[1] == []
        require_bytes(port, reads)


def test_two_compute_nodes_read_at_once(node):
    with port_to([node.address]) as one, port_to([node.address]) as other:
        for port in (one, other):
            port.post(0, [Read(slot, slot, 128) for slot in range(32)], last_only=True)
        for port in (one, other):
            while not port.poll():
                pass
            require_bytes(port, [Read(slot, slot, 128) for slot in range(32)])


def test_huge_pages_are_read_as_others_are():
    pages = Path("/proc/sys/vm/nr_hugepages")
    try:
        pages.write_text("8")
    except OSError as error:
        pytest.skip(f"{pages}: {error}")
    try:
        if int(pages.read_text()) < 1:
            pytest.skip("no huge page can be had on this machine")
        with node_in_thread(REGION, pages="huge") as node, port_to([node.address]) as port:
            pipeline = ReadPipeline(port)
            pipeline.submit(0, reads := [Read(slot, 7000 * slot, 516) for slot in range(32)])
            assert complete(pipeline, 32)[1] == []
            require_bytes(port, reads)
    finally:
        pages.write_text("0")


def test_more_than_the_device_can_do_is_refused(node):
    with (
        pytest.raises(TransportError, match="work requests per queue pair, expected at most"),
        port_to([node.address], depth=1 << 24),
    ):
        pass


def test_a_stopped_memory_node_is_read_and_uses_no_processor():
    with NodeProcess(len(REGION)) as node, port_to([node.address]) as port:
        pipeline = ReadPipeline(port)
        node.signal(signal.SIGSTOP)
        while node.state() != "T":
            pass
        ticks = node.cpu_ticks()
        for _ in range(50):
            pipeline.submit(0, reads := [Read(slot, 1000 * slot, 516) for slot in range(32)])
            assert complete(pipeline, 32)[1] == []
            require_bytes(port, reads)
        assert node.cpu_ticks() == ticks
        node.signal(signal.SIGCONT)
        code, rest = node.end()
        assert code == 0
        assert rest.endswith("closed\n")


@pytest.mark.slow
def test_a_hundred_thousand_reads_lose_no_completion_and_leak_nothing(node):
    def resident_kib() -> int:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    with port_to([node.address], queue_pairs=2, depth=16) as port:
        pipeline = ReadPipeline(port, signal_last_only=True)
        rng = np.random.default_rng(1)
        after_warmup = 0
        for turn in range(3125):
            offsets = rng.integers(0, 1 << 17, 32).tolist()
            reads = [Read(slot, offset, (128, 388, 516)[slot % 3]) for slot, offset in enumerate(offsets)]
            pipeline.submit(0, reads)
            assert len(complete(pipeline, 32)[0]) == 32
            if turn == 300:
                after_warmup = resident_kib()
            if turn % 100 == 0:
                require_bytes(port, reads)
        assert pipeline.posted == 100_000
        assert resident_kib() - after_warmup < 1024
