"""Placement is a bijection onto (memory node, slot), by formula and by table, in Python and in other kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riftsim.errors import ConfigError, PluginError
from riftsim.memnode.shards import by_table, contiguous, hashed, placement_for


def _place_randomly(ids, memory_nodes):
    return np.random.default_rng(len(ids)).integers(0, memory_nodes, len(ids))


MAKERS = [contiguous, hashed, lambda n, memory_nodes: by_table(n, memory_nodes, _place_randomly)]


@given(st.data(), st.integers(1, 700), st.sampled_from(range(len(MAKERS))))
@settings(deadline=None, max_examples=150)
def test_every_slot_holds_one_record(data, n, maker):
    memory_nodes = data.draw(st.integers(1, min(n, 9)))
    placement = MAKERS[maker](n, memory_nodes)
    nodes, slots = placement.locate(np.arange(n))
    sizes = np.diff(placement.bases)
    assert placement.bases[0] == 0
    assert placement.bases[-1] == n
    assert ((nodes >= 0) & (nodes < memory_nodes)).all()
    assert ((slots >= 0) & (slots < sizes[nodes])).all()
    assert np.array_equal(np.sort(placement.ranks(np.arange(n))), np.arange(n))
    one = data.draw(st.integers(0, n - 1))
    assert placement.locate(one) == (nodes[one], slots[one])


@given(st.integers(1, 2**31 - 1), st.integers(1, 64))
@settings(deadline=None, max_examples=60)
def test_hash_formula_holds_up_to_the_largest_index(n, memory_nodes):
    memory_nodes = min(memory_nodes, n)
    placement = hashed(n, memory_nodes)
    _, a, b, _, per, *_ = placement.parameters.tolist()
    ids = np.unique(np.concatenate([np.arange(min(n, 50)), n - 1 - np.arange(min(n, 50)), [n // 2]]))
    expected = [(a * int(node) + b) % n for node in ids]
    assert placement.ranks(ids).tolist() == expected
    assert placement.locate(ids)[0].tolist() == [rank // per for rank in expected]


def test_contiguous_is_the_id_divided():
    nodes, slots = contiguous(10, 3).locate(np.arange(10))
    assert nodes.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert slots.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]


def test_hash_spreads_neighbouring_ids():
    nodes, _ = hashed(100_000, 4).locate(np.arange(40_000, 40_100))
    assert np.bincount(nodes, minlength=4).min() >= 20


def test_formulas_need_no_table_and_tables_are_accounted():
    assert hashed(1000, 4).table_bytes == 0
    assert placement_for("plugin", 1000, 4, _place_randomly).table_bytes == 4000


@pytest.mark.parametrize("kind", ["contiguous", "hash"])
def test_more_memory_nodes_than_records_are_refused(kind):
    with pytest.raises(ConfigError, match="found 4 memory nodes for 3 records"):
        placement_for(kind, 3, 4)
    with pytest.raises(ConfigError, match="found 0 records"):
        placement_for(kind, 0, 1)


def test_unknown_placement_is_refused():
    with pytest.raises(ConfigError, match="found kind 'random'"):
        placement_for("random", 10, 2)
    with pytest.raises(ConfigError, match="plugin with a function"):
        placement_for("plugin", 10, 2)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (lambda ids, nodes: ids, "found memory node 2 for id 2, expected 0 to 1"),
        (lambda ids, nodes: ids[:3] % 2, "expected integers of shape"),
        (lambda ids, nodes: ids * 0.0, "found float64"),
    ],
)
def test_wrong_plugin_is_refused(place, message):
    with pytest.raises(PluginError, match=message):
        by_table(10, 2, place)


def test_ids_outside_are_refused():
    with pytest.raises(ValueError, match="expected within"):
        contiguous(10, 2).locate([3, 10])
