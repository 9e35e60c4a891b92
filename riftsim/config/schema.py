"""What an experiment file may say, as strict structures.

One structure per block of the file. Unknown keys are refused with their path. Every default is a number that a paper or
a tool uses, and says which. ``docs/configuration.md`` and the JSON Schema are made from here.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Positive = Annotated[int, Meta(gt=0)]
NonNegative = Annotated[int, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0.0, le=1.0)]
Metric = Literal["l2", "ip", "cosine"]


class Block(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Base of all blocks."""


# ---------------------------------------------------------------- data


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


# ---------------------------------------------------------------- index and codes


class VamanaConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="vamana"):
    """Build a Vamana graph (DiskANN, NeurIPS'19). The paper's 100 M graphs use R=96, L=128."""

    R: Positive = 64
    """Largest out-degree."""
    L: Positive = 100
    """Candidate-list size of the searches that build the graph."""
    alpha: Annotated[float, Meta(ge=1.0)] = 1.2
    """Pruning factor of the second round (on distances, not their squares)."""
    slack: Annotated[float, Meta(ge=1.0)] = 1.3
    """A list may grow to ``slack * R`` before it is pruned."""
    seed: NonNegative = 0
    """Seed of the insertion order."""


class IndexFileConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="file"):
    """Use an index that another tool built."""

    path: str
    """The index file (``diskann``: the in-memory index)."""
    format: Literal["diskann", "hnswlib", "faiss"]
    """The tool that wrote it."""


class PQConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="pq"):
    """Product quantiser: ``bytes`` chunks of 256 centroids. The paper keeps 20 bytes per vector."""

    bytes: Positive = 20
    """Bytes per vector."""
    seed: NonNegative = 0
    """Seed of the training sample and of k-means."""
    training_vectors: Positive = 65536
    """Vectors that k-means is trained on, at most."""


class SQConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="sq8"):
    """Scalar quantiser: one byte per dimension."""


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
    """Whose exact vectors are read: of expanded nodes, or of every node that enters the candidate list."""
    verification: Literal["expansion-only", "verify-all"] = "expansion-only"
    """Exact vectors of expanded nodes only, or of every node that was in the candidate list after a round."""


class AsyncVamanaConfig(Block, kw_only=True, frozen=True, tag_field="kind", tag="async_vamana"):
    """The decisions of Remote-Vamana; completed records are processed while other reads are in flight."""

    beam_width: Positive = 4
    """Records requested per round (W)."""
    verification: Literal["expansion-only", "verify-all"] = "expansion-only"
    """Whose exact vectors are read: of expanded nodes, or of every node that enters the candidate list."""
    verification: Literal["expansion-only", "verify-all"] = "expansion-only"
    """Exact vectors of expanded nodes only, or of every node that was in the candidate list after a round."""


SystemConfig = InMemoryVamanaConfig | RemoteVamanaConfig | AsyncVamanaConfig | PluginConfig


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
    memory_budget_gb: Annotated[float, Meta(gt=0.0)] = 24.0
    """Compute-side memory for codes, tables and per-query state, in 1e9 bytes."""


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


LoadConfig = ClosedLoad | PoissonLoad | ConstantLoad


class LocalDriver(Block, kw_only=True, frozen=True, tag_field="kind", tag="local"):
    """Every read completes at once: recall and counts, no clock."""


class SimDriver(Block, kw_only=True, frozen=True, tag_field="kind", tag="sim"):
    """The latency model on SimPy."""

    engine: Literal["auto", "simpy"] = "auto"
    """Event loop; ``auto`` takes the fastest that has every policy of the run."""


DriverConfig = LocalDriver | SimDriver


# ---------------------------------------------------------------- the experiment


class PlotConfig(Block, kw_only=True, frozen=True):
    """A figure made from the results of this experiment."""

    kind: Literal["recall-latency", "recall-qps", "breakdown", "latency-cdf"]
    """What the figure shows."""
    title: str | None = None
    """Text above the figure."""


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
    codes: PQConfig | SQConfig = PQConfig()
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
    """Seed of arrivals and of random latencies."""
    sweep: dict[str, list[Any]] = {}
    """Dotted key to list of values; a value may be a mapping, e.g. a whole system block."""
    plots: list[PlotConfig] = []
    """Figures to make."""
