"""Records kept in a compute node's own memory: which, and what they take.

A cached record is searched like a remote one, without the read. The cache is filled before the first query and does not
change: in order of how often calibration queries expanded a node, or of its hops from the start node.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from riftsim.kernels import query as q
from riftsim.kernels.query import QueryState
from riftsim.search.rounds import RoundSearch

ENTRY_BYTES = 16
"""Of the table that finds a cached record: id and place, 4 B each, in a table that is half full."""


@dataclass(frozen=True)
class RecordCache:
    """A filled cache.

    Attributes
    ----------
    cached : bool (n,)
        Which nodes are in it.
    record_bytes : int
        Size of a record.
    """

    cached: np.ndarray
    record_bytes: int

    @property
    def records(self) -> int:
        """How many records are in it."""
        return int(self.cached.sum())

    @property
    def items(self) -> dict[str, int]:
        """What it takes, in bytes, by what takes it."""
        return {
            "cached records": self.records * self.record_bytes,
            "table of cached records": self.records * ENTRY_BYTES,
        }


def fill_cache(order: np.ndarray, record_bytes: int, capacity_bytes: int) -> RecordCache:
    """Take nodes in order for as long as their records and entries fit.

    Parameters
    ----------
    order : integers (n,)
        All nodes, the most useful first.
    record_bytes, capacity_bytes : int
        Size of a record, and of the cache.

    Returns
    -------
    RecordCache
    """
    cached = np.zeros(len(order), bool)
    cached[order[: max(0, capacity_bytes) // (record_bytes + ENTRY_BYTES)]] = True
    return RecordCache(cached, record_bytes)


def hops_from(start: int, neighbors: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Hops from a node along a graph's edges: int64 (n,), n where there is no path.

    Parameters
    ----------
    start : int
        The node.
    neighbors, degrees : int32 (n, R), int32 (n,)
        The graph.
    """
    n = len(degrees)
    hops = np.full(n, n, np.int64)
    hops[start] = 0
    frontier, distance = np.array([start]), 0
    while len(frontier):
        distance += 1
        valid = np.arange(neighbors.shape[1]) < degrees[frontier, None]
        reached = np.unique(neighbors[frontier][valid])
        frontier = reached[hops[reached] == n]
        hops[frontier] = distance
    return hops


def expanded(state: QueryState) -> np.ndarray:
    """The nodes that a query has expanded so far: integers (expansions,), in no order."""
    seen = state.node_ids >= 0
    return state.node_ids[seen & (state.node_status & q.HAS_ADJACENCY != 0)]


def visited(search: RoundSearch, queries: int) -> Iterator[np.ndarray]:
    """The nodes that each of a search's queries expands: integers (expansions,), in no order."""
    for query in range(queries):
        search.run(query)
        yield expanded(search.state)


def visits(search: RoundSearch, queries: int, n: int) -> np.ndarray:
    """How many of a search's queries expanded each node: int64 (n,)."""
    counts = np.zeros(n, np.int64)
    for nodes in visited(search, queries):
        counts[nodes] += 1
    return counts


def cache_order(hops: np.ndarray, visit_counts: np.ndarray | None = None) -> np.ndarray:
    """Nodes in the order in which they are worth caching: by visits if they are given, then by hops, then by id."""
    if visit_counts is None:
        return np.argsort(hops, kind="stable")
    return np.lexsort((hops, -visit_counts))
