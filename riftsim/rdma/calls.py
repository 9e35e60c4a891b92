"""Calls to active memory nodes over the same NICs and links as one-sided reads: two messages and a thread in between.

The path of a call, with the event that begins each part:

- ``post``: the doorbell crosses PCIe; several calls are then fetched by the NIC, a single one has come with it.
- DOORBELL, SEND: as for a read; no read context is held and no slot of outstanding reads is taken.
- REQUEST: processing at the memory node's NIC, PCIe write into a receive buffer.
- SERVICE: the call is visible to the memory node's threads: the oldest waiting call goes to the first free thread,
  which works, posts the reply, and may work on before it is free (`Intake` has other ways).
- RESPONSE: the compute node's link takes the reply in; PCIe write.
- COMPLETION: the reply is visible.

A message is taken to be short: it is sent on when all of it is there. A system either reads or calls: beside reads that
wait for a NIC's processing, calls would be served first.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

from riftsim.calendar import Calendar, EventKind
from riftsim.errors import ProtocolError
from riftsim.kernels import prices
from riftsim.rdma.costs import framed_bytes, transfer_ps
from riftsim.rdma.profiles import NetworkCosts
from riftsim.rdma.servers import MemoryNic, QueuePair
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.transport.call import Call

_contended_ps = prices.contended_ps.py_func


@dataclass(frozen=True)
class Intake:
    """How the threads of a memory node take calls.

    Attributes
    ----------
    dealt : bool
        Each thread serves connections of its own, dealt out in turn, instead of whichever call is the oldest.
    whole : bool
        A free thread takes all calls that wait for it (of a common queue its share), at the price of taking in and
        replying to one, and replies to all of them at the end.
    """

    dealt: bool = False
    whole: bool = False


OLDEST_FIRST = Intake()
"""Any free thread takes the oldest call."""


class ServiceThreads:
    """The threads of one active memory node and the queues of calls before them.

    Attributes
    ----------
    threads, busy : int
        How many there are, and how many work.
    waiting : list of deque
        Calls that no thread has taken, oldest first; a queue per thread where connections are dealt out, else one.
    free : list of int
        Threads of each queue that do not work.
    served, taken, busy_ps : int
        Calls replied to, times that a thread took some, and time for which threads have worked or are committed to.
    contention_permille : int
        Extra time of a thread's work per other thread that is busy when it begins: they share the memory's bandwidth.
    waiting_max, waiting_area : int
        Most calls that waited, and the integral of their number over time in ps, up to ``changed_ps``.
    """

    def __init__(self, threads: int, contention_permille: int, intake: Intake) -> None:
        self.threads = threads
        self.contention_permille = contention_permille
        self.busy = self.served = self.taken = self.busy_ps = 0
        queues = threads if intake.dealt else 1
        self.waiting: list[deque[tuple[QueuePair, Call]]] = [deque() for _ in range(queues)]
        self._per_queue = threads // queues
        self.free = [self._per_queue] * queues
        self.waiting_max = self.waiting_area = self.changed_ps = 0
        self._whole = intake.whole
        self._queue_of: dict[QueuePair, int] = {}

    def queue_of(self, qp: QueuePair) -> int:
        """Return the queue of a connection; a new one gets the next in turn."""
        return self._queue_of.setdefault(qp, len(self._queue_of) % len(self.waiting))

    def take(self, queue: int) -> list[tuple[QueuePair, Call]]:
        """Let a free thread take from its queue, which is not empty, what it takes at a time."""
        waiting = self.waiting[queue]
        count = -(-len(waiting) // self._per_queue) if self._whole else 1
        self.free[queue] -= 1
        self.busy += 1
        self.taken += 1
        return [waiting.popleft() for _ in range(count)]

    def release(self, queue: int) -> None:
        """Let a thread be free again."""
        self.free[queue] += 1
        self.busy -= 1

    @property
    def waiting_calls(self) -> int:
        """Calls that no thread has taken."""
        return sum(map(len, self.waiting))

    def work_ps(self, alone_ps: int) -> int:
        """Commit a thread that counts as busy to some work; return how long that takes."""
        took_ps = _contended_ps(alone_ps, self.contention_permille, self.busy)
        self.busy_ps += took_ps
        return took_ps

    def count_waiting(self, now_ps: int) -> None:
        """Bring ``waiting_area`` up to now, before the number of waiting calls changes."""
        self.waiting_area += self.waiting_calls * (now_ps - self.changed_ps)
        self.changed_ps = now_ps

    def counters(self, now_ps: int) -> dict[str, Any]:
        """Return what was counted up to now; times in picoseconds."""
        area = self.waiting_area + self.waiting_calls * (now_ps - self.changed_ps)
        return {
            "threads": self.threads,
            "served": self.served,
            "taken": self.taken,
            "busy_ps": self.busy_ps,
            "waiting_max": self.waiting_max,
            "waiting_mean": area / now_ps if now_ps else 0.0,
        }


class CallService:
    """Carries calls to the threads of active memory nodes, and replies back.

    Parameters
    ----------
    calendar : Calendar
    network : SimulatedNetwork
        Whose NICs and links the messages pass.
    threads : int
        Threads of each memory node.
    contention_permille : int
        Extra time of their work per other busy thread of the same memory node.
    intake : Intake
        How they take calls.

    Attributes
    ----------
    memory : list of ServiceThreads
        One per memory node.
    """

    def __init__(
        self,
        calendar: Calendar,
        network: SimulatedNetwork,
        threads: int,
        contention_permille: int = 0,
        intake: Intake = OLDEST_FIRST,
    ) -> None:
        self.memory = [ServiceThreads(threads, contention_permille, intake) for _ in network.memory]
        self._calendar = calendar
        self._costs: NetworkCosts = network.costs

    def post(self, qp: QueuePair, calls: list[Call]) -> None:
        """Ring the doorbell for calls, now. Costs of the CPU are the caller's.

        Parameters
        ----------
        qp : QueuePair
            Where to post.
        calls : list of Call
            At least one, all for the queue pair's memory node.

        Raises
        ------
        ProtocolError
            If there is none, or one is for another memory node.
        """
        if not calls:
            raise ProtocolError("no call was posted; expected at least one")
        for call in calls:
            if call.memory_node != qp.memory.node:
                raise ProtocolError(f"{call!r} was posted to a queue pair of memory node {qp.memory.node}")
        costs, now = self._costs, self._calendar.now
        qp.nic.doorbells += 1
        due = now + costs.doorbell_ps + (costs.wqe_fetch_ps if len(calls) > 1 else 0)
        qp.doorbell_ps = max(due, qp.doorbell_ps)
        self._at(qp.doorbell_ps, EventKind.DOORBELL, qp, calls[0], self._doorbell, (qp, calls))

    def counters(self) -> list[dict[str, Any]]:
        """Return what the threads of each memory node have done up to now."""
        return [threads.counters(self._calendar.now) for threads in self.memory]

    def _at(self, time_ps: int, kind: EventKind, qp: QueuePair, call: Call, action, argument) -> None:
        self._calendar.at(time_ps, kind, qp.nic.node, call.query, call.tag, action, argument)

    def _doorbell(self, posted: tuple[QueuePair, list[Call]]) -> None:
        qp, calls = posted
        for call in calls:
            qp.free_ps = max(qp.free_ps, self._calendar.now) + self._costs.qp_service_ps
            self._at(qp.free_ps, EventKind.SEND, qp, call, self._send, (qp, call))

    def _send(self, sent: tuple[QueuePair, Call]) -> None:
        qp, call = sent
        costs, nic, now = self._costs, qp.nic, self._calendar.now
        nic.processing_free_ps = max(nic.processing_free_ps, now) + costs.wr_service_ps
        nic.processing_busy_ps += costs.wr_service_ps
        nic.egress_free_ps = max(nic.egress_free_ps, nic.processing_free_ps) + self._wire_ps(call.request_bytes)
        self._at(nic.egress_free_ps + costs.transit_ps, EventKind.REQUEST, qp, call, self._request, sent)

    def _request(self, sent: tuple[QueuePair, Call]) -> None:
        qp, call = sent
        costs, memory = self._costs, qp.memory
        memory.requests += 1
        start = self._process(memory)
        memory.pcie_free_ps = max(memory.pcie_free_ps, start) + self._pcie_ps(call.request_bytes)
        memory.pcie_busy_ps += self._pcie_ps(call.request_bytes)
        self._at(memory.pcie_free_ps + costs.receive_ps, EventKind.SERVICE, qp, call, self._enqueue, sent)

    def _process(self, memory: MemoryNic) -> int:
        """Reserve the memory node's NIC for one message; return when it has processed it."""
        memory.processing_free_ps = (
            max(memory.processing_free_ps, self._calendar.now) + self._costs.responder_service_ps
        )
        return memory.processing_free_ps

    def _enqueue(self, sent: tuple[QueuePair, Call]) -> None:
        threads = self.memory[sent[0].memory.node]
        queue = threads.queue_of(sent[0])
        threads.count_waiting(self._calendar.now)
        threads.waiting[queue].append(sent)
        self._serve(threads, queue)
        threads.waiting_max = max(threads.waiting_max, threads.waiting_calls)

    def _serve(self, threads: ServiceThreads, queue: int) -> None:
        if not threads.free[queue] or not threads.waiting[queue]:
            return
        now = self._calendar.now
        threads.count_waiting(now)
        taken = threads.take(queue)
        qp, call = taken[0]
        threads.busy_ps += call.handling_ps
        served_ps = now + call.handling_ps + threads.work_ps(sum(each.service_ps for _, each in taken))
        self._at(served_ps, EventKind.SERVICE, qp, call, self._served, (threads, queue, taken))

    def _served(self, done: tuple[ServiceThreads, int, list[tuple[QueuePair, Call]]]) -> None:
        threads, queue, taken = done
        threads.served += len(taken)
        for sent in taken:
            self._reply(sent)
        qp, call = taken[0]
        after_ps = sum(each.after_ps for _, each in taken)
        if after_ps:
            free_ps = self._calendar.now + threads.work_ps(after_ps)
            self._at(free_ps, EventKind.SERVICE, qp, call, self._free, (threads, queue))
        else:
            self._free((threads, queue))

    def _reply(self, sent: tuple[QueuePair, Call]) -> None:
        qp, call = sent
        costs, memory = self._costs, qp.memory
        memory.payload_bytes += call.reply_bytes
        processed = self._process(memory) + costs.doorbell_ps + costs.pcie_read_ps
        memory.pcie_free_ps = max(memory.pcie_free_ps, processed) + self._pcie_ps(call.reply_bytes)
        memory.pcie_busy_ps += self._pcie_ps(call.reply_bytes)
        wire_ps = self._wire_ps(call.reply_bytes)
        memory.egress_free_ps = max(memory.egress_free_ps, memory.pcie_free_ps) + wire_ps
        memory.egress_busy_ps += wire_ps
        # The first bit reaches the compute node's link, as a read's response does.
        arrival = memory.egress_free_ps - wire_ps + costs.transit_ps
        self._at(arrival, EventKind.RESPONSE, qp, call, self._response, sent)

    def _free(self, thread: tuple[ServiceThreads, int]) -> None:
        threads, queue = thread
        threads.release(queue)
        self._serve(threads, queue)

    def _response(self, sent: tuple[QueuePair, Call]) -> None:
        qp, call = sent
        costs, nic = self._costs, qp.nic
        wire_ps, pcie_ps = self._wire_ps(call.reply_bytes), self._pcie_ps(call.reply_bytes)
        nic.ingress_free_ps = max(nic.ingress_free_ps, self._calendar.now) + wire_ps
        nic.ingress_busy_ps += wire_ps
        nic.pcie_free_ps = max(nic.pcie_free_ps, nic.ingress_free_ps) + pcie_ps
        nic.pcie_busy_ps += pcie_ps
        done = nic.pcie_free_ps + costs.pcie_write_ps
        self._at(done, EventKind.COMPLETION, qp, call, self._complete, sent)

    def _complete(self, sent: tuple[QueuePair, Call]) -> None:
        qp, call = sent
        qp.nic.payload_bytes += call.reply_bytes
        qp.cq.push(call.tag)

    def _wire_ps(self, length_bytes: int) -> int:
        costs = self._costs
        framed = framed_bytes(length_bytes, costs.mtu_bytes, costs.response_header_bytes)
        return transfer_ps(framed, costs.link_ps_per_kib)

    def _pcie_ps(self, length_bytes: int) -> int:
        costs = self._costs
        framed = framed_bytes(length_bytes, costs.pcie_payload_bytes, costs.pcie_header_bytes)
        return transfer_ps(framed, costs.pcie_ps_per_kib)
