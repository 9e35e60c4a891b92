"""What every compact code offers: train, encode, one table per query, distances.

A codec is trained once on the vectors of an index; the compute node keeps its parameters and one code per vector.
Kernels that search take the arrays of :class:`CodeArguments` and know nothing else about it.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from riftsim.errors import ConfigError, DataError
from riftsim.kernels.codes import code_distances, fill_table
from riftsim.kernels.views import flat_view

METRIC_CODES = {"l2": 0, "ip": 1, "cosine": 0}
"""Metric of a data set to metric of the kernels; under cosine, vectors and queries are unit vectors."""

ROWS_AT_ONCE = 65536
"""Vectors that are converted to float32 at a time, so that memory-mapped sets of any size can be encoded."""


class CodeArguments(NamedTuple):
    """What the kernels of ``riftsim.kernels.codes`` need to know of a codec."""

    kind: int
    metric: int
    dimension: int
    code_bytes: int
    table_entries: int
    chunk_starts: np.ndarray
    """int32 (m + 1,) or (0,)"""
    parameters: np.ndarray
    """float32, laid out as the kind says"""


class Codec(ABC):
    """A trained compact code.

    Attributes
    ----------
    name : str
        Kind for people and configurations: ``"pq"``, ``"sq8"``, ``"full"``.
    kind : int
        Kind for kernels (``riftsim.kernels.codes.CODE_*``).
    metric : str
        ``"l2"``, ``"ip"`` or ``"cosine"``.
    dimension : int
        Of the vectors.
    code_bytes : int
        Size of one code.
    table_entries : int
        float32 values of one query's table.
    chunk_starts, parameters : numpy.ndarray
        What :func:`riftsim.kernels.codes.fill_table` takes (int32 and float32, flat).
    facts : dict
        How training went, as JSON can hold it.
    """

    name: ClassVar[str]
    kind: ClassVar[int]

    def __init__(self, metric: str, dimension: int, code_bytes: int, table_entries: int, facts: dict[str, Any]):
        if metric not in METRIC_CODES:
            raise ConfigError(f"metric {metric!r}: expected one of {', '.join(METRIC_CODES)}")
        self.metric = metric
        self.dimension = dimension
        self.code_bytes = code_bytes
        self.table_entries = table_entries
        self.chunk_starts = np.zeros(0, np.int32)
        self.parameters = np.zeros(0, np.float32)
        self.facts = facts

    @property
    def metric_code(self) -> int:
        """Metric of the kernels: 0 squared L2, 1 minus the inner product."""
        return METRIC_CODES[self.metric]

    @property
    def state_bytes(self) -> int:
        """Bytes that the compute node keeps besides codes and tables."""
        return self.chunk_starts.nbytes + self.parameters.nbytes

    @property
    def arguments(self) -> CodeArguments:
        """The codec as kernels take it."""
        return CodeArguments(
            self.kind,
            self.metric_code,
            self.dimension,
            self.code_bytes,
            self.table_entries,
            self.chunk_starts,
            self.parameters,
        )

    @abstractmethod
    def encode(self, vectors: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Encode vectors, in portions if they are many.

        Parameters
        ----------
        vectors : (n, d) array
            uint8, int8 or float32, in memory or memory-mapped.
        out : uint8 (n, code_bytes), optional
            Where to write.

        Returns
        -------
        uint8 (n, code_bytes)
            The codes.
        """

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays from which :meth:`from_state` makes the codec again."""

    @classmethod
    @abstractmethod
    def from_state(cls, metric: str, state: dict[str, np.ndarray], facts: dict[str, Any]) -> "Codec":
        """Make the codec that :meth:`state` came from."""

    def table(self, query: np.ndarray) -> np.ndarray:
        """Build the table of one query.

        Parameters
        ----------
        query : (d,) array
            uint8, int8 or float32.

        Returns
        -------
        float32 (table_entries,)
        """
        self._require_dimension(query.shape[-1])
        table = np.empty(self.table_entries, np.float32)
        query = flat_view(np.ascontiguousarray(query))
        fill_table(self.kind, self.metric_code, query, self.dimension, self.chunk_starts, self.parameters, table)
        return table

    def distances(self, query: np.ndarray, codes: np.ndarray, table: np.ndarray | None = None) -> np.ndarray:
        """Compact distances of one query to codes.

        Parameters
        ----------
        query : (d,) array
            In the dtype of the vectors.
        codes : uint8 (n, code_bytes)
            Of any vectors.
        table : float32 (table_entries,), optional
            The query's table, if it is there already.

        Returns
        -------
        float32 (n,)
            Squared L2, or minus the inner product.
        """
        table = self.table(query) if table is None else table
        ids = np.arange(len(codes), dtype=np.int32)
        distances = np.empty(len(codes), np.float32)
        query, codes = flat_view(np.ascontiguousarray(query)), flat_view(np.ascontiguousarray(codes))
        shape = (self.code_bytes, self.dimension)
        code_distances(self.kind, self.metric_code, table, query, codes, *shape, ids, distances)
        return distances

    def _require_dimension(self, found: int) -> None:
        if found != self.dimension:
            raise DataError(f"{self.name} codes of {self.dimension}-d vectors: found {found}-d, expected the same")

    def _codes_for(self, vectors: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        self._require_dimension(vectors.shape[1])
        return np.empty((len(vectors), self.code_bytes), np.uint8) if out is None else out


def portions(vectors: np.ndarray):
    """Yield ``(first row, float32 rows)`` of vectors, a bounded number of rows at a time."""
    for first in range(0, len(vectors), ROWS_AT_ONCE):
        yield first, np.ascontiguousarray(vectors[first : first + ROWS_AT_ONCE], dtype=np.float32)
