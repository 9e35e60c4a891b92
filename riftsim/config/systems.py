"""What an experiment file may say of a system under test: one structure per kind of ``system``, and of its policies."""

from typing import Annotated, Literal

from msgspec import Meta

from riftsim.config.blocks import Block, NonNegative, PluginConfig, Positive


class InMemoryVamanaConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="in_memory_vamana"):
    """The whole index in local DRAM; exact vectors guide the traversal."""


class RemoteVamanaConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="remote_vamana"):
    """Lock-step best-first search with one-sided reads; compact codes guide the traversal."""

    beam_width: Positive = 4
    """Records requested per round (W)."""
    verification: Literal["expansion-only", "verify-all"] = "expansion-only"
    """Exact vectors of expanded nodes only, or of every node that was in the candidate list after a round."""


class AsyncVamanaConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="async_vamana"):
    """The decisions of Remote-Vamana; completed records are processed while other reads are in flight."""

    beam_width: Positive = 4
    """Records requested per round (W)."""
    verification: Literal["expansion-only", "verify-all"] = "expansion-only"
    """Exact vectors of expanded nodes only, or of every node that was in the candidate list after a round."""


class ExpansionOnly(Block, kw_only=True, frozen=True, tag_field="kind", tag="expansion-only"):
    """Exact vectors of expanded nodes only."""


class Calibrated(Block, kw_only=True, frozen=True, tag_field="kind", tag="calibrated"):
    """And of candidates whose compact distance is at most alpha times the k-th exact one (section 3.2)."""

    alpha: Annotated[float, Meta(ge=1.0)] | None = None
    """Of the rule; by default the quantile that covers ``1 - delta`` on the calibration queries."""
    delta: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.001
    """Share of discovered true neighbours that the calibration may miss; the paper covers 99.90 %."""
    calibration_L: Positive = 64
    """Candidate-list size of the searches that calibrate alpha: one alpha per data set, as in the paper."""


class VerifyAll(Block, kw_only=True, frozen=True, tag_field="kind", tag="verify-all"):
    """And of every node that ever entered the candidate list."""


class OracleVerification(Block, kw_only=True, frozen=True, tag_field="kind", tag="oracle"):
    """And of the true neighbours that entered the candidate list and are not expanded. No real system knows them."""


class WaitAllGate(Block, kw_only=True, frozen=True, tag_field="kind", tag="wait-all"):
    """Expand only when nothing is unfinished."""


class BacklogGate(Block, kw_only=True, frozen=True, tag_field="kind", tag="u-only"):
    """Expand while at most ``bound`` evaluations are unfinished."""

    bound: NonNegative = 32
    """B of section 4.6."""


class RatioGate(Block, kw_only=True, frozen=True, tag_field="kind", tag="rho-only"):
    """Expand while at most a share ``theta`` of recent evaluations inserted."""

    theta: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.05
    """Of section 4.6."""
    history: Positive = 64
    """H: evaluations in the rolling history."""


class ImpactGate(Block, kw_only=True, frozen=True, tag_field="kind", tag="impact-aware"):
    """Expand while the estimated updates hidden by unfinished evaluations are few (section 3.3)."""

    epsilon: Annotated[float, Meta(ge=0.0)] = 1.0
    """Most hidden updates, as estimated."""
    history: Positive = 64
    """H: evaluations in the rolling history."""
    max_unfinished: NonNegative = 128
    """U_max."""


class Ungated(Block, kw_only=True, frozen=True, tag_field="kind", tag="ungated"):
    """Always expand."""


class OracleGate(Block, kw_only=True, frozen=True, tag_field="kind", tag="oracle"):
    """Expand while at most ``epsilon`` unfinished evaluations would insert. No real system knows."""

    epsilon: NonNegative = 0
    """Most hidden updates."""


class FixedBalancing(Block, kw_only=True, frozen=True, tag_field="kind", tag="fixed"):
    """Workers and window keep their starting values."""


class AdaptiveBalancing(Block, kw_only=True, frozen=True, tag_field="kind", tag="adaptive"):
    """The defer-ratio controller (section 3.4, Algorithm 1)."""

    theta_low: Annotated[float, Meta(ge=0.0)] = 0.30
    """Below it workers are given back, then the window grows."""
    theta_high: Annotated[float, Meta(ge=0.0)] = 0.65
    """Above it a worker is added, else the window shrinks."""
    interval: Positive = 32
    """Completed expansions between two control points."""
    counted: Literal["compute-node", "query"] = "compute-node"
    """Whether completions are counted over the compute node (which the printed defer ratios fit) or per query."""
    min_workers: Positive = 1
    """Least T_q."""
    max_workers: Positive = 6
    """Most T_q."""
    min_window: Positive = 1
    """Least W_R."""
    max_window: Positive = 8
    """Most W_R."""


class RiftAnnConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="riftann"):
    """RiftANN (section 3): calibrated pipeline, impact-aware traversal, pipeline balancing."""

    window: Annotated[int, Meta(ge=1, le=32)] = 8
    """W_R at the start of a query; section 4.5 uses 8."""
    window_counts: Literal["reads", "expansions"] = "expansions"
    """A slot of the window is any read (the text's words), or an awaited expansion (which the printed waits fit)."""
    verification_window: Positive = 8
    """Most verification reads in flight where the window counts expansions."""
    verification_from: Literal["entry", "eviction"] = "entry"
    """From when on a candidate may be verified, behind expansions: as soon as it enters the candidate list (it may
    still be expanded, and then costs a second read), or once it left the list and will not be expanded."""
    record_reads: Literal["state-driven", "full-record"] = "state-driven"
    """Read only the fields that are missing, or always whole records."""
    verification: ExpansionOnly | Calibrated | VerifyAll | OracleVerification | PluginConfig = Calibrated()
    """Which exact vectors are read besides those of expanded nodes."""
    gate: WaitAllGate | BacklogGate | RatioGate | ImpactGate | Ungated | OracleGate | PluginConfig = ImpactGate()
    """When the next expansion may start."""
    balancing: FixedBalancing | AdaptiveBalancing | PluginConfig = AdaptiveBalancing()
    """How window and workers follow the load."""
    workers: NonNegative = 6
    """Most threads in the shared evaluation pool; 0 lets main threads evaluate by themselves."""
    workers_per_query: Positive = 2
    """T_q at the start of a query."""
    split: Literal["dynamic", "static"] = "dynamic"
    """Whether workers take cores as the load leaves them, or have cores of their own beside the main threads."""
    main_threads_help: bool = True
    """Whether a main thread with nothing else to do evaluates its own tasks while all workers are busy."""
    chunk: NonNegative = 0
    """Most neighbours per evaluation task; 0 makes one task of each adjacency list."""


class DiskAnnConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="diskann"):
    """DiskANN (NeurIPS'19): beam search over sector-aligned records on a local SSD; runs on the SimPy engine."""

    drive: str = "samsung-980pro"
    """Name of an SSD profile or path to one."""
    beam_width: Positive = 8
    """Sectors requested per round (W); 8 in PipeANN's comparison."""
    cached_nodes: NonNegative = 0
    """Records kept in memory, nearest to the start by hops; at most a tenth of them, as in the published code."""


class PipeAnnConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="pipeann"):
    """PipeANN (OSDI'25): pipelined best-first search on a local SSD; runs on the SimPy engine."""

    drive: str = "samsung-980pro"
    """Name of an SSD profile or path to one."""
    start_width: Positive = 4
    """Most reads in flight at the start of a query."""
    max_width: Annotated[int, Meta(ge=1, le=128)] = 32
    """Most reads in flight at all."""
    marker: NonNegative = 5
    """Position in the candidate list that the nearest unread candidate must have reached before the width grows."""
    most_waste: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.1
    """Share of reads in vain up to which the width grows."""
    entry_share: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.01
    """Share of the vectors in the in-memory index that finds entry points; 0 begins at the start node."""
    entry_points: Positive = 10
    """Candidate-list size of the search in it, all of whose candidates are entry points."""
    entry_R: Annotated[int, Meta(ge=2)] = 32
    """Largest out-degree of the in-memory index."""
    entry_L: Positive = 64
    """Candidate-list size of the searches that build it."""
    entry_seed: NonNegative = 0
    """Seed of the sample and of the insertion order."""


class OneHopDelayConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="one_hop_delay"):
    """Rounds whose evaluations reach the candidate list one round late (section 2.4); for the driver ``local``."""

    beam_width: Positive = 8
    """Records requested per round (W)."""
    verification: Literal["expansion-only", "verify-all"] = "verify-all"
    """Exact vectors of expanded nodes only, or of every node that was in the candidate list after a round."""
    delayed: bool = True
    """Whether evaluations are held back at all."""
    budget: Literal["undelayed", "unlimited"] = "undelayed"
    """Rounds per query: as many as the undelayed search takes, or until nothing is left to expand."""
    rest: Literal["dropped", "merged"] = "dropped"
    """What becomes of evaluations that are held back when no round is left."""
    empty_rounds: Literal["counted", "free"] = "free"
    """Whether a round in which all that could be expanded is held back counts against the budget."""


class CoPackedConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="co_packed"):
    """Counts which nodes that an ordering packs together a query visits (figure 2a); for the driver ``local``."""

    ordering: Literal["random", "data", "fennel", "fennel-without-price", "starling", "label-propagation"] = (
        "label-propagation"
    )
    """What lays nodes together: nothing, the order of the data, Fennel's stream (with its price per node of a pack or
    by neighbours alone), Starling's block shuffling, or size-constrained label propagation."""
    pack: Annotated[int, Meta(ge=2)] = 4
    """Most nodes of a pack."""


class CxlAnnConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="cxl_ann"):
    """CXL-ANNS (ATC'23), adapted to passive memory: one node at a time, the guess of the next one read ahead."""

    prefetch: bool = True
    """Read the node that the candidate list, not yet updated, has next."""
    split_update: bool = True
    """Insert into the candidate list only after the next reads are posted."""


class DistVsConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="distvs"):
    """DistVS (2026), reconstructed: codes at the compute node prune, threads of an active memory node do the rest."""

    memory_threads: Positive = 6
    """Of ``cluster.threads``, those at the memory node (section 4.1)."""
    beam_width: Positive = 4
    """Expansions per round: one call each."""
    queries_per_thread: Positive = 8
    """Queries that a thread of the compute node has under way ("asynchronous execution"), whatever the cluster says."""
    connections: Literal["shared", "dealt"] = "shared"
    """Whether a free thread of the memory node takes the oldest call of all, or each has connections of its own."""
    intake: Literal["one", "all"] = "one"
    """Calls that it takes at a time: one, or all that wait for it, at the price of taking in and replying to one."""


class DHnswConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="d_hnsw"):
    """d-HNSW (arXiv 2505.11783): whole partitions of an HNSW index are read; ``search.L`` is efSearch in each."""

    partitions: Positive = 160
    """Balanced partitions (K); the authors take 160 for 1 M SIFT vectors, 200 for 10 M, 250 for 100 M."""
    routed: Positive = 5
    """Partitions that a query is routed to (P); the authors take 5."""
    M: Annotated[int, Meta(ge=2, le=256)] = 48
    """Neighbours per node of a partition's HNSW; the authors take 48, and 72 for 100 M."""
    ef_construction: Positive = 120
    """Candidates while building; the authors take 120."""
    seed: NonNegative = 17
    """Of the clusters; the authors take 17."""
    batch: Positive = 5000
    """Most queries of a batch; the authors take 5,000."""
    doorbell: Positive = 16
    """Most partitions read with one doorbell; the authors take 16."""
    buffers: Positive = 16
    """Partitions that are on their way or wait to be deserialised; as many as the authors read with one doorbell."""
    deserialize_ps_per_byte: NonNegative = 540
    """Time of a thread to make an index of a partition's bytes, ps per byte; by `benchmarks/deserialization.py` on a
    Xeon of 2.8 GHz with partitions of 23 MB (230 with 1 MB, which the caches hold, 1,000 with 6 MB)."""
    memory_bytes_per_vector: Annotated[float, Meta(gt=0.0)] | None = None
    """What of ``cluster.memory_budget_gb`` it may fill with partitions and buffers, for budgets that have room for
    other things too (default: all of it)."""


SystemConfig = (
    InMemoryVamanaConfig
    | RemoteVamanaConfig
    | AsyncVamanaConfig
    | RiftAnnConfig
    | DiskAnnConfig
    | PipeAnnConfig
    | OneHopDelayConfig
    | CoPackedConfig
    | CxlAnnConfig
    | DistVsConfig
    | DHnswConfig
    | PluginConfig
)
