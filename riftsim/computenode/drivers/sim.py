"""The simulation driver: the latency model on SimPy puts a clock on the searches."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from riftsim.calendar import Calendar
from riftsim.computenode.balancing import Balancing
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.engine import ComputeNode, CpuBudget
from riftsim.computenode.load import ClosedLoop, OpenLoop
from riftsim.computenode.recorder import TraceRecorder, note_nothing
from riftsim.computenode.run import QueryRun
from riftsim.computenode.sampler import Sampler
from riftsim.errors import ConfigError
from riftsim.rdma.calls import OLDEST_FIRST, CallService, Intake
from riftsim.rdma.profiles import HardwareProfile
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.results.metric_rows import closed_loop_qps
from riftsim.search.messages import Program
from riftsim.storage.profile import SsdProfile
from riftsim.storage.ssd import SimulatedSsds
from riftsim.units import MAX_PS, PS_PER_S, PS_PER_US


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
    signal_last_only : bool
        Whether only the last read of a chain asks for a completion entry.
    memory_threads : int
        Threads of each memory node that serve calls; 0 where memory nodes are passive.
    intake : Intake
        How they take calls.
    drive : SsdProfile or None
        SSDs in place of the network: ``memory_nodes`` of them at each compute node, which no other node reads.
    make_node : callable
        Makes a compute node; called as ``ComputeNode``.
    """

    profile: HardwareProfile
    cpu: CpuModel
    budget: CpuBudget
    balancing: Balancing
    compute_nodes: int
    memory_nodes: int
    signal_last_only: bool = False
    memory_threads: int = 0
    intake: Intake = OLDEST_FIRST
    drive: SsdProfile | None = None
    make_node: Callable[..., ComputeNode] = ComputeNode


@dataclass(frozen=True)
class SimulatedRun:
    """What came out: the measured queries in order of arrival, and facts about the run.

    ``trace`` has the rows of ``kernels.engine_trace`` in blocks of int64 (words,), None if no query was traced.
    """

    runs: list[QueryRun]
    throughput_qps: float
    windows: dict[str, np.ndarray] | None
    facts: dict
    trace: list[np.ndarray] | None = None


def run_simulated(
    cluster: SimulatedCluster,
    new_program: Callable[[], Program],
    *,
    queries: int,
    warmup: int,
    measured: int,
    concurrency: int | None = None,
    arrivals_ps: np.ndarray | None = None,
    sample_ps: int = 0,
    seed: int = 0,
    on_progress: Callable[[int], None] | None = None,
    calendar: Calendar | None = None,
    traced: range | None = None,
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
    sample_ps : int
        Time between two samples of the nodes' state; 0 takes none.
    seed : int
        Of the random tails, if the profile has them.
    on_progress : callable or None
        Told the number of measured queries that have ended.
    calendar : Calendar or None
        An unused calendar, by default a plain one.
    traced : range or None
        Numbers of arrival of the queries whose events are to be written down.

    Returns
    -------
    SimulatedRun
    """
    calendar = calendar or Calendar()
    recorder = TraceRecorder(traced) if traced else None
    note = recorder.note if recorder else None
    cpu = cluster.cpu
    if cluster.drive:
        network = SimulatedSsds(calendar, cluster.drive, cluster.compute_nodes, cluster.memory_nodes)
        cpu = cpu.reading_from(cluster.drive)
    else:
        network = SimulatedNetwork(calendar, cluster.profile, cluster.compute_nodes, cluster.memory_nodes, seed, note)
    calls = None
    if cluster.memory_threads:
        calls = CallService(calendar, network, cluster.memory_threads, cpu.contention_permille, cluster.intake)
    kind = ClosedLoop if arrivals_ps is None else OpenLoop
    load = kind(calendar, queries=queries, warmup=warmup, measured=measured, on_progress=on_progress)
    load.nodes = [
        cluster.make_node(
            calendar,
            network,
            cpu,
            node=node,
            memory_nodes=cluster.memory_nodes,
            budget=cluster.budget,
            balancing=cluster.balancing,
            signal_last_only=cluster.signal_last_only,
            new_program=new_program,
            on_finish=load.on_finish,
            note=note or note_nothing,
            calls=calls,
        )
        for node in range(cluster.compute_nodes)
    ]
    load.begin(concurrency if arrivals_ps is None else arrivals_ps)
    sampler = Sampler(calendar, load, sample_ps) if sample_ps else None
    calendar.run()

    return outcome_of(
        load.finished,
        measured,
        closed_loops=concurrency * cluster.compute_nodes if arrivals_ps is None else None,
        windows=sampler.columns() if sampler else None,
        facts={
            "events": calendar.executed,
            "network": network.counters(),
            "worker_busy_ps": [node.pool.busy_ps for node in load.nodes],
            **({"memory_threads": calls.counters()} if calls else {}),
            **({"batches": [node.counters for node in load.nodes]} if cluster.make_node is not ComputeNode else {}),
        },
        trace=[recorder.words()] if recorder else None,
    )


def outcome_of(
    finished: list[QueryRun],
    measured: int,
    *,
    closed_loops: int | None,
    windows: dict[str, np.ndarray] | None,
    facts: dict,
    trace: list[np.ndarray] | None,
) -> SimulatedRun:
    """Put together what a simulation brought.

    Parameters
    ----------
    finished : list of QueryRun
        The measured queries.
    measured : int
        How many there should be.
    closed_loops : int or None
        Queries in flight at any time, over all compute nodes; None or 0 for an open loop, whose arrivals say nothing of
        what is served: its rate is that of completions.
    windows, facts, trace
        As in ``SimulatedRun``.

    Raises
    ------
    ConfigError
        If simulated time has grown beyond what its 64 bits hold.
    """
    runs = sorted(finished, key=lambda run: run.ordinal)
    for run in runs:
        if not 0 <= run.arrival_ps <= run.start_ps <= run.end_ps <= MAX_PS:
            raise ConfigError(
                f"simulated time: found a query from {run.arrival_ps} to {run.end_ps} ps, expected times up to "
                f"{MAX_PS} ps (53 days): the constants of the hardware are too large, or the rate of the load too low"
            )
    span_ps = max(run.end_ps for run in runs) - runs[0].arrival_ps
    facts = {"span_ps": span_ps, "closed_loops": closed_loops or None, **facts}
    if closed_loops:
        latencies_us = np.array([run.end_ps - run.arrival_ps for run in runs]) / PS_PER_US
        throughput_qps = closed_loop_qps(closed_loops, latencies_us)
    else:
        throughput_qps = measured / span_ps * PS_PER_S if span_ps else math.inf
    return SimulatedRun(runs, throughput_qps, windows, facts, trace)
