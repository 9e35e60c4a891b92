"""The compute node's end of real reads: a ``transport.port.ReadPort`` on queue pairs of a NIC.

Work requests are made once for each landing slot and length and then used again: making one takes longer than posting
it. pyverbs cannot undo a link between two of them, so those that end a chain are never those within one.
"""

import mmap
import random
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from riftsim.errors import TransportError
from riftsim.rdma import bootstrap, queue_pairs, verbs
from riftsim.rdma.bootstrap import Descriptor, Peer
from riftsim.rdma.device import ANY_DEVICE, Device, DeviceChoice, name_of
from riftsim.rdma.queue_pairs import PATIENT, Retries
from riftsim.transport.port import Completion, QueuePairInfo, Read

_PSN_BITS = 24


@dataclass(frozen=True)
class ReaderSettings:
    """How a compute node reads.

    Attributes
    ----------
    device : DeviceChoice
    queue_pairs : int
        Per memory node.
    depth : int
        Work requests that may be posted to a queue pair.
    outstanding_reads : int
        Asked for; what both devices can do is a limit.
    posting : {"chained", "extended"}
        Linked work requests in one call, or the extended interface's batches.
    retries : Retries
    connect_timeout_s : float
        Longest silence of a memory node before the first read.
    """

    device: DeviceChoice = ANY_DEVICE
    queue_pairs: int = 1
    depth: int = 64
    outstanding_reads: int = 16
    posting: Literal["chained", "extended"] = "chained"
    retries: Retries = PATIENT
    connect_timeout_s: float = 10.0


class VerbsPort:
    """Queue pairs of one event loop to all memory nodes.

    Parameters
    ----------
    addresses : list of str
        ``host:port`` of every memory node.
    accept : callable
        ``accept(descriptors)`` of all memory nodes, in their order: which part of the index each of them has; raises
        if they are not what is expected. It is asked before any queue pair exists.
    slots, slot_bytes : int
        Of the landing buffer.
    settings : ReaderSettings
    """

    def __init__(
        self,
        addresses: Sequence[str],
        accept: Callable[[list[Descriptor]], list[int]],
        slots: int,
        slot_bytes: int,
        settings: ReaderSettings,
    ):
        self.slot_bytes = slot_bytes
        self.queue_pairs: list[QueuePairInfo] = []
        self._closing = ExitStack()
        name_of(settings.device)  # what this machine lacks is said before what others do not answer
        with self._closing:
            met = [self._meet(address, settings) for address in addresses]
            parts = accept([descriptor for _, descriptor in met])
            self._device = self._closing.enter_context(closing(Device(settings.device)))
            self._enums = self._device.enums
            self.buffer = np.frombuffer(mmap.mmap(-1, slots * slot_bytes), np.uint8)
            self._lkey = self._device.register(self.buffer, remote_read=False).lkey
            self._completion_queue = self._new_completion_queue(len(addresses), settings)
            self._remotes: list[tuple[int, int]] = []
            """Key and address of the region behind each queue pair."""
            self._made: list[Any] = []
            self._by_number: dict[int, int] = {}
            for address, memory_node, (connection, descriptor) in zip(addresses, parts, met, strict=True):
                self._connect(address, memory_node, connection, descriptor, settings)
            self._elements: dict[tuple[int, int], Any] = {}
            self._requests: dict[tuple[int, int, bool, bool], Any] = {}
            self._closing.callback(self._close_requests)
            self.post = self._post_extended if settings.posting == "extended" else self._post_chained
            self._closing = self._closing.pop_all()

    def poll(self) -> list[Completion]:
        """Completions that have come since the last poll."""
        _, entries = self._completion_queue.poll(self._polled_at_once)
        by_number = self._by_number
        return [Completion(entry.wr_id, entry.status, by_number[entry.qp_num]) for entry in entries]

    def close(self) -> None:
        """Give everything back: work requests, queue pairs, completion queue, memory, device, connections."""
        self._closing.close()

    # ------------------------------------------------------------ connecting

    def _meet(self, address: str, settings: ReaderSettings) -> tuple[socket.socket, Descriptor]:
        connection = self._closing.enter_context(bootstrap.connect(address, settings.connect_timeout_s))
        return connection, bootstrap.receive(connection, Descriptor, f"memory node {address}")

    def _new_completion_queue(self, memory_nodes: int, settings: ReaderSettings):
        """A completion queue that cannot overrun: an entry for every work request that may be posted."""
        device = self._device
        entries = memory_nodes * settings.queue_pairs * settings.depth
        for what, found, most in (
            ("work requests per queue pair", settings.depth, device.max_work_requests),
            ("completion entries", entries, device.max_completions),
        ):
            if found > most:
                raise TransportError(
                    f"{device.name}: found {found} {what}, expected at most {most}: the device's limit"
                )
        self._polled_at_once = min(entries, 256)
        queue = verbs.load("cq").CQ(device.context, entries, None)
        return device.closing.enter_context(closing(queue))

    def _connect(
        self,
        address: str,
        memory_node: int,
        connection: socket.socket,
        descriptor: Descriptor,
        settings: ReaderSettings,
    ) -> None:
        device = self._device
        made = []
        for _ in range(settings.queue_pairs):
            queue_pair = queue_pairs.create(
                device, self._completion_queue, settings.depth, extended=settings.posting == "extended"
            )
            made.append(device.closing.enter_context(closing(queue_pair)))
        ours = Peer(
            gid=device.gid,
            queue_pairs=[[queue_pair.qp_num, random.getrandbits(_PSN_BITS)] for queue_pair in made],
            outstanding_reads=min(settings.outstanding_reads, device.outstanding_reads, descriptor.outstanding_reads),
            mtu=min(device.mtu, descriptor.mtu),
        )
        bootstrap.send(connection, ours)
        peer = bootstrap.receive(connection, Peer, f"memory node {address}")
        if peer.error:
            raise TransportError(f"memory node {address}: {peer.error}")
        for number, queue_pair in enumerate(made):
            queue_pairs.connect(device, queue_pair, ours.queue_pairs[number][1], peer, number, settings.retries)
            self._by_number[queue_pair.qp_num] = len(self.queue_pairs)
            self.queue_pairs.append(QueuePairInfo(queue_pair.qp_num, memory_node, address, settings.depth))
            self._remotes.append((descriptor.rkey, descriptor.address))
            self._made.append(queue_pair)

    # ------------------------------------------------------------ posting

    def _post_chained(self, queue_pair: int, reads: Sequence[Read], *, last_only: bool) -> None:
        rkey, base = self._remotes[queue_pair]
        first = previous = None
        last = reads[-1]
        for read in reads:
            request = self._request(read.slot, read.length_bytes, read is last, last_only)
            request.set_wr_rdma(rkey, base + read.remote_offset)
            if previous is None:
                first = request
            else:
                previous.next_wr = request
            previous = request
        try:
            self._made[queue_pair].post_send(first)
        except verbs.errors() as error:
            raise self._refused(queue_pair, reads, error) from error

    def _post_extended(self, queue_pair: int, reads: Sequence[Read], *, last_only: bool) -> None:
        rkey, base = self._remotes[queue_pair]
        made, last, signaled = self._made[queue_pair], reads[-1], self._enums.SEND_SIGNALED
        try:
            made.wr_start()
            for read in reads:
                made.wr_id = read.slot
                made.wr_flags = signaled if read is last or not last_only else 0
                made.wr_rdma_read(rkey, base + read.remote_offset)
                made.wr_set_sge(self._element(read.slot, read.length_bytes))
            made.wr_complete()
        except verbs.errors() as error:
            raise self._refused(queue_pair, reads, error) from error

    def _request(self, slot: int, length_bytes: int, is_last: bool, last_only: bool):
        key = slot, length_bytes, is_last, last_only
        request = self._requests.get(key)
        if request is None:
            request = self._requests[key] = verbs.load("wr").SendWR(
                wr_id=slot,
                opcode=self._enums.WR_RDMA_READ,
                num_sge=1,
                sg=[self._element(slot, length_bytes)],
                send_flags=self._enums.SEND_SIGNALED if is_last or not last_only else 0,
            )
        return request

    def _element(self, slot: int, length_bytes: int):
        key = slot, length_bytes
        element = self._elements.get(key)
        if element is None:
            address = int(self.buffer.ctypes.data) + slot * self.slot_bytes
            element = self._elements[key] = verbs.load("wr").SGE(address, length_bytes, self._lkey)
        return element

    def _refused(self, queue_pair: int, reads: Sequence[Read], error: Exception) -> TransportError:
        info = self.queue_pairs[queue_pair]
        return TransportError(
            f"memory node {info.memory_node} ({info.address}), queue pair {info.number}: {len(reads)} work requests "
            f"from {reads[0].slot} on were not taken: {error}"
        )

    def _close_requests(self) -> None:
        """Work requests and their elements leak unless they are closed."""
        for made in (*self._requests.values(), *self._elements.values()):
            made.close()
        self._requests.clear()
        self._elements.clear()
