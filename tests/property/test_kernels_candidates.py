"""The bounded sorted list against a sorted Python list."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from riftsim.kernels.candidates import TAKEN, distance_of, id_of, insert, is_taken, pack, unpack

floats = st.floats(width=32, allow_nan=False)


@given(floats, st.integers(0, 2**31 - 1))
def test_an_entry_gives_back_its_parts(distance, node):
    key = np.uint64(pack(np.float32(distance), node))
    assert distance_of(key) == np.float32(distance)
    assert id_of(key) == node
    assert not is_taken(key)
    assert is_taken(key | TAKEN)
    assert id_of(key | TAKEN) == node


@given(st.lists(st.tuples(floats, st.integers(0, 50)), min_size=2, max_size=2))
def test_entries_are_ordered_as_distance_then_id(pair):
    first, second = (pack(np.float32(distance), node) for distance, node in pair)
    assert (first < second) == (pair[0] < pair[1])


@given(
    st.integers(1, 12),
    st.lists(
        st.tuples(st.sampled_from([-2.5, 0.0, 1.0, 1.5, float("inf")]), st.integers(0, 99)),
        unique_by=lambda entry: entry[1],
        max_size=40,
    ),
)
def test_insertion_is_sorting_and_cutting(capacity, entries):
    keys = np.zeros(capacity, np.uint64)
    expected = []
    size = 0
    for distance, node in entries:
        position = insert(keys, size, capacity, np.uint64(pack(np.float32(distance), node)))
        expected = sorted([*expected, (distance, node)])[:capacity]
        size = min(size + (position >= 0), capacity)
        assert position == (expected.index((distance, node)) if (distance, node) in expected else -1)
        ids, distances = unpack(keys, size)
        assert list(zip(distances[:size].tolist(), ids[:size].tolist(), strict=True)) == expected
