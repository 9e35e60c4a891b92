"""DiskANN's in-memory index: graph, vectors, tags, deleted rows, diskannpy's metadata.

The graph ``p`` is a 24-byte header (u8 file size, u4 largest degree, u4 start row, u8 frozen rows F) and one record per
row (u4 degree, then that many u4 rows). ``p.data`` holds the vectors, ``p.tags`` the external ids, ``p.del`` lazily
deleted rows, ``p_metadata.bin`` four u8: dtype, metric, rows without frozen ones, dimension. The last F rows are
frozen: they route and are never returned.
"""

import os
from pathlib import Path

import numpy as np

from riftsim.errors import IndexFileError
from riftsim.files import atomic_write, room_for
from riftsim.index._binary import BinaryFile, read_matrix, write_matrix
from riftsim.index.graph import Graph, validate
from riftsim.index.imported import ImportedIndex

DTYPES = (np.dtype(np.float32), np.dtype(np.int8), np.dtype(np.uint8))
METRICS = ("l2", "ip", "cosine")
_HEADER_BYTES = 24
_CHUNK_ROWS = 65536


def read_memory_index(
    path: str | os.PathLike, dtype: np.dtype | None = None, metric: str | None = None
) -> ImportedIndex:
    """Read an in-memory index with everything that lies beside it.

    Parameters
    ----------
    path : path-like
        The graph file.
    dtype : dtype, optional
        Type of the vectors; needed where there is no metadata file.
    metric : str, optional
        "l2", "ip" or "cosine"; by default what the metadata say.

    Returns
    -------
    ImportedIndex
        Lists keep their order; the width is the largest degree found, which in a dynamic index may exceed the R it was
        built with.

    Raises
    ------
    IndexFileError
        A file that is missing, damaged or does not fit the others.
    """
    path = Path(path)
    graph, frozen = read_graph(path)
    known_dtype, known_metric, known_rows, known_d = read_metadata(path) or (None, None, None, None)
    dtype = _agree(path, "dtype", None if dtype is None else np.dtype(dtype), known_dtype)
    if dtype is None:
        raise IndexFileError(f"{path}: found no {_metadata_path(path).name}, expected it or the dtype of the vectors")
    metric = _agree(path, "metric", metric, known_metric)
    vectors = read_matrix(_beside(path, ".data"), dtype, known_d)
    rows = graph.n
    for name, found, expected in (
        (_beside(path, ".data"), len(vectors), rows),
        (_metadata_path(path), known_rows, rows - frozen),
    ):
        if found is not None and found != expected:
            raise IndexFileError(f"{name}: found {found} rows, expected {expected} as in {path} ({frozen} frozen)")
    ids = np.arange(rows)
    if _beside(path, ".tags").exists():
        tags = read_matrix(_beside(path, ".tags"), "<u4", 1)
        if len(tags) != rows:
            raise IndexFileError(f"{_beside(path, '.tags')}: found {len(tags)} tags, expected {rows} as rows in {path}")
        ids = tags[:, 0].astype(np.int64)
    routing_only = np.arange(rows) >= rows - frozen
    if _beside(path, ".del").exists():
        deleted = read_matrix(_beside(path, ".del"), "<u4", 1)[:, 0]
        if len(deleted) and deleted.max() >= rows:
            raise IndexFileError(f"{_beside(path, '.del')}: found row {deleted.max()}, expected below {rows}")
        routing_only[deleted] = True
    return ImportedIndex(graph, vectors, ids, routing_only, metric, str(path))


def read_graph(path: str | os.PathLike) -> tuple[Graph, int]:
    """Read the graph file alone.

    Returns
    -------
    Graph, int
        The graph and its number of frozen rows.
    """
    file = BinaryFile(path)
    size = file.value("<u8", "file size")
    if size != file.size:
        raise file.error("file size", size, f"{file.size}, the size of the file", 0)
    file.value("<u4", "largest degree")
    start = file.value("<u4", "start row")
    frozen = file.value("<u8", "frozen rows")
    if (file.size - _HEADER_BYTES) % 4:
        raise file.error("rows", f"{file.size - _HEADER_BYTES} bytes", "a multiple of 4")
    words = file.array("<u4", (file.size - _HEADER_BYTES) // 4, "rows")
    counts_at = _walk(words, file)
    n = len(counts_at)
    if frozen >= n or start >= n:
        raise file.error("start and frozen rows", f"{start} and {frozen}", f"below {n} rows", 8)
    degrees = words[counts_at].astype(np.int32)
    width = max(1, int(degrees.max()))
    neighbors = np.full((n, width), -1, np.int32)
    for first in range(0, n, _CHUNK_ROWS):
        part = degrees[first : first + _CHUNK_ROWS]
        begin = counts_at[first]
        chunk = words[begin : counts_at[first + len(part) - 1] + part[-1] + 1]
        is_neighbor = np.ones(len(chunk), bool)
        is_neighbor[counts_at[first : first + len(part)] - begin] = False
        used = np.arange(width) < part[:, None]
        neighbors[first : first + len(part)][used] = chunk[is_neighbor].view(np.int32)
    graph = Graph(neighbors, degrees, start)
    validate(graph, str(path))
    return graph, frozen


def _walk(words, file):
    """Return where each row's degree stands in ``words``; the file does not tell how many rows there are."""
    view = memoryview(np.ascontiguousarray(words))
    end = len(view)
    found = []
    at = 0
    while at < end:
        found.append(at)
        at += view[at] + 1
    if at != end or not found:
        row = max(0, len(found) - 1)
        begin = _HEADER_BYTES + 4 * (found[-1] if found else 0)
        ends = f"a list that ends at byte {_HEADER_BYTES + 4 * at}"
        raise file.error(f"row {row}", ends, f"a row at least, within the {file.size} bytes of the file", begin)
    return np.array(found, np.int64)


def read_metadata(path: str | os.PathLike) -> tuple[np.dtype, str, int, int] | None:
    """Read ``p_metadata.bin`` of the index at ``path``: dtype, metric, rows, dimension; None if there is none."""
    if not _metadata_path(path).exists():
        return None
    file = BinaryFile(_metadata_path(path))
    dtype = DTYPES[file.expect("<u8", "dtype", range(3))]
    metric = METRICS[file.expect("<u8", "metric", range(3))]
    rows, d = (file.value("<u8", field) for field in ("rows", "dimension"))
    file.end()
    return dtype, metric, rows, d


def write_metadata(path: str | os.PathLike, dtype: np.dtype, metric: str, rows: int, d: int) -> None:
    """Write ``p_metadata.bin`` of the index at ``path``, atomically; arguments as ``read_metadata`` returns them."""
    fields = (DTYPES.index(np.dtype(dtype)), METRICS.index(metric), rows, d)
    with atomic_write(_metadata_path(path)) as partial:
        partial.write_bytes(np.array(fields, "<u8").tobytes())


def write_memory_index(
    path: str | os.PathLike,
    graph: Graph,
    vectors: np.ndarray,
    metric: str,
    *,
    tags: np.ndarray | None = None,
    frozen: int = 0,
    deleted: np.ndarray | None = None,
) -> None:
    """Write an in-memory index that DiskANN and diskannpy load: graph, ``.data`` and metadata, each atomically.

    Parameters
    ----------
    path : path-like
        The graph file; the others lie beside it.
    graph : Graph
        Frozen rows last.
    vectors : ndarray (rows, d)
        uint8, int8 or float32, frozen rows included.
    metric : str
        "l2", "ip" or "cosine".
    tags : ndarray (rows,) of unsigned integers below 2**32, optional
        External ids; DiskANN expects one frozen row in a tagged index.
    frozen : int
        Frozen rows, at the end.
    deleted : ndarray of row numbers, optional
        Lazily deleted rows.

    Raises
    ------
    IndexFileError
        If the parts do not fit together.
    """
    validate(graph, str(path))
    if len(vectors) != graph.n or vectors.dtype not in DTYPES:
        raise IndexFileError(
            f"{path}: found vectors {vectors.dtype} {vectors.shape}, expected uint8, int8 or float32 ({graph.n}, d)"
        )
    if metric not in METRICS or not 0 <= frozen < graph.n or (tags is not None and len(tags) != graph.n):
        raise IndexFileError(
            f"{path}: found metric {metric!r}, {frozen} frozen rows and {'no' if tags is None else len(tags)} tags, "
            f"expected one of {', '.join(METRICS)}, fewer than {graph.n} frozen rows and no or {graph.n} tags"
        )
    size = _HEADER_BYTES + 4 * (graph.n + int(graph.degrees.sum(dtype=np.int64)))
    data = _beside(path, ".data")
    with room_for(data, vectors.nbytes), atomic_write(data) as partial, partial.open("wb") as handle:
        write_matrix(handle, vectors)
    for suffix, column in ((".tags", tags), (".del", deleted)):
        _beside(path, suffix).unlink(missing_ok=True)  # of an index that was here before
        if column is not None:
            with atomic_write(_beside(path, suffix)) as partial, partial.open("wb") as handle:
                write_matrix(handle, np.asarray(column).astype("<u4")[:, None])
    write_metadata(path, vectors.dtype, metric, graph.n - frozen, vectors.shape[1])
    with room_for(path, size), atomic_write(path) as partial, partial.open("wb") as handle:
        handle.write(np.array([size], "<u8").tobytes())
        handle.write(np.array([graph.degrees.max(), graph.start], "<u4").tobytes())
        handle.write(np.array([frozen], "<u8").tobytes())
        for first in range(0, graph.n, _CHUNK_ROWS):
            part = graph.degrees[first : first + _CHUNK_ROWS, None]
            records = np.concatenate([part, graph.neighbors[first : first + _CHUNK_ROWS]], axis=1)
            handle.write(records[np.arange(records.shape[1]) <= part].astype("<u4").data)


def _beside(path, suffix: str) -> Path:
    return Path(f"{os.fspath(path)}{suffix}")


def _metadata_path(path) -> Path:
    return _beside(path, "_metadata.bin")


def _agree(path, name, given, stored):
    if given is not None and stored is not None and given != stored:
        raise IndexFileError(f"{_metadata_path(path)}: {name}: found {stored}, expected {given} as asked for")
    return stored if given is None else given
