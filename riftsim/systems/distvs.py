"""DistVS (Yin et al., 2026), a reconstruction: nothing is public of it but what the RiftANN paper says.

Compact codes at the compute node prune; search state and exact distances lie at an active memory node, whose own
threads count in the budget of CPU threads. What is assumed is listed in ``docs/systems/distvs.md``.
"""

from riftsim.computenode.engine import CpuBudget
from riftsim.errors import ConfigError
from riftsim.rdma.calls import Intake
from riftsim.search.memory_side import MemorySideSearch
from riftsim.systems.context import System, SystemContext


def build(
    context: SystemContext,
    *,
    memory_threads: int = 6,
    beam_width: int = 4,
    queries_per_thread: int = 8,
    connections: str = "shared",
    intake: str = "one",
) -> System:
    """Build the system.

    Parameters
    ----------
    context : SystemContext
    memory_threads : int
        Of the CPU threads, those at the memory node; the others are the compute node's.
    beam_width : int
        Expansions per round.
    queries_per_thread : int
        Queries that a thread of the compute node has under way.
    connections : str
        ``shared`` by all threads of the memory node, or ``dealt`` out to them.
    intake : str
        Whether a thread takes ``one`` call at a time or ``all`` that wait for it.

    Returns
    -------
    System

    Raises
    ------
    ConfigError
        No thread is left for the compute node, or there are several memory nodes.
    """
    memory_nodes = len(context.remote.region_bases)
    if memory_nodes != 1:
        raise ConfigError(f"cluster.memory_nodes: found {memory_nodes}, but distvs is reconstructed for 1 only")
    if memory_threads >= context.threads:
        raise ConfigError(
            f"system.memory_threads: found {memory_threads} of cluster.threads = {context.threads}; expected fewer"
        )

    def new_program() -> MemorySideSearch:
        return context.new_search(MemorySideSearch, beam_width=beam_width)

    compute_threads = context.threads - memory_threads
    return System(
        "distvs",
        new_program,
        state_bytes=new_program().state_bytes,
        cluster_changes={
            "budget": CpuBudget(threads=compute_threads, queries_per_thread=queries_per_thread),
            "memory_threads": memory_threads,
            "intake": Intake(dealt=connections == "dealt", whole=intake == "all"),
        },
        facts={"compute_threads": compute_threads, "memory_threads": memory_threads, "reconstruction": True},
    )
