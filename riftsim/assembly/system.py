"""The system of a configuration: records on memory nodes, what the system is built from, and what memory it takes."""

import hashlib
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np

from riftsim import plugins
from riftsim.artifacts import Artifact, ArtifactStore
from riftsim.assembly.index import SearchIndex
from riftsim.computenode.budget import MemoryBudget
from riftsim.computenode.engine import CpuBudget
from riftsim.config.blocks import PluginConfig
from riftsim.config.machines import ClosedLoad
from riftsim.config.schema import ExperimentConfig
from riftsim.config.systems import Calibrated
from riftsim.errors import ConfigError
from riftsim.index.orderings import stored_packs
from riftsim.index.partitions import stored_partitions
from riftsim.kernels.codes import fill_table
from riftsim.kernels.traversal import RemoteIndex
from riftsim.memnode.region import Region
from riftsim.memnode.shards import placement_for
from riftsim.memnode.store import stored_region
from riftsim.quantize.codec import METRIC_CODES
from riftsim.systems import (
    async_vamana,
    co_packed,
    cxl_ann,
    d_hnsw,
    diskann,
    distvs,
    in_memory_vamana,
    one_hop_delay,
    pipeann,
    remote_vamana,
    riftann,
)
from riftsim.systems.alpha import Ratios, calibration_search, measure_ratios
from riftsim.systems.context import System, SystemBuilder, SystemContext
from riftsim.workload.datasets import Dataset

_SYSTEMS: dict[str, SystemBuilder] = {
    "in_memory_vamana": in_memory_vamana.build,
    "remote_vamana": remote_vamana.build,
    "async_vamana": async_vamana.build,
    "riftann": riftann.build,
    "diskann": diskann.build,
    "pipeann": pipeann.build,
    "one_hop_delay": one_hop_delay.build,
    "co_packed": co_packed.build,
    "cxl_ann": cxl_ann.build,
    "distvs": distvs.build,
    "d_hnsw": d_hnsw.build,
}


@dataclass(frozen=True)
class Prepared:
    """A configuration, and all that a search of it needs, whatever its driver."""

    config: ExperimentConfig
    dataset: Dataset
    index: SearchIndex
    region: Region
    """The records at the memory nodes."""
    system: System


def lay_out(config: ExperimentConfig, index: SearchIndex, store: ArtifactStore) -> Region:
    """Lay the records out over the memory nodes."""
    cluster = config.cluster
    asked, place = cluster.placement, None
    if asked.kind == "plugin":
        place = plugins.make("placement", asked.name, asked.options)
    placement = placement_for(asked.kind, len(index.vectors), cluster.memory_nodes, place)
    return stored_region(
        index.vectors,
        index.graph.neighbors,
        index.graph.degrees,
        placement,
        fingerprint=index.fingerprint,
        store=store,
    )


def search_context(
    config: ExperimentConfig, dataset: Dataset, index: SearchIndex, region: Region, store: ArtifactStore
) -> SystemContext:
    """Bring together what a system is built from.

    Raises
    ------
    ConfigError
        A verification rule by distances is asked for, and the metric has none.
    """
    if isinstance(getattr(config.system, "verification", None), Calibrated | PluginConfig):
        _require_distances(dataset)
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

    def calibrate_alpha(context: SystemContext, delta: float, list_size: int) -> float:
        return stored_ratios(config, dataset, index, context, list_size, store).alpha(delta)

    return SystemContext(
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
        calibrate_alpha=calibrate_alpha,
        true_ids=index.rows_of(dataset.truth.ids[:, : config.search.k]),
        memory_budget_bytes=round(config.cluster.memory_budget_gb * 1e9),
        partitions=partial(stored_partitions, dataset.base, metric, fingerprint=dataset.fingerprint, store=store),
        packs=partial(stored_packs, index.graph, fingerprint=index.facts["index"]["fingerprint"], store=store),
    )


def stored_ratios(
    config: ExperimentConfig,
    dataset: Dataset,
    index: SearchIndex,
    context: SystemContext,
    list_size: int,
    store: ArtifactStore,
    *,
    held_out: bool = False,
) -> Ratios:
    """Ratios of compact to exact distance on the calibration queries, from the cache if they are there.

    ``held_out`` takes the evaluated queries instead: they judge an alpha and never choose it.

    Raises
    ------
    ConfigError
        If the metric has no distances whose ratio the rule could use, or there are no calibration queries.
    """
    _require_distances(dataset)
    queries, truth = (dataset.queries, dataset.truth) if held_out else (dataset.calibration, dataset.calibration_truth)
    if not len(queries):
        raise ConfigError(f"verification.alpha: '{dataset.name}' has no calibration queries; give alpha a value")
    queries = np.array(queries, order="C")
    recipe = {
        "dataset": dataset.fingerprint,
        "calibration": hashlib.sha256(queries.tobytes()).hexdigest(),
        "index": index.facts["index"]["fingerprint"],
        "codes": msgspec.to_builtins(config.codes),
        "codec": hashlib.sha256(index.codec.parameters.tobytes()).hexdigest(),
        "k": context.k,
        "L": list_size,
    }

    def make() -> Artifact:
        search = calibration_search(context, queries, list_size)

        def compact(query: int, ids: np.ndarray) -> np.ndarray:
            return index.codec.distances(queries[query], index.codes[ids])

        true_ids = index.rows_of(truth.ids[:, : context.k])
        measured = measure_ratios(search, true_ids, truth.distances[:, : context.k], compact)
        return Artifact(
            {"ratios": measured.ratios, "query": measured.query}, {"asked": measured.asked, "zero": measured.zero}
        )

    kept = store.get_or_make("alpha-ratios", recipe, make)
    return Ratios(kept.arrays["ratios"], kept.arrays["query"], kept.facts["asked"], kept.facts["zero"])


def _require_distances(dataset: Dataset) -> None:
    """Refuse a metric under which alpha times tau bounds nothing: inner products have either sign."""
    if dataset.metric == "ip":
        raise ConfigError(
            "system.verification: a rule d^ <= alpha * tau needs a metric with distances (l2, cosine); data set "
            f"'{dataset.name}' has 'ip'; expected 'expansion-only' or 'verify-all'"
        )


def build_system(config: ExperimentConfig, context: SystemContext) -> System:
    """Build the configured system, built in or a plug-in."""
    asked = config.system
    if isinstance(asked, PluginConfig):
        return plugins.make("system", asked.name, asked.options, System, context)
    settings = msgspec.to_builtins(asked)
    return _SYSTEMS[settings.pop("kind")](context, **settings)


def charge_memory(config: ExperimentConfig, index: SearchIndex, region: Region, system: System) -> MemoryBudget:
    """Charge what lies at a compute node to its budget; too much is an error that itemises."""
    budget = MemoryBudget(round(config.cluster.memory_budget_gb * 1e9))
    if system.local_index:
        return budget
    if system.uses_codes:
        budget.charge("compact codes", index.codes.nbytes)
        budget.charge("codec parameters", index.codec.state_bytes)
    if region.placement.table_bytes:
        budget.charge("placement table", region.placement.table_bytes)
    for item, taken_bytes in system.memory_items.items():
        budget.charge(item, taken_bytes)
    in_flight = _queries_in_flight(config, system)
    budget.charge(f"state of {in_flight} queries in flight", in_flight * system.state_bytes)
    budget.require()
    return budget


def _queries_in_flight(config: ExperimentConfig, system: System) -> int:
    cluster = config.cluster
    budget = system.cluster_changes.get("budget") or CpuBudget(
        threads=cluster.threads, queries_per_thread=cluster.queries_per_thread
    )
    most = budget.main_threads * budget.queries_per_thread
    return min(most, config.load.concurrency) if isinstance(config.load, ClosedLoad) else most
