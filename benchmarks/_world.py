"""What the benchmarks simulate: RiftANN at about 400 expansions, window 8, 20-byte codes, gate and controller."""

from dataclasses import dataclass, replace

import msgspec
import numpy as np
from _bench import cpu_seconds

from riftsim.artifacts import ArtifactStore
from riftsim.assembly.index import load_configured_dataset, load_search_index
from riftsim.assembly.system import build_system, lay_out, search_context
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.drivers.local import run_local
from riftsim.computenode.drivers.sim import SimulatedCluster
from riftsim.computenode.engine import Balancing, CpuBudget
from riftsim.config.schema import ExperimentConfig
from riftsim.controller.fixed import Fixed
from riftsim.rdma.profiles import load_profile
from riftsim.systems.context import System

LIST_SIZE = 390
"""Gives about 400 expansions."""


@dataclass(frozen=True)
class World:
    """A cluster, a system on it, and the same search in local memory as the yardstick."""

    cluster: SimulatedCluster
    system: System
    yardstick: System
    queries: int

    def simulate(self, engine, measured, concurrency, **extra):
        """Simulated queries per CPU second of an engine, and its outcome."""
        load = {
            "queries": self.queries,
            "warmup": concurrency * self.cluster.compute_nodes,
            "measured": measured,
            "concurrency": concurrency,
        }
        spent, outcome = cpu_seconds(lambda: engine(self.cluster, self.system.new_program, **load, **extra))
        return simulated_queries(outcome) / spent, outcome

    def search_alone(self, count):
        """Queries per CPU second of the search in local memory: same codes and list size, every read at once."""
        spent, _ = cpu_seconds(lambda: run_local(self.yardstick.new_program, np.arange(count) % self.queries))
        return count / spent


def simulated_queries(outcome):
    """Queries that a run has simulated, by their reads: the load ramps up before the measured ones, and goes on while
    the last of them are under way."""
    reads = sum(node["reads"] for node in outcome.facts["network"]["compute"])
    names = ("reads_record", "reads_vector", "reads_adjacency")
    return reads / np.mean([sum(run.answer.counts[name] for name in names) for run in outcome.runs])


def world(data_dir, name, rows, *, list_size=LIST_SIZE, compute_nodes=1, queries_per_thread=1, queries=None) -> World:
    """Set up what is simulated."""
    config = msgspec.convert(
        {
            "name": "benchmark",
            "dataset": {"name": name, "n": rows} | ({} if queries is None else {"queries": queries}),
            "index": {"kind": "vamana", "R": 64, "L": 100},
            "search": {"k": 10, "L": list_size},
            "system": {"kind": "riftann", "window": 8},
        },
        ExperimentConfig,
    )
    store = ArtifactStore()
    dataset = load_configured_dataset(config, data_dir, store)
    index = load_search_index(config, dataset, store)
    region = lay_out(config, index, store)
    return world_of(config, dataset, index, region, store, compute_nodes, queries_per_thread)


def world_of(config, dataset, index, region, store, compute_nodes, queries_per_thread) -> World:
    """Set up a simulation on an index whose records are laid out."""
    context = search_context(config, dataset, index, region, store)
    system = build_system(config, context)
    remote = msgspec.structs.replace(config, system=msgspec.convert({"kind": "remote_vamana"}, type=_system_type()))
    profile = load_profile(config.hardware)
    cluster = SimulatedCluster(
        profile=profile,
        cpu=CpuModel.of(
            profile.cpu,
            code_kind=index.codec.name,
            code_bytes=index.codec.code_bytes,
            vector_bytes=region.layout.vector_bytes,
        ),
        budget=CpuBudget(threads=config.cluster.threads, queries_per_thread=queries_per_thread),
        balancing=Balancing(Fixed()),
        compute_nodes=compute_nodes,
        memory_nodes=1,
    )
    changes = dict(system.cluster_changes)
    if "budget" in changes:
        changes["budget"] = replace(changes["budget"], queries_per_thread=queries_per_thread)
    return World(replace(cluster, **changes), system, build_system(remote, context), len(dataset.queries))


def _system_type():
    return next(field.type for field in msgspec.structs.fields(ExperimentConfig) if field.name == "system")
