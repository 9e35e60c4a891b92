"""Tables and distances of compact codes against slow float64 oracles, and bits against the same sums elsewhere."""

from itertools import pairwise

import numpy as np
import pytest

from riftsim.kernels._jit import kernel
from riftsim.kernels.codes import (
    CENTROIDS,
    CODE_FULL,
    CODE_PQ,
    CODE_SQ8,
    code_distance,
    code_distances,
    fill_table,
    prefetch_code,
)

NO_CHUNKS = np.zeros(0, np.int32)
NO_PARAMETERS = np.zeros(0, np.float32)


@kernel
def _distances_elsewhere(kind, metric, table, query, codes, code_bytes, d, nodes, out):
    """A second call site, with other surroundings: distances are compared and summed as they come."""
    best = np.float32(np.inf)
    for i in range(nodes.shape[0] - 1, -1, -1):
        prefetch_code(codes, code_bytes, nodes[i])
        distance = code_distance(kind, metric, table, query, codes, code_bytes, nodes[i], d)
        out[i] = distance
        best = min(best, distance)
    return best


def _pq(rng, d, m, rotated=False):
    widths = [d // m + (chunk < d % m) for chunk in range(m)]
    starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.int32)
    pivots = rng.normal(size=(CENTROIDS, d)).astype(np.float32) * 30
    centroid = rng.normal(size=d).astype(np.float32) * 20
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0].astype(np.float32) if rotated else np.zeros((0, d), np.float32)
    parameters = np.concatenate([pivots.T.ravel(), centroid, rotation.ravel()])
    return starts, pivots, centroid, rotation, parameters


def _decoded(codes, starts, pivots, centroid, rotation):
    """Vectors that the codes stand for, float64, in the original space."""
    decoded = np.empty((len(codes), pivots.shape[1]))
    for chunk, (start, stop) in enumerate(pairwise(starts)):
        decoded[:, start:stop] = pivots[codes[:, chunk], start:stop]
    if len(rotation):
        decoded = decoded @ rotation.astype(np.float64).T
    return decoded + centroid


def _exact(metric, query, vectors):
    query, vectors = query.astype(np.float64), vectors.astype(np.float64)
    return ((vectors - query) ** 2).sum(axis=1) if metric == 0 else -(vectors @ query)


def _both_ways(kind, metric, table, query, codes, d):
    n, code_bytes = codes.shape
    ids = np.random.default_rng(1).permutation(n).astype(np.int32)
    batch, elsewhere = np.empty(n, np.float32), np.empty(n, np.float32)
    code_distances(kind, metric, table, query, codes.ravel(), code_bytes, d, ids, batch)
    best = _distances_elsewhere(kind, metric, table, query, codes.ravel(), code_bytes, d, ids, elsewhere)
    np.testing.assert_array_equal(batch.view(np.uint32), elsewhere.view(np.uint32))
    single = np.empty(1, np.float32)
    for i in range(0, n, 7):
        code_distances(kind, metric, table, query, codes.ravel(), code_bytes, d, ids[i : i + 1], single)
        assert single.view(np.uint32)[0] == batch.view(np.uint32)[i]
    assert best == batch.min()
    in_order = np.empty(n, np.float32)
    in_order[ids] = batch
    return in_order


# Equal chunks, wider first chunks with each remainder modulo the four lanes, one chunk, one per dimension.
@pytest.mark.parametrize(("d", "m"), [(32, 8), (128, 20), (24, 7), (10, 1), (23, 22), (6, 6)])
@pytest.mark.parametrize("metric", [0, 1])
@pytest.mark.parametrize("rotated", [False, True])
def test_pq_distance_is_the_distance_to_the_decoded_vector(d, m, metric, rotated):
    rng = np.random.default_rng(d)
    starts, pivots, centroid, rotation, parameters = _pq(rng, d, m, rotated)
    codes = rng.integers(0, 256, (40, m), dtype=np.uint8)
    query = rng.integers(0, 256, d).astype(np.uint8)
    table = np.full(m * CENTROIDS, np.nan, np.float32)
    fill_table(CODE_PQ, metric, query, d, starts, parameters, table)
    expected = _exact(metric, query, _decoded(codes, starts, pivots, centroid, rotation))
    np.testing.assert_allclose(
        _both_ways(CODE_PQ, metric, table, query, codes, d), expected, rtol=2e-5, atol=2e-6 * np.abs(expected).max()
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("metric", [0, 1])
def test_pq_table_entries(dtype, metric):
    rng = np.random.default_rng(5)
    starts, pivots, centroid, _, parameters = _pq(rng, 14, 4)
    query = rng.integers(0, 100, 14).astype(dtype)
    table = np.empty(4 * CENTROIDS, np.float32)
    fill_table(CODE_PQ, metric, query, 14, starts, parameters, table)
    for chunk, (start, stop) in enumerate(pairwise(starts)):
        if metric == 0:
            expected = _exact(0, query[start:stop], (pivots + centroid)[:, start:stop])
        else:
            expected = _exact(1, query[start:stop], pivots[:, start:stop])
            expected -= (query @ centroid.astype(np.float64)) if chunk == 0 else 0
        np.testing.assert_allclose(table[chunk * 256 : chunk * 256 + 256], expected, rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize("d", [1, 16, 37, 96])
@pytest.mark.parametrize("metric", [0, 1])
def test_sq8_distance_is_the_distance_to_the_decoded_vector(d, metric):
    rng = np.random.default_rng(d)
    least, step = rng.normal(size=d).astype(np.float32), rng.uniform(0.01, 0.1, d).astype(np.float32)
    codes = rng.integers(0, 256, (40, d), dtype=np.uint8)
    query = rng.normal(size=d).astype(np.float32) * 5
    table = np.full(2 * d, np.nan, np.float32)
    fill_table(CODE_SQ8, metric, query, d, NO_CHUNKS, np.concatenate([least, step]), table)
    expected = _exact(metric, query, least + step.astype(np.float64) * codes)
    scale = np.abs(query).max() * 30 * d
    np.testing.assert_allclose(
        _both_ways(CODE_SQ8, metric, table, query, codes, d), expected, rtol=1e-5, atol=1e-6 * scale
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("metric", [0, 1])
def test_full_codes_give_the_exact_distance(dtype, metric):
    rng = np.random.default_rng(3)
    vectors = rng.integers(0, 128, (30, 21)).astype(dtype)
    query = rng.integers(0, 128, 21).astype(dtype)
    codes = vectors.view(np.uint8).reshape(30, -1)
    found = _both_ways(CODE_FULL, metric, NO_PARAMETERS, query, codes, 21)
    np.testing.assert_array_equal(found, _exact(metric, query, vectors))
