"""The cases of reads that a device must pass, on the port without one: in order, and delayed and racing."""

from contextlib import contextmanager

import numpy as np
import pytest
import read_cases
from fake_port import FakeMemoryNode, FakePort

REGION = np.random.default_rng(3).integers(0, 256, 1 << 18, dtype=np.uint8)


@pytest.fixture(params=[None, 1, 2], ids=["in order", "seed 1", "seed 2"])
def port_on(request):
    @contextmanager
    def made(regions, *, slots=32, slot_bytes=1024, **settings):
        nodes = [FakeMemoryNode(region, number, f"fake-{number}:1") for number, region in enumerate(regions)]
        yield FakePort(nodes, slots, slot_bytes, seed=request.param, **settings)

    return made


def test_every_size_and_offset_brings_its_bytes_and_no_more(port_on):
    read_cases.every_size_and_offset_brings_its_bytes_and_no_more(port_on, REGION)


@pytest.mark.parametrize("last_only", [False, True])
def test_chains_of_any_length_use_their_requests_again(port_on, last_only):
    read_cases.chains_of_any_length_use_their_requests_again(port_on, REGION, last_only)


def test_one_port_signals_as_each_chain_asks(port_on):
    read_cases.one_port_signals_as_each_chain_asks(port_on, REGION)


def test_several_memory_nodes_are_told_apart(port_on):
    read_cases.several_memory_nodes_are_told_apart(port_on, REGION, REGION[::-1].copy())
