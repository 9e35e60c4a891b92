"""Robust pruning against an oracle that pushes occlusion instead of pulling it."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from riftsim.kernels.candidates import pack
from riftsim.kernels.prune import robust_prune

_spec = importlib.util.spec_from_file_location("index_oracles", Path(__file__).with_name("index_oracles.py"))
oracles = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracles)


def pruned(metric, vectors, pool, limit, alpha):
    """Run the kernel on a list of (distance, id)."""
    keys = np.array([pack(np.float32(distance), node) for distance, node in pool], np.uint64)
    kept, scratch = np.full(limit, -1, np.int32), np.empty((2, len(pool)), np.int32)
    count = robust_prune(
        metric, vectors.reshape(-1), vectors.shape[1], keys, len(keys), limit, np.float32(alpha), kept, *scratch
    )
    return kept[:count].tolist()


def pool_of(metric, vectors, node):
    others = [(oracles.distance(metric, vectors[node], vectors[o]), o) for o in range(len(vectors)) if o != node]
    return sorted(others)


@pytest.mark.parametrize("metric", [0, 1])
@pytest.mark.parametrize(("limit", "alpha"), [(5, 1.2), (40, 1.2), (12, 1.0), (40, 2.0), (1, 1.2)])
def test_same_as_pushing_occlusion(metric, limit, alpha):
    rng = np.random.default_rng(limit)
    for d in (2, 7, 40):
        vectors = rng.integers(0, 30, (80, d)).astype(np.uint8)
        pool = pool_of(metric, vectors, 0)
        assert pruned(metric, vectors, pool, limit, alpha) == oracles.prune(metric, vectors, pool, limit, alpha)


def test_second_round_fills_places_that_the_first_left():
    vectors = np.array([[0], [10], [21]], np.uint8)  # 21 is nearer to 10 (121) than to 0 (441)
    pool = pool_of(0, vectors, 0)
    assert pruned(0, vectors, pool, 2, 1.2) == [1]
    assert pruned(0, vectors, pool, 2, 4.0) == [1, 2]  # 4 x 121 > 441: not occluded at factor 4


def test_copies_of_a_neighbor_are_dropped():
    vectors = np.array([[3, 3]] * 6 + [[200, 3]], np.uint8)
    assert pruned(0, vectors, pool_of(0, vectors, 0), 4, 1.2) == [1, 6]


def test_empty_pool():
    assert pruned(0, np.zeros((1, 4), np.uint8), [], 3, 1.2) == []
