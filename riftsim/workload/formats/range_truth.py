"""Range-search ground truth: ``i4 nq, i4 total``, nq counts, all ids, then optionally all float32 distances.

big-ann-benchmarks writes it with distances, DiskANN reads it only without; both are read and written here. Its header
looks like that of a k-nearest-neighbour file: which one it is, the caller must know.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from riftsim.errors import DataError
from riftsim.files import atomic_write
from riftsim.workload.formats.checks import read_head, wrong_size

_HEADER_BYTES = 8


class RangeTruth(NamedTuple):
    """Neighbours within a radius: those of query i are ``ids[starts[i] : starts[i + 1]]``."""

    starts: np.ndarray
    """int64 (nq + 1,)."""
    ids: np.ndarray
    """int32 (total,)."""
    distances: np.ndarray | None
    """float32 (total,), or None."""


def read_range_truth(path: str | os.PathLike) -> RangeTruth:
    """Read a range ground truth.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    RangeTruth
        Arrays in memory.

    Raises
    ------
    DataError
        If the size fits neither form, or the counts do not add up to the total.
    """
    path = Path(path)
    nq, total = (int(v) for v in np.frombuffer(read_head(path, _HEADER_BYTES), "<i4"))
    if nq < 1 or total < 0:
        raise DataError(f"{path}: the header says {nq} queries and {total} neighbours, expected at least 1 and 0")
    size = path.stat().st_size
    bare = _HEADER_BYTES + 4 * nq + 4 * total
    if size not in (bare, bare + 4 * total):
        what = f"a range ground truth of {nq} queries and {total} neighbours with distances (ids alone: {bare})"
        raise wrong_size(path, what, bare + 4 * total)
    with path.open("rb") as file:
        file.seek(_HEADER_BYTES)
        counts = np.fromfile(file, "<i4", nq).astype(np.int64)
        ids = np.fromfile(file, "<i4", total)
        distances = np.fromfile(file, "<f4", total) if size != bare else None
    if (counts < 0).any() or int(counts.sum()) != total:
        raise DataError(f"{path}: the counts of {nq} queries add up to {int(counts.sum())}, the header says {total}")
    return RangeTruth(np.concatenate(([0], np.cumsum(counts))), ids, distances)


def write_range_truth(path: str | os.PathLike, truth: RangeTruth) -> None:
    """Write a range ground truth; without distances in the form that DiskANN reads.

    Raises
    ------
    DataError
        If ids and starts do not belong together.
    """
    path = Path(path)
    total = len(truth.ids)
    if int(truth.starts[-1]) != total or (truth.distances is not None and len(truth.distances) != total):
        raise DataError(f"{path}: starts end at {int(truth.starts[-1])}, expected {total}, the number of ids")
    counts = np.diff(truth.starts)
    with atomic_write(path) as partial, partial.open("wb") as file:
        file.write(np.array([len(counts), total], "<i4").tobytes())
        file.write(counts.astype("<i4").tobytes())
        file.write(np.ascontiguousarray(truth.ids, "<i4").tobytes())
        if truth.distances is not None:
            file.write(np.ascontiguousarray(truth.distances, "<f4").tobytes())
