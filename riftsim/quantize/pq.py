"""Product quantiser (Jégou et al., TPAMI 2011): one of 256 centroids per chunk of dimensions, one byte per chunk.

Chunks follow DiskANN: where their number does not divide the dimension, the first ones are one dimension wider.
Training is faiss's, on one thread, so that codes depend on vectors and seed alone.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import numpy as np

from riftsim.errors import ConfigError, DataError
from riftsim.kernels.codes import CENTROIDS, CODE_PQ
from riftsim.kernels.codes_encode import encode_chunks
from riftsim.quantize.codec import Codec, portions
from riftsim.rng import stream

_BITS = 8


class ProductCodec(Codec):
    """Codes of ``m`` bytes; ``x`` is taken for ``centroid + pivots`` (rotated back, if there is a rotation).

    Parameters
    ----------
    metric : str
        ``"l2"``, ``"ip"`` or ``"cosine"``.
    pivots : float32 (256, d)
        Row = centroid of every chunk; a chunk's code book is its columns.
    centroid : float32 (d,)
        Subtracted from vectors before they are encoded.
    chunk_starts : int32 (m + 1,)
        First dimension of each chunk, then d.
    rotation : float32 (d, d), optional
        Orthogonal; what is encoded is ``(x - centroid) @ rotation`` (OPQ).
    facts : dict
        How training went.
    """

    name = "pq"
    kind = CODE_PQ

    def __init__(self, metric, pivots, centroid, chunk_starts, rotation=None, facts: dict[str, Any] | None = None):
        chunks = len(chunk_starts) - 1
        super().__init__(metric, pivots.shape[1], chunks, chunks * CENTROIDS, facts or {})
        self.pivots = np.asarray(pivots, np.float32)
        self.centroid = np.asarray(centroid, np.float32)
        self.chunk_starts = np.asarray(chunk_starts, np.int32)
        self.rotation = None if rotation is None else np.asarray(rotation, np.float32)
        parts = [self.pivots.T.ravel(), self.centroid]
        if self.rotation is not None:
            parts.append(self.rotation.ravel())
        self.parameters = np.concatenate(parts)

    @classmethod
    def train(
        cls, vectors: np.ndarray, metric: str, code_bytes: int = 20, seed: int = 0, training_vectors: int = 65536
    ) -> "ProductCodec":
        """Find the centroids of every chunk by k-means.

        Parameters
        ----------
        vectors : (n, d) array
            uint8, int8 or float32.
        metric : str
            ``"l2"``, ``"ip"`` or ``"cosine"``. Codes minimise the squared L2 error under each.
        code_bytes : int
            Number of chunks, at most d.
        seed : int
            Of the choice of training vectors and of k-means.
        training_vectors : int
            How many vectors are taken, at random. With fewer than 256, those are the centroids, and a warning says so.

        Raises
        ------
        ConfigError
            If ``code_bytes`` is not in [1, d].
        """
        starts = chunk_starts_of(vectors.shape[1], code_bytes)
        n = len(vectors)
        taken = min(n, training_vectors)
        if taken == 0:
            raise DataError("product quantiser: found no training vectors, expected at least one")
        chosen = np.sort(stream(seed, "PQ training").choice(n, taken, replace=False)) if taken < n else slice(None)
        points = np.asarray(vectors[chosen], np.float32)
        centroid = _mean(points)
        if metric == "ip":  # as DiskANN: shifting helps differences only
            centroid[:] = 0.0
        points = points - centroid
        facts = {"training_vectors": taken, "centroids": min(CENTROIDS, taken), "seed": seed}
        if taken < CENTROIDS:
            facts["warning"] = (
                f"product quantiser: found {taken} training vectors, expected at least {CENTROIDS}; "
                f"every chunk has {taken} centroids, the training vectors themselves"
            )
            warnings.warn(facts["warning"], stacklevel=2)
            pivots = points[np.minimum(np.arange(CENTROIDS), taken - 1)]
        else:
            pivots = _kmeans(points, starts, seed)
        return cls(metric, pivots, centroid, starts, facts=facts)

    def encode(self, vectors: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Take the nearest centroid (squared L2) of each chunk."""
        codes = self._codes_for(vectors, out)
        for first, rows in portions(vectors):
            points = rows - self.centroid
            if self.rotation is not None:
                points = points @ self.rotation
            encode_chunks(points, self.chunk_starts, self.parameters, codes[first : first + len(rows)])
        return codes

    def state(self) -> dict[str, np.ndarray]:
        arrays = {"pivots": self.pivots, "centroid": self.centroid, "chunk_starts": self.chunk_starts}
        return arrays if self.rotation is None else {**arrays, "rotation": self.rotation}

    @classmethod
    def from_state(cls, metric: str, state: dict[str, np.ndarray], facts: dict[str, Any]) -> "ProductCodec":
        starts, rotation = state["chunk_starts"], state.get("rotation")
        return cls(metric, state["pivots"], state["centroid"], starts, rotation, facts)


def chunk_starts_of(dimension: int, chunks: int) -> np.ndarray:
    """Divide the dimensions: int32 (chunks + 1,), the first ``dimension mod chunks`` chunks one wider."""
    if not 1 <= chunks <= dimension:
        message = f"product quantiser: found {chunks} bytes for {dimension}-d vectors, expected 1 to {dimension}"
        raise ConfigError(message)
    widths = np.full(chunks, dimension // chunks, np.int32)
    widths[: dimension % chunks] += 1
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int32)


def _runs(starts: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield ``(first dimension, dimension after the last, chunks)`` of neighbouring chunks of one width."""
    start = 0
    for width, group in groupby(np.diff(starts).tolist()):
        chunks = len(list(group))
        yield start, start + chunks * width, chunks
        start += chunks * width


def _kmeans(points: np.ndarray, starts: np.ndarray, seed: int) -> np.ndarray:
    import faiss  # slow to import, and only training needs it

    pivots = np.empty((CENTROIDS, points.shape[1]), np.float32)
    with _one_thread():
        for start, stop, chunks in _runs(starts):
            quantizer = faiss.ProductQuantizer(stop - start, chunks, _BITS)
            quantizer.cp.seed = int(stream(seed, "PQ k-means").integers(2**31))
            quantizer.cp.min_points_per_centroid = 1
            quantizer.cp.max_points_per_centroid = len(points)
            quantizer.train(np.ascontiguousarray(points[:, start:stop]))
            books = faiss.vector_to_array(quantizer.centroids).reshape(chunks, CENTROIDS, -1)
            pivots[:, start:stop] = books.transpose(1, 0, 2).reshape(CENTROIDS, -1)
    return pivots


def _mean(points: np.ndarray) -> np.ndarray:
    return points.mean(axis=0, dtype=np.float64).astype(np.float32)


@contextmanager
def _one_thread() -> Iterator[None]:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
