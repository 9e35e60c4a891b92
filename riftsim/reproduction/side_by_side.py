"""All systems at equal recall in one table: latency, rate, reads, processors and memory of each."""

from typing import Any, NamedTuple

from riftsim.errors import ResultsError
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import metric, of_runs, ratio
from riftsim.reproduction.scoring import Value
from riftsim.reproduction.studies import KINDS, beside, saturated, scaled_budget_gb, system, vectors
from riftsim.results.store import Run

HOP_CACHE = "cxl_ann with hop cache"
CACHED_GB_PER_VECTOR = 128e-9
"""Codes and cached records of CXL-ANNS, as in experiments/cxl."""

COMPARED = (
    "in_memory_vamana", "remote_vamana", "async_vamana", "riftann", "distvs", "d_hnsw", "pipeann", "diskann", "cxl_ann",
    HOP_CACHE,
)  # fmt: skip
"""Rows of a table: kinds of system, and CXL-ANNS with the cache of its publication."""

FIXED_GB = 0.1
"""What state and buffers of the queries in flight may take beside the memory that is scaled with the vectors."""

_METRICS = ("recall", "latency_mean_us", "latency_p50_us", "latency_p99_us", "qps", "expansions", "hops")


class Runs(NamedTuple):
    """Runs of a row."""

    own: list[Run]
    """As the systems are compared, over splits."""
    saturated: Run
    beside: tuple[list[Run], list[Run]] | None
    """RiftANN and the system over the same queries; None for RiftANN itself."""


def runs_of(lab: Lab, dataset: str, name: str, recall: float, splits: int = 1) -> Runs:
    """Return the runs of a row of the table, and run those that are missing.

    Parameters
    ----------
    lab : Lab
    dataset : str
        One of the level's sets.
    name : str
        One of `COMPARED`.
    recall : float
        Each system has its own smallest L, d-HNSW the fewest partitions, at which it reaches that on the first split.
    splits : int
        Of systems that only the SimPy engine runs; the others have those of the level.

    Raises
    ------
    NotMeasured
    """
    kind, settings = _system_of(lab, dataset, name)
    return Runs(
        system(lab, dataset, kind, recall, splits=splits, **settings),
        saturated(lab, dataset, kind, recall, **settings),
        None if kind == "riftann" else beside(lab, dataset, kind, recall, splits=splits, **settings),
    )


def row(lab: Lab, dataset: str, name: str, recall: float, splits: int = 1) -> dict[str, Any]:
    """Measure a row of the table, of the runs that `runs_of` returns.

    Returns
    -------
    dict
        Means over splits, with ``_low`` and ``_high`` (95 %) where there is an interval. ``cpu_share``: busy threads
        over all; ``memory_bytes``: charged to the compute node; ``latency_over_riftann``: paired over queries.

    Raises
    ------
    NotMeasured
    ResultsError
        The system needs more memory than it may have (`allowed_bytes`).
    """
    runs, full, pair = runs_of(lab, dataset, name, recall, splits)
    kind = runs[0].parameters["system.kind"]
    first = runs[0].parameters
    found: dict[str, Any] = {"dataset": first["dataset.name"], "target": f"{recall:.2f}", "system": name}
    found |= {"L": first["system.routed"] if kind == KINDS["d-HNSW"] else first["search.L"], "splits": len(runs)}
    found |= {"queries": runs[0].manifest["queries"], "in_flight": first["load.concurrency"]}
    for one in _METRICS:
        found |= _columns(one, metric(runs, one))
    for one, number in (("reads", reads), ("kib", kib), ("cpu_share", cpu_share)):
        found |= _columns(one, of_runs(runs, number))
    found |= _columns("saturated_qps", metric([full], "qps"))
    found |= {"saturated_in_flight": full.parameters["load.concurrency"], "saturated_cpu_share": cpu_share(full)}
    found |= {"memory_bytes": memory_bytes(runs[0]), "allowed_bytes": allowed_bytes(lab, dataset)}
    if kind != "in_memory_vamana" and found["memory_bytes"] > found["allowed_bytes"]:
        raise ResultsError(
            f"{runs[0].path}: found {found['memory_bytes']:,} bytes at the compute node, expected at most "
            f"{found['allowed_bytes']:,}"
        )
    if pair:
        found |= _columns("latency_over_riftann", ratio(*reversed(pair)))
    return found


def _system_of(lab: Lab, dataset: str, name: str) -> tuple[str, dict[str, Any]]:
    if name != HOP_CACHE:
        return name, {}
    cache = {"kind": "hops", "code_and_record_gb": CACHED_GB_PER_VECTOR * vectors(lab, dataset)}
    return "cxl_ann", {"cluster__record_cache": cache}


def _columns(name: str, value: Value) -> dict[str, float]:
    return {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}


# ---------------------------------------------------------------- numbers of a run


def reads(run: Run) -> float:
    """Return reads per query: of records or their parts, of partitions (its share of the batch's), or calls."""
    queries = run.queries
    names = ("calls",) if "calls" in queries else ("partitions_read",) if "partitions_read" in queries else _READS
    return float(sum(queries[name].mean() for name in names))


_READS = ("reads_record", "reads_vector", "reads_adjacency")


def kib(run: Run) -> float:
    """Return KiB per query that cross the network, or come from the drive: payload, of calls both ways."""
    sent = run.queries["bytes_sent"].mean() if "bytes_sent" in run.queries else 0.0
    return float(run.queries["bytes_read"].mean() + sent) / 1024


def cpu_share(run: Run) -> float:
    """Return the mean share of the threads that work: main threads, evaluation workers, threads of memory nodes.

    A thread that polls while its queries wait does not work.
    """
    threads = run.parameters["cluster.threads"]
    queries = run.queries
    if "batches" in run.facts:
        found = run.facts["batches"]
        busy_ps = sum(one["search_ps"] + one["deserialize_ps"] for one in found)
        routing = run.metrics(["qps"])["qps"] * queries["evaluation_ps"].mean() / 1e12
        return float(busy_ps / sum(one["batch_ps"] for one in found) + routing) / threads
    per_query_ps = sum(queries[name].mean() for name in ("evaluation_ps", "posting_ps", "polling_ps"))
    busy = run.metrics(["qps"])["qps"] * per_query_ps / 1e12
    pools_ps = sum(run.facts.get("worker_busy_ps", ()))
    pools_ps += sum(one["busy_ps"] for one in run.facts.get("memory_threads", ()))
    if pools_ps:
        busy += pools_ps / run.facts["network"]["span_ps"]
    return float(busy / threads)


def memory_bytes(run: Run) -> int:
    """Return what a run takes at its compute node; of in-memory Vamana the whole index."""
    if run.parameters["system.kind"] == "in_memory_vamana":
        return run.facts["memory_nodes"]["total_bytes"]
    return run.facts["budget"]["total_bytes"]


def allowed_bytes(lab: Lab, dataset: str) -> int:
    """Return the paper's 24 GB scaled with the number of vectors, and what does not grow with it."""
    return round(1e9 * (scaled_budget_gb(lab, dataset) + FIXED_GB))
