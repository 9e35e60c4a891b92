"""Small traced runs, with and without waiting for workers, cores and memory nodes."""

from dataclasses import replace

from search_runs import system_of
from search_worlds import random_world

from riftsim.computenode.balancing import Balancing
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.drivers.compiled import run_compiled
from riftsim.computenode.drivers.sim import SimulatedCluster, SimulatedRun
from riftsim.computenode.engine import CpuBudget
from riftsim.controller.fixed import Fixed
from riftsim.rdma.profiles import load_profile

WARMUP, MEASURED = 3, 8


def traced_run(
    name="riftann", traced=range(WARMUP, WARMUP + MEASURED), per_thread=1, profile="connectx5-100g", **changes
) -> SimulatedRun:
    """A run whose workers are busy, so that every kind of record is there."""
    profile = load_profile(profile)
    cluster = SimulatedCluster(
        profile=profile,
        cpu=CpuModel.of(profile.cpu, code_kind="pq", code_bytes=2, vector_bytes=8),
        budget=CpuBudget(threads=3, queries_per_thread=per_thread),
        balancing=Balancing(Fixed()),
        compute_nodes=1,
        memory_nodes=1,
    )
    system = system_of(
        name, random_world(1), list_size=16, k=3, context={"threads": 3, "queries_per_thread": per_thread}, **changes
    )
    cluster = replace(cluster, **system.cluster_changes)
    load = {"queries": 4, "warmup": WARMUP, "measured": MEASURED, "concurrency": 5}
    return run_compiled(cluster, system.new_program, traced=traced, **load)
