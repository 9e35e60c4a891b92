"""Search in the partitions that a representative index routes a query to (d-HNSW)."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from riftsim.errors import ProtocolError
from riftsim.index.partitions import PartitionedIndex, deserialised
from riftsim.search.messages import Answer, ReadRequest, Step, Work


class Found(NamedTuple):
    """What the search of one partition brought, and what it took."""

    ids: np.ndarray
    """int32 (k,), rows of the data set; -1 where there is none."""
    distances: np.ndarray
    """float32 (k,), internal distances."""
    work: Work


@dataclass(frozen=True)
class PartitionSearch:
    """Routing, the search of a partition, and the answer of a query: all real, by faiss, each done once and kept.

    Attributes
    ----------
    index : PartitionedIndex
    queries : float32 (q, d)
        The evaluated queries.
    routed, ef, k : int
        Partitions that a query is routed to, candidates in each of them, and results.
    memory_nodes : int
        Partition p lies at memory node p modulo their number.
    """

    index: PartitionedIndex
    queries: np.ndarray
    routed: int
    ef: int
    k: int
    memory_nodes: int = 1

    @cached_property
    def _routes(self) -> dict[int, tuple[list[int], Work]]:
        return {}

    @cached_property
    def _found(self) -> dict[tuple[int, int], Found]:
        return {}

    @cached_property
    def _representative(self):
        return deserialised(self.index.representative)

    @cached_property
    def _indices(self) -> dict[int, object]:
        return {}

    def place(self, partition: int) -> tuple[int, int, int]:
        """Memory node of a partition, its first byte there, and its length."""
        sizes, node = self.index.blob_bytes, partition % self.memory_nodes
        return node, int(sizes[node : partition : self.memory_nodes].sum()), int(sizes[partition])

    def route(self, query: int) -> tuple[list[int], Work]:
        """Partitions of a query, the nearest centroid first, and the work of finding them."""
        if query not in self._routes:
            ids, _, work = _searched(self._representative, self.queries[query], self.routed, 2 * self.routed)
            self._routes[query] = [int(part) for part in ids if part >= 0], work._replace(queries=1)
        return self._routes[query]

    def search(self, query: int, partition: int) -> Found:
        """Search one partition for one query."""
        key = query, partition
        if key not in self._found:
            index = self.index
            if partition not in self._indices:
                begin, end = index.blob_starts[partition : partition + 2]
                self._indices[partition] = deserialised(index.blobs[begin:end])
            self._found[key] = self.search_in(self._indices[partition], query, partition)
        return self._found[key]

    def search_in(self, deserialised_index, query: int, partition: int) -> Found:
        """Search a partition for one query in an index that was deserialised by somebody else."""
        index = self.index
        ids, distances, work = _searched(deserialised_index, self.queries[query], self.k, self.ef)
        rows = index.members[index.starts[partition] + np.maximum(ids, 0)]
        distances = np.where(ids < 0, np.inf, -distances if index.metric else distances).astype(np.float32)
        return Found(np.where(ids < 0, -1, rows).astype(np.int32), distances, work)

    def answer(self, query: int, fetched: list[int]) -> Answer:
        """The k nearest of all partitions that the query is routed to; ``fetched`` are those read on its account."""
        return self.merged(query, [self.search(query, partition) for partition in self.route(query)[0]], fetched)

    def merged(self, query: int, found: list[Found], fetched: list[int]) -> Answer:
        """The k nearest of what was found in every partition that the query is routed to, in any order."""
        routes, routing = self.route(query)
        ids = np.concatenate([each.ids for each in found])
        distances = np.concatenate([each.distances for each in found])
        order = np.lexsort((ids, distances))[: self.k]
        counts = {
            "evaluations": routing.local_exact + sum(each.work.local_exact for each in found),
            "exact_evaluations": sum(each.work.local_exact for each in found),
            "hops": sum(each.work.lists for each in found),
            "partitions": len(routes),
            "partitions_read": len(fetched),
            "bytes_read": sum(self.place(partition)[2] for partition in fetched),
        }
        return Answer(ids[order], distances[order], counts)


def _searched(index, query: np.ndarray, k: int, ef: int) -> tuple[np.ndarray, np.ndarray, Work]:
    """Search a faiss HNSW: ids and distances of k, and the work that faiss counted."""
    import faiss

    stats = faiss.cvar.hnsw_stats
    stats.reset()
    found = min(k, index.ntotal)
    parameters = faiss.SearchParametersHNSW(efSearch=max(ef, found))
    distances, ids = index.search(query[None], k, params=parameters)
    evaluated = int(stats.ndis)
    work = Work(lists=int(stats.nhops), neighbors=evaluated, local_exact=evaluated, merged=evaluated + k)
    return ids[0], distances[0], work


class RoutedSearch:
    """One query alone as a program: read every partition that it is routed to, search each, and merge.

    Batches, the cache and the pipeline are the compute node's affair (``computenode.batches``); the results are the
    same.

    Parameters
    ----------
    search : PartitionSearch
    """

    def __init__(self, search: PartitionSearch):
        self.search = search
        self._query = -1
        self._open: dict[int, int] = {}

    def start(self, query_index: int) -> Step:
        """Route the query and read its partitions."""
        self._query = query_index
        routes, work = self.search.route(query_index)
        self._open = dict(enumerate(routes))
        return Step(work, self._requests(list(self._open)))

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Search the partitions that have come."""
        self._require_open(reads, tasks)
        work = Work()
        for tag in reads:
            found = self.search.search(self._query, self._open.pop(tag))
            work = Work(*(a + b for a, b in zip(work, found.work, strict=True)))
        return Step(work, done=not self._open)

    def retry(self, reads: list[int]) -> Step:
        """Ask again for partitions whose reads failed, under the same tags."""
        self._require_open(reads, [])
        return Step(Work(), self._requests(reads))

    def answer(self) -> Answer:
        """Return the results of the search."""
        return self.search.answer(self._query, self.search.route(self._query)[0])

    def _requests(self, tags: list[int]) -> tuple[ReadRequest, ...]:
        return tuple(
            ReadRequest(tag, partition, 0, *self.search.place(partition))
            for tag, partition in ((tag, self._open[tag]) for tag in tags)
        )

    def _require_open(self, reads: list[int], tasks: list[int]) -> None:
        strangers = [tag for tag in reads if tag not in self._open]
        if strangers or tasks or len(set(reads)) < len(reads):
            raise ProtocolError(f"reads {reads} and tasks {tasks} completed; expected reads of {sorted(self._open)}")
