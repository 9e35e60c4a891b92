"""The live compute node of a configuration, the memory nodes that it expects, and replays of its runs."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from riftsim.artifacts import ArtifactStore
from riftsim.assembly.index import SearchIndex, load_configured_dataset, load_search_index
from riftsim.assembly.load import load_of
from riftsim.assembly.system import Prepared, build_system, lay_out, search_context
from riftsim.computenode.balancing import Balancing
from riftsim.computenode.batches import Batched
from riftsim.computenode.completion_log import CompletionLog
from riftsim.computenode.drivers.live import LiveNode, run_live
from riftsim.computenode.drivers.live_batches import partitions_of, run_live_batches
from riftsim.computenode.drivers.local import step_through
from riftsim.computenode.drivers.sim import SimulatedRun
from riftsim.computenode.engine import CpuBudget
from riftsim.config.machines import DriverConfig, LiveDriver
from riftsim.config.schema import ExperimentConfig
from riftsim.config.systems import DHnswConfig
from riftsim.controller.fixed import Fixed
from riftsim.errors import ConfigError, TransportError
from riftsim.memnode.region import Region
from riftsim.memnode.server import MemoryNode, MemoryNodeSettings
from riftsim.rdma.bootstrap import Descriptor
from riftsim.rdma.device import DeviceChoice
from riftsim.rdma.queue_pairs import Retries
from riftsim.rdma.reader import ReaderSettings, VerbsPort
from riftsim.systems.context import System
from riftsim.transport.port import ReadPort
from riftsim.workload.datasets import Dataset

_LIVE_CHANGES = {"budget", "balancing"}
"""What a system may set of a live compute node."""


def search_live(prepared: Prepared, on_progress: Callable[[int], None] | None) -> SimulatedRun:
    """Search over real reads, as ``driver: {kind: live}`` says."""
    config, region, system = prepared.config, prepared.region, prepared.system
    driver, cluster = config.driver, config.cluster
    log = None if driver.record is None else CompletionLog(driver.record)
    expected = [
        content_of(prepared.dataset, prepared.index, region, node, system.batched)
        for node in range(cluster.memory_nodes)
    ]
    settings = reader_settings(driver)
    queries = len(prepared.dataset.queries)
    load = load_of(config, queries)
    common = {"measured": load.measured, "concurrency": load.concurrency, "arrivals_ps": load.arrivals_ps}
    common |= {"queries": queries, "warmup": load.warmup, "on_progress": on_progress}
    signal_last_only = cluster.signalling == "last"
    node = LiveNode(
        budget=CpuBudget(threads=cluster.threads, queries_per_thread=cluster.queries_per_thread),
        balancing=Balancing(Fixed()),
        event_loops=driver.event_loops,
        signal_last_only=signal_last_only,
        deadline_s=driver.deadline_s,
    )

    def connect(slots: int, slot_bytes: int) -> ReadPort:
        def accept(descriptors: list[Descriptor]) -> list[int]:
            return parts_of(driver.memnodes, descriptors, expected, driver.replicas)

        return VerbsPort(driver.memnodes, accept, slots, slot_bytes, settings)

    if system.batched:
        return run_live_batches(
            system.batched, connect, signal_last_only=signal_last_only, deadline_s=driver.deadline_s, **common
        )
    run = run_live(
        replace(node, **system.cluster_changes),
        connect,
        system.new_program if log is None else lambda: log.recorded(system.new_program()),
        record_bytes=region.layout.record_bytes,
        **common,
    )
    if log is not None:
        log.write()
    return run


def ready_for_live(system: System, driver: DriverConfig) -> None:
    """Refuse systems that have nothing to read or cannot take in what was read; compile the kernels of the others.

    Raises
    ------
    ConfigError
        Names the system and why.
    """
    if system.batched and isinstance(driver, LiveDriver):
        _ready_for_batches(driver)
        return
    program = system.new_program()
    simulated = system.cluster_changes.keys() - _LIVE_CHANGES
    if system.local_index:
        reason = "searches an index in local memory and reads nothing"
    elif simulated:
        reason = f"needs what only the simulation has ({', '.join(sorted(simulated))})"
    elif not hasattr(program, "land_in"):
        reason = "does not take records from a landing buffer (land_in)"
    else:
        step_through(program, 0)
        program.retry([read.tag for read in program.start(0).chain])
        return
    kind = driver.__struct_config__.tag
    raise ConfigError(f"driver.kind: found '{kind}', but system '{system.name}' {reason}; expected 'local' or 'sim'")


def _ready_for_batches(driver: LiveDriver) -> None:
    """Refuse what a live node that works in batches has not."""
    if driver.event_loops > 1:
        raise ConfigError(f"driver.event_loops: found {driver.event_loops}, expected 1: one thread works on batches")
    if driver.record is not None:
        raise ConfigError(
            f"driver.record: found {driver.record!r}, but reads of partitions are not logged; expected none"
        )


def reader_settings(driver: LiveDriver) -> ReaderSettings:
    """How the compute node of a driver block reads."""
    return ReaderSettings(
        device=DeviceChoice(driver.device, driver.port, driver.gid_index),
        queue_pairs=driver.queue_pairs,
        depth=driver.queue_depth,
        outstanding_reads=driver.outstanding_reads,
        posting=driver.posting,
        retries=Retries(driver.timeout, driver.retry_cnt),
    )


def batched_of(
    config: ExperimentConfig, dataset: Dataset, index: SearchIndex, region: Region, store: ArtifactStore
) -> Batched | None:
    """What a memory node has to know of a system that works in batches; None for all others, which read records."""
    if not isinstance(config.system, DHnswConfig):
        return None
    return build_system(config, search_context(config, dataset, index, region, store)).batched


def bytes_of(region: Region, memory_node: int, batched: Batched | None = None) -> np.ndarray:
    """What a memory node serves: its records, or its partitions of a system that works in batches; uint8."""
    return region.shard(memory_node) if batched is None else partitions_of(batched, memory_node)


def content_of(
    dataset: Dataset, index: SearchIndex, region: Region, memory_node: int, batched: Batched | None = None
) -> dict[str, Any]:
    """What a memory node's bytes are: equal on both sides, or the reads would be of something else."""
    if batched is not None:
        return _partitions_content(region, memory_node, batched)
    digest = hashlib.sha256(f"{dataset.fingerprint} {index.facts['index']['fingerprint']}".encode())
    digest.update(region.placement.parameters.tobytes())
    digest.update(region.placement.positions.tobytes())
    if index.ids is not None:
        digest.update(np.ascontiguousarray(index.ids))
        digest.update(np.ascontiguousarray(index.vectors))
    layout = region.layout
    return {
        "index_hash": digest.hexdigest(),
        "shard": memory_node,
        "shards": region.placement.memory_nodes,
        "bytes": int(region.shard_bytes[memory_node]),
        "record_bytes": layout.record_bytes,
        "dimension": layout.dimension,
        "dtype": str(layout.dtype),
        "degree": layout.degree,
    }


def _partitions_content(region: Region, memory_node: int, batched: Batched) -> dict[str, Any]:
    partitions = batched.search.index
    return {
        "index_hash": hashlib.sha256(partitions.blobs).hexdigest(),
        "shard": memory_node,
        "shards": region.placement.memory_nodes,
        "bytes": int(partitions.blob_bytes[memory_node :: batched.search.memory_nodes].sum()),
        "partitions": len(partitions.blob_bytes),
    }


def parts_of(
    addresses: list[str], descriptors: list[Descriptor], expected: list[dict[str, Any]], replicas: int
) -> list[int]:
    """Which part of the index each memory node has.

    Parameters
    ----------
    addresses : list of str
    descriptors : list of Descriptor
        What the memory nodes say of themselves.
    expected : list of dict
        What the parts are, as of ``content_of``.
    replicas : int
        How many memory nodes each part must have.

    Raises
    ------
    TransportError
        If a memory node has something else, or a part too few: names the address, what was found and what expected.
    """
    parts = []
    for address, descriptor in zip(addresses, descriptors, strict=True):
        found = {**descriptor.content, "bytes": descriptor.size_bytes}
        part = found.get("shard")
        of_part = expected[part] if isinstance(part, int) and 0 <= part < len(expected) else expected[0]
        differing = [
            f"{key}: found {found.get(key)}, expected {value}"
            for key, value in of_part.items()
            if found.get(key) != value
        ]
        if differing:
            raise TransportError(
                f"memory node {address} serves another index or layout than this configuration: {'; '.join(differing)}"
            )
        parts.append(part)
    for part, count in Counter(dict.fromkeys(range(len(expected)), 0) | Counter(parts)).items():
        if count != replicas:
            raise TransportError(
                f"driver.memnodes: found {count} memory nodes with part {part} of the index, expected {replicas} "
                "(driver.replicas)"
            )
    return parts


def make_memory_node(
    config: ExperimentConfig,
    shard: tuple[int, int] | None,
    settings: MemoryNodeSettings,
    *,
    data_dir: str | Path | None = None,
    artifacts: ArtifactStore | None = None,
) -> MemoryNode:
    """Load or build the index of a configuration and register a part of its records.

    Parameters
    ----------
    config : ExperimentConfig
    shard : (int, int) or None
        Which part, from 0, of how many; by default the whole index, if the configuration has one memory node.
    settings : MemoryNodeSettings
    data_dir, artifacts
        As for ``run_point``.
    """
    part, parts = shard or (0, 1)
    if config.cluster.memory_nodes != parts:
        raise ConfigError(
            f"cluster.memory_nodes: found {config.cluster.memory_nodes}, but this is to be one of {parts}; expected "
            f"--shard I/{config.cluster.memory_nodes}"
        )
    if not 0 <= part < parts:
        raise ConfigError(f"--shard: found {part}/{parts}, expected 0 to {parts - 1}")
    store = artifacts or ArtifactStore()
    dataset = load_configured_dataset(config, data_dir, store)
    index = load_search_index(config, dataset, store)
    region = lay_out(config, index, store)
    batched = batched_of(config, dataset, index, region, store)
    content = content_of(dataset, index, region, part, batched)
    return MemoryNode(bytes_of(region, part, batched), content, settings)
