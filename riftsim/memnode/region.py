"""What lies in the memory of the memory nodes: the records of an index, shard after shard."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from riftsim.errors import DataError
from riftsim.files import map_scratch
from riftsim.memnode.layout import NO_ID, RecordLayout
from riftsim.memnode.shards import Placement

_ROWS_AT_ONCE = 65536


@dataclass(frozen=True)
class Region:
    """The records of all memory nodes as one array.

    Attributes
    ----------
    buffer : uint8 (n * record_bytes,)
        The records of memory node 0 by slot, then those of memory node 1, and so on.
    layout : RecordLayout
        Of each record.
    placement : Placement
        Of the ids.
    """

    buffer: np.ndarray
    layout: RecordLayout
    placement: Placement

    @property
    def bases(self) -> np.ndarray:
        """int64 (memory_nodes,): first byte of each memory node's records in ``buffer``."""
        return self.placement.bases[:-1] * self.layout.record_bytes

    @property
    def shard_bytes(self) -> np.ndarray:
        """int64 (memory_nodes,): bytes on each memory node."""
        return np.diff(self.placement.bases) * self.layout.record_bytes

    def shard(self, memory_node: int) -> np.ndarray:
        """Records of one memory node: a view, uint8 (shard_bytes,)."""
        start = int(self.bases[memory_node])
        return self.buffer[start : start + int(self.shard_bytes[memory_node])]

    def locate(self, ids) -> tuple[np.ndarray, np.ndarray]:
        """Memory node (int32) of records and their first byte in that node's shard (int64)."""
        memory_nodes, slots = self.placement.locate(ids)
        return memory_nodes, slots * self.layout.record_bytes

    def decode(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """Vector (dimension,) and neighbours, int32 (degree,), of one record."""
        (memory_node,), (offset,) = self.locate(node)
        record = self.shard(int(memory_node))[offset : offset + self.layout.record_bytes].tobytes()
        vector = np.frombuffer(record, self.layout.dtype, self.layout.dimension)
        degree, *ids = np.frombuffer(record, "<u4", 1 + self.layout.degree, self.layout.vector_bytes).tolist()
        return vector, np.array(ids[:degree], np.int32)

    def accounting(self) -> dict:
        """Bytes by part and by memory node, as JSON can hold them."""
        n = self.placement.n
        return {
            "record_bytes": self.layout.record_bytes,
            "vector_bytes": n * self.layout.vector_bytes,
            "adjacency_bytes": n * self.layout.adjacency_bytes,
            "total_bytes": self.buffer.nbytes,
            "records_per_memory_node": np.diff(self.placement.bases).tolist(),
            "bytes_per_memory_node": self.shard_bytes.tolist(),
        }


def build_region(
    vectors: np.ndarray,
    neighbors: np.ndarray,
    degrees: np.ndarray,
    placement: Placement,
    scratch: Path | None = None,
) -> Region:
    """Lay out the records of an index.

    Parameters
    ----------
    vectors : (n, d) array
        uint8, int8 or float32, in memory or memory-mapped.
    neighbors : int32 (n, R)
        Neighbours in list order, anything after a row's degree.
    degrees : int32 (n,)
        Neighbours of each row.
    placement : Placement
        Of n records.
    scratch : pathlib.Path, optional
        Folder on a disk: the records are then mapped from a nameless file there and need not fit in memory.

    Returns
    -------
    Region

    Raises
    ------
    DataError
        If the arrays are not of one index.
    """
    n, width = neighbors.shape
    if len(vectors) != n or len(degrees) != n or placement.n != n:
        found = f"{len(vectors)} vectors, {n} adjacency lists, {len(degrees)} degrees, placement of {placement.n}"
        raise DataError(f"records: found {found}; expected one number of rows")
    if n and (degrees.min() < 0 or degrees.max() > width):
        row = int(np.flatnonzero((degrees < 0) | (degrees > width))[0])
        raise DataError(f"records: row {row}: found degree {degrees[row]}, expected 0 to {width}")
    layout = RecordLayout(vectors.shape[1], vectors.dtype, width)
    size_bytes = n * layout.record_bytes
    buffer = np.empty(size_bytes, np.uint8) if scratch is None else map_scratch(scratch, np.uint8, (size_bytes,))
    _fill(buffer, layout, placement, vectors, neighbors, degrees)
    return Region(buffer, layout, placement)


def _fill(buffer, layout, placement, vectors, neighbors, degrees) -> None:
    records = buffer.reshape(-1, layout.record_bytes)
    split, ids_at = layout.vector_bytes, layout.vector_bytes + 4
    past_degree = np.arange(layout.degree)
    for first in range(0, len(vectors), _ROWS_AT_ONCE):
        rows = slice(first, min(first + _ROWS_AT_ONCE, len(vectors)))
        ranks = placement.ranks(np.arange(rows.start, rows.stop))
        counts = np.ascontiguousarray(degrees[rows], "<u4")[:, None]
        ids = np.where(past_degree < counts, neighbors[rows].astype(np.int64), NO_ID).astype("<u4")
        records[ranks, :split] = np.ascontiguousarray(vectors[rows]).view(np.uint8)
        records[ranks, split:ids_at] = counts.view(np.uint8)
        records[ranks, ids_at:] = ids.view(np.uint8)
