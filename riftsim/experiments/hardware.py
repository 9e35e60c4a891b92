"""Measuring an RDMA device for a hardware profile."""

import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from riftsim.computenode.rdma_probe import SIZES, WINDOWS, ReadFigures, read_figures
from riftsim.experiments.rehearsal import Rehearsed, rehearse
from riftsim.memnode.server import MemoryNode, MemoryNodeSettings
from riftsim.rdma import verbs
from riftsim.rdma.bootstrap import Descriptor
from riftsim.rdma.device import DeviceChoice
from riftsim.rdma.reader import ReaderSettings, VerbsPort

_OWN_REGION_BYTES = 16 << 20


def measure_device(
    device: str | None, memory_node: str | None, samples: int
) -> tuple[ReadFigures, list[Rehearsed], str]:
    """Measure reads through a device, and live searches over it.

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
    list of Rehearsed
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

        def connect(slots: int, slot_bytes: int, depth: int = ReaderSettings.depth) -> VerbsPort:
            return VerbsPort([address], accept, slots, slot_bytes, ReaderSettings(device=choice, depth=depth))

        with closing(connect(max(WINDOWS), max(SIZES), 2 * max(WINDOWS))) as port:
            figures = read_figures(port, sizes[0], samples)
        return figures, rehearse(connect, sizes[0]), device or verbs.device_names()[0]


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
