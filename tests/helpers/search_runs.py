"""Systems over a small index, run by the two drivers."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import numpy as np
from search_worlds import World

from riftsim.computenode.costs import CpuModel
from riftsim.computenode.drivers.local import run_local
from riftsim.computenode.drivers.sim import SimulatedCluster, SimulatedRun, run_simulated
from riftsim.computenode.engine import Balancing, CpuBudget
from riftsim.config.systems import DiskAnnConfig, PipeAnnConfig, RiftAnnConfig
from riftsim.controller.fixed import Fixed
from riftsim.rdma.profiles import load_profile
from riftsim.search.messages import Answer
from riftsim.systems import (
    async_vamana,
    co_packed,
    cxl_ann,
    diskann,
    distvs,
    in_memory_vamana,
    one_hop_delay,
    pipeann,
    remote_vamana,
    riftann,
)
from riftsim.systems.context import System

BUILDERS = {
    "in_memory": in_memory_vamana.build,
    "remote": remote_vamana.build,
    "async": async_vamana.build,
    "riftann": riftann.build,
    "one_hop_delay": one_hop_delay.build,
    "co_packed": co_packed.build,
    "cxl_ann": cxl_ann.build,
    "diskann": diskann.build,
    "pipeann": pipeann.build,
    "distvs": distvs.build,
}
CONFIGS = {"riftann": RiftAnnConfig, "diskann": DiskAnnConfig, "pipeann": PipeAnnConfig}


def system_of(name: str, world: World, *, list_size: int = 24, k: int = 10, context: dict | None = None, **settings):
    """A built-in system with its defaults, except for ``settings``."""
    if name in CONFIGS:
        defaults = msgspec.to_builtins(CONFIGS[name]())
        defaults.pop("kind")
        settings = defaults | settings
    return BUILDERS[name](world.context(list_size, k, **(context or {})), **settings)


def simulate(
    system: System,
    *,
    profile: str = "connectx5-100g",
    threads: int = 8,
    queries: int = 20,
    measured: int | None = None,
    concurrency: int | None = 4,
    compute_nodes: int = 1,
    memory_nodes: int = 1,
    queries_per_thread: int = 1,
    warmup: int | None = None,
    arrivals_ps: np.ndarray | None = None,
    engine: Callable[..., SimulatedRun] = run_simulated,
    load: dict | None = None,
    **changes,
) -> SimulatedRun:
    """Run a system in simulation; ``changes`` are of the ``SimulatedCluster``, after the system's own."""
    hardware = load_profile(profile)
    cluster = SimulatedCluster(
        profile=hardware,
        cpu=CpuModel.of(hardware.cpu, code_kind="pq", code_bytes=16, vector_bytes=128),
        budget=CpuBudget(threads=threads, queries_per_thread=queries_per_thread),
        balancing=Balancing(Fixed()),
        compute_nodes=compute_nodes,
        memory_nodes=memory_nodes,
    )
    cluster = replace(replace(cluster, **system.cluster_changes), **changes)
    if warmup is None:
        warmup = concurrency * compute_nodes if concurrency and arrivals_ps is None else 0
    return engine(
        cluster,
        system.new_program,
        queries=queries,
        warmup=warmup,
        measured=measured or queries,
        concurrency=concurrency,
        arrivals_ps=arrivals_ps,
        **(load or {}),
    )


def answers_of(run: SimulatedRun) -> dict[int, Answer]:
    """Answers by query; a query that was measured twice must have had the same ids both times."""
    answers: dict[int, Answer] = {}
    for each in run.runs:
        earlier = answers.setdefault(each.query, each.answer)
        assert np.array_equal(earlier.ids, each.answer.ids)
    return answers


def local_answers(system: System, queries: int = 20) -> dict[int, Answer]:
    return dict(enumerate(run_local(system.new_program, range(queries))))


def assert_same(found: dict[int, Answer], expected: dict[int, Answer], *, counts: bool = True, but: tuple = ()) -> None:
    """Same ids and distances for every query, and the same counts but for those named."""
    assert found.keys() == expected.keys()
    for query, answer in expected.items():
        assert np.array_equal(found[query].ids, answer.ids), query
        assert np.array_equal(found[query].distances, answer.distances), query
        if counts:
            differing = {
                name: (value, answer.counts[name])
                for name, value in found[query].counts.items()
                if value != answer.counts[name] and name not in but
            }
            assert not differing, (query, differing)


def parts_ps(run) -> int:
    """Queueing and all parts of a query's time at its main thread."""
    return run.start_ps - run.arrival_ps + run.evaluation_ps + run.posting_ps + run.polling_ps + sum(run.waited_ps)
