"""What a coarser read would bring: nodes that an ordering packs together, and how many of them the query visits too.

RiftANN's section 2.4 and figure 2a. A search expands one node at a time as Remote-Vamana does; for each query the nodes
are counted that share a pack with a visited one, and those of them that the query visits itself. A pack counts once
for each query that touches it. The search reads single records, so that there is no latency.
"""

import numpy as np

from riftsim.index.orderings import visit_hits
from riftsim.search.messages import Answer
from riftsim.search.rounds import RoundSearch
from riftsim.storage.record_cache import expanded
from riftsim.systems.context import System, SystemContext


class _PackCounting(RoundSearch):
    """A search whose answers count ``co_packed`` and ``co_visited`` nodes."""

    def __init__(self, *parts, packs: np.ndarray, sizes: np.ndarray, **settings) -> None:
        super().__init__(*parts, **settings)
        self._packs = packs
        self._sizes = sizes

    def answer(self) -> Answer:
        """Return the results of the search, with the two counts."""
        found = super().answer()
        hits, came = visit_hits(self._packs, self._sizes, expanded(self.state))
        return found._replace(counts=found.counts | {"co_packed": came, "co_visited": hits})


def build(context: SystemContext, *, ordering: str, pack: int) -> System:
    """Build the system; the parameters are the keys of ``CoPackedConfig`` in ``config.systems``."""
    packs = context.packs(ordering=ordering, pack=pack)
    sizes = np.bincount(packs)

    def new_program() -> _PackCounting:
        return context.new_search(_PackCounting, beam_width=1, packs=packs, sizes=sizes)

    return System("co_packed", new_program, state_bytes=new_program().state_bytes, has_clock=False)
