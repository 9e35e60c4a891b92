"""What a system is built from, and what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from riftsim.computenode.batches import Batched
from riftsim.index.graph import Graph
from riftsim.index.partitions import PartitionedIndex
from riftsim.kernels.traversal import RemoteIndex
from riftsim.search.messages import Program

Search = TypeVar("Search")


@dataclass(frozen=True)
class SystemContext:
    """Data, index and settings of one run, the same for every system.

    Attributes
    ----------
    vectors : ndarray (n, d)
        Base vectors, uint8, int8 or float32.
    queries : ndarray (q, d)
        Evaluated queries, in the dtype of the vectors.
    metric : int
        0 squared L2, 1 minus inner product.
    graph : Graph
        The graph.
    hidden : uint8 (n,) or (0,)
        Rows that route but are not results.
    remote : RemoteIndex
        Codes at the compute node and records at the memory nodes.
    fill_table : callable
        Fills the code's distance table (float32, second argument) for a query (first argument).
    table_entries : int
        Its length.
    list_size, k : int
        L and k.
    threads, queries_per_thread : int
        Cores of a compute node, and queries that a main thread multiplexes.
    calibrate_alpha : callable
        ``calibrate_alpha(context, delta, L) -> float``, see `calibrated_alpha`. It is handed the context: one that held
        itself would keep the mapped files of its run until a garbage collection.
    true_ids : integers (q, k) or None
        Rows of the true neighbours of the queries, -1 where there is none; only for what is called an oracle.
    memory_budget_bytes : int
        Compute-side memory; what is left of it may be a cache.
    partitions : callable or None
        ``partitions(partitions=, M=, ef_construction=, seed=) -> PartitionedIndex`` of the vectors.
    packs : callable or None
        ``packs(ordering=, pack=) -> int32 (n,)``: the pack of each node of the graph.
    """

    vectors: np.ndarray
    queries: np.ndarray
    metric: int
    graph: Graph
    hidden: np.ndarray
    remote: RemoteIndex
    fill_table: Callable[[np.ndarray, np.ndarray], None]
    table_entries: int
    list_size: int
    k: int
    threads: int
    queries_per_thread: int
    calibrate_alpha: Callable[["SystemContext", float, int], float]
    true_ids: np.ndarray | None = None
    memory_budget_bytes: int = 24_000_000_000
    partitions: Callable[..., PartitionedIndex] | None = None
    packs: Callable[..., np.ndarray] | None = None

    def calibrated_alpha(self, delta: float, list_size: int) -> float:
        """Return alpha of the verification rule for a share delta of misses, from searches of the calibration queries
        with a list of that size (section 3.2)."""
        return self.calibrate_alpha(self, delta, list_size)

    def new_search(self, make: Callable[..., Search], **settings) -> Search:
        """Make a search over the run's index by its codes.

        Parameters
        ----------
        make : callable
            A class of ``riftsim.search``; called as ``GraphSearch`` is.
        **settings
            Its own settings. ``queries``, ``list_size`` and ``k`` are the run's unless they are given here.
        """
        own = {"queries": self.queries, "list_size": self.list_size, "k": self.k}
        parts = {"index": self.remote, "fill_table": self.fill_table, "table_entries": self.table_entries}
        return make(**parts, **(own | settings))


@dataclass(frozen=True)
class System:
    """A search system, ready to run.

    Attributes
    ----------
    name : str
        Its name in results and figures.
    new_program : callable
        Makes a search program; as many are made as queries are in flight.
    uses_codes : bool
        Whether compact codes lie at the compute node (and count in its memory budget).
    local_index : bool
        Whether the whole index lies in local memory, outside the budget (the paper's upper bound).
    state_bytes : int
        Per-query state.
    has_clock : bool
        Whether its latency means anything; if not, it runs under the driver ``local`` only.
    memory_items : dict
        Further items of a compute node's memory budget, bytes.
    cluster_changes : dict
        Fields of ``SimulatedCluster`` that the system sets itself (how cores are split, who balances).
    facts : dict
        Recorded with the run.
    with_cache : callable or None
        ``with_cache(cached) -> new_program``: programs that serve the records of cached nodes (bool (n,)) by
        themselves; where there is none, a cache is put around the program.
    batched : Batched or None
        Batches over whole partitions instead of queries over records: what memory nodes serve and a live node works by.
    """

    name: str
    new_program: Callable[[], Program]
    uses_codes: bool = True
    local_index: bool = False
    state_bytes: int = 0
    has_clock: bool = True
    memory_items: dict = field(default_factory=dict)
    cluster_changes: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)
    with_cache: Callable[[np.ndarray], Callable[[], Program]] | None = None
    batched: Batched | None = None


class SystemBuilder(Protocol):
    """What a system module, or a plug-in ``system:NAME``, provides."""

    def __call__(self, context: SystemContext, **settings) -> System:
        """Build the system from the run's context and its settings (the keys of its block in the experiment file)."""
