"""The "bin" matrix of big-ann-benchmarks and DiskANN: ``u4 n, u4 d``, then n x d values row by row, little-endian.

Described in the README of big-ann-benchmarks (fbin, u8bin, i8bin, ibin) and read so by DiskANN. The element type is not
in the file; it comes from the name or from the caller. ``f16bin`` is the same with IEEE half precision.
"""

from pathlib import Path

import numpy as np

from riftsim.errors import DataError
from riftsim.workload.formats.checks import read_head, refuse_integers_as_floats, wrong_size

HEADER_BYTES = 8
MAX_ROWS = 2**32 - 1


def matrix_bytes(n: int, d: int, itemsize: int) -> int:
    """Return the exact size of a bin matrix file (Python integers, so beyond 2^31 as well)."""
    return HEADER_BYTES + int(n) * int(d) * int(itemsize)


def matrix_shape(path: Path, dtype: np.dtype) -> tuple[int, int]:
    """Read the header and check it against the size of the file.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    dtype : numpy.dtype
        Element type.

    Returns
    -------
    (int, int)
        Rows and columns, both at least 1.

    Raises
    ------
    DataError
        If the file is truncated, oversized, empty or of another format.
    """
    n, d = (int(v) for v in np.frombuffer(read_head(path, HEADER_BYTES), "<u4"))
    expected = matrix_bytes(n, d, dtype.itemsize)
    if path.stat().st_size != expected:
        raise wrong_size(path, f"a {path.suffix} file of {n} x {d} {dtype.name}", expected)
    if n == 0 or d == 0:
        raise DataError(f"{path}: the header says {n} x {d}, expected at least one row and one column")
    return n, d


def open_matrix(path: Path, dtype: np.dtype) -> np.ndarray:
    """Map a bin matrix into memory (copy on write: the file is never changed).

    Returns
    -------
    ndarray, shape (n, d)
        C-contiguous, of type ``dtype``.

    Raises
    ------
    DataError
        As `matrix_shape`; also if a float32 file holds int32 values.
    """
    shape = matrix_shape(path, dtype)
    array = np.memmap(path, dtype=dtype, mode="c", offset=HEADER_BYTES, shape=shape).view(np.ndarray)
    if dtype == np.float32:
        refuse_integers_as_floats(array, path)
    return array


def matrix_header(n: int, d: int) -> bytes:
    """Return the eight header bytes.

    Raises
    ------
    DataError
        If ``n`` does not fit the format.
    """
    if n > MAX_ROWS:
        raise DataError(f"{n} rows do not fit a bin matrix, whose row count is a uint32 (at most {MAX_ROWS})")
    return np.array([n, d], "<u4").tobytes()
