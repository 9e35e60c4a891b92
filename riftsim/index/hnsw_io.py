"""Level 0 of HNSW indices that hnswlib and faiss wrote.

Only the bottom level is read: all rows are in it. Searches begin at the top level's entry row. Rows that hnswlib marks
as deleted route but are not returned.
"""

import os

import numpy as np

from riftsim.index._binary import BinaryFile
from riftsim.index.graph import Graph, validate
from riftsim.index.imported import ImportedIndex

_MAX_ROWS = 2**31 - 1
_MAX_DIMENSION = 1 << 20


def read_hnswlib(path: str | os.PathLike, dtype: np.dtype, metric: str) -> ImportedIndex:
    """Read a ``.bin`` file of hnswlib.

    Parameters
    ----------
    path : path-like
        The file.
    dtype : dtype
        Type of the vectors, which the file does not tell.
    metric : str
        "l2", "ip" or "cosine", which the file does not tell; cosine indices hold normalised vectors.

    Raises
    ------
    IndexFileError
        A file that is damaged or of another layout.
    """
    file, dtype = BinaryFile(path), np.dtype(dtype)
    file.expect("<u8", "level-0 offset", (0,))
    capacity = file.value("<u8", "capacity")
    n = file.expect("<u8", "rows", range(1, _MAX_ROWS + 1))
    if capacity < n:
        raise file.error("capacity", capacity, f"at least the {n} rows", 8)
    record_bytes, label_at, vector_at = (file.value("<u8", name) for name in ("record bytes", "label at", "vector at"))
    top = file.value("<i4", "top level")
    entry = file.expect("<u4", "entry row", range(n))
    max_upper, max_base, _m = (file.value("<u8", name) for name in ("maxM", "maxM0", "M"))
    file.value("<f8", "level factor")
    file.value("<u8", "efConstruction")
    vector_bytes = record_bytes - 8 - vector_at
    if vector_at != 4 + 4 * max_base or label_at != record_bytes - 8 or vector_bytes <= 0:
        raise file.error(
            "record layout", (record_bytes, label_at, vector_at), f"4 + 4 x {max_base}, a vector, an 8-byte label", 24
        )
    if vector_bytes % dtype.itemsize:
        raise file.error("vector bytes", vector_bytes, f"a multiple of {dtype.itemsize} for {dtype}", 40)
    records = file.array(np.uint8, n * record_bytes, f"{n} records").reshape(n, record_bytes)
    _skip_upper_levels(file, n, top, 4 + 4 * max_upper)
    file.end()

    counts = np.ascontiguousarray(records[:, :2]).view("<u2")[:, 0].astype(np.int32)
    slots = np.ascontiguousarray(records[:, 4:vector_at]).view("<i4")
    graph = _graph(counts, slots, entry, path)
    vectors = np.ascontiguousarray(records[:, vector_at:label_at]).view(dtype)
    labels = np.ascontiguousarray(records[:, label_at:]).view("<i8")[:, 0]
    return ImportedIndex(graph, vectors, labels.copy(), (records[:, 2] & 1) != 0, metric, str(path))


def _skip_upper_levels(file, n, top, level_bytes):
    for row in range(n):
        size = file.value("<u4", f"upper levels of row {row}")
        if size % level_bytes or size > max(top, 0) * level_bytes:
            raise file.error(
                f"upper levels of row {row}", size, f"0 to {top} times {level_bytes} bytes", file.offset - 4
            )
        file.array(np.uint8, size, f"upper levels of row {row}")


def _graph(counts, slots, start, path):
    """Make a graph of ``counts`` neighbours per row; what lies past them in ``slots`` is stale."""
    width = slots.shape[1]
    used = np.arange(width) < counts[:, None]
    graph = Graph(np.where(used, slots, np.int32(-1)), counts, start)
    validate(graph, str(path))
    return graph


def read_faiss_hnsw(path: str | os.PathLike) -> ImportedIndex:
    """Read a faiss file: IndexHNSWFlat, IndexHNSWSQ with 8-bit direct codes, or an IDMap of one.

    Vectors are None where the file was written without storage.

    Raises
    ------
    IndexFileError
        A file that is damaged, or of a kind that is not supported.
    """
    file = BinaryFile(path)
    code = _code(file, (b"IHNf", b"IHNs", b"IxMp"))
    mapped = code == b"IxMp"
    d, n, metric = _faiss_header(file)
    if mapped:
        code = _code(file, (b"IHNf", b"IHNs"))
        if _faiss_header(file) != (d, n, metric):
            raise file.error("inner index", "another size or metric", f"{(d, n, metric)} of the mapping")
    graph = _faiss_graph(file, n, path)
    vectors = _faiss_storage(file, d, n, metric)
    ids = np.arange(n)
    if mapped:
        ids = np.array(_items(file, "<i8", "external ids", n), np.int64)
    file.end()
    return ImportedIndex(graph, vectors, ids, np.zeros(n, bool), metric, str(path))


def _code(file, accepted):
    offset = file.offset
    found = file.array(np.uint8, 4, "index kind").tobytes()
    if found not in accepted:
        raise file.error("index kind", found, " or ".join(code.decode() for code in accepted), offset)
    return found


def _faiss_header(file):
    d = file.expect("<i4", "dimension", range(1, _MAX_DIMENSION + 1))
    n = file.expect("<i8", "rows", range(1, _MAX_ROWS + 1))
    for _ in range(2):
        file.value("<i8", "reserved")
    file.expect(np.uint8, "trained", (1,))
    metric = ("ip", "l2")[file.expect("<i4", "metric (0 inner product, 1 L2)", (0, 1))]
    return d, n, metric


def _items(file, dtype, field, count=None):
    offset = file.offset
    length = file.value("<u8", f"length of {field}")
    if count is not None and length != count:
        raise file.error(f"length of {field}", length, count, offset)
    return file.array(dtype, length, field)


def _faiss_graph(file, n, path):
    _items(file, "<f8", "level probabilities")
    offset = file.offset
    cumulative = np.array(_items(file, "<i4", "neighbours per level"), np.int64)
    if len(cumulative) < 2 or cumulative[0] != 0 or (np.diff(cumulative) <= 0).any():
        raise file.error("neighbours per level", cumulative.tolist(), "an ascending list from 0", offset)
    levels = _items(file, "<i4", "levels", n)
    if levels.min() < 1 or levels.max() >= len(cumulative):
        raise file.error("levels", (levels.min(), levels.max()), f"1 to {len(cumulative) - 1}")
    offset = file.offset
    offsets = np.array(_items(file, "<u8", "offsets", n + 1), np.int64)
    if offsets[0] != 0 or (np.diff(offsets) != cumulative[levels]).any():
        raise file.error("offsets", "a list that does not fit the levels", "steps of the levels' neighbours", offset)
    neighbors = _items(file, "<i4", "neighbours", int(offsets[-1]))
    entry = file.expect("<i4", "entry row", range(n))
    for field in ("top level", "efConstruction", "efSearch", "reserved"):
        file.value("<i4", field)
    width = int(cumulative[1])
    slots = neighbors[offsets[:-1, None] + np.arange(width)]
    ends = slots == -1
    counts = np.where(ends.any(axis=1), ends.argmax(axis=1), width).astype(np.int32)
    return _graph(counts, slots, entry, path)


def _faiss_storage(file, d, n, metric):
    code = _code(file, (b"IxF2", b"IxFI", b"IxSQ", b"null"))
    if code == b"null":
        return None
    if _faiss_header(file) != (d, n, metric):
        raise file.error("storage", "another size or metric", (d, n, metric))
    if code != b"IxSQ":
        return np.array(_items(file, "<f4", "vectors", n * d)).reshape(n, d)
    file.expect("<i4", "quantiser type (5: the codes are the vectors)", (5,))
    file.value("<i4", "range kind")
    file.value("<f4", "range argument")
    file.expect("<u8", "dimension of the codes", (d,))
    file.expect("<u8", "bytes of a code", (d,))
    _items(file, "<f4", "trained values")
    return np.array(_items(file, np.uint8, "codes", n * d)).reshape(n, d)
