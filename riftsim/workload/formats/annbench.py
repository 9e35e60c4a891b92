"""HDF5 files of ann-benchmarks: ``train``, ``test``, ``neighbors``, ``distances``; attributes ``distance``, ``type``.

Dense euclidean and angular sets can be used. hamming and jaccard are refused: no metric here stands for them. Their
distances are converted to riftsim's: euclidean is stored unsquared, angular as 1 - cosine (squared L2 of unit vectors
is twice that).
"""

from pathlib import Path

import numpy as np

from riftsim.errors import DataError
from riftsim.files import atomic_write
from riftsim.workload.formats.checks import file_size
from riftsim.workload.formats.truth import TruthFile

METRICS = {"euclidean": "l2", "angular": "cosine"}
_REFUSED = {
    "hamming": "bit vectors under Hamming distance are not supported",
    "jaccard": "sets under Jaccard distance are not supported",
}


def open_part(path: Path, part: str) -> np.ndarray:
    """Map ``train`` or ``test`` into memory (read where HDF5 stores it in chunks).

    Returns
    -------
    ndarray, shape (n, d)
        In the type of the file.

    Raises
    ------
    DataError
        If the file is no ann-benchmarks file, is truncated, or its metric is not supported.
    """
    with _open(path) as file:
        _metric(file, path)
        data = _dataset(file, path, part)
        offset = data.id.get_offset()
        if offset is None:
            return data[...]
        shape, dtype = data.shape, data.dtype
    if offset + data_bytes(shape, dtype) > file_size(path):
        raise DataError(f"{path}: truncated: {part!r} ends beyond the {file_size(path)} bytes of the file")
    return np.memmap(path, dtype=dtype, mode="c", offset=offset, shape=shape).view(np.ndarray)


def data_bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Return the size in bytes of an array of this shape."""
    return int(np.prod(shape, dtype=object)) * dtype.itemsize


def annbench_metric(path: Path) -> str:
    """Return the metric of a file: ``"l2"`` or ``"cosine"``.

    Raises
    ------
    DataError
        If the file's distance is neither euclidean nor angular.
    """
    with _open(path) as file:
        return _metric(file, path)


def read_annbench_truth(path: Path) -> TruthFile:
    """Read the neighbours of the test vectors.

    Returns
    -------
    TruthFile
        ids int32 (nq, k); distances float32 (nq, k) in riftsim's convention (squared L2; for angular that of unit
        vectors), or None if the file has none.

    Raises
    ------
    DataError
        As `open_part`.
    """
    with _open(path) as file:
        metric = _metric(file, path)
        ids = _dataset(file, path, "neighbors")[...]
        distances = _dataset(file, path, "distances")[...].astype(np.float64) if "distances" in file else None
    if distances is not None and distances.shape != ids.shape:
        raise DataError(f"{path}: distances have shape {distances.shape}, expected {ids.shape} as neighbors")
    if ids.size and int(ids.max()) >= 2**31:
        raise DataError(f"{path}: neighbour id {int(ids.max())} does not fit int32")
    if distances is not None:
        distances = (distances**2 if metric == "l2" else 2.0 * distances).astype(np.float32)
    return TruthFile(ids.astype(np.int32), distances)


def write_annbench(
    path: Path, base: np.ndarray, queries: np.ndarray, ids: np.ndarray, distances: np.ndarray, metric: str
) -> None:
    """Write an ann-benchmarks file that its own reader understands.

    Parameters
    ----------
    path : pathlib.Path
        Where to.
    base, queries : ndarray, shape (n, d) and (nq, d)
        float32.
    ids, distances : ndarray, shape (nq, k)
        Ground truth in riftsim's convention (squared L2; for cosine that of unit vectors).
    metric : {"l2", "cosine"}
        Written as ``euclidean`` or ``angular``.

    Raises
    ------
    DataError
        If the metric has no name in ann-benchmarks.
    """
    import h5py

    names = {ours: theirs for theirs, ours in METRICS.items()}
    if metric not in names:
        raise DataError(f"{path}: metric {metric!r} cannot be written, expected one of {', '.join(names)}")
    squared = np.maximum(distances.astype(np.float64), 0.0)
    with atomic_write(path) as partial, h5py.File(partial, "w") as file:
        file.attrs.update(type="dense", distance=names[metric], dimension=base.shape[1], point_type="float")
        file["train"] = np.asarray(base, np.float32)
        file["test"] = np.asarray(queries, np.float32)
        file["neighbors"] = ids.astype(np.int64)
        file["distances"] = np.sqrt(squared) if metric == "l2" else squared / 2.0


def _open(path: Path):
    import h5py

    size = file_size(path)
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise DataError(f"{path}: not a whole HDF5 file ({size} bytes): {error}") from None


def _metric(file, path: Path) -> str:
    distance = file.attrs.get("distance")
    if isinstance(distance, bytes):
        distance = distance.decode()
    if distance in _REFUSED:
        raise DataError(f"{path}: distance {distance!r}: {_REFUSED[distance]}; expected {' or '.join(METRICS)}")
    if distance not in METRICS:
        raise DataError(f"{path}: attribute 'distance' is {distance!r}, expected {' or '.join(METRICS)}")
    if file.attrs.get("type", "dense") not in ("dense", b"dense"):
        raise DataError(f"{path}: vectors of type {file.attrs['type']!r}, expected 'dense'")
    return METRICS[distance]


def _dataset(file, path: Path, name: str):
    if name not in file:
        raise DataError(f"{path}: no data set {name!r} in it, found {', '.join(sorted(file)) or 'none'}")
    data = file[name]
    if data.ndim != 2 or 0 in data.shape:
        raise DataError(f"{path}: {name!r} has shape {data.shape}, expected a matrix with at least one row")
    return data
