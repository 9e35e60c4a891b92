"""Files of k nearest neighbours: big-ann ground truth (with or without distances, PipeANN's with tags) and ivecs.

``u4 nq, u4 k``, nq x k int32 ids, then optionally nq x k float32 distances, then (PipeANN) nq x k uint32 tags. Which of
the three it is, only the size tells.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from riftsim.errors import DataError
from riftsim.files import atomic_write
from riftsim.workload.formats.checks import read_head, wrong_size
from riftsim.workload.formats.matrix import HEADER_BYTES, matrix_header
from riftsim.workload.formats.texmex import open_rows


class TruthFile(NamedTuple):
    """What a ground-truth file says; not yet checked against any vectors."""

    ids: np.ndarray
    """int32 (nq, k)."""
    distances: np.ndarray | None
    """float32 (nq, k), or None."""
    tags: np.ndarray | None = None
    """uint32 (nq, k), PipeANN only."""


def read_truth_file(path: str | os.PathLike) -> TruthFile:
    """Read a k-nearest-neighbour file, ivecs by its suffix, anything else as big-ann ground truth.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    TruthFile
        Arrays in memory.

    Raises
    ------
    DataError
        If the size fits none of the forms.
    """
    path = Path(path)
    if path.suffix.lower() == ".ivecs":
        return TruthFile(np.array(open_rows(path, np.dtype("<i4")), np.int32), None)
    nq, k = (int(v) for v in np.frombuffer(read_head(path, HEADER_BYTES), "<u4"))
    cells = nq * k
    parts, rest = divmod(path.stat().st_size - HEADER_BYTES, 4 * cells) if cells else (0, 0)
    if cells == 0:
        raise DataError(f"{path}: the header says {nq} queries x {k} neighbours, expected at least 1 x 1")
    if rest or parts not in (1, 2, 3):
        what = f"a ground truth of {nq} queries x {k} neighbours with distances (ids alone: {HEADER_BYTES + 4 * cells})"
        raise wrong_size(path, what, HEADER_BYTES + 8 * cells)
    with path.open("rb") as file:
        file.seek(HEADER_BYTES)
        blocks = [np.fromfile(file, kind, cells).reshape(nq, k) for kind in ("<i4", "<f4", "<u4")[:parts]]
    return TruthFile(*blocks, *[None] * (2 - len(blocks)))


def write_truth_file(
    path: str | os.PathLike, ids: np.ndarray, distances: np.ndarray | None = None, tags: np.ndarray | None = None
) -> None:
    """Write big-ann ground truth: ids, then distances if given, then PipeANN's tags if given.

    Parameters
    ----------
    path : path-like
        Where to.
    ids : ndarray, shape (nq, k)
        Integers that fit int32.
    distances : ndarray, shape (nq, k), optional
        Written as float32.
    tags : ndarray, shape (nq, k), optional
        Written as uint32; only together with distances.

    Raises
    ------
    DataError
        If shapes differ, or tags are given without distances.
    """
    path = Path(path)
    if tags is not None and distances is None:
        raise DataError(f"{path}: tags can only follow distances")
    for name, block in (("distances", distances), ("tags", tags)):
        if block is not None and block.shape != ids.shape:
            raise DataError(f"{path}: {name} of shape {block.shape} are given, expected {ids.shape} as the ids")
    with atomic_write(path) as partial, partial.open("wb") as file:
        file.write(matrix_header(*ids.shape))
        file.write(np.ascontiguousarray(ids, "<i4").tobytes())
        if distances is not None:
            file.write(np.ascontiguousarray(distances, "<f4").tobytes())
        if tags is not None:
            file.write(np.ascontiguousarray(tags, "<u4").tobytes())
