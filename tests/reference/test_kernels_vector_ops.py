"""Distances against numpy: exact for bytes, bit for bit the documented summation order for float32."""

import numpy as np
import pytest

from riftsim.kernels._jit import kernel
from riftsim.kernels.vector_ops import distance_at, distance_bytes, load_i32, move_up


@kernel
def at_offset(metric, a, a_offset, b, b_offset, d):
    """Call ``distance_at``."""
    return distance_at(metric, a, a_offset, b, b_offset, d)


@kernel
def in_record(metric, query, record, byte_offset, d):
    """Call ``distance_bytes``."""
    return distance_bytes(metric, query, record, byte_offset, d)


@kernel
def moved(keys, start, stop):
    """Call ``move_up``."""
    move_up(keys, start, stop)


@kernel
def loaded(buffer, byte_offset):
    """Call ``load_i32``."""
    return load_i32(buffer, byte_offset)


def float_oracle(metric, a, b):
    """Sum in 16 lanes, add the halves, then the rest one by one, all in float32."""
    terms = (a - b) ** 2 if metric == 0 else a * b
    whole = len(terms) // 16 * 16
    lanes = np.zeros(16, np.float32)
    for block in terms[:whole].reshape(-1, 16):
        lanes = lanes + block
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    total = lanes[0]
    for term in terms[whole:]:
        total = np.float32(total + term)
    return total if metric == 0 else -total


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float32])
def test_distances(dtype):
    rng = np.random.default_rng(3)
    for d in (1, 15, 16, 31, 32, 33, 64, 96, 100, 127, 128, 200, 960):
        if dtype == np.float32:
            a, b = rng.standard_normal((2, d + 5)).astype(np.float32)
        else:
            info = np.iinfo(dtype)
            a, b = rng.integers(info.min, info.max + 1, (2, d + 5)).astype(dtype)
            a[:d], b[: d // 2] = info.min, info.max  # the largest differences and products
        record = np.concatenate([np.zeros(3, np.uint8), b[2 : 2 + d].view(np.uint8)])
        for metric in (0, 1):
            x, y = a[3 : 3 + d], b[2 : 2 + d]
            if dtype == np.float32:
                expected = float_oracle(metric, x, y)
            else:
                x, y = x.astype(np.int64), y.astype(np.int64)
                expected = np.float32(((x - y) ** 2).sum() if metric == 0 else -(x * y).sum())
            assert np.float32(at_offset(metric, a, 3, b, 2, d)).tobytes() == np.float32(expected).tobytes()
            assert in_record(metric, a[3 : 3 + d].copy(), record, 3, d) == expected


def test_move_up_and_load():
    keys = np.arange(8, dtype=np.uint64)
    moved(keys, 2, 5)
    assert keys.tolist() == [0, 1, 2, 2, 3, 4, 6, 7]
    buffer = np.concatenate([np.zeros(1, np.uint8), np.array([-5, 7], "<i4").view(np.uint8)])
    assert (loaded(buffer, 1), loaded(buffer, 5)) == (-5, 7)
