"""What an experiment file may say of machines, load and clock: ``cluster``, ``load`` and ``driver``."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from riftsim.config.blocks import Block, NonNegative, Positive


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
