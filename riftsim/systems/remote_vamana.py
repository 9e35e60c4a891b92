"""Remote-Vamana: best-first search in lock step over one-sided reads (RiftANN, section 2.3).

Compact codes at the compute node guide the traversal; every expansion reads the whole record, exact vector and
adjacency list. A round posts its reads as one chain, waits for all of them, evaluates the neighbours and only then
selects the next nodes. With long codes this is the paper's section 2 baseline; with 20-byte codes and ``verification:
verify-all`` it is the one of section 4.4, whose exact reads lie on the critical path. The two are never ranked
against each other.
"""

from riftsim.kernels import query as q
from riftsim.search.rounds import RoundSearch
from riftsim.systems.context import System, SystemContext

VERIFICATION = {
    "expansion-only": q.VERIFY_EXPANDED,
    "calibrated": q.VERIFY_CALIBRATED,
    "verify-all": q.VERIFY_ALL,
    "oracle": q.VERIFY_ORACLE,
}
"""Which nodes' exact vectors are read, by the names of the paper's section 4.5; the oracle knows the answer."""


def build(context: SystemContext, *, beam_width: int = 4, verification: str = "expansion-only") -> System:
    """Build the system.

    Parameters
    ----------
    context : SystemContext
    beam_width : int
        Expansions per round.
    verification : {"expansion-only", "verify-all"}
        Which nodes' exact vectors are read.

    Returns
    -------
    System
    """
    return round_system("remote_vamana", context, beam_width, verification, overlapped=False)


def round_system(name: str, context: SystemContext, beam_width: int, verification: str, *, overlapped: bool) -> System:
    """Build a round-synchronous system; ``overlapped`` processes completions as they are seen."""

    def new_program() -> RoundSearch:
        return context.new_search(
            RoundSearch,
            beam_width=beam_width,
            verify=VERIFICATION[verification],
            overlapped=overlapped,
        )

    return System(name, new_program, state_bytes=new_program().state_bytes)
