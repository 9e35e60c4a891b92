"""The simulation driver: the latency model on SimPy puts a clock on the searches."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from riftsim.calendar import Calendar
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.engine import Balancing, ComputeNode, CpuBudget
from riftsim.computenode.load import ClosedLoop, OpenLoop
from riftsim.computenode.run import QueryRun
from riftsim.rdma.profiles import HardwareProfile
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.search.messages import Program


@dataclass(frozen=True)
class SimulatedCluster:
    """What is simulated.

    Attributes
    ----------
    profile : HardwareProfile
    cpu : CpuModel
    budget : CpuBudget
        Cores of each compute node.
    balancing : Balancing
    compute_nodes, memory_nodes : int
    """

    profile: HardwareProfile
    cpu: CpuModel
    budget: CpuBudget
    balancing: Balancing
    compute_nodes: int
    memory_nodes: int


@dataclass(frozen=True)
class SimulatedRun:
    """What came out: the measured queries in order of arrival, and facts about the run."""

    runs: list[QueryRun]
    throughput_qps: float
    facts: dict


def run_simulated(
    cluster: SimulatedCluster,
    new_program: Callable[[], Program],
    *,
    queries: int,
    warmup: int,
    measured: int,
    concurrency: int | None = None,
    arrivals_ps: np.ndarray | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> SimulatedRun:
    """Simulate a load on a cluster.

    Parameters
    ----------
    cluster : SimulatedCluster
    new_program : callable
        Makes a search program.
    queries : int
        Evaluated queries to cycle through.
    warmup, measured : int
        Arrivals dropped first, and arrivals measured.
    concurrency : int or None
        Closed loop: queries in flight per compute node.
    arrivals_ps : int64 (m,) or None
        Open loop: times of arrival, ``m > warmup + measured``.
    on_progress : callable or None
        Told the number of measured queries that have ended.

    Returns
    -------
    SimulatedRun
    """
    calendar = Calendar()
    network = SimulatedNetwork(calendar, cluster.profile, cluster.compute_nodes, cluster.memory_nodes)
    kind = ClosedLoop if arrivals_ps is None else OpenLoop
    load = kind(calendar, queries=queries, warmup=warmup, measured=measured, on_progress=on_progress)
    load.nodes = [
        ComputeNode(
            calendar,
            network,
            cluster.cpu,
            node=node,
            memory_nodes=cluster.memory_nodes,
            budget=cluster.budget,
            balancing=cluster.balancing,
            new_program=new_program,
            on_finish=load.on_finish,
        )
        for node in range(cluster.compute_nodes)
    ]
    load.begin(concurrency if arrivals_ps is None else arrivals_ps)
    calendar.run()

    runs = sorted(load.finished, key=lambda run: run.ordinal)
    last_end_ps = max(run.end_ps for run in runs)
    window_ps = (load.window_end_ps if load.window_end_ps >= 0 else last_end_ps) - load.window_start_ps
    facts = {
        "span_ps": last_end_ps - load.window_start_ps,
        "window_ps": window_ps,
        "events": calendar.executed,
        "network": network.counters(),
    }
    return SimulatedRun(runs, measured / window_ps * 1e12 if window_ps else float("inf"), facts)
