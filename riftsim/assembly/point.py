"""One point of an experiment: prepare what it needs, run it, and put its result together."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from riftsim.artifacts import ArtifactStore
from riftsim.assembly.cache import with_record_cache
from riftsim.assembly.disk import search_on_disk
from riftsim.assembly.export import export_disk_index
from riftsim.assembly.index import dataset_facts, load_configured_dataset, load_search_index
from riftsim.assembly.simulation import mean_states, simulate, time_columns
from riftsim.assembly.system import Prepared, build_system, charge_memory, lay_out, search_context, stored_ratios
from riftsim.computenode.drivers.local import run_local
from riftsim.computenode.drivers.sim import SimulatedCluster, SimulatedRun
from riftsim.config.machines import ClosedLoad, FileDriver, LiveDriver, LocalDriver, ReplayDriver
from riftsim.config.schema import ExperimentConfig
from riftsim.errors import ConfigError
from riftsim.results.recorder import PointResult
from riftsim.search.messages import Answer, Program
from riftsim.search.progress import progress_of
from riftsim.systems.alpha import Ratios
from riftsim.systems.context import System
from riftsim.workload.groundtruth import recall

if TYPE_CHECKING:
    from riftsim.results.trace import Trace

_READ_COUNTS = ("reads_record", "reads_vector", "reads_adjacency", "bytes_read", "chains")
"""Counts that every run has: 0 where a system reads nothing."""


def prepare(
    config: ExperimentConfig,
    *,
    data_dir: str | Path | None = None,
    artifacts: ArtifactStore | None = None,
    disk_index: str | Path | None = None,
) -> dict[str, Any]:
    """Put graph, codes and ground truth of a configuration into the cache.

    Parameters
    ----------
    config : ExperimentConfig
    data_dir : path-like or None
        Where the vectors are, if not as the environment says.
    artifacts : ArtifactStore or None
    disk_index : path-like or None
        Folder and beginning of the names of files that DiskANN's tool searches, to be written too
        (``export_disk_index``).

    Returns
    -------
    dict
        What is there now: facts of data set, index and codes.

    Raises
    ------
    ConfigError
        DiskANN's tool could not search such an index.
    """
    store = artifacts or ArtifactStore()
    dataset = load_configured_dataset(config, data_dir, store)
    index = load_search_index(config, dataset, store)
    if disk_index:
        export_disk_index(index, disk_index, dataset.metric)
    return {"dataset": dataset_facts(dataset), **index.facts}


def calibration_ratios(
    config: ExperimentConfig,
    list_size: int,
    *,
    data_dir: str | Path | None = None,
    artifacts: ArtifactStore | None = None,
) -> tuple[Ratios, Ratios]:
    """Ratios of compact to exact distance of discovered true neighbours, for the verification rule.

    Parameters
    ----------
    config : ExperimentConfig
        Data set, index, codes and k count.
    list_size : int
        Candidate-list size of the searches that discover.

    Returns
    -------
    (Ratios, Ratios)
        Of the calibration queries, which choose alpha, and of the evaluated ones, which judge it.

    Raises
    ------
    ConfigError
        The metric has no such ratio, or there are no calibration queries.
    """
    store = artifacts or ArtifactStore()
    dataset = load_configured_dataset(config, data_dir, store)
    index = load_search_index(config, dataset, store)
    context = search_context(config, dataset, index, lay_out(config, index, store), store)
    chosen, judged = (
        stored_ratios(config, dataset, index, context, list_size, store, held_out=held_out)
        for held_out in (False, True)
    )
    return chosen, judged


def compile_kernels(
    config: ExperimentConfig, *, data_dir: str | Path | None = None, artifacts: ArtifactStore | None = None
) -> None:
    """Have every kernel of a configuration compiled, by running one query of it."""
    with_nodes = isinstance(config.driver, LiveDriver | ReplayDriver | FileDriver)
    one = msgspec.structs.replace(
        config,
        driver=LocalDriver() if with_nodes else config.driver,
        dataset=msgspec.structs.replace(config.dataset, queries=1),
        load=ClosedLoad(concurrency=1),
        warmup_queries=0,
        measured_queries=1,
    )
    run_point(one, data_dir=data_dir, artifacts=artifacts)


def run_point(
    config: ExperimentConfig,
    *,
    data_dir: str | Path | None = None,
    artifacts: ArtifactStore | None = None,
    on_progress: Callable[[int], None] | None = None,
    alter: Callable[[SimulatedCluster], SimulatedCluster] | None = None,
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
    alter : callable or None
        Makes another cluster of the configured one, e.g. with a price at zero; the configuration does not say so, and
        the result must not be recorded under it.

    Returns
    -------
    PointResult
    """
    started = time.perf_counter(), time.process_time()
    store = artifacts or ArtifactStore()
    dataset = load_configured_dataset(config, data_dir, store)
    index = load_search_index(config, dataset, store)
    region = lay_out(config, index, store)
    context = search_context(config, dataset, index, region, store)
    system = with_record_cache(config, dataset, index, context, region, build_system(config, context))
    if not system.has_clock and not isinstance(config.driver, LocalDriver):
        found = config.driver.__struct_config__.tag
        raise ConfigError(f"driver.kind: found '{found}', but system '{system.name}' has no latency; expected 'local'")
    if isinstance(config.driver, LiveDriver | ReplayDriver):
        from riftsim.assembly.live import ready_for_live

        ready_for_live(system, config.driver)
    budget = charge_memory(config, index, region, system)
    facts = {"dataset": dataset_facts(dataset), **index.facts, "memory_nodes": region.accounting()}
    facts["system"] = {"name": system.name, **system.facts}
    facts["budget"] = {"limit_bytes": budget.limit_bytes, "items": budget.items, "total_bytes": budget.total_bytes}

    system, programs = _remembering_programs(system)
    ready = time.perf_counter(), time.process_time()
    facts["driver"] = config.driver.__struct_config__.tag
    if isinstance(config.driver, FileDriver):
        facts["system"].pop("drive")  # the profile of one that is not used
    prepared = Prepared(config, dataset, index, region, system)
    order, answers, timed = _search(prepared, store, on_progress, alter)
    columns: dict[str, np.ndarray] = {}
    windows = trace = None
    if timed is not None:
        columns, windows = time_columns(timed), timed.windows
        if timed.trace is not None:
            from riftsim.results.trace import trace_of

            trace = trace_of(timed.trace, timed.runs[0].ordinal)
        if windows:
            facts["states"] = mean_states(windows, columns)
        facts |= {"qps": timed.throughput_qps, **timed.facts}
    ended = time.perf_counter(), time.process_time()
    facts |= {
        "measured_queries": len(answers),
        "setup_wall_s": ready[0] - started[0],
        "setup_cpu_s": ready[1] - started[1],
        "wall_s": ended[0] - ready[0],
        "cpu_s": ended[1] - ready[1],
        "query_states": _state_facts(programs),
    }
    return _result(prepared, order, answers, columns, windows, facts, trace)


def _search(
    prepared: Prepared,
    store: ArtifactStore,
    on_progress: Callable[[int], None] | None,
    alter: Callable[[SimulatedCluster], SimulatedCluster] | None,
) -> tuple[np.ndarray, list[Answer], SimulatedRun | None]:
    """Search under the configured driver: which queries, their answers, and the run of a driver that has a clock."""
    driver, new_program = prepared.config.driver, prepared.system.new_program
    if isinstance(driver, LocalDriver):
        queries = len(prepared.dataset.queries)
        order = np.arange(prepared.config.measured_queries or queries) % queries
        return order, run_local(new_program, order.tolist(), on_progress), None
    if isinstance(driver, ReplayDriver):
        from riftsim.computenode.drivers.replay import run_replay

        queries, answers = run_replay(driver.log, new_program, on_progress)
        return np.array(queries, np.int64), answers, None
    if isinstance(driver, LiveDriver):
        from riftsim.assembly.live import search_live

        timed = search_live(prepared, on_progress)
    elif isinstance(driver, FileDriver):
        timed = search_on_disk(prepared, store, on_progress)
    else:
        timed = simulate(prepared, on_progress, alter)
    return np.array([run.query for run in timed.runs]), [run.answer for run in timed.runs], timed


def _remembering_programs(system: System) -> tuple[System, list[Program]]:
    """The system, and a list of the programs that will have been made of it: as many as queries were in flight."""
    programs: list[Program] = []

    def new_program() -> Program:
        programs.append(program := system.new_program())
        return program

    return replace(system, new_program=new_program), programs


def _state_facts(programs: list[Program]) -> dict[str, int]:
    """How many query states a run used, and their bytes at its end: a state grows with what a search meets."""
    sizes = [getattr(program, "state_bytes", 0) for program in programs]
    return {"count": len(sizes), "largest_bytes": max(sizes, default=0), "total_bytes": sum(sizes)}


def _result(
    prepared: Prepared,
    order: np.ndarray,
    answers: list[Answer],
    columns: dict[str, np.ndarray],
    windows: dict[str, np.ndarray] | None,
    facts: dict,
    trace: "Trace | None",
) -> PointResult:
    dataset, shown, k = prepared.dataset, prepared.index.ids, prepared.config.search.k
    ids = np.stack([answer.ids for answer in answers])
    if shown is not None:
        ids = np.where(ids >= 0, shown[np.maximum(ids, 0)], -1).astype(np.int32)
    names = dict.fromkeys((*_READ_COUNTS, *(name for answer in answers for name in answer.counts)))
    counts = {name: np.array([answer.counts.get(name, 0) for answer in answers], np.int64) for name in names}
    strict, with_ties = recall(ids, dataset.truth.take(order), k, dataset.base, dataset.queries[order])
    queries = {"query": order.astype(np.int64), **columns, **counts, "recall": strict, "recall_ties": with_ties}
    facts["progress"] = progress_of([answer.trail for answer in answers if answer.trail is not None])
    return PointResult(queries, ids, np.stack([answer.distances for answer in answers]), windows, facts, trace)
