"""Product quantisers and codes in DiskANN's files: ``_pq_pivots.bin``, ``_pq_compressed.bin``, OPQ rotation.

A pivots file begins with a table of byte offsets (4 today, 5 in older releases, where a permutation of the dimensions
that DiskANN ignores comes third). At each offset lies one matrix: uint32 rows, uint32 columns, the values row by row.
"""

import os
from pathlib import Path

import numpy as np

from riftsim.errors import IndexFileError
from riftsim.files import atomic_write
from riftsim.kernels.codes import CENTROIDS
from riftsim.quantize.pq import ProductCodec

_HEADER_BYTES = 4096
_MATRIX_HEADER_BYTES = 8


def rotation_path(pivots_path: str | os.PathLike) -> Path:
    """Return the path at which DiskANN keeps the OPQ rotation of a pivots file."""
    return Path(f"{pivots_path}_rotation_matrix.bin")


def read_codec(pivots_path: str | os.PathLike, metric: str = "l2") -> ProductCodec:
    """Read a product quantiser, with its rotation if that file lies beside.

    Parameters
    ----------
    pivots_path : path-like
        ``<prefix>_pq_pivots.bin``.
    metric : str
        Of the index; the file does not say it.

    Raises
    ------
    IndexFileError
        If the file is damaged or of another format; says what was found.
    """
    path = Path(pivots_path)
    content = _read(path)
    offsets = _matrix(path, content, 0, "<u8")
    if offsets.shape not in ((4, 1), (5, 1)):
        raise IndexFileError(f"{path}: {_shape(offsets)} offsets, expected 4x1 or 5x1: not a pivots file of DiskANN")
    places = [int(offset) for offset in offsets[:, 0]]
    if places[-1] != len(content):
        raise IndexFileError(f"{path}: {len(content)} bytes, expected {places[-1]} (truncated, or another format)")
    pivots = _matrix(path, content, places[0], "<f4")
    centroid = _matrix(path, content, places[1], "<f4")
    starts = _matrix(path, content, places[-2], "<u4")
    d = pivots.shape[1]
    if len(pivots) != CENTROIDS or centroid.shape != (d, 1):
        found = f"{_shape(pivots)} pivots and {_shape(centroid)} centroid"
        raise IndexFileError(f"{path}: {found}, expected {CENTROIDS}xd and dx1")
    chunk_starts = starts[:, 0].astype(np.int64)
    if starts.shape[1] != 1 or len(starts) < 2 or chunk_starts[0] != 0 or chunk_starts[-1] != d:
        raise IndexFileError(f"{path}: chunk starts {chunk_starts.tolist()}, expected 0 to {d} in one column")
    if (np.diff(chunk_starts) <= 0).any():
        raise IndexFileError(f"{path}: chunk starts {chunk_starts.tolist()}, expected rising numbers")
    if not (np.isfinite(pivots).all() and np.isfinite(centroid).all()):
        raise IndexFileError(f"{path}: found values that are not finite among the pivots, expected none")
    rotation = None
    beside = rotation_path(path)
    if beside.exists():
        rotation = _whole_matrix(beside, "<f4")
        if rotation.shape != (d, d):
            raise IndexFileError(f"{beside}: {_shape(rotation)} rotation, expected {d}x{d} as in {path.name}")
    return ProductCodec(metric, pivots, centroid[:, 0], chunk_starts, rotation, {"file": path.name})


def write_codec(codec: ProductCodec, pivots_path: str | os.PathLike, with_permutation: bool = False) -> None:
    """Write a product quantiser as DiskANN reads it, and its rotation beside if it has one.

    Parameters
    ----------
    codec : ProductCodec
        Any.
    pivots_path : path-like
        ``<prefix>_pq_pivots.bin``.
    with_permutation : bool
        Write the older form of 5 offsets, which PipeANN demands.
    """
    matrices = [codec.pivots.astype("<f4"), codec.centroid.astype("<f4")[:, None]]
    if with_permutation:
        matrices.append(np.arange(codec.dimension, dtype="<u4")[:, None])
    matrices.append(codec.chunk_starts.astype("<u4")[:, None])
    ends = _HEADER_BYTES + np.cumsum([_MATRIX_HEADER_BYTES + matrix.nbytes for matrix in matrices])
    offsets = np.array([_HEADER_BYTES, *ends], "<u8")[:, None]
    header = _matrix_bytes(offsets)
    with atomic_write(pivots_path) as partial, partial.open("wb") as file:
        file.write(header.ljust(_HEADER_BYTES, b"\0"))
        for matrix in matrices:
            file.write(_matrix_bytes(matrix))
    if codec.rotation is not None:
        with atomic_write(rotation_path(pivots_path)) as partial:
            partial.write_bytes(_matrix_bytes(codec.rotation.astype("<f4")))


def read_codes(path: str | os.PathLike, codec: ProductCodec | None = None, n: int | None = None) -> np.ndarray:
    """Read ``<prefix>_pq_compressed.bin``: uint8 (n, code_bytes).

    Parameters
    ----------
    path : path-like
        The file.
    codec : ProductCodec, optional
        Refuse codes of another width.
    n : int, optional
        Refuse codes of another number of vectors.
    """
    codes = _whole_matrix(Path(path), "u1")
    if codec is not None and codes.shape[1] != codec.code_bytes:
        raise IndexFileError(f"{path}: codes of {codes.shape[1]} bytes, expected {codec.code_bytes} as the pivots say")
    if n is not None and len(codes) != n:
        raise IndexFileError(f"{path}: codes of {len(codes)} vectors, expected {n}")
    return codes


def write_codes(codes: np.ndarray, path: str | os.PathLike) -> None:
    """Write codes, uint8 (n, code_bytes), as DiskANN reads them."""
    with atomic_write(path) as partial, partial.open("wb") as file:
        file.write(np.array(codes.shape, "<u4").tobytes())
        file.write(np.ascontiguousarray(codes, np.uint8).data)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IndexFileError(f"{path}: cannot be read ({error.strerror})") from error


def _matrix(path: Path, content: bytes, place: int, dtype: str) -> np.ndarray:
    if place + _MATRIX_HEADER_BYTES > len(content):
        raise IndexFileError(f"{path}: {len(content)} bytes, expected a matrix at byte {place}")
    rows, columns = (int(number) for number in np.frombuffer(content, "<u4", 2, place))
    needed = place + _MATRIX_HEADER_BYTES + rows * columns * np.dtype(dtype).itemsize
    if needed > len(content):
        message = f"{path}: {len(content)} bytes, expected {needed} for the {rows}x{columns} matrix at byte {place}"
        raise IndexFileError(message)
    return np.frombuffer(content, dtype, rows * columns, place + _MATRIX_HEADER_BYTES).reshape(rows, columns)


def _whole_matrix(path: Path, dtype: str) -> np.ndarray:
    content = _read(path)
    matrix = _matrix(path, content, 0, dtype)
    if len(content) != _MATRIX_HEADER_BYTES + matrix.nbytes:
        expected = _MATRIX_HEADER_BYTES + matrix.nbytes
        raise IndexFileError(f"{path}: {len(content)} bytes, expected {expected} for {_shape(matrix)} values")
    return matrix.copy()


def _matrix_bytes(matrix: np.ndarray) -> bytes:
    return np.array(matrix.shape, "<u4").tobytes() + np.ascontiguousarray(matrix).tobytes()


def _shape(matrix: np.ndarray) -> str:
    return "x".join(map(str, matrix.shape))
