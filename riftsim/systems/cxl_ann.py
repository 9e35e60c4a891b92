"""CXL-ANNS (Jang et al., ATC'23; TOS'24), adapted to passive memory.

Of the publication: records cached in local memory in the order of their hops from the entry node
(``cluster.record_cache.kind: hops``), the next node guessed from the candidate list before its update and read ahead,
and the update split so that only picking the next node lies between two expansions. Not of it: computing at the
endpoints. Compact codes at the compute node guide the traversal instead, as in all systems compared here.
"""

from collections.abc import Callable

import numpy as np

from riftsim.search.speculative import SpeculativeSearch
from riftsim.systems.context import System, SystemContext


def build(context: SystemContext, *, prefetch: bool = True, split_update: bool = True) -> System:
    """Build the system.

    Parameters
    ----------
    context : SystemContext
    prefetch : bool
        Whether the guess is read ahead.
    split_update : bool
        Whether insertions wait until the next reads are posted.

    Returns
    -------
    System
    """

    def program(cached: np.ndarray | None = None) -> SpeculativeSearch:
        return context.new_search(
            SpeculativeSearch,
            prefetch=prefetch,
            split_update=split_update,
            cached=cached,
        )

    def with_cache(cached: np.ndarray) -> Callable[[], SpeculativeSearch]:
        return lambda: program(cached)

    return System("cxl_ann", program, state_bytes=program().state_bytes, with_cache=with_cache)
