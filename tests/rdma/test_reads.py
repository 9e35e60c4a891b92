"""Reads on a device: bytes, chains, signalling, limits, several queue pairs and memory nodes, passivity."""

import signal
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import read_cases
from nodes import NodeProcess, node_in_thread, pattern, port_to
from read_cases import complete

from riftsim.errors import TransportError
from riftsim.transport.pipeline import ReadPipeline
from riftsim.transport.port import Read

pytestmark = pytest.mark.rdma

REGION = pattern(1 << 18)


@pytest.fixture(scope="module")
def node():
    with node_in_thread(REGION) as made:
        yield made


@pytest.fixture(params=["chained", "extended"])
def port_on(request, node):
    @contextmanager
    def made(regions, **settings):
        with ExitStack() as stack:
            # The region that all tests read is served once, others for as long as they are read.
            nodes = [node if region is REGION else stack.enter_context(node_in_thread(region)) for region in regions]
            yield stack.enter_context(port_to([node.address for node in nodes], posting=request.param, **settings))

    return made


def test_every_size_and_offset_brings_its_bytes_and_no_more(port_on):
    read_cases.every_size_and_offset_brings_its_bytes_and_no_more(port_on, REGION)


@pytest.mark.parametrize("last_only", [False, True])
def test_chains_of_any_length_use_their_requests_again(port_on, last_only):
    read_cases.chains_of_any_length_use_their_requests_again(partial(port_on, outstanding_reads=4), REGION, last_only)


def test_one_port_signals_as_each_chain_asks(port_on):
    read_cases.one_port_signals_as_each_chain_asks(port_on, REGION)


def test_several_memory_nodes_are_told_apart(port_on):
    read_cases.several_memory_nodes_are_told_apart(port_on, REGION, pattern(1 << 16)[::-1].copy())


def test_the_smaller_limit_of_outstanding_reads_holds():
    with node_in_thread(REGION, outstanding_reads=2) as node, port_to([node.address], outstanding_reads=16) as port:
        assert node.descriptor.outstanding_reads == 2
        pipeline = ReadPipeline(port)
        pipeline.submit(0, reads := [Read(slot, slot, 516) for slot in range(32)])
        assert complete(pipeline, 32)[1] == []
        read_cases.require_bytes(port, reads, REGION)


def test_two_compute_nodes_read_at_once(node):
    with port_to([node.address]) as one, port_to([node.address]) as other:
        for port in (one, other):
            port.post(0, [Read(slot, slot, 128) for slot in range(32)], last_only=True)
        for port in (one, other):
            while not port.poll():
                pass
            read_cases.require_bytes(port, [Read(slot, slot, 128) for slot in range(32)], REGION)


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
            read_cases.require_bytes(port, reads, REGION)
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
            read_cases.require_bytes(port, reads, REGION)
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
                read_cases.require_bytes(port, reads, REGION)
        assert pipeline.posted == 100_000
        assert resident_kib() - after_warmup < 1024
