"""Exact search and recall against slow, obvious versions of themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riftsim.errors import DataError
from riftsim.workload.distances import unit_vectors
from riftsim.workload.groundtruth import GroundTruth, exact_topk, recall


def slow_distance(a, b, metric):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(-(a * b).sum()) if metric == "ip" else float(((a - b) ** 2).sum())


def slow_topk(base, queries, k, metric):
    rows = []
    for query in queries:
        ranked = sorted((slow_distance(vector, query, metric), i) for i, vector in enumerate(base))
        rows.append(ranked[:k])
    return np.array([[i for _, i in row] for row in rows]), np.array([[d for d, _ in row] for row in rows])


def slow_recall(ids, base, queries, k, metric):
    strict, tied = [], []
    for returned, query in zip(ids, queries, strict=True):
        ranked = sorted((slow_distance(vector, query, metric), i) for i, vector in enumerate(base))
        true = {i for _, i in ranked[:k]}
        limit = ranked[k - 1][0]
        distinct = []
        for i in returned:
            if i != -1 and i not in distinct:
                distinct.append(int(i))
        distinct = distinct[:k]
        strict.append(sum(i in true for i in distinct) / k)
        tied.append(sum(slow_distance(base[i], query, metric) <= limit for i in distinct) / k)
    return strict, tied


@pytest.mark.parametrize("metric", ["l2", "ip", "cosine"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32"])
@pytest.mark.parametrize("block_rows", [37, 1000])
def test_exact_topk(metric, dtype, block_rows):
    draw = np.random.default_rng(5)
    low, high = (0, 6) if dtype == "uint8" else (-3, 4)  # few values: ties everywhere
    base, queries = (draw.integers(low, high, (rows, 4)) for rows in (400, 20))
    base[:, 0] += base.any(axis=1) == 0
    queries[:, 0] += queries.any(axis=1) == 0
    base, queries = base.astype(dtype), queries.astype(dtype)
    if metric == "cosine":
        base, queries = unit_vectors(base, "base"), unit_vectors(queries, "queries")
    found = exact_topk(base, queries, 10, metric, block_rows)
    ids, distances = slow_topk(base, queries, 10, metric)
    assert found.metric == metric
    assert found.ids.dtype == np.int32
    np.testing.assert_allclose(found.distances, distances, rtol=1e-6, atol=1e-7)
    if metric != "cosine":  # where sums may differ in the last place, ties may too
        np.testing.assert_array_equal(found.ids, ids)


def test_hundreds_of_copies_of_one_vector_are_ranked_by_id():
    base = np.zeros((700, 16), np.uint8)
    base[50:60] = 9
    queries = np.zeros((3, 16), np.uint8)
    found = exact_topk(base, queries, 60, "l2", block_rows=128)
    np.testing.assert_array_equal(found.ids, np.tile(np.r_[0:50, 60:70], (3, 1)))


def test_k_equal_to_n_and_beyond():
    base = np.arange(12, dtype=np.float32).reshape(6, 2)
    assert exact_topk(base, base[:1], 6, "l2").ids.tolist() == [[0, 1, 2, 3, 4, 5]]
    for k in (0, 7):
        with pytest.raises(DataError, match="between 1 and 6"):
            exact_topk(base, base[:1], k, "l2")
    with pytest.raises(DataError, match="metric"):
        exact_topk(base, base[:1], 1, "hamming")
    with pytest.raises(DataError, match="shape"):
        exact_topk(base, base[:1, :1], 1, "l2")


def test_large_integers_stay_exact():
    # 960 dimensions: squared distances exceed 2^24, where float32 no longer tells neighbours apart.
    draw = np.random.default_rng(2)
    base = draw.integers(0, 2, (500, 960)).astype(np.uint8) * 255
    base[1:, 0] = np.arange(499) % 256
    queries = 255 - base[:5]
    found = exact_topk(base, queries, 20, "l2")
    ids, _ = slow_topk(base, queries, 20, "l2")
    np.testing.assert_array_equal(found.ids, ids)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_recall(data):
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n, k = data.draw(st.integers(3, 30)), data.draw(st.integers(1, 3))
    width = data.draw(st.integers(1, 6))
    metric = data.draw(st.sampled_from(["l2", "ip"]))
    base = draw.integers(0, 3, (n, 2)).astype(np.uint8)
    queries = draw.integers(0, 3, (4, 2)).astype(np.uint8)
    ids = draw.integers(-1, n, (4, width))
    truth = exact_topk(base, queries, min(n, 5), metric) if n >= 5 else exact_topk(base, queries, 3, metric)
    strict, tied = recall(ids, truth, k, base, queries)
    slow_strict, slow_tied = slow_recall(ids, base, queries, k, metric)
    np.testing.assert_allclose(strict, slow_strict)
    np.testing.assert_allclose(tied, slow_tied)
    assert (strict <= tied).all()
    assert (tied <= 1).all()


def test_recall_by_hand():
    base = np.array([[0], [1], [1], [5]], np.float32)
    queries = np.zeros((5, 1), np.float32)
    truth = exact_topk(base, queries, 3, "l2")
    ids = np.array([[0, 1], [0, 2], [0, 0], [-1, -1], [3, 0]])
    strict, tied = recall(ids, truth, 2, base, queries)
    assert strict.tolist() == [1.0, 0.5, 0.5, 0.0, 0.5]
    assert tied.tolist() == [1.0, 1.0, 0.5, 0.0, 0.5]


def test_recall_refuses_what_it_cannot_judge():
    base = np.eye(4, dtype=np.float32)
    truth = exact_topk(base, base[:2], 2, "l2")
    with pytest.raises(DataError, match="has 2 neighbours per query, expected at least 3"):
        recall(np.zeros((2, 3), int), truth, 3, base, base[:2])
    with pytest.raises(DataError, match="id 4"):
        recall(np.full((2, 2), 4), truth, 2, base, base[:2])
    with pytest.raises(DataError, match="shape"):
        recall(np.zeros((3, 2), int), truth, 2, base, base[:2])


def test_float32_rounding_of_a_stored_truth_does_not_decide_ties():
    draw = np.random.default_rng(8)
    base, queries = draw.random((300, 20), np.float32), draw.random((30, 20), np.float32)
    truth = exact_topk(base, queries, 10, "l2")
    rounded = GroundTruth(truth.ids, np.nextafter(truth.distances, np.float32(0)), "l2")
    strict, tied = recall(truth.ids, rounded, 10, base, queries)
    assert strict.min() == tied.min() == 1.0
