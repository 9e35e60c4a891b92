"""From a configuration to objects, and from objects to the result of a run: the only place where all parts meet."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from riftsim import plugins
from riftsim.artifacts import Artifact, ArtifactStore
from riftsim.computenode.budget import MemoryBudget
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.drivers.local import run_local
from riftsim.computenode.drivers.sim import SimulatedCluster, SimulatedRun, run_simulated
from riftsim.computenode.engine import Balancing, CpuBudget
from riftsim.config.schema import (
    BurstLoad,
    ClosedLoad,
    ConstantLoad,
    ExperimentConfig,
    IndexFileConfig,
    LocalDriver,
    PluginConfig,
)
from riftsim.controller.fixed import Fixed
from riftsim.errors import ConfigError, DataError
from riftsim.index.diskann_io import read_memory_index
from riftsim.index.graph import Graph, degree_report, repair, unreachable
from riftsim.index.hnsw_io import read_faiss_hnsw, read_hnswlib
from riftsim.index.imported import ImportedIndex
from riftsim.index.store import stored_vamana
from riftsim.kernels.codes import fill_table
from riftsim.kernels.traversal import RemoteIndex
from riftsim.memnode.region import Region, build_region
from riftsim.memnode.shards import placement_for
from riftsim.quantize.codec import METRIC_CODES, Codec
from riftsim.quantize.store import codes_for
from riftsim.rdma.profiles import load_profile
from riftsim.results.recorder import PointResult
from riftsim.search.messages import Answer, Blocked
from riftsim.search.progress import progress_of
from riftsim.systems import async_vamana, in_memory_vamana, remote_vamana, riftann
from riftsim.systems.alpha import Ratios, calibration_search, measure_ratios
from riftsim.systems.context import System, SystemContext
from riftsim.units import PS_PER_MS, PS_PER_US
from riftsim.workload.arrivals import constant_arrivals_ps, phased_arrivals_ps, poisson_arrivals_ps
from riftsim.workload.datasets import Dataset, load_dataset
from riftsim.workload.groundtruth import recall

_SYSTEMS: dict[str, Callable[..., System]] = {
    "in_memory_vamana": in_memory_vamana.build,
    "remote_vamana": remote_vamana.build,
    "async_vamana": async_vamana.build,
    "riftann": riftann.build,
}


@dataclass(frozen=True)
class SearchIndex:
    """Graph and codes of a data set, in the index's own row order.

    Attributes
    ----------
    graph : Graph
    vectors : ndarray (rows, d)
    ids : ndarray (rows,) or None
        Row of the data set for each row of the index; None where they are the same.
    hidden : uint8 (rows,) or (0,)
        Rows that route but are not results.
    codec : Codec
    codes : uint8 (rows, code_bytes)
    facts : dict
    """

    graph: Graph
    vectors: np.ndarray
    ids: np.ndarray | None
    hidden: np.ndarray
    codec: Codec
    codes: np.ndarray
    facts: dict

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """Rows of the index for rows of the data set (integers of any shape); the data set's own where they are the same."""
        if self.ids is None:
            return ids
        rows = np.full(int(max(self.ids.max(), ids.max())) + 1, -1, np.int64)
        shown = np.ones(len(self.ids), bool) if not len(self.hidden) else self.hidden == 0
        rows[self.ids[shown]] = np.flatnonzero(shown)
        return rows[ids]


def prepare(
    config: ExperimentConfig, *, data_dir: str | Path | None = None, artifacts: ArtifactStore | None = None
) -> dict[str, Any]:
    """Put graph, codes and ground truth of a configuration into the cache.

    Returns
    -------
    dict
        What is there now: facts of data set, index and codes.
    """
    store = artifacts or ArtifactStore()
    dataset = _dataset(config, data_dir, store)
    return {"dataset": _dataset_facts(dataset), **_search_index(config, dataset, store).facts}


def run_point(
    config: ExperimentConfig,
    *,
    data_dir: str | Path | None = None,
    artifacts: ArtifactStore | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> PointResult:
    """Run one configuration without a sweep.

    Parameters
    ----------
    config : ExperimentConfig
    data_dir : path-like or None
        Where the vectors are, if not as the environment says.
    artifacts : ArtifactStore or None
        The cache.
    on_progress : callable or None
        Told the number of measured queries that have ended.

    Returns
    -------
    PointResult
    """
    started = time.perf_counter(), time.process_time()
    store = artifacts or ArtifactStore()
    dataset = _dataset(config, data_dir, store)
    index = _search_index(config, dataset, store)
    region = _region(config, index)
    context = search_context(config, dataset, index, region, store)
    system = build_system(config, context)
    budget = _memory_budget(config, index, region, system)
    facts = {"dataset": _dataset_facts(dataset), **index.facts, "memory_nodes": region.accounting()}
    facts["system"] = {"name": system.name, **system.facts}
    facts["budget"] = {"limit_bytes": budget.limit_bytes, "items": budget.items, "total_bytes": budget.total_bytes}

    ready = time.perf_counter(), time.process_time()
    if isinstance(config.driver, LocalDriver):
        order = np.arange(config.measured_queries or len(dataset.queries)) % len(dataset.queries)
        answers = run_local(system.new_program, order.tolist(), on_progress)
        columns: dict[str, np.ndarray] = {}
        windows = None
        facts["driver"] = "local"
    else:
        simulated = _simulate(config, dataset, index, region, system, on_progress)
        order = np.array([run.query for run in simulated.runs])
        answers = [run.answer for run in simulated.runs]
        columns = _time_columns(simulated)
        windows = simulated.windows
        facts |= {"driver": "sim", "engine": "simpy", "qps": simulated.throughput_qps, **simulated.facts}
    ended = time.perf_counter(), time.process_time()
    facts |= {
        "measured_queries": len(answers),
        "setup_wall_s": ready[0] - started[0],
        "setup_cpu_s": ready[1] - started[1],
        "wall_s": ended[0] - ready[0],
        "cpu_s": ended[1] - ready[1],
    }
    return _result(config, dataset, index, order, answers, columns, windows, facts)


# ---------------------------------------------------------------- data, index, memory


def _dataset(config: ExperimentConfig, data_dir, store: ArtifactStore) -> Dataset:
    asked = config.dataset
    dataset = load_dataset(asked.name, asked.n, asked.queries, asked.split_seed, data_dir, store)
    if dataset.truth.depth < config.search.k:
        raise ConfigError(
            f"search.k: found {config.search.k}, but the ground truth of '{dataset.name}' has {dataset.truth.depth} "
            "neighbours per query"
        )
    return dataset


def _dataset_facts(dataset: Dataset) -> dict:
    return {
        "name": dataset.name,
        "n": dataset.n,
        "dimension": dataset.dimension,
        "dtype": str(dataset.base.dtype),
        "metric": dataset.metric,
        "queries": len(dataset.queries),
        "calibration_queries": len(dataset.calibration),
        "fingerprint": dataset.fingerprint,
    }


def _search_index(config: ExperimentConfig, dataset: Dataset, store: ArtifactStore) -> SearchIndex:
    metric = METRIC_CODES[dataset.metric]
    asked = config.index
    ids, hidden, vectors, fingerprint = None, np.zeros(0, np.uint8), dataset.base, dataset.fingerprint
    if isinstance(asked, IndexFileConfig):
        imported = _import(asked, dataset)
        graph, vectors = imported.graph, _imported_vectors(imported, dataset)
        ids = imported.ids.astype(np.int32)
        if imported.routing_only.any():
            hidden = imported.routing_only.astype(np.uint8)
        fingerprint = f"{dataset.fingerprint}/{imported.source}"
        index_facts = {"source": imported.source, "degrees": degree_report(graph).facts()}
    else:
        stored = stored_vamana(
            dataset.base,
            metric,
            fingerprint=dataset.fingerprint,
            R=asked.R,
            L=asked.L,
            alpha=asked.alpha,
            slack=asked.slack,
            seed=asked.seed,
            store=store,
        )
        graph, index_facts = stored.graph, dict(stored.facts)
        lost = len(unreachable(graph))
        if lost:
            graph, _ = repair(graph, dataset.base, metric)
        index_facts["repaired_nodes"] = lost
    codec, codes = codes_for(fingerprint, vectors, dataset.metric, _plain(config.codes), store)
    return SearchIndex(graph, vectors, ids, hidden, codec, codes, {"index": index_facts, "codes": codec.facts})


def _import(asked: IndexFileConfig, dataset: Dataset) -> ImportedIndex:
    dtype = dataset.base.dtype
    if asked.format == "diskann":
        imported = read_memory_index(asked.path, dtype, dataset.metric)
    elif asked.format == "hnswlib":
        imported = read_hnswlib(asked.path, dtype, dataset.metric)
    else:
        imported = read_faiss_hnsw(asked.path)
    if imported.metric is not None and imported.metric != dataset.metric:
        raise ConfigError(
            f"index.path: {asked.path} is of metric '{imported.metric}', the data set '{dataset.name}' of "
            f"'{dataset.metric}'"
        )
    shown = imported.ids[~imported.routing_only]
    if len(shown) and (shown.min() < 0 or shown.max() >= dataset.n):
        raise DataError(
            f"{asked.path}: found external ids {shown.min()} to {shown.max()}, expected rows of the data set "
            f"'{dataset.name}', 0 to {dataset.n - 1}"
        )
    return imported


def _imported_vectors(imported: ImportedIndex, dataset: Dataset) -> np.ndarray:
    """The vectors of an imported index: those of the data set, which must be the same, and the routing-only ones."""
    shown = ~imported.routing_only
    vectors = imported.vectors
    if vectors is None:
        if imported.routing_only.any():
            raise DataError(f"{imported.source}: found routing-only rows, but no vectors for them")
        return np.ascontiguousarray(dataset.base[imported.ids])
    if vectors.dtype != dataset.base.dtype or vectors.shape[1] != dataset.dimension:
        raise DataError(
            f"{imported.source}: found {vectors.dtype} vectors of dimension {vectors.shape[1]}, expected "
            f"{dataset.base.dtype} of {dataset.dimension} as in '{dataset.name}'"
        )
    rows = np.flatnonzero(shown)
    differing = (vectors[rows] != dataset.base[imported.ids[rows]]).any(axis=1)
    if differing.any():
        row = int(rows[np.argmax(differing)])
        raise DataError(
            f"{imported.source}: row {row} (id {imported.ids[row]}) is not the vector that '{dataset.name}' has there: "
            "the index is of other vectors"
        )
    return vectors


def _region(config: ExperimentConfig, index: SearchIndex) -> Region:
    cluster = config.cluster
    asked, place = cluster.placement, None
    if asked.kind == "plugin":
        place = plugins.make("placement", asked.name, asked.options)
    placement = placement_for(asked.kind, len(index.vectors), cluster.memory_nodes, place)
    return build_region(index.vectors, index.graph.neighbors, index.graph.degrees, placement)


def search_context(
    config: ExperimentConfig, dataset: Dataset, index: SearchIndex, region: Region, store: ArtifactStore
) -> SystemContext:
    """Bring together what a system is built from."""
    codec, layout = index.codec, region.layout
    metric = METRIC_CODES[dataset.metric]
    remote = RemoteIndex(
        codes=np.ascontiguousarray(index.codes).reshape(-1),
        region=region.buffer,
        region_bases=np.ascontiguousarray(region.bases, np.int64),
        placement=region.placement.parameters,
        positions=region.placement.positions,
        hidden=index.hidden,
        code_kind=codec.kind,
        code_bytes=codec.code_bytes,
        metric=metric,
        dimension=layout.dimension,
        vector_bytes=layout.vector_bytes,
        degree=layout.degree,
        start=int(index.graph.start),
    )

    def fill(query: np.ndarray, table: np.ndarray) -> None:
        fill_table(codec.kind, metric, query, layout.dimension, codec.chunk_starts, codec.parameters, table)

    def calibrated_alpha(delta: float, list_size: int) -> float:
        return stored_ratios(config, dataset, index, context, list_size, store).alpha(delta)

    context = SystemContext(
        vectors=index.vectors,
        queries=np.array(dataset.queries, order="C"),
        metric=metric,
        graph=index.graph,
        hidden=index.hidden,
        remote=remote,
        fill_table=fill,
        table_entries=codec.table_entries,
        list_size=config.search.L,
        k=config.search.k,
        threads=config.cluster.threads,
        queries_per_thread=config.cluster.queries_per_thread,
        calibrated_alpha=calibrated_alpha,
    )
    return context


def stored_ratios(
    config: ExperimentConfig,
    dataset: Dataset,
    index: SearchIndex,
    context: SystemContext,
    list_size: int,
    store: ArtifactStore,
) -> Ratios:
    """Ratios of compact to exact distance on the calibration queries, from the cache if they are there.

    Raises
    ------
    ConfigError
        If the metric has no distances whose ratio the rule could use, or there are no calibration queries.
    """
    if dataset.metric == "ip":
        raise ConfigError(
            "verification.kind: 'calibrated' needs a metric with distances (l2, cosine); the data set has 'ip'"
        )
    if not len(dataset.calibration):
        raise ConfigError(f"verification.alpha: '{dataset.name}' has no calibration queries; give alpha a value")
    recipe = {
        "dataset": dataset.fingerprint,
        "calibration": hashlib.sha256(np.ascontiguousarray(dataset.calibration).tobytes()).hexdigest(),
        "index": _plain(config.index),
        "codes": _plain(config.codes),
        "k": context.k,
        "L": list_size,
    }

    def make() -> Artifact:
        queries = np.array(dataset.calibration, order="C")
        search = calibration_search(context, queries, list_size)
        truth = dataset.calibration_truth

        def compact(query: int, ids: np.ndarray) -> np.ndarray:
            return index.codec.distances(queries[query], index.codes[ids])

        true_ids = index.rows_of(truth.ids[:, : context.k])
        measured = measure_ratios(search, true_ids, truth.distances[:, : context.k], compact)
        return Artifact(
            {"ratios": measured.ratios, "query": measured.query}, {"asked": measured.asked, "zero": measured.zero}
        )

    kept = store.get_or_make("alpha-ratios", recipe, make)
    return Ratios(kept.arrays["ratios"], kept.arrays["query"], kept.facts["asked"], kept.facts["zero"])


def build_system(config: ExperimentConfig, context: SystemContext) -> System:
    """Build the configured system, built in or a plug-in."""
    asked = config.system
    if isinstance(asked, PluginConfig):
        builder = plugins.load("system", asked.name)
        settings = dict(asked.options)
    else:
        settings = _plain(asked)
        builder = _SYSTEMS[settings.pop("kind")]
    return builder(context, **settings)


def _memory_budget(config: ExperimentConfig, index: SearchIndex, region: Region, system: System) -> MemoryBudget:
    budget = MemoryBudget(round(config.cluster.memory_budget_gb * 1e9))
    if system.local_index:
        return budget
    if system.uses_codes:
        budget.charge("compact codes", index.codes.nbytes)
        budget.charge("codec parameters", index.codec.state_bytes)
    if region.placement.table_bytes:
        budget.charge("placement table", region.placement.table_bytes)
    in_flight = _queries_in_flight(config)
    budget.charge(f"state of {in_flight} queries in flight", in_flight * system.state_bytes)
    budget.require()
    return budget


def _queries_in_flight(config: ExperimentConfig) -> int:
    most = config.cluster.threads * config.cluster.queries_per_thread
    return min(most, config.load.concurrency) if isinstance(config.load, ClosedLoad) else most


# ---------------------------------------------------------------- running


def _simulate(
    config: ExperimentConfig,
    dataset: Dataset,
    index: SearchIndex,
    region: Region,
    system: System,
    on_progress: Callable[[int], None] | None,
) -> SimulatedRun:
    cluster, load = config.cluster, config.load
    profile = load_profile(config.hardware)
    measured = config.measured_queries or len(dataset.queries)
    warmup, arrivals_ps, concurrency = config.warmup_queries, None, None
    if isinstance(load, ClosedLoad):
        concurrency = load.concurrency
        warmup += concurrency * cluster.compute_nodes
    elif isinstance(load, BurstLoad):
        arrivals_ps, warmup, measured = _burst(config)
    else:
        rate_qps = load.rate_qps * cluster.compute_nodes
        count = warmup + 2 * measured + cluster.threads
        constant = isinstance(load, ConstantLoad)
        arrivals_ps = (
            constant_arrivals_ps(rate_qps, count) if constant else poisson_arrivals_ps(rate_qps, count, config.seed)
        )
    simulated = SimulatedCluster(
        profile=profile,
        cpu=CpuModel.of(profile.cpu, code_bytes=index.codec.code_bytes, vector_bytes=region.layout.vector_bytes),
        budget=CpuBudget(threads=cluster.threads, queries_per_thread=cluster.queries_per_thread),
        balancing=Balancing(Fixed()),
        compute_nodes=cluster.compute_nodes,
        memory_nodes=cluster.memory_nodes,
        signal_last_only=cluster.signalling == "last",
    )
    return run_simulated(
        replace(simulated, **system.cluster_changes),
        system.new_program,
        queries=len(dataset.queries),
        warmup=warmup,
        measured=measured,
        concurrency=concurrency,
        arrivals_ps=arrivals_ps,
        sample_ps=round(config.driver.sample_us * PS_PER_US),
        on_progress=on_progress,
    )


def _burst(config: ExperimentConfig) -> tuple[np.ndarray, int, int]:
    """Arrival times of a burst, and how many of them come before it is measured and while it is."""
    load = config.load
    rate_qps = load.rate_qps * config.cluster.compute_nodes
    warm_ms = max(1.0, 1e3 * (config.warmup_queries + 2 * config.cluster.threads) / rate_qps)
    lengths_ms = (warm_ms, load.before_ms, load.burst_ms, load.after_ms, max(warm_ms, load.after_ms))
    rates_qps = (rate_qps, rate_qps, rate_qps * load.factor, rate_qps, rate_qps)
    lengths_ps = [round(length * PS_PER_MS) for length in lengths_ms]
    times_ps = phased_arrivals_ps(list(zip(lengths_ps, rates_qps, strict=True)), config.seed)
    warmup = int(np.searchsorted(times_ps, lengths_ps[0]))
    return times_ps, warmup, int(np.searchsorted(times_ps, sum(lengths_ps[:4]))) - warmup


def _time_columns(simulated: SimulatedRun) -> dict[str, np.ndarray]:
    runs = simulated.runs
    columns = {
        name: np.array([getattr(run, name) for run in runs], np.int64)
        for name in (
            "compute_node",
            "thread",
            "arrival_ps",
            "start_ps",
            "end_ps",
            "evaluation_ps",
            "posting_ps",
            "polling_ps",
        )
    }
    columns["queue_ps"] = columns["start_ps"] - columns["arrival_ps"]
    waited = np.array([run.waited_ps for run in runs], np.int64)
    columns["wait_ps"] = waited[:, Blocked.READS]
    columns["gate_ps"] = waited[:, Blocked.GATE]
    columns["drain_ps"] = waited[:, Blocked.DRAIN]
    return columns


def _result(
    config: ExperimentConfig,
    dataset: Dataset,
    index: SearchIndex,
    order: np.ndarray,
    answers: list[Answer],
    columns: dict[str, np.ndarray],
    windows: dict[str, np.ndarray] | None,
    facts: dict,
) -> PointResult:
    ids = np.stack([answer.ids for answer in answers])
    if index.ids is not None:
        ids = np.where(ids >= 0, index.ids[np.maximum(ids, 0)], -1).astype(np.int32)
    names = dict.fromkeys(name for answer in answers for name in answer.counts)
    counts = {name: np.array([answer.counts.get(name, 0) for answer in answers], np.int64) for name in names}
    strict, with_ties = recall(ids, dataset.truth.take(order), config.search.k, dataset.base, dataset.queries[order])
    queries = {"query": order.astype(np.int64), **columns, **counts, "recall": strict, "recall_ties": with_ties}
    facts["progress"] = progress_of([answer.trail for answer in answers if answer.trail is not None])
    return PointResult(queries, ids, np.stack([answer.distances for answer in answers]), windows, facts)


def _plain(block: msgspec.Struct) -> dict[str, Any]:
    """A configuration block as keyword arguments, its tag as ``kind``."""
    return msgspec.to_builtins(block)
