"""Reading packed little-endian files with every size checked against the file before anything is allocated."""

import os
from pathlib import Path

import numpy as np

from riftsim.errors import IndexFileError


class BinaryFile:
    """A memory-mapped file read from front to back.

    Parameters
    ----------
    path : path-like
        The file. Missing or empty is an ``IndexFileError``.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        try:
            self.bytes = np.memmap(self.path, np.uint8, mode="r") if self.path.stat().st_size else np.empty(0, np.uint8)
        except OSError as error:
            raise IndexFileError(f"{self.path}: cannot be read: {error.strerror}") from error
        self.offset = 0

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self.bytes)

    def error(self, field: str, found, expected, offset: int | None = None) -> IndexFileError:
        """Make the error of a field at ``offset`` (by default where reading stands)."""
        at = self.offset if offset is None else offset
        return IndexFileError(f"{self.path}: byte {at}: {field}: found {found}, expected {expected}")

    def array(self, dtype, count: int, field: str) -> np.ndarray:
        """Take ``count`` values, as a read-only view of the file."""
        dtype = np.dtype(dtype)
        count = int(count)
        left = self.size - self.offset
        if count * dtype.itemsize > left:
            raise self.error(field, f"{left} bytes left in the file", f"{count} x {dtype.itemsize} bytes")
        taken = self.bytes[self.offset : self.offset + count * dtype.itemsize].view(dtype)
        self.offset += count * dtype.itemsize
        return taken

    def value(self, dtype, field: str):
        """Take one value, as a Python number."""
        return self.array(dtype, 1, field)[0].item()

    def expect(self, dtype, field: str, accepted) -> int:
        """Take one value that must be among ``accepted`` (a container)."""
        offset = self.offset
        value = self.value(dtype, field)
        if value not in accepted:
            raise self.error(field, value, _describe(accepted), offset)
        return value

    def end(self) -> None:
        """Require that nothing is left."""
        if self.offset != self.size:
            raise self.error("end of file", f"{self.size - self.offset} more bytes", "none")


def read_matrix(path: str | os.PathLike, dtype, columns: int | None = None) -> np.ndarray:
    """Map a "bin" matrix: u4 rows, u4 columns, then the values.

    Parameters
    ----------
    columns : int, optional
        What the file must have.

    Returns
    -------
    ndarray (rows, columns)
        Read-only.
    """
    file = BinaryFile(path)
    rows = file.value("<u4", "rows")
    width = file.expect("<u4", "columns", range(1, 1 << 32) if columns is None else (columns,))
    values = file.array(dtype, rows * width, f"values of {rows} x {width}")
    file.end()
    return values.reshape(rows, width)


def write_matrix(handle, matrix: np.ndarray) -> None:
    """Write a "bin" matrix to a binary file handle."""
    handle.write(np.array(matrix.shape, "<u4").tobytes())
    handle.write(np.ascontiguousarray(matrix).data)


def _describe(accepted) -> str:
    if isinstance(accepted, range):
        return f"{accepted.start} to {accepted.stop - 1}"
    return " or ".join(str(value) for value in accepted)
