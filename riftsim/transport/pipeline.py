"""From chains of reads to queue pairs and back: credits, what a completion implies, and what a failure leaves behind.

A queue pair completes its work requests in the order of posting. A completion, of whatever status, therefore says that
every request posted earlier on its queue pair has been served. The first status other than success is the cause; what
comes after it on the queue pair are flushed requests, which were not served and hide nothing.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from riftsim.errors import ProtocolError, TransportError
from riftsim.transport.port import QueuePairInfo, Read, ReadPort, Status


class Failure(NamedTuple):
    """The first thing that went wrong on a queue pair."""

    queue_pair: QueuePairInfo
    read: Read
    status: int

    def __str__(self) -> str:
        name = Status(self.status).name if self.status in Status._value2member_map_ else f"status {self.status}"
        return f"{_place(self.queue_pair, self.read)}: {name}"


class Progress(NamedTuple):
    """What a poll brought, as numbers of work requests (landing slots)."""

    completed: list[int]
    """Served: the bytes are in their slots."""
    lost: list[int]
    """Not served: to be asked for again elsewhere."""


class _QueuePair:
    """Bookkeeping of one queue pair."""

    __slots__ = ("failed", "info", "number", "posted", "waiting")

    def __init__(self, number: int, info: QueuePairInfo):
        self.number = number
        self.info = info
        self.posted: deque[Read] = deque()
        """In the order of posting, until they complete."""
        self.waiting: deque[Read] = deque()
        """Not posted yet: the queue pair has no room."""
        self.failed = False

    @property
    def load(self) -> int:
        return len(self.posted) + len(self.waiting)


class ReadPipeline:
    """Posts reads within the limits of a port's queue pairs and says which of them were served.

    Parameters
    ----------
    port : ReadPort
    signal_last_only : bool
        Whether only the last read of a chain asks for a completion.
    """

    def __init__(self, port: ReadPort, *, signal_last_only: bool = False):
        self._port = port
        self._last_only = signal_last_only
        self._queue_pairs = [_QueuePair(number, info) for number, info in enumerate(port.queue_pairs)]
        self._backlog = False
        self.failures: list[Failure] = []
        """First cause of every queue pair that failed, in the order in which they were seen."""
        self._dead: set[str] = set()
        self.posted = self.doorbells = 0
        """Work requests posted, and chains."""

    @property
    def in_flight(self) -> int:
        """Reads that are posted or wait for room."""
        return sum(queue_pair.load for queue_pair in self._queue_pairs)

    def submit(self, memory_node: int, reads: Iterable[Read]) -> None:
        """Post reads of one memory node together, on the least loaded of its queue pairs.

        Raises
        ------
        TransportError
            If no queue pair leads to the memory node any more: names the first cause.
        """
        queue_pair = self._least_loaded(memory_node)
        queue_pair.waiting.extend(reads)
        self._post(queue_pair)

    def poll(self) -> Progress:
        """Take the completions that have come, and post what waited for room.

        Raises
        ------
        TransportError
            If a read that was never posted has no queue pair left.
        ProtocolError
            If a work request completed that was not posted, or twice.
        """
        completed: list[int] = []
        lost: list[int] = []
        entries = self._port.poll()
        if not entries:
            return Progress(completed, lost)
        for wr, status, number in entries:
            queue_pair = self._queue_pairs[number]
            if queue_pair.failed:
                self._drop(queue_pair, wr, lost)
                continue
            read = self._serve_until(queue_pair, wr, completed)
            if status == Status.SUCCESS:
                completed.append(wr)
            else:
                self._fail(queue_pair, read, status)
                lost.append(wr)
        if self._backlog:
            self._backlog = False
            for queue_pair in self._queue_pairs:
                self._post(queue_pair)
        return Progress(completed, lost)

    def overdue(self, slots: set[int], waited_s: float) -> TransportError:
        """The error of reads that did not complete in time: names the oldest of those that land in ``slots``."""
        for queue_pair in self._queue_pairs:
            for read in (*queue_pair.posted, *queue_pair.waiting):
                if read.slot in slots:
                    text = f"{_place(queue_pair.info, read)}: no completion within {waited_s:g} s"
                    return TransportError(self._with_causes(text))
        return TransportError(self._with_causes(f"no progress within {waited_s:g} s, and no read is in flight"))

    # ------------------------------------------------------------ posting

    def _least_loaded(self, memory_node: int) -> _QueuePair:
        usable = [each for each in self._queue_pairs if each.info.memory_node == memory_node and self._usable(each)]
        if not usable:
            text = f"memory node {memory_node}: no queue pair is left"
            raise TransportError(self._with_causes(text, memory_node))
        return min(usable, key=lambda each: each.load)

    def _usable(self, queue_pair: _QueuePair) -> bool:
        return not queue_pair.failed and queue_pair.info.address not in self._dead

    def _post(self, queue_pair: _QueuePair) -> None:
        room = queue_pair.info.depth - len(queue_pair.posted)
        if room <= 0 or not queue_pair.waiting:
            self._backlog |= bool(queue_pair.waiting)
            return
        chain = [queue_pair.waiting.popleft() for _ in range(min(room, len(queue_pair.waiting)))]
        queue_pair.posted.extend(chain)
        self._backlog |= bool(queue_pair.waiting)
        self.posted += len(chain)
        self.doorbells += 1
        self._port.post(queue_pair.number, chain, last_only=self._last_only)

    # ------------------------------------------------------------ completions

    def _serve_until(self, queue_pair: _QueuePair, wr: int, completed: list[int]) -> Read:
        """Take in the requests before ``wr``, which its completion implies, and remove ``wr`` itself."""
        if queue_pair.posted and queue_pair.posted[0].slot == wr:
            return queue_pair.posted.popleft()
        if not any(read.slot == wr for read in queue_pair.posted):
            raise ProtocolError(
                f"{_place(queue_pair.info)}: work request {wr} completed, but no such request is posted"
            )
        while (read := queue_pair.posted.popleft()).slot != wr:
            completed.append(read.slot)
        return read

    def _drop(self, queue_pair: _QueuePair, wr: int, lost: list[int]) -> None:
        """Take a flushed request out of a failed queue pair."""
        for read in queue_pair.posted:
            if read.slot == wr:
                queue_pair.posted.remove(read)
                lost.append(wr)
                return
        raise ProtocolError(f"{_place(queue_pair.info)}: work request {wr} was flushed, but no such request is posted")

    def _fail(self, queue_pair: _QueuePair, read: Read, status: int) -> None:
        """Note the first cause; send what waits for the memory node's process elsewhere."""
        queue_pair.failed = True
        self.failures.append(Failure(queue_pair.info, read, status))
        self._dead.add(queue_pair.info.address)
        for other in self._queue_pairs:
            if other.info.address == queue_pair.info.address and other.waiting:
                reads, other.waiting = other.waiting, deque()
                self.submit(other.info.memory_node, reads)

    def _with_causes(self, text: str, memory_node: int | None = None) -> str:
        causes = [
            str(failure)
            for failure in self.failures
            if memory_node is None or failure.queue_pair.memory_node == memory_node
        ]
        return "; ".join([text, *(f"failed before: {cause}" for cause in causes)])


def _place(info: QueuePairInfo, read: Read | None = None) -> str:
    place = f"memory node {info.memory_node} ({info.address}), queue pair {info.number}"
    if read is None:
        return place
    return f"{place}, work request {read.slot} ({read.length_bytes} bytes at offset {read.remote_offset})"
