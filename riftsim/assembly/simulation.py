"""The simulated cluster and load of a configuration."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from riftsim.assembly.index import SearchIndex
from riftsim.computenode.balancing import Balancing
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.drivers.compiled import python_policy, run_compiled
from riftsim.computenode.drivers.sim import SimulatedCluster, SimulatedRun, run_simulated
from riftsim.computenode.engine import CpuBudget
from riftsim.config.schema import BurstLoad, ClosedLoad, ConstantLoad, ExperimentConfig, TraceConfig
from riftsim.controller.fixed import Fixed
from riftsim.errors import ConfigError
from riftsim.memnode.region import Region
from riftsim.rdma.profiles import load_profile
from riftsim.search.messages import Blocked
from riftsim.systems.context import System
from riftsim.units import PS_PER_MS, PS_PER_US
from riftsim.workload.arrivals import constant_arrivals_ps, phased_arrivals_ps, poisson_arrivals_ps
from riftsim.workload.datasets import Dataset

_ENGINES = {"simpy": run_simulated, "compiled": run_compiled}


def simulate(
    config: ExperimentConfig,
    dataset: Dataset,
    index: SearchIndex,
    region: Region,
    system: System,
    on_progress: Callable[[int], None] | None,
    alter: Callable[[SimulatedCluster], SimulatedCluster] | None = None,
) -> SimulatedRun:
    """Simulate the configured load on the configured cluster, or on what ``alter`` makes of it."""
    cluster, load = config.cluster, config.load
    profile = load_profile(config.hardware)
    measured = config.measured_queries or len(dataset.queries)
    warmup, arrivals_ps, concurrency = config.warmup_queries, None, None
    if isinstance(load, ClosedLoad):
        concurrency = load.concurrency
        warmup += concurrency * cluster.compute_nodes
    elif isinstance(load, BurstLoad):
        arrivals_ps, warmup, measured, burst_ps = _burst(config)
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
    simulated = replace(simulated, **system.cluster_changes)
    simulated = replace(simulated, cpu=_without_idle_parts(simulated))
    if alter:
        simulated = alter(simulated)
    engine = engine_of(config.driver.engine, simulated, system)
    run = _ENGINES[engine](
        simulated,
        system.new_program,
        queries=len(dataset.queries),
        warmup=warmup,
        measured=measured,
        concurrency=concurrency,
        arrivals_ps=arrivals_ps,
        sample_ps=round(config.driver.sample_us * PS_PER_US),
        seed=config.seed,
        on_progress=on_progress,
        traced=traced_arrivals(config.driver.trace, warmup, measured),
    )
    facts = {**run.facts, "engine": engine, "workers": simulated.budget.workers}
    if isinstance(load, BurstLoad):
        facts["burst"] = {"start_ps": burst_ps[0], "end_ps": burst_ps[1]}
    return replace(run, facts=facts)


def traced_arrivals(trace: TraceConfig | None, warmup: int, measured: int) -> range | None:
    """Numbers of arrival of the measured queries to be traced; None for none.

    Raises
    ------
    ConfigError
        If there are fewer measured queries.
    """
    if trace is None:
        return None
    if trace.first >= measured:
        raise ConfigError(
            f"driver.trace.first: found {trace.first}, expected less than the {measured} measured queries"
        )
    return range(warmup + trace.first, warmup + min(measured, trace.first + trace.queries))


def _without_idle_parts(cluster: SimulatedCluster) -> CpuModel:
    """Prices of a run in which what is not there takes no time: workers, or a controller that decides something."""
    cpu = cluster.cpu
    if not cluster.budget.workers:
        cpu = replace(cpu, hand_out_ps=0)
    if isinstance(cluster.balancing.controller, Fixed):
        cpu = replace(cpu, control_ps=0)
    return cpu


def engine_of(asked: str, cluster: SimulatedCluster, system: System) -> str:
    """The event loop that runs a system: the one asked for, or for ``auto`` the compiled one if it has every policy.

    Raises
    ------
    ConfigError
        If the compiled one is asked for and a policy is in Python; names it.
    """
    if asked == "simpy":
        return asked
    obstacle = python_policy(cluster, system.new_program())
    if obstacle is None:
        return "compiled"
    if asked == "compiled":
        raise ConfigError(f"driver.engine: found 'compiled', but {obstacle} is Python; expected 'simpy' or 'auto'")
    return "simpy"


def _burst(config: ExperimentConfig) -> tuple[np.ndarray, int, int, tuple[int, int]]:
    """Arrival times of a burst, how many of them come before it is measured and while it is, and when the rate rises
    and falls, ps."""
    load = config.load
    rate_qps = load.rate_qps * config.cluster.compute_nodes
    warm_ms = max(1.0, 1e3 * (config.warmup_queries + 2 * config.cluster.threads) / rate_qps)
    lengths_ms = (warm_ms, load.before_ms, load.burst_ms, load.after_ms, max(warm_ms, load.after_ms))
    rates_qps = (rate_qps, rate_qps, rate_qps * load.factor, rate_qps, rate_qps)
    lengths_ps = [round(length * PS_PER_MS) for length in lengths_ms]
    times_ps = phased_arrivals_ps(list(zip(lengths_ps, rates_qps, strict=True)), config.seed)
    warmup = int(np.searchsorted(times_ps, lengths_ps[0]))
    measured = int(np.searchsorted(times_ps, sum(lengths_ps[:4]))) - warmup
    if measured < 1:
        raise ConfigError(
            f"load: found no arrival in before_ms + burst_ms + after_ms = {sum(lengths_ms[1:4]):.3g} ms at "
            f"rate_qps = {load.rate_qps:g}; expected longer times or a higher rate"
        )
    return times_ps, warmup, measured, (sum(lengths_ps[:2]), sum(lengths_ps[:3]))


def time_columns(simulated: SimulatedRun) -> dict[str, np.ndarray]:
    """Where the time of each measured query went: columns of the results, int64 ps."""
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


def mean_states(windows: dict[str, np.ndarray], columns: dict[str, np.ndarray]) -> dict[str, float]:
    """Means of the samples that were taken while measured queries were there, over time and compute nodes.

    Parameters
    ----------
    windows : dict of str to ndarray
        The samples.
    columns : dict of str to ndarray
        Of ``time_columns``.

    Returns
    -------
    dict of str to float
        Per column of the samples; nan where no sample has a value.
    """
    time_ps = windows["time_ps"]
    measured = (time_ps >= columns["arrival_ps"].min()) & (time_ps <= columns["end_ps"].max())
    states = {}
    for name, values in windows.items():
        known = values[measured & ~np.isnan(values)]
        states[name] = float(known.mean()) if len(known) else float("nan")
    return {name: states[name] for name in states if name not in ("time_ps", "compute_node")}
