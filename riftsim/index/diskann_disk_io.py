"""DiskANN's disk index: records in 4,096-byte sectors behind one sector of metadata.

Sector 0 is a "bin" matrix of u8: rows, stored width, start row, record bytes, records per sector, frozen rows, frozen
row, re-ranking flag, file size. A record is the stored values, u4 degree, the u4 neighbours, zeros. Records do not
cross sectors unless one is longer than a sector; then each starts at a sector of its own.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from riftsim.errors import IndexFileError
from riftsim.files import atomic_write, room_for
from riftsim.index._binary import BinaryFile, read_matrix
from riftsim.index.diskann_io import DTYPES, read_metadata
from riftsim.index.graph import Graph, validate
from riftsim.index.imported import ImportedIndex
from riftsim.index.sectors import SECTOR_BYTES, SectorLayout

_SUFFIX = "_disk.index"
_FIELDS = 9
_CHUNK_ROWS = 65536


@dataclass(frozen=True)
class DiskIndex:
    """A disk index.

    Attributes
    ----------
    index : ImportedIndex
        Graph and vectors. ``vectors`` is None where the file stores codes of a disk product quantiser. With metric
        "ip", DiskANN stores vectors of width d+1 prepared so that L2 orders them as the inner product would.
    record_bytes, records_per_sector : int
        The layout; no record per sector means that a record takes several.
    entry_rows, entry_centroids : ndarray (s,) int32 and (s, d) float32, or None
        Entry points of a sharded build: a search begins at the row whose centroid is nearest.
    """

    index: ImportedIndex
    record_bytes: int
    records_per_sector: int
    entry_rows: np.ndarray | None
    entry_centroids: np.ndarray | None


def read_disk_index(path: str | os.PathLike, dtype: np.dtype | None = None) -> DiskIndex:
    """Read a disk index.

    Parameters
    ----------
    path : path-like
        The ``p_disk.index`` file.
    dtype : dtype, optional
        Type of the vectors; by default from ``p_metadata.bin``.

    Raises
    ------
    IndexFileError
        A file that is missing, damaged, or of PipeANN or another variant.
    """
    path = Path(path)
    prefix = os.fspath(path).removesuffix(_SUFFIX)
    known = read_metadata(prefix)
    if dtype is None and known is None:
        raise IndexFileError(f"{path}: found no {Path(prefix).name}_metadata.bin, expected it or the dtype")
    dtype = known[0] if dtype is None else np.dtype(dtype)
    metric = known[1] if known else None
    has_codes = Path(f"{path}_pq_pivots.bin").exists()
    stored = np.dtype(np.uint8) if has_codes else np.dtype(np.float32) if metric == "ip" else dtype
    file = BinaryFile(path)
    n, values, start, record_bytes, per_sector, frozen = _header(file)
    layout = SectorLayout(record_bytes)
    first_list = values * stored.itemsize
    width = (record_bytes - first_list) // 4 - 1
    if width < 1 or (record_bytes - first_list) % 4:
        raise file.error("record bytes", record_bytes, f"{values} x {stored.itemsize} + 4 + 4 R", 8 + 8 * 3)
    if known and known[2] != n - frozen:
        raise file.error("rows", n, f"{known[2] + frozen} as in the metadata", 8)
    vectors, neighbors, degrees = (
        np.empty((n, values), stored),
        np.full((n, width), -1, np.int32),
        np.empty(n, np.int32),
    )
    for first in range(0, n, _CHUNK_ROWS):
        stop = min(first + _CHUNK_ROWS, n)
        records = _records(file.bytes, first, stop, record_bytes, per_sector)
        vectors[first:stop] = np.ascontiguousarray(records[:, :first_list]).view(stored)
        words = np.ascontiguousarray(records[:, first_list:]).view("<u4")
        if len(bad := np.flatnonzero(words[:, 0] > width)):
            row = first + bad[0]
            at = layout.sector_at(row) + layout.within(row)
            raise file.error(f"degree of row {row}", words[bad[0], 0], f"at most {width}", at)
        degrees[first:stop] = words[:, 0]
        used = np.arange(width) < words[:, :1]
        neighbors[first:stop][used] = words[:, 1:].view(np.int32)[used]
    graph = Graph(neighbors, degrees, start)
    validate(graph, str(path))
    index = ImportedIndex(
        graph, None if has_codes else vectors, np.arange(n), np.arange(n) >= n - frozen, metric, str(path)
    )
    return DiskIndex(index, record_bytes, per_sector, *_entries(path, n, values))


def _header(file):
    count = file.expect("<u4", "number of metadata", (_FIELDS, 12))
    file.expect("<u4", "columns of metadata", (1,))
    fields = [int(value) for value in file.array("<u8", count, "metadata")]
    n, values, start, record_bytes, per_sector, frozen, _, flag = fields[:8]
    if flag != 0:
        kind = "re-ranking vectors" if flag == 1 else "the layout of PipeANN"
        raise file.error("metadata 7", f"{flag}, {kind}", "0, an index without appended data", 8 + 8 * 7)
    if fields[-1] != file.size:
        raise file.error("file size", fields[-1], f"{file.size}, the size of the file", 8 + 8 * (count - 1))
    if not 0 < n < 2**31 or values == 0 or start >= n or frozen >= n:
        raise file.error(
            "rows, width, start, frozen rows", (n, values, start, frozen), "1 to 2**31-1 rows, the others within", 8
        )
    if record_bytes == 0 or per_sector != SECTOR_BYTES // record_bytes:
        raise file.error("record bytes and records per sector", (record_bytes, per_sector), "that fill a sector", 32)
    expected = SectorLayout(record_bytes).file_bytes(n)
    if file.size != expected:
        raise file.error("size", file.size, f"{expected} for {n} rows", 8)
    return n, values, start, record_bytes, per_sector, frozen


def _records(data, first, stop, record_bytes, per_sector):
    """Return rows ``first`` to ``stop`` as (rows, record_bytes) bytes."""
    if not per_sector:
        span = SECTOR_BYTES * -(-record_bytes // SECTOR_BYTES)
        return data[SECTOR_BYTES + first * span : SECTOR_BYTES + stop * span].reshape(-1, span)[:, :record_bytes]
    begin, end = first // per_sector, -(-stop // per_sector)
    sectors = data[SECTOR_BYTES * (1 + begin) : SECTOR_BYTES * (1 + end)].reshape(-1, SECTOR_BYTES)
    rows = sectors[:, : per_sector * record_bytes].reshape(-1, record_bytes)
    return rows[first - begin * per_sector : stop - begin * per_sector]


def _entries(path, n, d):
    medoids, centroids = Path(f"{path}_medoids.bin"), Path(f"{path}_centroids.bin")
    if not (medoids.exists() and centroids.exists()):
        return None, None
    rows, centers = read_matrix(medoids, "<u4", 1)[:, 0], read_matrix(centroids, "<f4")
    if len(rows) != len(centers) or (len(rows) and rows.max() >= n):
        raise IndexFileError(
            f"{medoids}: found {len(rows)} rows up to {rows.max(initial=0)}, expected {len(centers)} rows below {n}"
        )
    return rows.astype(np.int32), centers


def write_disk_index(path: str | os.PathLike, graph: Graph, vectors: np.ndarray) -> None:
    """Write the sector file of a disk index (not the product quantiser that DiskANN's own search needs beside it).

    Parameters
    ----------
    path : path-like
        The ``p_disk.index`` file; replaced atomically.
    graph : Graph
        Its width fixes the length of a record.
    vectors : ndarray (n, d)
        uint8, int8 or float32.
    """
    validate(graph, str(path))
    if len(vectors) != graph.n or vectors.dtype not in DTYPES:
        raise IndexFileError(
            f"{path}: found vectors {vectors.dtype} {vectors.shape}, expected uint8, int8 or float32 ({graph.n}, d)"
        )
    n, d = vectors.shape
    first_list = d * vectors.itemsize
    record_bytes = first_list + 4 + 4 * graph.width
    layout = SectorLayout(record_bytes)
    per_sector, together, span = layout.per_sector, max(1, layout.per_sector), layout.span_bytes
    step = max(1, _CHUNK_ROWS // together) * together
    size = layout.file_bytes(n)
    with room_for(path, size), atomic_write(path) as partial, partial.open("wb") as handle:
        sector = np.zeros(SECTOR_BYTES, np.uint8)
        sector[:8] = np.array([_FIELDS, 1], "<u4").view(np.uint8)
        fields = np.array([n, d, graph.start, record_bytes, per_sector, 0, 0, 0, size], "<u8").view(np.uint8)
        sector[8 : 8 + len(fields)] = fields
        handle.write(sector.data)
        for first in range(0, n, step):
            stop = min(first + step, n)
            records = np.zeros((-(-(stop - first) // together) * together, record_bytes), np.uint8)
            part = records[: stop - first]
            part[:, :first_list] = np.ascontiguousarray(vectors[first:stop]).view(np.uint8)
            part[:, first_list : first_list + 4] = graph.degrees[first:stop, None].astype("<u4").view(np.uint8)
            lists = np.maximum(graph.neighbors[first:stop], 0).astype("<u4")  # free places are zeros in the file
            part[:, first_list + 4 :] = lists.view(np.uint8)
            sectors = np.zeros((len(records) // together, span), np.uint8)
            sectors[:, : together * record_bytes] = records.reshape(len(sectors), -1)
            handle.write(sectors.data)
