"""What an experiment file may say, as strict structures.

One structure per block of the file. Unknown keys are refused with their path. Every default is a number that a paper or
a tool uses, and says which. ``docs/configuration.md`` and the JSON Schema are made from here.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Positive = Annotated[int, Meta(gt=0)]
NonNegative = Annotated[int, Meta(ge=0)]
Metric = Literal["l2", "ip", "cosine"]


class Block(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Base of all blocks."""


class DatasetConfig(Block, kw_only=True, frozen=True):
    """Which vectors: the name of a data-set file (`riftsim data info` lists them) or a path to one."""

    name: str
    """Name of a bundled data-set file, or path to a data-set file."""
    n: Positive | None = None
    """Take the first ``n`` base vectors (ground truth of that base is used or computed)."""
    queries: Positive | None = None
    """Take the first ``queries`` evaluated queries."""
    split_seed: NonNegative | None = None
    """Redraw which of the pooled queries calibrate and which are evaluated (default: as the data-set file says)."""


class VamanaConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="vamana"):
    """Build a Vamana graph (DiskANN, NeurIPS'19). The paper's 100 M graphs use R=96, L=128."""

    R: Positive = 64
    """Largest out-degree."""
    L: Positive = 100
    """Candidate-list size of the searches that build the graph."""
    alpha: Annotated[float, Meta(ge=1.0)] = 1.2
    """Pruning factor of the second round, on internal (squared) distances as in DiskANN."""
    slack: Annotated[float, Meta(ge=1.0)] = 1.3
    """A list may grow to ``slack * R`` before it is pruned."""
    seed: NonNegative | None = None
    """Seed of the insertion order (default: the run's)."""


class IndexFileConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="file"):
    """Use an index that another tool built."""

    path: str
    """The index file (``diskann``: the in-memory index; ``diskann_disk``: the sector file)."""
    format: Literal["diskann", "diskann_disk", "hnswlib", "faiss"]
    """The tool that wrote it."""


class PQConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="pq"):
    """Product quantiser: ``bytes`` chunks of 256 centroids. The paper keeps 20 bytes per vector."""

    bytes: Positive = 20
    """Bytes per vector."""
    seed: NonNegative | None = None
    """Seed of the training sample and of k-means (default: the run's)."""
    training_vectors: Positive = 65536
    """Vectors that k-means is trained on, at most."""


class SQConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="sq8"):
    """Scalar quantiser: one byte per dimension."""


class CodesFileConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="file"):
    """A product quantiser that DiskANN trained."""

    pivots: str
    """Path of ``<prefix>_pq_pivots.bin``; a rotation beside it is used."""
    codes: str | None = None
    """Path of ``<prefix>_pq_compressed.bin``; without it the vectors are encoded."""


class PluginConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="plugin"):
    """A policy or system from another package, found by its entry-point name."""

    name: str
    """Entry-point name, without the ``system:`` before it."""
    options: dict[str, Any] = {}
    """Passed to the plug-in as keyword arguments."""


# ---------------------------------------------------------------- systems


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


SystemConfig = (
    InMemoryVamanaConfig
    | RemoteVamanaConfig
    | AsyncVamanaConfig
    | RiftAnnConfig
    | DiskAnnConfig
    | PipeAnnConfig
    | OneHopDelayConfig
    | CxlAnnConfig
    | DistVsConfig
    | DHnswConfig
    | PluginConfig
)


class SearchConfig(Block, kw_only=True, frozen=True):
    """What is asked of a search: ``k`` results from a candidate list of ``L``."""

    k: Positive = 10
    """Results per query."""
    L: Positive = 64
    """Candidate-list size; at least ``k``."""


# ---------------------------------------------------------------- machines and load


class PlacementConfig(Block, kw_only=True, frozen=True):
    """Which memory node holds which record."""

    kind: Literal["contiguous", "hash", "plugin"] = "contiguous"
    """Ranges of ids, a hash of the id, or a plug-in."""
    name: str | None = None
    """Entry-point name of a plug-in placement, without the ``placement:`` before it."""
    options: dict[str, Any] = {}
    """Passed to the plug-in as keyword arguments."""


class RecordCacheConfig(Block, kw_only=True, frozen=True):
    """Records in the memory of every compute node; filled before the first query."""

    kind: Literal["none", "visits", "hops"] = "none"
    """Whether there is one, and which records: those that calibration queries expand most often, or the nearest to the
    start node by hops."""
    code_and_record_gb: Annotated[float, Meta(gt=0.0)] = 1.0
    """Compact codes and cached records together, in 1e9 bytes: the cache takes what the codes leave."""


class ClusterConfig(Block, kw_only=True, frozen=True):
    """Compute nodes, memory nodes and what each may use. Defaults: the paper's testbed (section 4.1)."""

    compute_nodes: Positive = 1
    """Each has its own NIC, threads and load."""
    memory_nodes: Positive = 1
    """The index is sharded over them."""
    placement: PlacementConfig = PlacementConfig()
    """Which memory node holds which record."""
    threads: Positive = 32
    """CPU threads per compute node."""
    queries_per_thread: Positive = 1
    """Queries that one main thread multiplexes."""
    signalling: Literal["every", "last"] = "every"
    """Which reads of a chain ask for a completion entry; with ``last`` the earlier ones are seen with the last."""
    memory_budget_gb: Annotated[float, Meta(gt=0.0)] = 24.0
    """Compute-side memory for codes, cached records, tables and per-query state, in 1e9 bytes."""
    record_cache: RecordCacheConfig = RecordCacheConfig()
    """Records that are read from local memory. It runs on the SimPy engine."""


class ClosedLoad(Block, kw_only=True, frozen=True, tag_field="kind", tag="closed"):
    """A fixed number of queries in flight per compute node; a finished one is replaced at once."""

    concurrency: Positive = 32
    """Queries in flight per compute node."""


class PoissonLoad(Block, kw_only=True, frozen=True, tag_field="kind", tag="poisson"):
    """Open loop: arrivals with exponential gaps."""

    rate_qps: Annotated[float, Meta(gt=0.0)]
    """Arrivals per second and compute node."""


class ConstantLoad(Block, kw_only=True, frozen=True, tag_field="kind", tag="constant"):
    """Open loop: arrivals with equal gaps."""

    rate_qps: Annotated[float, Meta(gt=0.0)]
    """Arrivals per second and compute node."""


class BurstLoad(Block, kw_only=True, frozen=True, tag_field="kind", tag="burst"):
    """Open loop: Poisson arrivals whose rate is multiplied for a while, then falls back (section 4.7)."""

    rate_qps: Annotated[float, Meta(gt=0.0)]
    """Steady arrivals per second and compute node."""
    factor: Annotated[float, Meta(gt=0.0)] = 2.0
    """Of the rate during the burst."""
    before_ms: Annotated[float, Meta(ge=0.0)] = 50.0
    """Steady time measured before the burst."""
    burst_ms: Annotated[float, Meta(gt=0.0)] = 50.0
    """Length of the burst."""
    after_ms: Annotated[float, Meta(ge=0.0)] = 50.0
    """Steady time measured after it."""


LoadConfig = ClosedLoad | PoissonLoad | ConstantLoad | BurstLoad


class LocalDriver(Block, kw_only=True, frozen=True, tag_field="kind", tag="local"):
    """Every read completes at once: recall and counts, no clock."""


class TraceConfig(Block, kw_only=True, frozen=True):
    """Write down, for some queries, everything that happens to them."""

    first: NonNegative = 0
    """Of the measured queries, the first that is traced."""
    queries: Positive = 16
    """How many from there on; each takes about half a megabyte of memory and a tenth of it on disk."""


class SimDriver(Block, kw_only=True, frozen=True, tag_field="kind", tag="sim"):
    """The latency model on an event calendar."""

    engine: Literal["auto", "simpy", "compiled"] = "auto"
    """Event loop, with equal results: SimPy, or the compiled one, which needs kernels for every policy; ``auto`` takes
    the compiled one where it can."""
    sample_us: Annotated[float, Meta(ge=0.0)] = 0.0
    """Record the state of the compute nodes every so many microseconds of simulated time; 0 records none."""
    trace: TraceConfig | None = None
    """Queries whose timelines are recorded (`riftsim trace`); by default none."""


class LiveDriver(Block, kw_only=True, frozen=True, tag_field="kind", tag="live"):
    """Real one-sided reads from memory nodes that `riftsim memnode serve` runs."""

    memnodes: Annotated[list[str], Meta(min_length=1)]
    """`host:port` of every memory node; each says itself which part of the index it has."""
    replicas: Positive = 1
    """Memory nodes that hold the same part: while one is left, queries go on with it."""
    device: str | None = None
    """RDMA device (default: the first)."""
    port: Positive = 1
    """Of the device."""
    gid_index: NonNegative | None = None
    """Of the port (default: the first RoCE v2 GID with an IPv4 address; on InfiniBand the first)."""
    event_loops: Positive = 1
    """Threads that drive queries, each with its own queue pairs; queries in flight are dealt over them."""
    queue_pairs: Positive = 1
    """Per event loop and memory node."""
    queue_depth: Positive = 64
    """Work requests that may be posted to a queue pair."""
    outstanding_reads: Positive = 16
    """Reads in flight per queue pair; less where a device can do less."""
    posting: Literal["chained", "extended"] = "chained"
    """Linked work requests in one call (the faster one under pyverbs 44), or batches of the extended interface."""
    timeout: Annotated[int, Meta(ge=1, le=31)] = 14
    """A lost packet is noticed after about `4.096 us * 2^timeout`."""
    retry_cnt: Annotated[int, Meta(ge=0, le=6)] = 6
    """Times that it is sent again before the memory node counts as lost; 7 may mean for ever."""
    deadline_s: Annotated[float, Meta(gt=0.0)] = 10.0
    """A query that takes longer is an error."""
    record: str | None = None
    """New Parquet file for the log of completions, which driver `replay` reads."""


class ReplayDriver(Block, kw_only=True, frozen=True, tag_field="kind", tag="replay"):
    """The completions of a recorded live run, fed through the search once more: results must be the same."""

    log: str
    """The Parquet file that a live run wrote (`driver.record`)."""


class FileDriver(Block, kw_only=True, frozen=True, tag_field="kind", tag="file"):
    """Real reads of sectors of the index's file on a local disk, for the systems whose records lie on an SSD."""

    folder: str | None = None
    """Where that file is written, unless `index` is one (default: the cache)."""
    readers: Annotated[int, Meta(ge=1, le=1024)] = 32
    """Threads that read, per event loop: most reads that the disk has at once."""
    queue_depth: Positive = 64
    """Reads that may wait for one of them."""
    direct: bool = True
    """Read past the page cache; without, what is measured is memory."""
    event_loops: Positive = 1
    """Threads that drive queries, each with its own readers; queries in flight are dealt over them."""
    deadline_s: Annotated[float, Meta(gt=0.0)] = 60.0
    """A query that takes longer is an error."""


DriverConfig = LocalDriver | SimDriver | LiveDriver | ReplayDriver | FileDriver


class PlotConfig(Block, kw_only=True, frozen=True):
    """A figure made from the results of this experiment."""

    kind: Literal[
        "recall-latency", "recall-qps", "breakdown", "latency-cdf", "verification", "admission", "hidden-updates",
        "policies", "time-series", "sensitivity", "scaling",
    ]  # fmt: skip
    """What the figure shows."""
    title: str | None = None
    """Text above the figure."""
    series: dict[str, dict[str, Any]] = {}
    """Names of series in their order; each with the dotted keys and values that its runs have. Runs that fit none are
    left out. By default every system and every swept setting is a series."""


class ExperimentConfig(Block, kw_only=True, frozen=True):
    """One experiment; with ``sweep`` the product of all listed values."""

    name: Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    """Folder of the results; letters, digits and ``_.-``."""
    description: str = ""
    """What the experiment asks."""
    dataset: DatasetConfig
    """Vectors and queries."""
    index: VamanaConfig | IndexFileConfig = VamanaConfig()
    """The graph."""
    codes: PQConfig | SQConfig | CodesFileConfig = PQConfig()
    """Compact codes that the compute node keeps."""
    search: SearchConfig = SearchConfig()
    """Results and candidate-list size."""
    system: SystemConfig = RemoteVamanaConfig()
    """The system under test."""
    hardware: str = "connectx5-100g"
    """Name of a profile (`riftsim profile show`) or path to one."""
    cluster: ClusterConfig = ClusterConfig()
    """Machines and their limits."""
    load: LoadConfig = ClosedLoad()
    """How queries arrive."""
    driver: DriverConfig = SimDriver()
    """Which clock runs."""
    measured_queries: Positive | None = None
    """Queries measured; the evaluated queries are cycled through (default: each once)."""
    warmup_queries: NonNegative = 0
    """Queries completed before measuring starts; closed loops also drop the ramp of ``concurrency`` queries."""
    seed: NonNegative = 0
    """Seed of arrivals and of random latencies, and of the graph's insertion order and the quantiser's training where
    they name none. The split of the queries has a seed of its own."""
    sweep: dict[str, list[Any]] = {}
    """Dotted key to list of values; a value may be a mapping, e.g. a whole system block."""
    plots: list[PlotConfig] = []
    """Figures to make."""
