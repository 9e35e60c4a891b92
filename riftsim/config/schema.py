"""What an experiment file may say, as strict structures.

One structure per block of the file; those of systems are in ``systems``, those of machines, load and clock in
``machines``. Unknown keys are refused with their path. Every default is a number that a paper or a tool uses, and says
which. ``docs/configuration.md`` and the JSON Schema are made from here.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta

from riftsim.config.blocks import Block, NonNegative, Positive
from riftsim.config.machines import ClosedLoad, ClusterConfig, DriverConfig, LoadConfig, SimDriver
from riftsim.config.systems import RemoteVamanaConfig, SystemConfig


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


class SearchConfig(Block, kw_only=True, frozen=True):
    """What is asked of a search: ``k`` results from a candidate list of ``L``."""

    k: Positive = 10
    """Results per query."""
    L: Positive = 64
    """Candidate-list size; at least ``k``."""


class PlotConfig(Block, kw_only=True, frozen=True):
    """A figure made from the results of this experiment."""

    kind: Literal[
        "recall-latency", "recall-qps", "breakdown", "latency-cdf", "verification", "admission", "hidden-updates",
        "policies", "time-series", "sensitivity", "scaling", "read-size", "evaluation-share", "concurrency",
        "visit-hit-rate", "thread-split", "recall-price",
    ]  # fmt: skip
    """What the figure shows."""
    title: str | None = None
    """Text above the figure."""
    series: dict[str, dict[str, Any]] = {}
    """Names of series in their order; each with the dotted keys and values that its runs have. Runs that fit none are
    left out. By default every system and every swept setting is a series."""
    published: dict[str, list[float]] = {}
    """Numbers of a publication to draw beside ours; ``docs/figures.md`` says what which kind takes."""


class ExperimentConfig(Block, kw_only=True, frozen=True):
    """One experiment; with ``sweep`` the product of all listed values."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*(?!\n)$", max_length=200)]
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
