"""Small indices to search: vectors, a graph, compact codes and records, put together without an experiment file."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from riftsim.index.graph import Graph
from riftsim.kernels.codes import fill_table
from riftsim.kernels.traversal import RemoteIndex
from riftsim.memnode.region import Region, build_region
from riftsim.memnode.shards import Placement, contiguous
from riftsim.quantize.codec import METRIC_CODES, Codec
from riftsim.quantize.full import FullCodec
from riftsim.quantize.pq import ProductCodec
from riftsim.systems.context import SystemContext


@dataclass(frozen=True)
class World:
    """Everything that a search needs, and what an oracle needs to check it."""

    vectors: np.ndarray
    queries: np.ndarray
    graph: Graph
    codec: Codec
    codes: np.ndarray
    hidden: np.ndarray
    region: Region
    remote: RemoteIndex

    def fill(self, query: np.ndarray, table: np.ndarray) -> None:
        codec = self.codec
        shape = codec.metric_code, query, codec.dimension
        fill_table(codec.kind, *shape, codec.chunk_starts, codec.parameters, table)

    @property
    def table_entries(self) -> int:
        return self.codec.table_entries

    def compact(self, query: int) -> np.ndarray:
        """Compact distances of all nodes, float32 (n,)."""
        return self.codec.distances(self.queries[query], self.codes)

    def exact(self, query: int) -> np.ndarray:
        """Exact squared distances of all nodes, float32 (n,); vectors are bytes, so these are whole numbers."""
        difference = self.vectors.astype(np.int64) - self.queries[query].astype(np.int64)
        return (difference**2).sum(axis=1).astype(np.float32)

    def true_neighbors(self, k: int) -> np.ndarray:
        """The k nearest nodes that may be results, of each query: int32 (q, k), -1 where there are fewer."""
        ids = np.full((len(self.queries), k), -1, np.int32)
        for query in range(len(self.queries)):
            nearest = np.argsort(self.exact(query), kind="stable")
            if len(self.hidden):
                nearest = nearest[self.hidden[nearest] == 0]
            ids[query, : len(nearest[:k])] = nearest[:k]
        return ids

    def neighbors(self, node: int) -> list[int]:
        return self.graph.neighbors[node, : self.graph.degrees[node]].tolist()

    def search_arguments(self) -> tuple:
        return self.remote, self.queries, self.fill, self.table_entries

    def context(self, list_size: int, k: int, **changes) -> SystemContext:
        fields = {
            "vectors": self.vectors,
            "queries": self.queries,
            "metric": self.codec.metric_code,
            "graph": self.graph,
            "hidden": self.hidden,
            "remote": self.remote,
            "fill_table": self.fill,
            "table_entries": self.table_entries,
            "list_size": list_size,
            "k": k,
            "threads": 8,
            "queries_per_thread": 1,
            "calibrate_alpha": lambda context, delta, calibration_list_size: 1.15,
            "true_ids": self.true_neighbors(k),
        }
        return SystemContext(**(fields | changes))


def make_world(
    vectors: np.ndarray,
    queries: np.ndarray,
    graph: Graph,
    *,
    codec: Codec | None = None,
    placement: Placement | None = None,
    hidden: np.ndarray | None = None,
    metric: str = "l2",
) -> World:
    """Put an index together; without a codec, the codes are the vectors themselves."""
    codec = codec or FullCodec.train(vectors, metric)
    codes = np.ascontiguousarray(codec.encode(vectors))
    hidden = np.zeros(0, np.uint8) if hidden is None else hidden.astype(np.uint8)
    placement = placement or contiguous(len(vectors), 1)
    region = build_region(vectors, graph.neighbors, graph.degrees, placement)
    remote = RemoteIndex(
        codes=codes.reshape(-1),
        region=region.buffer,
        region_bases=np.ascontiguousarray(region.bases, np.int64),
        placement=placement.parameters,
        positions=placement.positions,
        hidden=hidden,
        code_kind=codec.kind,
        code_bytes=codec.code_bytes,
        metric=METRIC_CODES[metric],
        dimension=vectors.shape[1],
        vector_bytes=region.layout.vector_bytes,
        degree=region.layout.degree,
        start=int(graph.start),
    )
    return World(vectors, queries, graph, codec, codes, hidden, region, remote)


def graph_of(lists: list[list[int]], start: int = 0, width: int | None = None) -> Graph:
    """A graph from adjacency lists."""
    width = width or max(1, max(map(len, lists)))
    neighbors = np.full((len(lists), width), -1, np.int32)
    for node, others in enumerate(lists):
        neighbors[node, : len(others)] = others
    return Graph(neighbors, np.array([len(others) for others in lists], np.int32), start)


@lru_cache(maxsize=64)
def random_world(
    seed: int, n: int = 60, degree: int = 6, *, coarse: bool = True, values: int = 256, hidden: int = 0
) -> World:
    """A random graph over random bytes; ``coarse`` codes of 2 bytes err much, few ``values`` make ties.

    Degrees go from 0 (rarely) to ``degree``; the queries are 4 random vectors.
    """
    rng = np.random.default_rng(seed)
    vectors = rng.integers(0, values, (n, 8)).astype(np.uint8)
    queries = rng.integers(0, values, (4, 8)).astype(np.uint8)
    lists = []
    for node in range(n):
        others = [other for other in range(n) if other != node]
        size = int(rng.integers(0, degree + 1)) if rng.random() < 0.2 else degree
        lists.append(rng.choice(others, min(size, len(others)), replace=False).tolist() if others else [])
    if lists[0] == [] and n > 1:
        lists[0] = [1]
    codec = None
    if coarse:
        pivots = (rng.random((256, 8)) * values).astype(np.float32)
        codec = ProductCodec("l2", pivots, np.zeros(8, np.float32), np.array([0, 3, 8], np.int32))
    mask = np.zeros(n, bool)
    mask[rng.choice(n, hidden, replace=False)] = True
    return make_world(vectors, queries, graph_of(lists, 0, degree), codec=codec, hidden=mask if hidden else None)


def random_worlds(hidden: int = 0) -> SearchStrategy[World]:
    """Small random worlds, down to a single node; with at most this many hidden ones."""
    return st.builds(
        random_world,
        seed=st.integers(0, 5),
        n=st.sampled_from([1, 2, 40, 90]),
        degree=st.sampled_from([1, 4, 7]),
        coarse=st.booleans(),
        values=st.sampled_from([2, 256]),
        hidden=st.integers(0, hidden),
    )
