"""Searches over real reads of an index's file on a local disk."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from riftsim.artifacts import ArtifactStore
from riftsim.assembly.live import ready_for_live
from riftsim.assembly.load import load_of
from riftsim.assembly.system import Prepared
from riftsim.computenode.balancing import Balancing
from riftsim.computenode.drivers.live import LiveNode, run_live
from riftsim.computenode.drivers.sim import SimulatedRun
from riftsim.computenode.engine import CpuBudget
from riftsim.config.schema import IndexFileConfig
from riftsim.controller.fixed import Fixed
from riftsim.errors import IndexFileError
from riftsim.index.diskann_disk_io import write_disk_index
from riftsim.index.sectors import SectorLayout
from riftsim.storage.file_port import FilePort
from riftsim.units import format_bytes


def search_on_disk(prepared: Prepared, store: ArtifactStore, on_progress: Callable[[int], None] | None) -> SimulatedRun:
    """Search over real reads of a file, as ``driver: {kind: file}`` says."""
    config, system = prepared.config, prepared.system
    driver, cluster = config.driver, config.cluster
    ready_for_live(replace(system, cluster_changes={}), driver)  # the profile of a drive: here is a real one
    layout = SectorLayout(prepared.region.layout.record_bytes)
    path = disk_index_of(prepared, layout, store)
    queries = len(prepared.dataset.queries)
    load = load_of(config, queries)

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
            queries=queries,
            warmup=load.warmup,
            measured=load.measured,
            concurrency=load.concurrency,
            arrivals_ps=load.arrivals_ps,
            on_progress=on_progress,
        )
    except IndexFileError as error:
        raise IndexFileError(f"{path}: {error}") from error


def disk_index_of(prepared: Prepared, layout: SectorLayout, store: ArtifactStore) -> Path:
    """The file of sectors of an index: the one that it was read from, or one that is written if it is not there yet.

    Raises
    ------
    IndexFileError
        If the file cannot be written, or has another size than the index needs: names it.
    """
    config, index = prepared.config, prepared.index
    asked = config.index
    expected = layout.file_bytes(len(index.vectors))
    if isinstance(asked, IndexFileConfig) and asked.format == "diskann_disk":
        path = Path(asked.path)
    else:
        content = f"{prepared.dataset.fingerprint} {index.facts['index']['fingerprint']}".encode()
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
