"""Async-Vamana: the decisions of Remote-Vamana, with completions processed while other reads are in flight.

RiftANN, section 2.4. A round's reads are chosen at its start, each record is evaluated as soon as the main thread
sees it, and the next round starts after the last one: the results equal Remote-Vamana's, the remote-access time is
hidden.
"""

from riftsim.systems.context import System, SystemContext
from riftsim.systems.remote_vamana import round_system


def build(context: SystemContext, *, beam_width: int = 4, verification: str = "expansion-only") -> System:
    """Build the system; parameters as in ``remote_vamana.build``."""
    return round_system("async_vamana", context, beam_width, verification, overlapped=True)
