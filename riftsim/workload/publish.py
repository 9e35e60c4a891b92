"""Writes a data set as a folder that can be handed on: vector files, exact ground truth, data-set file, checksums."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from riftsim.errors import DataError
from riftsim.files import atomic_write
from riftsim.workload.formats import open_vectors, read_vectors, write_truth_file, write_vectors
from riftsim.workload.groundtruth import DEFAULT_K, exact_topk
from riftsim.workload.spec import DatasetSpec, PooledSplit, spec_yaml

SUFFIX_OF = {"uint8": "u8bin", "int8": "i8bin", "float16": "f16bin", "float32": "fbin"}
"""big-ann suffix by element type."""


def publish_dataset(
    folder: str | os.PathLike,
    name: str,
    description: str,
    licence: str,
    vectors: dict[str, np.ndarray],
    dtype: str,
    truth_sizes: list[int],
    calibration: int = 1000,
    say: Callable[[str], None] = lambda line: None,
) -> DatasetSpec:
    """Write an L2 data set with exact ground truth.

    Parameters
    ----------
    folder : path-like
        Made if needed; files of the same names are replaced.
    name, description, licence : str
        For the data-set file.
    vectors : dict of str to ndarray
        ``base``, ``query`` and ``calib``, each (rows, d); float32 where ``dtype`` is float16.
    dtype : {"uint8", "int8", "float16", "float32"}
        Type in the files; ground truth is computed from what the files hold, rounding included.
    truth_sizes : list of int
        Base sizes with ground truth; those above the base are left out, the whole base is always in.
    calibration : int
        Calibration queries of the pooled split.
    say : callable
        Gets one line per step.

    Returns
    -------
    DatasetSpec
        What was written to ``NAME.yaml``.

    Raises
    ------
    DataError
        If there are no more pooled queries than calibration queries, or the folder cannot be written.
    """
    folder = Path(folder)
    pooled = len(vectors["query"]) + len(vectors["calib"])
    if calibration >= pooled:
        raise DataError(f"{folder}: {calibration} calibration queries are asked for, expected below {pooled}, the pool")
    files = {part: f"{part}.{SUFFIX_OF[dtype]}" for part in ("base", "query", "calib")}
    n, d = vectors["base"].shape
    truths: dict[str, dict[int, str]] = {"query": {}, "calib": {}}
    try:
        for part, file in files.items():
            write_vectors(folder / file, vectors[part])
            say(f"{folder / file}: {len(vectors[part])} x {d} {dtype}")
        base = open_vectors(folder / files["base"])
        if dtype == "float16":
            base = read_vectors(folder / files["base"])
        for part, prefix in (("query", "gt"), ("calib", "gt_calib")):
            queries = read_vectors(folder / files[part])
            for size in sorted({min(size, n) for size in [*truth_sizes, n]}):
                file = f"{prefix}_{size}.ibin"
                found = exact_topk(base[:size], queries, min(DEFAULT_K, size), "l2")
                write_truth_file(folder / file, found.ids, found.distances)
                truths[part][size] = file
                say(f"{folder / file}: {found.depth} neighbours of {len(queries)} queries in the first {size} rows")
        written = [*files.values(), *truths["query"].values(), *truths["calib"].values()]
        sums = {file: _sha256(folder / file) for file in written}
        spec = DatasetSpec(
            name=name,
            description=description,
            licence=licence,
            metric="l2",
            dtype=dtype,
            dimension=d,
            n=n,
            base=files["base"],
            queries=files["query"],
            calibration=files["calib"],
            truth=truths["query"],
            calibration_truth=truths["calib"],
            split=PooledSplit(calibration=calibration),
            sha256=sums,
        )
        with atomic_write(folder / "SHA256SUMS") as partial:
            partial.write_text("".join(f"{value}  {file}\n" for file, value in sorted(sums.items())))
        with atomic_write(folder / f"{name}.yaml") as partial:
            partial.write_text(spec_yaml(spec), encoding="utf-8")
    except OSError as error:
        raise DataError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error
    return spec


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
