"""Balanced partitions of a data set, each with an HNSW of its own, and a representative index over their centroids.

After d-HNSW (arXiv 2505.11783): capacity-constrained k-means, faiss's HNSW-flat per partition, serialised as a compute
node fetches it.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain

import numpy as np

from riftsim.artifacts import Artifact, ArtifactStore
from riftsim.errors import IndexFileError
from riftsim.kernels.partition import assign_nearest_first
from riftsim.rng import stream

NEAR = 5
"""Centroids that a point keeps; it goes to the nearest one with room."""
ITERATIONS = 15
ALGORITHM = 1
"""Version of the method, part of the key of stored partitions."""

_SAMPLE_PER_CENTROID = 64
_STORED = ("part", "members", "starts", "blobs", "blob_starts", "representative")


@dataclass(frozen=True)
class PartitionedIndex:
    """Partitions as they lie at the memory nodes, and the representative index of the compute node.

    Attributes
    ----------
    part : int32 (n,)
        Partition of each vector.
    members : int32 (n,)
        Vectors by partition, each partition's in ascending order.
    starts : int64 (K + 1,)
        Where each partition begins in ``members``.
    blobs : uint8 (bytes,)
        The serialised HNSW of each partition, one after the other.
    blob_starts : int64 (K + 1,)
        Where each begins.
    representative : uint8 (bytes,)
        The serialised HNSW over the centroids.
    metric : int
        0 squared L2, 1 inner product.
    """

    part: np.ndarray
    members: np.ndarray
    starts: np.ndarray
    blobs: np.ndarray
    blob_starts: np.ndarray
    representative: np.ndarray
    metric: int

    @property
    def partitions(self) -> int:
        """K."""
        return len(self.starts) - 1

    @property
    def blob_bytes(self) -> np.ndarray:
        """Size of each serialised partition, bytes: int64 (K,)."""
        return np.diff(self.blob_starts)


def balanced_clusters(vectors: np.ndarray, partitions: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Cluster into groups of at most ``ceil(n / partitions)`` points by capacity-constrained k-means.

    Every iteration gives points to centroids in the order of their distance, over the ``NEAR`` nearest centroids of
    each point, for as long as a centroid has room; a point whose centroids are all full goes to the nearest one that is
    not.

    Parameters
    ----------
    vectors : ndarray (n, d)
    partitions : int
        At most n.
    seed : int
        Of the start, which is k-means++ on a sample.

    Returns
    -------
    part, centroids : int32 (n,), float32 (partitions, d)
    """
    import faiss

    points = np.ascontiguousarray(vectors, np.float32)
    n = len(points)
    capacity = -(-n // partitions)
    generator = stream(seed, "balanced clusters")
    sample = points[generator.choice(n, min(n, _SAMPLE_PER_CENTROID * partitions), replace=False)]
    centroids = _spread_start(sample, partitions, generator)
    part = np.empty(n, np.int32)
    near_count = min(NEAR, partitions)
    for _ in range(ITERATIONS):
        distances, near = faiss.knn(points, centroids, near_count)
        sizes = np.zeros(partitions, np.int64)
        order = np.argsort(distances, axis=None, kind="stable")
        left = assign_nearest_first(order, near.astype(np.int32), capacity, sizes, part)
        if left:
            _place_rest(points, centroids, capacity, sizes, part)
        sums = np.stack([np.bincount(part, column, partitions) for column in points.T], axis=1)
        counts = np.bincount(part, minlength=partitions)
        filled = counts > 0
        centroids[filled] = (sums[filled] / counts[filled, None]).astype(np.float32)
    return part, centroids


def _spread_start(sample: np.ndarray, partitions: int, generator: np.random.Generator) -> np.ndarray:
    """k-means++: each centroid is drawn with a probability that grows with the distance from those before."""
    chosen = [int(generator.integers(len(sample)))]
    nearest = ((sample - sample[chosen[0]]) ** 2).sum(axis=1, dtype=np.float64)
    while len(chosen) < partitions:
        total = nearest.sum()
        weights = nearest / total if total > 0 else np.full(len(sample), 1 / len(sample))
        chosen.append(int(generator.choice(len(sample), p=weights)))
        nearest = np.minimum(nearest, ((sample - sample[chosen[-1]]) ** 2).sum(axis=1, dtype=np.float64))
    return sample[chosen].copy()


def _place_rest(points: np.ndarray, centroids: np.ndarray, capacity: int, sizes: np.ndarray, part: np.ndarray) -> None:
    """Give each point that found its centroids full to the nearest one with room, in order of the points."""
    for point in np.flatnonzero(part < 0):
        distances = ((centroids - points[point]) ** 2).sum(axis=1)
        distances[sizes >= capacity] = np.inf
        part[point] = np.argmin(distances)
        sizes[part[point]] += 1


def build_partitions(
    vectors: np.ndarray,
    metric: int,
    *,
    partitions: int,
    M: int,
    ef_construction: int,
    seed: int,
) -> PartitionedIndex:
    """Cluster, build the HNSW of every partition and the representative index, and serialise them.

    Parameters
    ----------
    vectors : ndarray (n, d)
    metric : int
        0 squared L2, 1 inner product.
    partitions, M, ef_construction, seed : int
        K, neighbours per node, candidates while building, and the seed of the clusters.

    Returns
    -------
    PartitionedIndex
    """
    import faiss

    part, centroids = balanced_clusters(vectors, partitions, seed)
    members = np.argsort(part, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=partitions))]).astype(np.int64)

    def serialised(rows: np.ndarray) -> np.ndarray:
        faiss.omp_set_num_threads(1)  # of this thread alone, so that an index depends on its vectors alone
        return _serialised(rows, metric, M, ef_construction)

    with ThreadPoolExecutor(faiss.omp_get_max_threads()) as threads:
        groups = (vectors[members[starts[number] : starts[number + 1]]] for number in range(partitions))
        *blobs, representative = threads.map(serialised, chain(groups, [centroids]))
    blob_starts = np.concatenate([[0], np.cumsum([len(blob) for blob in blobs])]).astype(np.int64)
    return PartitionedIndex(part, members, starts, np.concatenate(blobs), blob_starts, representative, metric)


def _serialised(vectors: np.ndarray, metric: int, M: int, ef_construction: int) -> np.ndarray:
    import faiss

    index = faiss.IndexHNSWFlat(vectors.shape[1], M, faiss.METRIC_INNER_PRODUCT if metric else faiss.METRIC_L2)
    index.hnsw.efConstruction = ef_construction
    index.add(np.ascontiguousarray(vectors, np.float32))
    return faiss.serialize_index(index)


def deserialised(blob: np.ndarray):
    """The faiss index of serialised bytes (uint8).

    Raises
    ------
    IndexFileError
        The bytes are no index of faiss.
    """
    import faiss

    try:
        return faiss.deserialize_index(blob)
    except RuntimeError as error:
        raise IndexFileError(f"a partition of {len(blob)} bytes is no serialised index: {error}") from error


def stored_partitions(
    vectors: np.ndarray,
    metric: int,
    *,
    fingerprint: str,
    partitions: int,
    M: int,
    ef_construction: int,
    seed: int,
    store: ArtifactStore,
) -> PartitionedIndex:
    """Load the partitions of these vectors and parameters from the cache, or build and keep them.

    Parameters
    ----------
    fingerprint : str
        Content hash of ``vectors``.
    store : ArtifactStore
    vectors, metric, partitions, M, ef_construction, seed
        As for ``build_partitions``.
    """
    settings = {"partitions": partitions, "M": M, "ef_construction": ef_construction, "seed": seed}
    recipe = {"algorithm": ALGORITHM, "vectors": fingerprint, "n": len(vectors), "metric": metric, **settings}

    def make() -> Artifact:
        built = build_partitions(vectors, metric, **settings)
        return Artifact({name: getattr(built, name) for name in _STORED})

    arrays = store.get_or_make("partitions", recipe, make).arrays
    return PartitionedIndex(*(arrays[name] for name in _STORED), metric)
