"""Exact distances between vectors in double precision, for ground truth and recall.

riftsim's convention, smaller is nearer: squared L2 for ``"l2"``; for ``"cosine"`` squared L2 of unit vectors; for
``"ip"`` minus the inner product. uint8 and int8 give exact integers.
"""

import numpy as np

from riftsim.errors import DataError

METRICS = ("l2", "ip", "cosine")
_BLOCK_CELLS = 4 << 20


def require_metric(metric: str, name: object) -> None:
    """Refuse a metric that does not exist.

    Raises
    ------
    DataError
        Names where it was found.
    """
    if metric not in METRICS:
        raise DataError(f"{name}: metric {metric!r}, expected one of {', '.join(METRICS)}")


def listed_distances(ids: np.ndarray, base: np.ndarray, queries: np.ndarray, metric: str) -> np.ndarray:
    """Return the exact distance of each listed id to its query.

    Parameters
    ----------
    ids : ndarray, shape (nq, k), integer
        Rows of ``base``; -1 stands for nothing found.
    base : ndarray, shape (n, d)
        Normalised already under cosine.
    queries : ndarray, shape (nq, d)
        Row i belongs to ``ids[i]``.
    metric : {"l2", "ip", "cosine"}
        Which distance.

    Returns
    -------
    ndarray, shape (nq, k), float64
        Infinity where the id is -1.

    Raises
    ------
    DataError
        If an id is below -1 or not below n, or the shapes do not fit.
    """
    if ids.ndim != 2 or len(ids) != len(queries):
        raise DataError(f"ids of shape {ids.shape} for {len(queries)} queries, expected one row of ids per query")
    bad = (ids < -1) | (ids >= len(base))
    if bad.any():
        row, column = (int(v) for v in np.argwhere(bad)[0])
        raise DataError(
            f"row {row}, place {column}: id {int(ids[row, column])}, expected below {len(base)}, the base rows"
        )
    out = np.empty(ids.shape, np.float64)
    rows = max(1, _BLOCK_CELLS // max(1, ids.shape[1] * base.shape[1]))
    for first in range(0, len(ids), rows):
        block = slice(first, first + rows)
        vectors = base[ids[block]].astype(np.float64)
        query = queries[block, np.newaxis, :].astype(np.float64)
        if metric == "ip":
            out[block] = -np.einsum("qkd,qd->qk", vectors, query[:, 0, :])
        else:
            vectors -= query
            out[block] = np.einsum("qkd,qkd->qk", vectors, vectors)
    out[ids < 0] = np.inf
    return out


def all_distances(query: np.ndarray, base: np.ndarray, metric: str) -> np.ndarray:
    """Return the exact distance of one query to every base row.

    Parameters
    ----------
    query : ndarray, shape (d,)
        One vector.
    base : ndarray, shape (n, d)
        Vectors, read in blocks.
    metric : {"l2", "ip", "cosine"}
        Which distance.

    Returns
    -------
    ndarray, shape (n,), float64
        Distances.
    """
    out = np.empty(len(base), np.float64)
    wide = query.astype(np.float64)
    rows = max(1, _BLOCK_CELLS // base.shape[1])
    for first in range(0, len(base), rows):
        vectors = base[first : first + rows].astype(np.float64)
        if metric == "ip":
            out[first : first + rows] = -(vectors @ wide)
        else:
            vectors -= wide
            out[first : first + rows] = np.einsum("nd,nd->n", vectors, vectors)
    return out


def unit_vectors(array: np.ndarray, name: object) -> np.ndarray:
    """Return the rows scaled to length 1.

    Parameters
    ----------
    array : ndarray, shape (n, d)
        Vectors of any type.
    name : object
        For the message.

    Returns
    -------
    ndarray, shape (n, d), float32
        Unit vectors.

    Raises
    ------
    DataError
        Names the first zero vector.
    """
    out = np.empty(array.shape, np.float32)
    rows = max(1, _BLOCK_CELLS // array.shape[1])
    for first in range(0, len(array), rows):
        vectors = array[first : first + rows].astype(np.float64)
        lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
        if not lengths.all():
            row = first + int(np.argmin(lengths))
            raise DataError(f"{name}: row {row} is a zero vector, which has no cosine distance to anything")
        out[first : first + rows] = vectors / lengths[:, np.newaxis]
    return out
