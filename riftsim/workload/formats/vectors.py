"""One entry to all vector files: the suffix tells the format, the format tells how to read and write it."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from riftsim.errors import DataError
from riftsim.files import atomic_write, room_for, write_npy
from riftsim.workload.formats import annbench, matrix, texmex
from riftsim.workload.formats.checks import check_finite, file_size, fitting_formats, row_chunks


class Format(NamedTuple):
    """How the vectors of one suffix are stored."""

    family: str
    dtype: np.dtype | None


SUFFIXES = {
    ".fvecs": Format("texmex", np.dtype("<f4")),
    ".ivecs": Format("texmex", np.dtype("<i4")),
    ".bvecs": Format("texmex", np.dtype("u1")),
    ".fbin": Format("matrix", np.dtype("<f4")),
    ".f16bin": Format("matrix", np.dtype("<f2")),
    ".u8bin": Format("matrix", np.dtype("u1")),
    ".i8bin": Format("matrix", np.dtype("i1")),
    ".ibin": Format("matrix", np.dtype("<i4")),
    ".bin": Format("matrix", None),
    ".data": Format("matrix", None),
    ".npy": Format("npy", None),
    ".hdf5": Format("hdf5", None),
    ".h5": Format("hdf5", None),
}
"""Formats by suffix; where the type is None it comes from the file or from the caller."""

_CROPPED = re.compile(r"\.crop_nb_\d+$")
_READABLE = tuple(np.dtype(t) for t in ("u1", "i1", "<f4", "<f2", "<f8", "<i4", "<i8"))


def format_of(path: str | os.PathLike, dtype: np.dtype | str | None = None) -> Format:
    """Tell the format of a file from its name (``.crop_nb_N`` of big-ann-benchmarks is looked through).

    Parameters
    ----------
    path : path-like
        File name; the file need not exist.
    dtype : dtype, optional
        What the caller expects; needed for ``.bin`` and ``.data``.

    Returns
    -------
    Format
        Family and element type.

    Raises
    ------
    DataError
        If the suffix is unknown, tells no type and none is given, or stands for another type than the given one.
    """
    name = _CROPPED.sub("", str(path))
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"{path}: unknown suffix {suffix!r}, expected one of {', '.join(SUFFIXES)}")
    family, stored = SUFFIXES[suffix]
    wanted = None if dtype is None else np.dtype(dtype)
    if stored is None:
        if wanted is None and family == "matrix":
            raise DataError(f"{path}: a {suffix} file does not tell its element type, give dtype")
        return Format(family, wanted)
    as_read = np.dtype("f4") if stored == np.float16 else stored
    if wanted is not None and wanted not in (stored, as_read):
        raise DataError(f"{path}: {suffix} files hold {stored.name}, expected {wanted.name}")
    return Format(family, stored)


def open_vectors(
    path: str | os.PathLike, dtype: np.dtype | str | None = None, *, n: int | None = None, part: str = "train"
) -> np.ndarray:
    """Map the vectors of a file into memory without reading them.

    Parameters
    ----------
    path : path-like
        fvecs, bvecs, ivecs, fbin, f16bin, u8bin, i8bin, ibin, bin/data (with ``dtype``), npy or HDF5.
    dtype : dtype, optional
        Expected element type; a file of another type is refused.
    n : int, optional
        Only the first ``n`` rows.
    part : {"train", "test"}
        Which vectors of an ann-benchmarks HDF5 file.

    Returns
    -------
    ndarray, shape (n, d)
        In the type of the file (half precision stays half). Mapped copy-on-write: the file is never changed, and
        offsets are 64 bits wide.

    Raises
    ------
    DataError
        If the file is missing, truncated, oversized, of another format or type, or has fewer than ``n`` rows.
    """
    path = Path(path)
    family, stored = format_of(path, dtype)
    if family == "matrix":
        array = matrix.open_matrix(path, stored)
    elif family == "texmex":
        array = texmex.open_rows(path, stored, n)
    elif family == "npy":
        array = _open_npy(path)
    else:
        array = annbench.open_part(path, part)
    if array.dtype not in _READABLE:
        raise DataError(f"{path}: elements are {array.dtype}, expected one of {', '.join(t.name for t in _READABLE)}")
    if stored is not None and family in ("npy", "hdf5") and array.dtype != stored:
        raise DataError(f"{path}: holds {array.dtype.name}, but {stored.name} is expected")
    if n is not None and array.shape[0] < n:
        raise DataError(f"{path}: has {array.shape[0]} rows, but {n} are asked for")
    return array if n is None else array[:n]


def read_vectors(
    path: str | os.PathLike, dtype: np.dtype | str | None = None, *, n: int | None = None, part: str = "train"
) -> np.ndarray:
    """Read the vectors of a file into memory, checked.

    Parameters
    ----------
    path, dtype, n, part
        As `open_vectors`.

    Returns
    -------
    ndarray, shape (n, d)
        C-contiguous. Half and double precision become float32.

    Raises
    ------
    DataError
        As `open_vectors`; also names the first row with NaN or infinity.
    """
    path = Path(path)
    return in_memory(open_vectors(path, dtype, n=n, part=part), path)


def in_memory(array: np.ndarray, name: object) -> np.ndarray:
    """Copy mapped vectors into memory block by block: contiguous, half and double precision as float32, finite.

    Raises
    ------
    DataError
        Names the first row with NaN or infinity (before or after rounding to float32).
    """
    target = np.dtype("f4") if array.dtype in (np.float16, np.float64) else array.dtype.newbyteorder("=")
    copy = np.empty(array.shape, target)
    with np.errstate(over="ignore"):
        for first, chunk in row_chunks(array):
            copy[first : first + len(chunk)] = chunk
    check_finite(copy, name)
    return copy


class VectorWriter:
    """Writes vectors block by block; made by `vector_writer`."""

    def __init__(self, file: BinaryIO, path: Path, stored: Format, d: int) -> None:
        self._file = file
        self._path = path
        self._format = stored
        self._d = d
        self.rows = 0

    def append(self, block: np.ndarray) -> None:
        """Write more rows.

        Parameters
        ----------
        block : ndarray, shape (rows, d)
            Of the type of the file; float32 may be rounded to half precision.

        Raises
        ------
        DataError
            If shape or type is wrong, or a value is not finite.
        """
        stored = self._format.dtype
        block = np.asarray(block)
        if block.ndim != 2 or block.shape[1] != self._d:
            raise DataError(f"{self._path}: a block of shape {block.shape} is given, expected (rows, {self._d})")
        rounding = stored == np.float16 and block.dtype == np.float32
        if block.dtype != stored and not rounding:
            raise DataError(f"{self._path}: a block of {block.dtype.name} is given, the file holds {stored.name}")
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(block, dtype=stored)
        check_finite(values, f"{self._path} (block from row {self.rows})")
        self._file.write(texmex.row_block(values) if self._format.family == "texmex" else values.tobytes())
        self.rows += len(values)


@contextmanager
def vector_writer(path: str | os.PathLike, d: int, dtype: np.dtype | str | None = None) -> Iterator[VectorWriter]:
    """Write a vector file of any size in blocks; it appears under its name only when complete.

    Parameters
    ----------
    path : path-like
        fvecs, bvecs, ivecs or a bin matrix.
    d : int
        Dimension.
    dtype : dtype, optional
        Needed for ``.bin`` and ``.data``.

    Yields
    ------
    VectorWriter
        With ``append(block)``.

    Raises
    ------
    DataError
        If the format cannot be written in blocks, or nothing was written.
    """
    path = Path(path)
    stored = format_of(path, dtype)
    if stored.family not in ("matrix", "texmex"):
        raise DataError(f"{path}: {path.suffix} files cannot be written in blocks, expected a bin matrix or *vecs file")
    if d < 1:
        raise DataError(f"{path}: dimension {d} is given, expected at least 1")
    with atomic_write(path) as partial, partial.open("wb") as file:
        is_matrix = stored.family == "matrix"
        if is_matrix:
            file.write(matrix.matrix_header(0, d))
        writer = VectorWriter(file, path, stored, d)
        yield writer
        if writer.rows == 0:
            raise DataError(f"{path}: no vectors to write")
        if is_matrix:
            file.seek(0)
            file.write(matrix.matrix_header(writer.rows, d))


def write_vectors(path: str | os.PathLike, array: np.ndarray) -> None:
    """Write a matrix in the format that the suffix names (not HDF5: see `annbench.write_annbench`).

    Parameters
    ----------
    path : path-like
        Where to; replaced only when the new file is complete.
    array : ndarray, shape (n, d)
        Of the type that the suffix stands for; float32 may go to ``.f16bin``.

    Raises
    ------
    DataError
        If shape or type do not fit the format, or a value is not finite.
    """
    path = Path(path)
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"{path}: an array of shape {array.shape} is given, expected (n, d), both at least 1")
    stored = format_of(path, array.dtype)
    if stored.family == "npy":
        check_finite(array, path)
        with room_for(path, array.nbytes), atomic_write(path) as partial, partial.open("wb") as file:
            write_npy(file, np.ascontiguousarray(array))
        return
    with vector_writer(path, array.shape[1], stored.dtype) as writer:
        for _, chunk in row_chunks(array):
            writer.append(chunk)


def _open_npy(path: Path) -> np.ndarray:
    size = file_size(path)
    with path.open("rb") as file:
        head = file.read(len(np.lib.format.MAGIC_PREFIX))
    if head != np.lib.format.MAGIC_PREFIX:
        fits = fitting_formats(path)
        hint = f"; its size fits {' or '.join(fits)}" if fits else ""
        raise DataError(f"{path}: found first bytes {head!r}, expected those of an npy file{hint}")
    try:
        array = np.load(path, mmap_mode="c", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path}: not a whole npy file of {size} bytes: {error}") from None
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"{path}: an array of shape {array.shape}, expected (n, d), both at least 1")
    expected = array.offset + array.nbytes
    if size != expected:
        raise DataError(f"{path}: oversized: its header asks for {expected} bytes, the file has {size}")
    return np.ascontiguousarray(array.view(np.ndarray))
