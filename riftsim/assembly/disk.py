"""Searches over real reads of an index's file on a local disk."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from riftsim.artifacts import ArtifactStore
from riftsim.assembly.index import SearchIndex
from riftsim.assembly.live import ready_for_live
from riftsim.assembly.load import load_of
from riftsim.computenode.balancing import Balancing
from riftsim.computenode.drivers.live import LiveNode, run_live
from riftsim.computenode.drivers.sim import SimulatedRun
from riftsim.computenode.engine import CpuBudget
from riftsim.config.schema import ExperimentConfig, IndexFileConfig
from riftsim.controller.fixed import Fixed
from riftsim.errors import IndexFileError
from riftsim.index.diskann_disk_io import write_disk_index
from riftsim.index.sectors import SectorLayout
from riftsim.memnode.region import Region
from riftsim.storage.file_port import FilePort
from riftsim.systems.context import System
from riftsim.units import format_bytes
from riftsim.workload.datasets import Dataset


def search_on_disk(
    config: ExperimentConfig,
    dataset: Dataset,
    index: SearchIndex,
    region: Region,
    system: System,
    store: ArtifactStore,
    on_progress: Callable[[int], None] | None,
) -> SimulatedRun:
    """Search over real reads of a file, as ``driver: {kind: file}`` says."""
    ready_for_live(replace(system, cluster_changes={}), config.driver)  # the profile of a drive: here is a real one
    driver, cluster = config.driver, config.cluster
    layout = SectorLayout(region.layout.record_bytes)
    path = disk_index_of(config, dataset, index, layout, store)
    load = load_of(config, len(dataset.queries))

    def connect(slots: int, slot_bytes: int) -> FilePort:
        return FilePort(path, slots, slot_bytes, threads=driver.readers, depth=driver.queue_depth, direct=driver.direct)

    try:
        return run_live(
            LiveNode(
                budget=CpuBudget(threads=cluster.threads, queries_per_thread=cluster.queries_per_thread),
                balancing=Balancing(Fixed()),
                event_loops=driver.event_loops,
                deadline_s=driver.deadline_s,
            ),
            connect,
            system.new_program,
            record_bytes=layout.span_bytes,
            queries=len(dataset.queries),
            warmup=load.warmup,
            measured=load.measured,
            concurrency=load.concurrency,
            arrivals_ps=load.arrivals_ps,
            on_progress=on_progress,
        )
    except IndexFileError as error:
        raise IndexFileError(f"{path}: {error}") from error


def disk_index_of(
    config: ExperimentConfig, dataset: Dataset, index: SearchIndex, layout: SectorLayout, store: ArtifactStore
) -> Path:
    """The file of sectors of an index: the one that it was read from, or one that is written if it is not there yet.

    Raises
    ------
    IndexFileError
        If the file cannot be written, or has another size than the index needs: names it.
    """
    asked = config.index
    expected = layout.file_bytes(len(index.vectors))
    if isinstance(asked, IndexFileConfig) and asked.format == "diskann_disk":
        path = Path(asked.path)
    else:
        content = f"{dataset.fingerprint} {index.facts['index']['fingerprint']}".encode()
        name = f"{hashlib.sha256(content).hexdigest()[:16]}_disk.index"
        path = Path(config.driver.folder or store.root / "disk-index") / name
        if not path.exists():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_disk_index(path, index.graph, index.vectors)
            except OSError as error:
                raise IndexFileError(
                    f"{path}: cannot be written: {error.strerror or error}; expected room for {format_bytes(expected)} "
                    "(driver.folder chooses another place)"
                ) from error
    found = os.stat(path).st_size
    if found != expected:
        raise IndexFileError(f"{path}: found {found} bytes, expected {expected}: it is damaged or of another index")
    return path
