"""DiskANN: beam search over sector-aligned records on an SSD (Jayaram Subramanya et al., NeurIPS'19).

Compact codes guide the traversal. A round reads the sectors of the ``beam_width`` nearest unexpanded candidates, waits
for all of them, and measures exact distances by the vectors that lie in the same sectors. Records near the start node
may be kept in memory: they take their place in the beam and need no read.
"""

import numpy as np

from riftsim.search.cached import CachedSearch
from riftsim.search.rounds import RoundSearch
from riftsim.storage.record_cache import RecordCache, cache_order, hops_from
from riftsim.systems.context import System, SystemContext
from riftsim.systems.on_disk import disk_system

_BUFFERS = 128
"""Sectors' worth of buffers that the published code gives each thread."""

_MOST_CACHED = 0.1
"""Share of the nodes that the published code caches at most."""


def build(context: SystemContext, *, drive: str, beam_width: int, cached_nodes: int) -> System:
    """Build the system; the parameters are the keys of ``DiskAnnConfig`` in ``config.systems``."""
    cache = _top_hops(context, cached_nodes) if cached_nodes else None

    def new_rounds() -> RoundSearch:
        return context.new_search(RoundSearch, beam_width=beam_width)

    return disk_system(
        "diskann",
        context,
        new_rounds if cache is None else lambda: CachedSearch(new_rounds(), cache.cached),
        drive=drive,
        buffers=_BUFFERS,
        search_bytes=new_rounds().state_bytes,
        memory_items=cache.items if cache else {},
        facts={"cached_nodes": cache.records if cache else 0},
    )


def _top_hops(context: SystemContext, nodes: int) -> RecordCache:
    """The nodes nearest to the start by hops, as many as are asked for and at most a tenth."""
    graph = context.graph
    order = cache_order(hops_from(graph.start, graph.neighbors, graph.degrees))
    cached = np.zeros(graph.n, bool)
    cached[order[: min(nodes, max(1, round(_MOST_CACHED * graph.n)))]] = True
    return RecordCache(cached, context.remote.vector_bytes + 4 + 4 * context.remote.degree)
