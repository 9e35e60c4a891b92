"""Systems over a small index, run by the live driver on fake memory nodes."""

from dataclasses import replace

import numpy as np
from fake_port import FakeMemoryNode, FakePort
from search_worlds import World

from riftsim.computenode.balancing import Balancing
from riftsim.computenode.drivers.live import LiveNode, run_live
from riftsim.computenode.drivers.sim import SimulatedRun
from riftsim.computenode.engine import CpuBudget
from riftsim.controller.fixed import Fixed
from riftsim.systems.context import System


def memory_nodes_of(world: World, replicas: int = 1) -> list[FakeMemoryNode]:
    """Fake memory nodes with copies of the records of a world, which itself keeps none."""
    return [
        FakeMemoryNode(world.region.shard(node).copy(), node, f"fake-{node}-{replica}:1")
        for node in range(world.region.placement.memory_nodes)
        for replica in range(replicas)
    ]


def run_on_fake(
    system: System,
    world: World,
    nodes: list[FakeMemoryNode] | None = None,
    *,
    queries: int = 20,
    measured: int | None = None,
    warmup: int = 0,
    concurrency: int | None = 4,
    arrivals_ps: np.ndarray | None = None,
    threads: int = 8,
    port: dict | None = None,
    ports: list | None = None,
    **changes,
) -> SimulatedRun:
    """Run a system; ``changes`` are of the ``LiveNode``, ``ports`` receives the ports that were made."""
    nodes = memory_nodes_of(world) if nodes is None else nodes
    node = LiveNode(CpuBudget(threads=threads), Balancing(Fixed()))
    node = replace(replace(node, **system.cluster_changes), **changes)
    made = [] if ports is None else ports

    def connect(slots: int, slot_bytes: int) -> FakePort:
        made.append(FakePort(nodes, slots, slot_bytes, **({"seed": len(made)} | (port or {}))))
        return made[-1]

    return run_live(
        node,
        connect,
        system.new_program,
        record_bytes=world.region.layout.record_bytes,
        queries=queries,
        warmup=warmup,
        measured=measured or queries,
        concurrency=concurrency,
        arrivals_ps=arrivals_ps,
    )
