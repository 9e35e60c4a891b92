"""Best-first search against a plain sequential one: ids, distances, counts, and what the list dropped."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from riftsim.index.search import search_batch
from riftsim.kernels.candidates import unpack
from riftsim.kernels.greedy import best_first

_spec = importlib.util.spec_from_file_location("index_oracles", Path(__file__).with_name("index_oracles.py"))
oracles = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracles)


def random_graph(seed, n, width):
    """Random lists of random lengths, as arrays and as lists."""
    rng = np.random.default_rng(seed)
    degrees = rng.integers(1, width + 1, n).astype(np.int32)
    neighbors = np.full((n, width), -1, np.int32)
    for row, degree in enumerate(degrees):
        neighbors[row, :degree] = rng.permutation(n - 1)[:degree]
    neighbors[neighbors >= np.arange(n)[:, None]] += 1
    return neighbors, degrees, [neighbors[row, :degree].tolist() for row, degree in enumerate(degrees)]


@pytest.mark.parametrize("metric", [0, 1])
@pytest.mark.parametrize("L", [1, 5, 30, 500])
def test_same_as_the_sequential_rule(metric, L):
    rng = np.random.default_rng(L)
    n, d, k = 300, 5, min(L, 10)
    vectors = rng.integers(0, 20, (n, d)).astype(np.uint8)  # many equal distances
    neighbors, degrees, lists = random_graph(L, n, 9)
    queries = rng.integers(0, 20, (12, d)).astype(np.uint8)
    ids, distances, counts = search_batch(vectors, d, metric, neighbors, degrees, 7, queries, L, k, threads=1)
    for at, query in enumerate(queries):
        candidates, _, expected_counts = oracles.search(metric, vectors, lists, 7, query, L)
        assert list(zip(distances[at].tolist(), ids[at].tolist(), strict=True)) == candidates[:k]
        assert tuple(counts[at]) == expected_counts


def test_dropped_candidates_that_were_expanded_complete_the_pool():
    rng = np.random.default_rng(0)
    n, d, L = 400, 6, 8
    vectors = rng.integers(0, 50, (n, d)).astype(np.uint8)
    neighbors, degrees, lists = random_graph(1, n, 8)
    dropped_in_all = 0
    keys, evicted, counts = np.empty(L, np.uint64), np.empty(50, np.uint64), np.empty(4, np.int64)
    marks, epoch, fresh = np.zeros(n, np.uint8), np.zeros(1, np.uint8), np.empty(8, np.int32)
    flat, flat_lists = vectors.reshape(-1), neighbors.reshape(-1)
    for row in range(300):  # more than 255 searches: the visited marks wrap
        size = best_first(
            0, flat, d, flat_lists, 8, degrees, 3, flat, row * d, keys, L, marks, epoch, fresh, evicted, counts
        )
        _, expanded, _ = oracles.search(0, vectors, lists, 3, vectors[row], L)
        dropped_in_all += counts[3]
        pool = np.concatenate([keys[:size], evicted[: counts[3]][::-1]])
        assert (np.diff(pool.astype(object)) > 0).all()
        assert set(unpack(pool, len(pool))[0].tolist()) == set(expanded)
    assert dropped_in_all > 0
