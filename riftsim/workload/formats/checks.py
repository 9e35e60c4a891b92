"""Checks shared by all readers: sizes before anything is allocated, and values row by row.

A file is refused before memory is asked for: the header says how many bytes there must be, the file system says how
many there are. Where they differ, the message names every other format that the same bytes would fit, since a file
under another format's name is the usual cause.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from riftsim.errors import DataError

CHUNK_BYTES = 16 << 20
"""Size of the blocks in which values are checked and converted."""

MAX_NORM = 9e18
"""Vectors up to this length are at most 3.3e38 apart squared, which float32 still holds."""

_MAGIC = {b"\x89HDF": "HDF5", b"\x93NUM": "npy", b"PAR1": "Parquet", b"\x1f\x8b\x08": "gzip", b"PK\x03\x04": "zip"}


def file_size(path: Path) -> int:
    """Return the size of a file in bytes.

    Raises
    ------
    DataError
        If the file does not exist, is not a regular file or cannot be read.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if not path.is_file():
        raise DataError(f"{path}: not a file")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path}: no permission to read it")
    return path.stat().st_size


def read_head(path: Path, count: int) -> bytes:
    """Return the first ``count`` bytes of a file that has at least that many and no other format's signature.

    Raises
    ------
    DataError
        If the file is shorter, or begins with the signature of HDF5, npy, Parquet, gzip or zip.
    """
    size = file_size(path)
    with path.open("rb") as file:
        head = file.read(count)
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            raise DataError(f"{path}: a {name} file by its first bytes, not the {path.suffix} file its name promises")
    if len(head) < count:
        raise DataError(f"{path}: {size} bytes are too few, a {path.suffix} file has at least {count}")
    return head


def fitting_formats(path: Path) -> list[str]:
    """Name the vector and ground-truth formats whose size rule the file fulfils.

    Parameters
    ----------
    path : pathlib.Path
        Any file.

    Returns
    -------
    list of str
        Format names; empty if none fits.
    """
    size = file_size(path)
    if size < 8:
        return []
    with path.open("rb") as file:
        head = file.read(8)
        rows, columns = (int(v) for v in np.frombuffer(head, "<u4"))
        cells = rows * columns
        names = []
        if cells:
            for item_bytes, name in ((1, "u8bin/i8bin"), (2, "f16bin"), (4, "fbin/ibin")):
                if size == 8 + cells * item_bytes:
                    names.append(name)
            if size == 8 + 8 * cells:
                names.append("big-ann ground truth (ids and distances)")
            if size == 8 + 12 * cells:
                names.append("PipeANN ground truth (ids, distances, tags)")
        dimension = rows
        for item_bytes, name in ((4, "fvecs/ivecs"), (1, "bvecs")):
            row_bytes = 4 + dimension * item_bytes
            if dimension and size % row_bytes == 0:
                file.seek(size - row_bytes)
                if int.from_bytes(file.read(4), "little") == dimension:
                    names.append(name)
    return names


def wrong_size(path: Path, what: str, expected_bytes: int) -> DataError:
    """Make the error for a file whose size is not what its header says.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    what : str
        What the header says, e.g. ``"u8bin of 100 x 16"``.
    expected_bytes : int
        The size that the header asks for.

    Returns
    -------
    DataError
        To be raised by the caller.
    """
    found = file_size(path)
    state = "truncated" if found < expected_bytes else "oversized"
    fits = fitting_formats(path)
    hint = f"; its size fits {' or '.join(fits)}" if fits else ""
    return DataError(f"{path}: {state}: {what} has {expected_bytes} bytes, the file has {found}{hint}")


def row_chunks(array: np.ndarray, chunk_bytes: int = CHUNK_BYTES) -> Iterator[tuple[int, np.ndarray]]:
    """Walk over the rows of a matrix in blocks of about ``chunk_bytes``.

    Yields
    ------
    (int, ndarray)
        Index of the first row of the block, and the block, a view.
    """
    row_bytes = max(1, array.shape[1] * array.itemsize)
    rows = max(1, chunk_bytes // row_bytes)
    for first in range(0, array.shape[0], rows):
        yield first, array[first : first + rows]


def check_finite(array: np.ndarray, name: object) -> None:
    """Refuse NaN and infinity in floating-point rows, and rows so long that squared distances are infinite.

    Parameters
    ----------
    array : ndarray, shape (n, d)
        Vectors; integers pass unread.
    name : object
        File or array, for the message.

    Raises
    ------
    DataError
        Names the first bad row and column, and what is there.
    """
    if not np.issubdtype(array.dtype, np.floating):
        return
    for first, chunk in row_chunks(array):
        good = np.isfinite(chunk)
        if not good.all():
            row, column = (int(v) for v in np.argwhere(~good)[0])
            raise DataError(
                f"{name}: row {first + row}, column {column} is {chunk[row, column]}, expected a finite number"
            )
        limit = float(np.float32(MAX_NORM / math.sqrt(max(1, chunk.shape[1]))))
        if chunk.size and max(float(chunk.max()), -float(chunk.min())) > limit:
            row, column = (int(v) for v in np.argwhere(np.abs(chunk) > limit)[0])
            raise DataError(
                f"{name}: row {first + row}, column {column} is {chunk[row, column]:.3g}, expected at most {limit:.3g} "
                f"in size: squared distances are float32"
            )


def refuse_integers_as_floats(array: np.ndarray, path: Path) -> None:
    """Refuse a float32 file whose values are int32 numbers: small integers read as floats are all subnormal.

    Parameters
    ----------
    array : ndarray, shape (n, d)
        Mapped vectors; the first 256 rows are looked at.
    path : pathlib.Path
        For the message.

    Raises
    ------
    DataError
        If every non-zero value is below the smallest normal float32.
    """
    values = np.asarray(array[:256])
    filled = values[values != 0]
    if filled.size and bool((np.abs(filled) < np.finfo(np.float32).tiny).all()):
        raise DataError(f"{path}: the values are int32 numbers, not the float32 that {path.suffix} promises")
