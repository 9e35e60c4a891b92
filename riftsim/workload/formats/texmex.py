"""The TEXMEX formats fvecs, ivecs, bvecs: no header; each row is ``i4 d``, then d values (corpus-texmex.irisa.fr)."""

from pathlib import Path

import numpy as np

from riftsim.errors import DataError
from riftsim.workload.formats.checks import fitting_formats, read_head, refuse_integers_as_floats, row_chunks


def open_rows(path: Path, dtype: np.dtype, n: int | None = None) -> np.ndarray:
    """Map a TEXMEX file into memory and check the length that stands before every row.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    dtype : numpy.dtype
        float32, int32 or uint8.
    n : int, optional
        Open only the first ``n`` rows; the lengths of later rows are not read.

    Returns
    -------
    ndarray, shape (n, d)
        A strided view (4 bytes between rows are skipped), copy on write.

    Raises
    ------
    DataError
        If the file is empty, ends within a row, or a row has another length.
    """
    d = int(np.frombuffer(read_head(path, 4), "<i4")[0])
    size = path.stat().st_size
    row_bytes = 4 + d * dtype.itemsize
    if d < 1 or row_bytes > size:
        raise DataError(f"{path}: the first row says {d} values, which a file of {size} bytes cannot hold{_hint(path)}")
    if size % row_bytes:
        raise DataError(
            f"{path}: truncated or of another format: rows of {d} {dtype.name} have {row_bytes} bytes, "
            f"but {size} bytes leave a rest of {size % row_bytes}{_hint(path)}"
        )
    rows = size // row_bytes
    if n is not None:
        rows = min(rows, n)
    layout = np.dtype([("d", "<i4"), ("values", dtype, (d,))])
    table = np.memmap(path, dtype=layout, mode="c", shape=(rows,)).view(np.ndarray)
    for first, lengths in row_chunks(table["d"][:, np.newaxis], 1 << 20):
        wrong = lengths[:, 0] != d
        if wrong.any():
            row = first + int(np.argmax(wrong))
            raise DataError(
                f"{path}: row {row} says {int(table['d'][row])} values, expected {d} as in row 0{_hint(path)}"
            )
    values = table["values"]
    if dtype == np.float32:
        refuse_integers_as_floats(values, path)
    return values


def row_block(values: np.ndarray) -> bytes:
    """Return the bytes of some rows as they stand in the file.

    Parameters
    ----------
    values : ndarray, shape (rows, d)
        float32, int32 or uint8.
    """
    rows, d = values.shape
    table = np.empty(rows, np.dtype([("d", "<i4"), ("values", values.dtype.newbyteorder("<"), (d,))]))
    table["d"] = d
    table["values"] = values
    return table.tobytes()


def _hint(path: Path) -> str:
    fits = fitting_formats(path)
    return f"; its size fits {' or '.join(fits)}" if fits else ""
