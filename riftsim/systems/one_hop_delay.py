"""The one-hop delay of RiftANN's section 2.4: what it costs to select expansions without the newest evaluations.

A hop is a round of ``beam_width`` expansions. Each completed evaluation reaches the candidate list one round late,
while the search keeps its budget: the number of rounds that the undelayed search of the same query takes. It measures
recall at equal work, and has no latency.
"""

from riftsim.search.delayed import DelayedSearch
from riftsim.search.rounds import RoundSearch
from riftsim.systems.context import System, SystemContext
from riftsim.systems.remote_vamana import VERIFICATION


def build(
    context: SystemContext,
    *,
    beam_width: int,
    verification: str,
    delayed: bool,
    budget: str,
    rest: str,
    empty_rounds: str,
) -> System:
    """Build the system; the parameters are the keys of ``OneHopDelayConfig`` in ``config.systems``."""
    settings = {"beam_width": beam_width, "verify": VERIFICATION[verification]}

    def undelayed() -> RoundSearch:
        return context.new_search(RoundSearch, **settings)

    def new_program() -> RoundSearch:
        if not delayed:
            return undelayed()
        reference = undelayed()
        return context.new_search(
            DelayedSearch,
            **settings,
            merge_rest=rest == "merged",
            count_empty=empty_rounds == "counted",
            round_limit=(lambda query: reference.run(query).counts["hops"]) if budget == "undelayed" else None,
        )

    return System("one_hop_delay", new_program, state_bytes=undelayed().state_bytes, has_clock=False)
