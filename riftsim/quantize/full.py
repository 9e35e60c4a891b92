"""Exact vectors in the place of codes: the in-memory system is guided by them through the same kernels."""

from typing import Any

import numpy as np

from riftsim.errors import DataError
from riftsim.kernels.codes import CODE_FULL
from riftsim.quantize.codec import Codec


class FullCodec(Codec):
    """The bytes of the vector itself; a distance is exact.

    Parameters
    ----------
    metric : str
        ``"l2"``, ``"ip"`` or ``"cosine"``.
    dimension : int
        Of the vectors.
    dtype : numpy dtype
        uint8, int8 or float32.
    """

    name = "full"
    kind = CODE_FULL

    def __init__(self, metric: str, dimension: int, dtype):
        self.dtype = np.dtype(dtype)
        super().__init__(metric, dimension, dimension * self.dtype.itemsize, 0, {})

    @classmethod
    def train(cls, vectors: np.ndarray, metric: str) -> "FullCodec":
        """Take dimension and dtype from the vectors."""
        return cls(metric, vectors.shape[1], vectors.dtype)

    def encode(self, vectors: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """View the vectors as bytes; without ``out``, contiguous vectors are not copied."""
        self._require_dimension(vectors.shape[1])
        if vectors.dtype != self.dtype:
            raise DataError(f"full codes of {self.dtype} vectors: found {vectors.dtype}, expected the same")
        codes = np.ascontiguousarray(vectors).view(np.uint8).reshape(len(vectors), self.code_bytes)
        if out is None:
            return codes
        out[:] = codes
        return out

    def state(self) -> dict[str, np.ndarray]:
        return {"vector": np.zeros(self.dimension, self.dtype)}

    @classmethod
    def from_state(cls, metric: str, state: dict[str, np.ndarray], facts: dict[str, Any]) -> "FullCodec":
        return cls(metric, len(state["vector"]), state["vector"].dtype)
