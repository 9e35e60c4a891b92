"""The simulated cluster and load of a configuration."""

import gc
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from riftsim.assembly.load import load_of
from riftsim.assembly.system import Prepared
from riftsim.computenode.balancing import Balancing
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.drivers.compiled import python_policy, run_compiled
from riftsim.computenode.drivers.sim import SimulatedCluster, SimulatedRun, run_simulated
from riftsim.computenode.engine import ComputeNode, CpuBudget
from riftsim.config.machines import TraceConfig
from riftsim.controller.fixed import Fixed
from riftsim.errors import ConfigError
from riftsim.rdma.profiles import load_profile
from riftsim.search.messages import Blocked
from riftsim.systems.context import System
from riftsim.units import PS_PER_US

_ENGINES = {"simpy": run_simulated, "compiled": run_compiled}


def simulate(
    prepared: Prepared,
    on_progress: Callable[[int], None] | None,
    alter: Callable[[SimulatedCluster], SimulatedCluster] | None = None,
) -> SimulatedRun:
    """Simulate the configured load on the configured cluster, or on what ``alter`` makes of it."""
    config, system = prepared.config, prepared.system
    cluster = config.cluster
    profile = load_profile(config.hardware)
    queries = len(prepared.dataset.queries)
    load = load_of(config, queries)
    codec, vector_bytes = prepared.index.codec, prepared.region.layout.vector_bytes
    try:
        cpu = CpuModel.of(profile.cpu, code_kind=codec.name, code_bytes=codec.code_bytes, vector_bytes=vector_bytes)
    except ConfigError as error:
        raise ConfigError(f"{config.hardware}: {error}") from error
    simulated = SimulatedCluster(
        profile=profile,
        cpu=cpu,
        budget=CpuBudget(threads=cluster.threads, queries_per_thread=cluster.queries_per_thread),
        balancing=Balancing(Fixed()),
        compute_nodes=cluster.compute_nodes,
        memory_nodes=cluster.memory_nodes,
        signal_last_only=cluster.signalling == "last",
    )
    simulated = replace(simulated, **system.cluster_changes)
    if profile.file.nic_shares_core:
        simulated = replace(simulated, budget=simulated.budget.on_one_core())
    simulated = replace(simulated, cpu=_without_idle_parts(simulated))
    if alter:
        simulated = alter(simulated)
    if config.driver.trace and (simulated.memory_threads or simulated.make_node is not ComputeNode):
        raise ConfigError(
            f"driver.trace: found one with system '{system.name}', whose calls or batches are not written down; "
            "expected no trace"
        )
    engine = engine_of(config.driver.engine, simulated, system)
    run = _ENGINES[engine](
        simulated,
        system.new_program,
        queries=queries,
        warmup=load.warmup,
        measured=load.measured,
        concurrency=load.concurrency,
        arrivals_ps=load.arrivals_ps,
        sample_ps=round(config.driver.sample_us * PS_PER_US),
        seed=config.seed,
        on_progress=on_progress,
        traced=traced_arrivals(config.driver.trace, load.warmup, load.measured),
    )
    if engine == "simpy":
        gc.collect()  # nodes and load refer to each other, and through their searches to mapped graphs and vectors
    facts = {**run.facts, "engine": engine, "workers": simulated.budget.workers}
    if load.burst_ps:
        facts["burst"] = {"start_ps": load.burst_ps[0], "end_ps": load.burst_ps[1]}
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
