"""Does a ground truth belong to these vectors? Cheap tests that catch that of another base, metric or query set."""

import numpy as np

from riftsim.errors import DataError
from riftsim.rng import stream
from riftsim.workload.distances import all_distances, listed_distances
from riftsim.workload.groundtruth import GroundTruth

_SAMPLED_QUERIES = 4
_SCANNED_CELLS = 1 << 23
_TOLERANCE = 1e-4
_NORM_TOLERANCE = 1e-5

_FORMS = {
    "l2": {"squared L2": lambda x: x, "L2": lambda x: x * x},
    "ip": {"minus the inner product": lambda x: x, "the inner product": lambda x: -x},
    "cosine": {
        "squared L2 of unit vectors": lambda x: x,
        "1 - cosine": lambda x: 2.0 * x,
        "cosine": lambda x: 2.0 - 2.0 * x,
        "minus cosine": lambda x: 2.0 + 2.0 * x,
    },
}
"""How tools write a distance, and how that becomes riftsim's."""


def adopt_truth(
    ids: np.ndarray,
    distances: np.ndarray | None,
    base: np.ndarray,
    queries: np.ndarray,
    metric: str,
    name: object,
    seed: int = 0,
) -> GroundTruth:
    """Make a checked ground truth of what a file says.

    Missing distances are computed. Distances in another usual form (unsquared, inner product with the other sign,
    1 - cosine) are recognised on the first queries and converted.

    Parameters
    ----------
    ids : ndarray, shape (nq, K)
        Neighbours, nearest first.
    distances : ndarray, shape (nq, K), or None
        As the file gives them.
    base, queries : ndarray, shape (n, d) and (nq, d)
        The vectors; unit vectors under cosine.
    metric : {"l2", "ip", "cosine"}
        Metric of the data set.
    name : object
        File, for messages.
    seed : int
        Which rows are recomputed.

    Returns
    -------
    GroundTruth
        With ``metric`` and distances in riftsim's convention.

    Raises
    ------
    DataError
        As `check_truth`.
    """
    if distances is None:
        _check_ids(ids, base, queries, name)
        distances = listed_distances(ids, base, queries, metric)
    else:
        _check_ids(ids, base, queries, name)
        distances = _converted(ids, distances, base, queries, metric, name, seed)
    truth = GroundTruth(ids.astype(np.int32), distances.astype(np.float32), metric)
    check_truth(truth, base, queries, metric, name, seed)
    return truth


def check_truth(
    truth: GroundTruth, base: np.ndarray, queries: np.ndarray, metric: str, name: object = "ground truth", seed: int = 0
) -> None:
    """Refuse a ground truth that is not the one of these vectors under this metric.

    All ids and the order of all distances are checked; for a few queries drawn with the seed, distances are computed
    again and the base (of a large one, an evenly spread part) is searched for nearer rows that the truth lacks.

    Parameters
    ----------
    truth : GroundTruth
        To be checked.
    base, queries : ndarray, shape (n, d) and (nq, d)
        The vectors.
    metric : {"l2", "ip", "cosine"}
        Metric of the data set.
    name : object
        File, for messages.
    seed : int
        Which queries are recomputed.

    Raises
    ------
    DataError
        Names file, row, what was found and what was expected.
    """
    if truth.metric != metric:
        raise DataError(f"{name}: is for metric {truth.metric!r}, but the vectors are compared by {metric!r}")
    _check_ids(truth.ids, base, queries, name)
    if truth.distances.shape != truth.ids.shape:
        raise DataError(f"{name}: distances of shape {truth.distances.shape}, expected {truth.ids.shape} as the ids")
    if not np.isfinite(truth.distances).all():
        row = int(np.argmin(np.isfinite(truth.distances).all(axis=1)))
        raise DataError(f"{name}: row {row} has a distance that is not a finite number")
    rows = _sampled_rows(len(queries), seed)
    slack = _slack(truth.distances, base, queries, truth.ids)
    falling = np.diff(truth.distances, axis=1) < -slack[:, 1:]
    if falling.any():
        row, place = (int(v) for v in np.argwhere(falling)[0])
        pair = truth.distances[row, place : place + 2]
        raise DataError(
            f"{name}: row {row}: distances fall from {pair[0]:g} to {pair[1]:g} at place {place + 1}, expected nearest "
            f"first: it belongs to another base, metric or query file"
        )
    exact = listed_distances(truth.ids[rows], base, queries[rows], metric)
    differing = np.abs(exact - truth.distances[rows]) > slack[rows]
    if differing.any():
        i, place = (int(v) for v in np.argwhere(differing)[0])
        raise DataError(
            f"{name}: row {rows[i]}, place {place}: distance {truth.distances[rows[i], place]:g}, but the vectors give "
            f"{exact[i, place]:g} under {metric!r}: it belongs to another base, metric or query file"
        )
    _check_complete(truth, base, queries, rows, exact, slack[rows], name)


def _check_complete(truth, base, queries, rows, exact, slack, name) -> None:
    n, d = base.shape
    step = max(1, -(-n * d * len(rows) // _SCANNED_CELLS))
    sample = base[::step]
    for i, row in enumerate(rows):
        distances = all_distances(queries[row], sample, truth.metric)
        nearer = np.flatnonzero(distances < exact[i, -1] - slack[i, -1]) * step
        missing = np.setdiff1d(nearer, truth.ids[row])
        if missing.size:
            found = distances[missing[0] // step]
            raise DataError(
                f"{name}: row {row}: base row {missing[0]} at distance {found:g} is nearer than the last neighbour, "
                f"at {exact[i, -1]:g}: it belongs to another base (a part of this one?), metric or query file"
            )


def _check_ids(ids: np.ndarray, base: np.ndarray, queries: np.ndarray, name: object) -> None:
    if len(ids) != len(queries):
        raise DataError(f"{name}: has {len(ids)} rows, expected {len(queries)}, the number of queries")
    if len(ids) == 0:
        return
    if ids.shape[1] > len(base):
        raise DataError(f"{name}: {ids.shape[1]} neighbours per query, but the base has only {len(base)} rows")
    wrong = (ids < 0) | (ids >= len(base))
    if wrong.any():
        row, place = (int(v) for v in np.argwhere(wrong)[0])
        raise DataError(
            f"{name}: row {row}, place {place}: id {int(ids[row, place])}, expected 0 to {len(base) - 1}: it is of "
            f"another base, or no ground truth"
        )
    ranked = np.sort(ids, axis=1)
    twice = ranked[:, 1:] == ranked[:, :-1]
    if twice.any():
        row, place = (int(v) for v in np.argwhere(twice)[0])
        raise DataError(f"{name}: row {row}: id {int(ranked[row, place])} stands there twice")


def _converted(ids, distances, base, queries, metric, name, seed) -> np.ndarray:
    if distances.shape != ids.shape:
        raise DataError(f"{name}: distances of shape {distances.shape}, expected {ids.shape} as the ids")
    rows = _sampled_rows(len(queries), seed)
    exact = listed_distances(ids[rows], base, queries[rows], metric)
    slack = _slack(exact, base, queries[rows], ids[rows])
    wide = distances.astype(np.float64)
    for convert in _FORMS[metric].values():
        if (np.abs(convert(wide[rows]) - exact) <= slack).all():
            return convert(wide)
    row, found, expected = (int(rows[0]), float(wide[rows[0], 0]), float(exact[0, 0])) if len(rows) else (0, 0.0, 0.0)
    raise DataError(
        f"{name}: row {row}: first distance {found:g}, but the vectors give {expected:g} under {metric!r} (none of "
        f"{', '.join(_FORMS[metric])} fits): it belongs to another base, metric or query file"
    )


def _sampled_rows(count: int, seed: int) -> np.ndarray:
    size = min(count, _SAMPLED_QUERIES)
    return np.sort(stream(seed, "ground truth check").choice(count, size, replace=False)) if size else np.empty(0, int)


def _slack(distances: np.ndarray, base: np.ndarray, queries: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Allowed float32 error of distances that other tools computed, from the squared norms (nq, K)."""
    if base.dtype.itemsize == 1 and queries.dtype.itemsize == 1:
        return np.full(distances.shape, 0.5) + _TOLERANCE * np.abs(distances)
    query_norms = np.einsum("qd,qd->q", queries, queries, dtype=np.float64)
    base_norm = 0.0
    if ids.size:
        some = np.unique(ids[:, 0])[:1024]
        base_norm = float(np.einsum("nd,nd->n", base[some], base[some], dtype=np.float64).max())
    return _TOLERANCE * np.abs(distances) + _NORM_TOLERANCE * (query_norms[:, np.newaxis] + base_norm)
