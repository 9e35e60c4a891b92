"""Memory nodes in this process, read through a port that behaves as verbs do on SoftRoCE.

Bytes are copied when a read is served; until then its landing slot holds rubbish. Queue pairs keep the order of posting
within themselves, race each other, and delay completions by some polls. Faults come on order.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from riftsim.errors import TransportError
from riftsim.transport.port import Completion, QueuePairInfo, Read, Status

RUBBISH = 0xEE


@dataclass
class FakeMemoryNode:
    """A region and what is wrong with it."""

    region: np.ndarray
    memory_node: int = 0
    address: str = "fake:1"
    killed: bool = False
    stalled: bool = False
    """Reads never complete: no outstanding reads, or retries without end."""
    killed_after: int | None = None
    """Reads that are served before it is killed."""
    refused: dict[int, Status] = field(default_factory=dict)
    """Status of the reads that are served as the n-th ones, counted from 0."""
    served: int = 0

    def serve(self, read: Read, landing: np.ndarray) -> Status | None:
        """Copy the bytes of one read; its status, None while it hangs."""
        if self.killed_after is not None and self.served >= self.killed_after:
            self.killed = True
        if self.stalled:
            return None
        if self.killed:
            return Status.RETRY_EXC_ERR
        status = self.refused.pop(self.served, Status.SUCCESS)
        self.served += 1
        end = read.remote_offset + read.length_bytes
        if read.remote_offset < 0 or end > len(self.region):
            status = Status.REM_ACCESS_ERR
        elif len(landing) < read.length_bytes:
            status = Status.LOC_PROT_ERR
        if status == Status.SUCCESS:
            landing[: read.length_bytes] = self.region[read.remote_offset : end]
        return status


class FakePort:
    """A port on fake memory nodes.

    Parameters
    ----------
    nodes : list of FakeMemoryNode
    slots, slot_bytes : int
        Of the landing buffer.
    queue_pairs, depth : int
        Per memory node, and work requests of each.
    cq_depth : int or None
        Entries of the completion queue: one more is lost, and so are all after it.
    seed : int or None
        Of delays and of the race between queue pairs; None serves everything at the next poll, in order.
    """

    def __init__(
        self,
        nodes: Sequence[FakeMemoryNode],
        slots: int,
        slot_bytes: int,
        *,
        queue_pairs: int = 1,
        depth: int = 64,
        cq_depth: int | None = None,
        seed: int | None = None,
    ):
        self.slot_bytes = slot_bytes
        self.buffer = np.full(slots * slot_bytes, RUBBISH, np.uint8)
        self.closed = 0
        self.chains: list[tuple[int, list[int]]] = []
        """Queue pair and work requests of every chain."""
        self._owners = [node for node in nodes for _ in range(queue_pairs)]
        self.queue_pairs = [
            QueuePairInfo(17 + number, node.memory_node, node.address, depth)
            for number, node in enumerate(self._owners)
        ]
        self._posted: list[deque[tuple[Read, bool]]] = [deque() for _ in self._owners]
        self._in_error = [False] * len(self._owners)
        self._entries: list[Completion] = []
        self._cq_depth = cq_depth
        self._overrun = False
        self._rng = None if seed is None else np.random.default_rng(seed)

    def post(self, queue_pair: int, reads: Sequence[Read], *, last_only: bool) -> None:
        info, posted = self.queue_pairs[queue_pair], self._posted[queue_pair]
        if len(posted) + len(reads) > info.depth:
            raise TransportError(
                f"memory node {info.memory_node} ({info.address}), queue pair {info.number}, work request "
                f"{reads[0].slot}: ENOMEM"
            )
        self.chains.append((queue_pair, [read.slot for read in reads]))
        for read in reads:
            self._landing(read)[:] = RUBBISH
            posted.append((read, not last_only or read is reads[-1]))

    def poll(self) -> list[Completion]:
        order = np.arange(len(self._posted)) if self._rng is None else self._rng.permutation(len(self._posted))
        for number in order.tolist():
            self._serve(number)
        entries, self._entries = self._entries, []
        return entries

    def close(self) -> None:
        self.closed += 1

    def _serve(self, number: int) -> None:
        posted = self._posted[number]
        # 0 to 3 at a time: a poll may find nothing, or a part of a chain.
        count = len(posted) if self._rng is None else min(len(posted), int(self._rng.integers(0, 4)))
        while posted and (count > 0 or self._in_error[number]):
            read, signaled = posted[0]
            if self._in_error[number]:
                status = Status.WR_FLUSH_ERR
            else:
                status = self._owners[number].serve(read, self._landing(read))
                if status is None:
                    return
            posted.popleft()
            count -= 1
            self._in_error[number] |= status != Status.SUCCESS
            if signaled or status != Status.SUCCESS:
                self._complete(Completion(read.slot, status, number))

    def _complete(self, entry: Completion) -> None:
        self._overrun |= self._cq_depth is not None and len(self._entries) >= self._cq_depth
        if not self._overrun:
            self._entries.append(entry)

    def _landing(self, read: Read) -> np.ndarray:
        return self.buffer[read.slot * self.slot_bytes : (read.slot + 1) * self.slot_bytes]
