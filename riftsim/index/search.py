"""Best-first search with vectors and graph in local memory."""

import numpy as np

from riftsim.errors import ConfigError, DataError
from riftsim.index._threads import Pieces, usable_threads
from riftsim.kernels.greedy import search_queries
from riftsim.kernels.views import flat_view


def search_batch(
    vectors: np.ndarray,
    d: int,
    metric: int,
    neighbors: np.ndarray,
    degrees: np.ndarray,
    start: int,
    queries: np.ndarray,
    L: int,
    k: int,
    *,
    hidden: np.ndarray | None = None,
    threads: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Search for many queries, each as the sequential rule does (``kernels.greedy``).

    Parameters
    ----------
    vectors : ndarray (n*d,) or (n, d), uint8/int8/float32
        C-contiguous.
    d, metric : int
        Dimension; 0 for squared L2, 1 for minus the inner product.
    neighbors, degrees, start : ndarray (n, R) int32, ndarray (n,) int32, int
        The graph.
    queries : ndarray (q, d)
        Of the dtype of ``vectors``.
    L, k : int
        Candidate-list size and results per query, ``1 <= k <= L``.
    hidden : ndarray (n,) of bool, optional
        Rows that route but are not returned.
    threads : int, optional
        All usable processors by default.

    Returns
    -------
    ids : ndarray (q, k) int32
        Nearest first, ties by id; -1 where there are fewer than k.
    distances : ndarray (q, k) float32
        Internal distances; infinite where the id is -1.
    counts : ndarray (q, 4) int64
        Expansions, distance evaluations, insertions into the candidate list, and neighbours looked at.

    Raises
    ------
    ConfigError
        ``L`` or ``k`` out of range.
    DataError
        Arrays that do not fit together.
    """
    if not 1 <= k <= L:
        raise ConfigError(f"k and L: expected 1 <= k <= L, found k={k}, L={L}")
    flat = flat_view(vectors)
    n, width = neighbors.shape
    if queries.ndim != 2 or queries.shape[1] != d or queries.dtype != flat.dtype:
        raise DataError(f"queries: expected {flat.dtype} (q, {d}), found {queries.dtype} {queries.shape}")
    if flat.size != n * d or len(degrees) != n:
        raise DataError(
            f"index: {n} adjacency rows need {n * d} vector elements and {n} degrees, found {flat.size}, {len(degrees)}"
        )
    table = (
        metric,
        flat,
        d,
        flat_view(neighbors),
        width,
        flat_view(degrees),
        start,
        flat_view(np.ascontiguousarray(queries)),
    )
    mask = np.zeros(0, np.uint8) if hidden is None else np.ascontiguousarray(hidden, np.uint8)
    q = len(queries)
    ids, distances, counts = np.empty((q, k), np.int32), np.empty((q, k), np.float32), np.empty((q, 4), np.int64)

    def scratch():
        return np.empty(L, np.uint64), np.zeros(n, np.uint8), np.zeros(1, np.uint8), np.empty(width, np.int32)

    def piece(first, stop, arrays):
        search_queries(*table, first, stop, L, mask, *arrays, ids, distances, counts)

    threads = max(1, min(usable_threads(threads), q))
    with Pieces(threads, scratch) as pieces:
        pieces.run(piece, 0, q, least=16)
    return ids, distances, counts
