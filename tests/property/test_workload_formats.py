"""Any matrix that is written comes back as it was."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from riftsim.workload.formats import (
    RangeTruth,
    read_range_truth,
    read_truth_file,
    read_vectors,
    write_range_truth,
    write_truth_file,
    write_vectors,
)

DTYPE_OF = {"fvecs": "f4", "ivecs": "i4", "bvecs": "u1", "fbin": "f4", "u8bin": "u1", "i8bin": "i1", "ibin": "i4"}
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=12)


def values_of(dtype):
    kind = np.dtype(dtype)
    if kind.kind == "f":
        # Subnormal numbers are left out: a file of nothing else is taken for int32 and refused. So are numbers whose
        # squared distances are no float32.
        return st.floats(-(2.0**50), 2.0**50, width=32, allow_subnormal=False)
    return hnp.from_dtype(kind)


@pytest.mark.parametrize("suffix", DTYPE_OF)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_vectors_round_trip(suffix, data):
    dtype = DTYPE_OF[suffix]
    array = data.draw(hnp.arrays(dtype, SHAPES, elements=values_of(dtype)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{suffix}"
        write_vectors(path, array)
        found = read_vectors(path)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)
        assert found.flags.c_contiguous


@given(array=hnp.arrays("f2", SHAPES, elements=st.floats(width=16, allow_nan=False, allow_infinity=False)))
@settings(max_examples=40, deadline=None)
def test_half_precision_comes_back_as_float32(array):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.f16bin"
        write_vectors(path, array.astype(np.float32))
        found = read_vectors(path)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, array.astype(np.float32))


@given(
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=8),
    depth=st.integers(1, 6),
    with_distances=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_ground_truths_round_trip(counts, depth, with_distances):
    draw = np.random.default_rng(sum(counts) + depth)
    ids = draw.integers(0, 100, (len(counts), depth)).astype(np.int32)
    listed = draw.integers(0, 100, sum(counts)).astype(np.int32)
    starts = np.concatenate(([0], np.cumsum(counts)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gt.ibin"
        distances = draw.random(ids.shape).astype(np.float32) if with_distances else None
        write_truth_file(path, ids, distances)
        found = read_truth_file(path)
        np.testing.assert_array_equal(found.ids, ids)
        assert (found.distances is None) == (distances is None)
        within = draw.random(len(listed)).astype(np.float32) if with_distances else None
        write_range_truth(path, RangeTruth(starts, listed, within))
        back = read_range_truth(path)
        np.testing.assert_array_equal(back.starts, starts)
        np.testing.assert_array_equal(back.ids, listed)
