"""In-memory Vamana: the whole index in local DRAM, exact vectors guide the traversal (RiftANN, section 2.3).

The upper bound that disaggregated systems are held against: no remote reads, one main thread per query from beginning
to end.
"""

import numpy as np

from riftsim.errors import ProtocolError
from riftsim.index.search import search_batch
from riftsim.kernels.engine_tables import SEARCH_LOCAL
from riftsim.search.messages import Answer, Step, Work
from riftsim.systems.context import System, SystemContext


class _Results:
    """All evaluated queries searched at once, on first use: the outcome depends on no clock."""

    def __init__(self, context: SystemContext):
        self._context = context
        self.queries = context.queries
        self._found: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def of(self, query_index: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._found is None:
            context = self._context
            graph, hidden = context.graph, context.hidden
            self._found = search_batch(
                context.vectors,
                context.queries.shape[1],
                context.metric,
                graph.neighbors,
                graph.degrees,
                graph.start,
                context.queries,
                context.list_size,
                context.k,
                hidden=hidden if len(hidden) else None,
            )
        ids, distances, counts = self._found
        return ids[query_index], distances[query_index], counts[query_index]


class InMemorySearch:
    """A best-first search that needs nothing from elsewhere: it ends in the step in which it starts."""

    compiled_kind = SEARCH_LOCAL

    def __init__(self, results: _Results):
        self._results = results
        self._query = -1

    def start(self, query_index: int) -> Step:
        """Search from beginning to end."""
        self._query = query_index
        return Step(self.work_of(query_index), done=True)

    def prepare(self, query_index: int) -> None:
        """Say which query ``answer`` is asked for."""
        self._query = query_index

    @property
    def queries(self) -> np.ndarray:
        """The evaluated queries."""
        return self._results.queries

    def work_of(self, query_index: int) -> Work:
        """All that the search of one query takes."""
        _, _, (expansions, evaluations, insertions, neighbors) = self._results.of(query_index)
        return Work(
            queries=1,
            lists=int(expansions),
            neighbors=int(neighbors),
            local_exact=int(evaluations),
            insertions=int(insertions),
            merged=int(evaluations),
        )

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Never called: the search reads nothing and evaluates by itself."""
        raise ProtocolError(f"an in-memory search posts nothing, but was told of reads {reads} and tasks {tasks}")

    def retry(self, reads: list[int]) -> Step:
        """Never called, likewise."""
        raise ProtocolError(f"an in-memory search posts nothing, but was told that reads {reads} failed")

    def run(self, query_index: int) -> Answer:
        """Search under the local driver."""
        self.start(query_index)
        return self.answer()

    def answer(self) -> Answer:
        """Return the results of the search."""
        ids, distances, (expansions, evaluations, insertions, _) = self._results.of(self._query)
        counts = {
            "expansions": int(expansions),
            "evaluations": int(evaluations),
            "exact_evaluations": int(evaluations),
            "insertions": int(insertions),
            "hops": int(expansions),
        }
        return Answer(ids, distances, counts)


def build(context: SystemContext) -> System:
    """Build the system."""
    results = _Results(context)
    return System("in_memory_vamana", lambda: InMemorySearch(results), uses_codes=False, local_index=True)
