"""The memory node: it registers its records, tells whoever asks where they are, and sleeps.

Reads do not pass through this process: the NIC serves them. The process only makes queue pairs when a compute node
comes and gives them back when it goes.
"""

import mmap
import random
import selectors
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from riftsim.errors import TransportError
from riftsim.rdma import bootstrap, queue_pairs, verbs
from riftsim.rdma.bootstrap import Descriptor, Peer
from riftsim.rdma.device import ANY_DEVICE, Device, DeviceChoice
from riftsim.rdma.queue_pairs import PATIENT
from riftsim.units import format_bytes

_HANDSHAKE_TIMEOUT_S = 10.0
_COMPLETIONS = 16
"""Of a completion queue on which nothing ever completes."""
_PSN_BITS = 24


@dataclass(frozen=True)
class MemoryNodeSettings:
    """How a memory node serves.

    Attributes
    ----------
    listen : str
        ``host:port`` for compute nodes to come to; port 0 takes a free one.
    device : DeviceChoice
    pages : {"anonymous", "huge"}
        Where the records lie.
    outstanding_reads : int or None
        Most reads in flight per queue pair; by default the device's limit.
    """

    listen: str = "0.0.0.0:7471"
    device: DeviceChoice = ANY_DEVICE
    pages: Literal["anonymous", "huge"] = "anonymous"
    outstanding_reads: int | None = None


class MemoryNode:
    """A registered region and the compute nodes that read it.

    Parameters
    ----------
    records : uint8 (bytes,)
        What to register.
    content : dict
        What the bytes are, for the descriptor.
    settings : MemoryNodeSettings

    Attributes
    ----------
    address : str
        ``host:port`` that it listens on.
    """

    def __init__(self, records: np.ndarray, content: dict[str, Any], settings: MemoryNodeSettings):
        self._closing = ExitStack()
        self._peers: dict[socket.socket, ExitStack] = {}
        with self._closing:
            self._device = self._closing.enter_context(closing(Device(settings.device)))
            self._memory = records if settings.pages == "anonymous" else _in_huge_pages(records)
            region = self._device.register(self._memory, remote_read=True)
            limit = self._device.outstanding_reads
            self.descriptor = Descriptor(
                content=content,
                address=int(self._memory.ctypes.data),
                rkey=region.rkey,
                size_bytes=self._memory.nbytes,
                outstanding_reads=min(limit, settings.outstanding_reads or limit),
                mtu=self._device.mtu,
                device=self._device.name,
            )
            queue = verbs.load("cq").CQ(self._device.context, _COMPLETIONS, None)
            self._completion_queue = self._device.closing.enter_context(closing(queue))
            self._listener = self._closing.enter_context(_listen(settings.listen))
            self.address = "{}:{}".format(*self._listener.getsockname()[:2])
            self._wake, self._woken = socket.socketpair()
            self._closing.enter_context(self._wake)
            self._closing.enter_context(self._woken)
            self._closing.callback(self._forget_all)
            self._closing = self._closing.pop_all()

    @property
    def compute_nodes(self) -> int:
        """Connections of compute nodes at this moment."""
        return len(self._peers)

    def serve(self, on_event: Callable[[str], None] = lambda text: None) -> None:
        """Accept compute nodes until ``stop``; sleeps while none comes or goes.

        Parameters
        ----------
        on_event : callable
            Told what happens, in a line.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._woken:
                        return
                    if key.fileobj is self._listener:
                        connection, (host, *_) = self._listener.accept()
                        try:
                            self._welcome(connection, host)
                            selector.register(connection, selectors.EVENT_READ)
                            on_event(f"compute node {host} is connected ({self.compute_nodes} connections)")
                        except (TransportError, OSError) as error:
                            self._forget(connection)
                            on_event(f"compute node {host} was turned away: {error}")
                    else:
                        selector.unregister(key.fileobj)
                        self._forget(key.fileobj)
                        on_event(f"a compute node has gone ({self.compute_nodes} connections)")

    def stop(self) -> None:
        """Let ``serve`` return; may be called by a signal handler or another thread."""
        self._wake.send(b"s")

    def stop_on_signals(self) -> None:
        """Stop on SIGTERM and SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())

    def close(self) -> None:
        """Give everything back: queue pairs, connections, completion queue, region, device; once more is harmless."""
        self._closing.close()

    def _welcome(self, connection: socket.socket, host: str) -> None:
        """Exchange queue pairs with a compute node that likes the descriptor."""
        peers = self._peers[connection] = ExitStack()
        connection.settimeout(_HANDSHAKE_TIMEOUT_S)
        bootstrap.send(connection, self.descriptor)
        theirs = bootstrap.receive(connection, Peer, f"compute node {host}")
        ours = []
        try:
            if theirs.outstanding_reads > self.descriptor.outstanding_reads:
                raise TransportError(
                    f"found {theirs.outstanding_reads} outstanding reads, expected at most "
                    f"{self.descriptor.outstanding_reads}"
                )
            for number in range(len(theirs.queue_pairs)):
                made = queue_pairs.create(self._device, self._completion_queue, 1)
                peers.enter_context(closing(made))
                first_psn = random.getrandbits(_PSN_BITS)
                queue_pairs.connect(self._device, made, first_psn, theirs, number, PATIENT)
                ours.append([made.qp_num, first_psn])
        except TransportError as error:
            bootstrap.send(connection, Peer(self._device.gid, [], 0, 0, str(error)))
            raise
        bootstrap.send(connection, Peer(self._device.gid, ours, theirs.outstanding_reads, theirs.mtu))
        connection.settimeout(None)

    def _forget(self, connection: socket.socket) -> None:
        peers = self._peers.pop(connection, None)
        if peers:
            peers.close()
        connection.close()

    def _forget_all(self) -> None:
        for connection in list(self._peers):
            self._forget(connection)


def _listen(address: str) -> socket.socket:
    try:
        return socket.create_server(bootstrap.parse_address(address))
    except OSError as error:
        raise TransportError(f"listen: {address}: {error}") from error


def _in_huge_pages(records: np.ndarray) -> np.ndarray:
    """Copy records into huge pages of the system's default size."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_HUGETLB
    page_bytes = _huge_page_bytes()
    whole_bytes = -(-records.nbytes // page_bytes) * page_bytes
    try:
        memory = mmap.mmap(-1, whole_bytes, flags=flags)
    except OSError as error:
        raise TransportError(
            f"pages: {format_bytes(whole_bytes)} of huge pages cannot be had ({error}): "
            f"expected /proc/sys/vm/nr_hugepages to be at least {whole_bytes // page_bytes}"
        ) from error
    view = np.frombuffer(memory, np.uint8, records.nbytes)
    view[:] = records
    return view


_MAP_HUGETLB = 0x40000


def _huge_page_bytes() -> int:
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        (size_kib,) = (int(line.split()[1]) for line in meminfo if line.startswith("Hugepagesize:"))
    return 1024 * size_kib
