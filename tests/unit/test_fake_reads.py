"""The cases of reads that a device must pass, on the port without one: in order, and delayed and racing.

Here it is known besides what each memory node served: every read once.
"""

from contextlib import contextmanager

import numpy as np
import pytest
import read_cases
from fake_port import FakeMemoryNode, FakePort

REGION = np.random.default_rng(3).integers(0, 256, 1 << 18, dtype=np.uint8)


@pytest.fixture
def nodes():
    """The memory nodes of a test, as its port makes them."""
    return []


def served(nodes):
    return [node.served for node in nodes]


@pytest.fixture(params=[None, 1, 2], ids=["in order", "seed 1", "seed 2"])
def port_on(request, nodes):
    @contextmanager
    def made(regions, *, slots=32, slot_bytes=1024, **settings):
        nodes.extend(FakeMemoryNode(region, number, f"fake-{number}:1") for number, region in enumerate(regions))
        yield FakePort(nodes, slots, slot_bytes, seed=request.param, **settings)

    return made


def test_every_size_and_offset_brings_its_bytes_and_no_more(port_on, nodes):
    asked = read_cases.every_size_and_offset_brings_its_bytes_and_no_more(port_on, REGION)
    assert served(nodes) == [asked]


@pytest.mark.parametrize("last_only", [False, True])
def test_chains_of_any_length_use_their_requests_again(port_on, nodes, last_only):
    asked = read_cases.chains_of_any_length_use_their_requests_again(port_on, REGION, last_only)
    assert served(nodes) == [asked]


def test_one_port_signals_as_each_chain_asks(port_on, nodes):
    asked = read_cases.one_port_signals_as_each_chain_asks(port_on, REGION)
    assert served(nodes) == [asked]


def test_several_memory_nodes_are_told_apart(port_on, nodes):
    asked = read_cases.several_memory_nodes_are_told_apart(port_on, REGION, REGION[::-1].copy())
    assert served(nodes) == [asked / 2, asked / 2]
