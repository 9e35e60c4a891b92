"""Memory of the states of all queries in flight, one beside the other on huge pages.

A simulation touches the state of another query every microsecond. In arrays of their own, hundreds of states lie on
more 4 KiB pages than a core remembers the addresses of.
"""

import numpy as np

from riftsim.search.state import CACHE_LINE_BYTES

_BLOCK_BYTES = 32 << 20
"""So much that numpy asks the system for huge pages; what is not touched takes no memory."""


class StateBlocks:
    """Hands out memory from large blocks, which live as long as a piece of them does."""

    def __init__(self) -> None:
        self._free = np.empty(0, np.uint8)

    def take(self, size_bytes: int) -> np.ndarray:
        """Return new memory (uint8) that begins at a cache line."""
        if len(self._free) < size_bytes:
            block = np.empty(max(_BLOCK_BYTES, size_bytes) + CACHE_LINE_BYTES, np.uint8)
            self._free = block[-block.ctypes.data % CACHE_LINE_BYTES :]
        taken, self._free = self._free[:size_bytes], self._free[size_bytes:]
        return taken
