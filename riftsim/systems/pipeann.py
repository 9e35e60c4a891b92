"""PipeANN: pipelined best-first search on an SSD (Guo and Lu, OSDI'25).

The index is DiskANN's. Reads run ahead of the work on what has arrived, as far as a width allows that grows while few
reads are in vain. A search begins at entry points that a small graph over a sample finds in memory; the table of
compact distances is filled while the first reads are in flight.
"""

import numpy as np

from riftsim.index.search import search_batch
from riftsim.index.vamana import build_vamana
from riftsim.rng import stream
from riftsim.search.messages import Work
from riftsim.search.pipelined import PipelinedSearch, PipelineRules
from riftsim.systems.context import System, SystemContext
from riftsim.systems.on_disk import disk_system

_BUFFERS = 512
"""Sectors' worth of buffers that the published code gives each query."""


def build(
    context: SystemContext,
    *,
    drive: str,
    start_width: int,
    max_width: int,
    marker: int,
    most_waste: float,
    entry_share: float,
    entry_points: int,
    entry_R: int,
    entry_L: int,
    entry_seed: int,
) -> System:
    """Build the system; the parameters are the keys of ``PipeAnnConfig`` in ``config.systems``."""
    rules = PipelineRules(start_width, max_width, marker, most_waste)
    entry = EntryIndex(context, entry_share, entry_points, entry_R, entry_L, entry_seed) if entry_share else None

    def new_search() -> PipelinedSearch:
        return context.new_search(PipelinedSearch, rules=rules, entries=entry.of if entry else None)

    return disk_system(
        "pipeann",
        context,
        new_search,
        drive=drive,
        buffers=_BUFFERS,
        search_bytes=new_search().state_bytes,
        memory_items={"entry index": entry.nbytes} if entry else {},
        facts={"entry_sample": len(entry.rows) if entry else 0},
    )


class EntryIndex:
    """A Vamana graph over a sample of the vectors, in memory.

    Parameters
    ----------
    context : SystemContext
    share : float
        Of the vectors in the sample.
    points : int
        Candidate-list size of a search in it; all candidates are entry points.
    R, L, seed : int
        Of the graph and of the sample.
    """

    def __init__(self, context: SystemContext, share: float, points: int, R: int, L: int, seed: int):
        n = len(context.vectors)
        count = min(n, max(points, round(share * n)))
        self.rows = np.sort(stream(seed, "entry sample").choice(n, count, replace=False)).astype(np.int32)
        self._vectors = np.ascontiguousarray(context.vectors[self.rows])
        self._context = context
        self._points = points
        self._graph, _ = build_vamana(self._vectors, context.metric, R=R, L=L, seed=seed)
        self._found: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of vectors, graph and row numbers."""
        return self._vectors.nbytes + self._graph.nbytes + self.rows.nbytes

    def of(self, query_index: int) -> tuple[np.ndarray, np.ndarray, Work]:
        """Entry points of a query, nearest first, their exact distances, and the work of finding them."""
        if self._found is None:  # all queries at once: the outcome depends on no clock
            context, graph = self._context, self._graph
            self._found = search_batch(
                self._vectors,
                context.queries.shape[1],
                context.metric,
                graph.neighbors,
                graph.degrees,
                graph.start,
                context.queries,
                self._points,
                self._points,
            )
        ids, distances, counts = (array[query_index] for array in self._found)
        expansions, evaluations, insertions, neighbors = counts.tolist()
        found = {"lists": expansions, "neighbors": neighbors, "local_exact": evaluations, "merged": evaluations}
        work = Work(**found, insertions=insertions)
        found = ids >= 0
        return self.rows[ids[found]], distances[found], work
