"""Exact nearest neighbours, and recall against them.

Search is faiss's exact one, block by block over the base; the few best of it are ranked again in double precision, ties
by the lower id, so that the answer does not depend on block size or on float32 rounding.
"""

from dataclasses import dataclass

import numpy as np

from riftsim.errors import DataError
from riftsim.workload.distances import all_distances, listed_distances, require_metric

DEFAULT_K = 100
_MARGIN = 24
_BLOCK_ROWS = 131_072
_FLOAT32_TOLERANCE = 4e-6
"""Error of a float32 distance by the norm expansion, relative to the squared norms; 32 units in the last place."""


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """The exact nearest neighbours of some queries in one base under one metric."""

    ids: np.ndarray
    """int32 (nq, K), nearest first, ties by the lower id."""
    distances: np.ndarray
    """float32 (nq, K), squared L2 or minus the inner product."""
    metric: str
    """"l2", "ip" or "cosine" (squared L2 of unit vectors)."""

    @property
    def depth(self) -> int:
        """K, the number of neighbours per query."""
        return self.ids.shape[1]

    def take(self, rows: np.ndarray) -> "GroundTruth":
        """Return the ground truth of some of the queries, in the order given (rows may repeat)."""
        return GroundTruth(self.ids[rows], self.distances[rows], self.metric)


def exact_topk(
    base: np.ndarray, queries: np.ndarray, k: int, metric: str, block_rows: int = _BLOCK_ROWS
) -> GroundTruth:
    """Find the k nearest base rows of each query exactly.

    Parameters
    ----------
    base : ndarray, shape (n, d), uint8, int8 or float32
        May be mapped; read block by block. Unit vectors under cosine.
    queries : ndarray, shape (nq, d)
        Unit vectors under cosine.
    k : int
        Neighbours per query.
    metric : {"l2", "ip", "cosine"}
        Which distance.
    block_rows : int
        Base rows converted to float32 at a time; has no influence on the result.

    Returns
    -------
    GroundTruth
        Ids and distances.

    Raises
    ------
    DataError
        If k is below 1 or above n, the dimensions differ, or the metric is unknown.
    """
    require_metric(metric, "ground truth")
    n, d = base.shape
    if not 1 <= k <= n:
        raise DataError(f"ground truth: k is {k}, expected between 1 and {n}, the number of base rows")
    if queries.ndim != 2 or queries.shape[1] != d:
        raise DataError(f"ground truth: queries of shape {queries.shape}, expected (nq, {d}) as the base")
    if len(queries) == 0:
        return GroundTruth(np.empty((0, k), np.int32), np.empty((0, k), np.float32), metric)
    ids, rough, error = _rough_topk(base, queries, min(n, k + _MARGIN), metric, block_rows)
    exact = listed_distances(ids, base, queries, metric)
    order = np.lexsort((ids, exact), axis=1)[:, :k]
    near_ids = np.take_along_axis(ids, order, axis=1)
    near = np.take_along_axis(exact, order, axis=1)
    if ids.shape[1] < n:
        # What was not listed is, roughly, no nearer than the last listed. Where that is not clearly farther than the
        # k-th (ties by the hundred), the whole base is ranked for that query.
        for row in np.flatnonzero(rough.max(axis=1) - error <= near[:, -1]):
            distances = all_distances(queries[row], base, metric)
            limit = np.partition(distances, k - 1)[k - 1]
            candidates = np.flatnonzero(distances <= limit)
            best = candidates[np.lexsort((candidates, distances[candidates]))[:k]]
            near_ids[row] = best
            near[row] = distances[best]
    return GroundTruth(near_ids.astype(np.int32), near.astype(np.float32), metric)


def recall(
    ids: np.ndarray, truth: GroundTruth, k: int, base: np.ndarray, queries: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Measure recall@k of each query, strict and tie-aware.

    Of each returned row, -1 and repetitions are dropped; then the first k ids count. Strict: how many of them are among
    the k true ids, divided by k. Tie-aware: how many have a true distance of at most that of the k-th true neighbour,
    divided by k. Both are at most 1.

    Parameters
    ----------
    ids : ndarray, shape (nq, m), integer
        Returned ids, best first; -1 for nothing found.
    truth : GroundTruth
        Of the same queries, at least k deep.
    k : int
        How many neighbours are asked for.
    base, queries : ndarray, shape (n, d) and (nq, d)
        The vectors themselves: true distances are computed here, whatever the search said.

    Returns
    -------
    (ndarray, ndarray), shape (nq,), float64
        Strict and tie-aware recall.

    Raises
    ------
    DataError
        If the truth has fewer than k neighbours or other queries, or an id is not in the base.
    """
    if k < 1 or truth.depth < k:
        raise DataError(f"recall@{k}: the ground truth has {truth.depth} neighbours per query, expected at least {k}")
    if ids.ndim != 2 or len(ids) != len(truth.ids):
        raise DataError(f"recall@{k}: ids of shape {ids.shape}, expected ({len(truth.ids)}, m) as the ground truth")
    distances = listed_distances(ids, base, queries, truth.metric)
    # The limit is computed by the same code, not taken from the file: float32 rounding must not decide a tie.
    limit = listed_distances(truth.ids[:, :k], base, queries, truth.metric).max(axis=1, initial=-np.inf)
    counted = _first_distinct(ids, k)
    near = counted & (distances <= limit[:, np.newaxis])
    row_key = np.arange(len(ids), dtype=np.int64)[:, np.newaxis] << 32
    hit = counted & np.isin(ids.astype(np.int64) + row_key, truth.ids[:, :k].astype(np.int64) + row_key)
    return hit.sum(axis=1) / k, near.sum(axis=1) / k


def _first_distinct(ids: np.ndarray, k: int) -> np.ndarray:
    """Mark the first k distinct ids other than -1 of each row."""
    order = np.argsort(ids, axis=1, kind="stable")
    ranked = np.take_along_axis(ids, order, axis=1)
    fresh = ranked >= 0
    fresh[:, 1:] &= ranked[:, 1:] != ranked[:, :-1]
    marked = np.empty_like(fresh)
    np.put_along_axis(marked, order, fresh, axis=1)
    return marked & (np.cumsum(marked, axis=1) <= k)


def _rough_topk(
    base: np.ndarray, queries: np.ndarray, k: int, metric: str, block_rows: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ids (nq, k), float32 distances and a bound of their error per query (nq,)."""
    import faiss

    kind = faiss.METRIC_INNER_PRODUCT if metric == "ip" else faiss.METRIC_L2
    sign = -1.0 if metric == "ip" else 1.0
    query = np.ascontiguousarray(queries, np.float32)
    best_ids = np.empty((len(query), 0), np.int64)
    best = np.empty((len(query), 0), np.float64)
    largest = 0.0
    for first in range(0, len(base), block_rows):
        block = np.ascontiguousarray(base[first : first + block_rows], np.float32)
        largest = max(largest, float(np.einsum("nd,nd->n", block, block).max()))
        found, ids = faiss.knn(query, block, min(k, len(block)), metric=kind)
        best = np.hstack([best, sign * found.astype(np.float64)])
        best_ids = np.hstack([best_ids, ids.astype(np.int64) + first])
        if best.shape[1] > k:
            order = np.lexsort((best_ids, best), axis=1)[:, :k]
            best = np.take_along_axis(best, order, axis=1)
            best_ids = np.take_along_axis(best_ids, order, axis=1)
    norms = np.einsum("nd,nd->n", query, query).astype(np.float64) + largest
    # Sums of products of 8-bit integers stay exact in float32 below 2^24.
    exact = base.dtype.itemsize == 1 and queries.dtype.itemsize == 1 and 2 * base.shape[1] * 255**2 < 2**24
    return best_ids, best, np.zeros(len(query)) if exact else _FLOAT32_TOLERANCE * norms
