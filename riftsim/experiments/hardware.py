"""Measuring for a hardware profile: an RDMA device, and what the steps of a live run took."""

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from riftsim.computenode.rdma_probe import SIZES, WINDOWS, ReadFigures, read_figures
from riftsim.constants import Constant
from riftsim.experiments.live_comparison import simulate_as
from riftsim.memnode.server import MemoryNode, MemoryNodeSettings
from riftsim.rdma import verbs
from riftsim.rdma.bootstrap import Descriptor
from riftsim.rdma.calibrated import replaced, write_profile
from riftsim.rdma.device import DeviceChoice
from riftsim.rdma.profiles import ProfileFile
from riftsim.rdma.reader import ReaderSettings, VerbsPort
from riftsim.results.store import Run

_OWN_REGION_BYTES = 16 << 20


def measure_reads(device: str | None, memory_node: str | None, samples: int) -> tuple[ReadFigures, str]:
    """Measure reads through a device.

    Parameters
    ----------
    device : str or None
        By default the first one.
    memory_node : str or None
        ``host:port`` of one that is served; by default one of this process, on the same device.
    samples : int
        Of each figure.

    Returns
    -------
    ReadFigures
    str
        Name of the device.

    Raises
    ------
    TransportError
        If there is no device or memory node, or a read fails.
    """
    choice = DeviceChoice(device)
    sizes: list[int] = []

    def accept(descriptors: list[Descriptor]) -> list[int]:
        sizes.extend(descriptor.size_bytes for descriptor in descriptors)
        return [0]

    with _memory_node(choice, memory_node) as address:
        settings = ReaderSettings(device=choice, depth=2 * max(WINDOWS))
        with closing(VerbsPort([address], accept, max(WINDOWS), max(SIZES), settings)) as port:
            return read_figures(port, sizes[0], samples), device or verbs.device_names()[0]


def with_steps_of(file: ProfileFile, live: Run, data_dir: Path | None = None) -> ProfileFile:
    """Let an adjacency list cost what a live run spent on evaluation beyond what the other constants explain.

    A live search steps through Python; what a step costs there, no loop around a kernel shows.

    Parameters
    ----------
    file : ProfileFile
        A profile of the machine on which the run was made.
    live : Run
        Of a system that evaluates on its main thread alone.
    data_dir : Path or None
        Folder of larger data sets.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.yaml"
        write_profile(file, path)
        simulated = simulate_as(live, str(path), Path(folder), data_dir)
        spent_ns, priced_ns = (one.queries["evaluation_ps"].mean() / 1e3 for one in (live, simulated))
    lists = live.queries["expansions"].mean()
    value = max(0.0, file.cpu.list_ns.value + (spent_ns - priced_ns) / lists)
    source = (
        f"evaluation of {len(live.queries)} live queries of {live.config['system']['kind']}, {lists:.1f} lists each: "
        "what the other constants leave"
    )
    return replaced(file, {"cpu.list_ns": Constant(value=round(value, 3), unit="ns", kind="fitted", source=source)})


def is_one_core(device: str) -> bool:
    """Whether the device is made by software and this process has one CPU only: then everything shares a core."""
    in_software = Path(f"/sys/class/infiniband/{device}/parent").exists()
    return in_software and len(os.sched_getaffinity(0)) == 1


@contextmanager
def _memory_node(choice: DeviceChoice, address: str | None) -> Iterator[str]:
    if address is not None:
        yield address
        return
    records = np.zeros(_OWN_REGION_BYTES, np.uint8)
    settings = MemoryNodeSettings(listen="127.0.0.1:0", device=choice)
    with closing(MemoryNode(records, {"content": "calibration"}, settings)) as node:
        thread = threading.Thread(target=node.serve, name="memory node", daemon=True)
        thread.start()
        try:
            yield node.address
        finally:
            node.stop()
            thread.join()
