"""A network of RDMA NICs on the event calendar: chains of one-sided reads go in, completions come out.

The path of a read, with the event that begins each part:

- ``post``: the doorbell crosses PCIe; a chain of several work requests is then fetched by the NIC, a single one has
  come with the doorbell.
- DOORBELL: the reads get a slot of their queue pair, in order, and its processing, one after another.
- SEND, NIC_START: NIC-wide processing, at a price that depends on the reads outstanding when it starts; then the
  request goes out on the compute node's link.
- REQUEST: processing at the memory node's NIC, PCIe read, the response goes out on the memory node's link.
- RESPONSE: the compute node's link takes it in, at the pace at which it comes (nothing is stored in between); PCIe
  write.
- COMPLETION: the slot is free again; the CQE, if asked for, is visible.

A server is reserved in an event at the time of arrival. Servers that are fed by one other FIFO server only are reserved
together with it, which gives the same times. A stage begins to serve a message when the first packet has passed the
stage before, and is taken for the whole message; ``costs.tail_ps`` follows the last packet.
"""

from collections.abc import Callable
from typing import Any

from riftsim.calendar import Calendar, EventKind
from riftsim.errors import ConfigError, ProtocolError
from riftsim.kernels import engine_trace as trace
from riftsim.rdma.costs import (
    framed_bytes,
    last_packet_bytes,
    tail_excess_ps,
    tail_ps,
    transfer_ps,
    uniform20,
    work_request_ps,
)
from riftsim.rdma.profiles import HardwareProfile, NetworkCosts
from riftsim.rdma.servers import ComputeNic, MemoryNic, QueuePair
from riftsim.transport.completion import CompletionQueue
from riftsim.transport.wr import Chain

_COMPLETION = int(EventKind.COMPLETION)
_RESPONSE = int(EventKind.RESPONSE)
_REQUEST = int(EventKind.REQUEST)
_NIC_START = int(EventKind.NIC_START)
_SEND = int(EventKind.SEND)
_DOORBELL = int(EventKind.DOORBELL)
_TAG_OF_SEARCH = (1 << 24) - 1  # a work request's tag carries the query above the tag that its search gave


class ReadPrices:
    """What a read of one length costs at the stages that depend on it.

    Picoseconds for the first packet, the whole message and the last packet; equal for a message of one packet.
    """

    __slots__ = ("pcie_first", "pcie_last", "pcie_whole", "wire_first", "wire_last", "wire_whole")

    def __init__(self, costs: NetworkCosts, length_bytes: int) -> None:
        sizes = (
            min(length_bytes, costs.mtu_bytes),
            length_bytes,
            last_packet_bytes(length_bytes, costs.mtu_bytes),
        )
        self.pcie_first, self.pcie_whole, self.pcie_last = (
            transfer_ps(framed_bytes(size, costs.pcie_payload_bytes, costs.pcie_header_bytes), costs.pcie_ps_per_kib)
            for size in sizes
        )
        self.wire_first, self.wire_whole, self.wire_last = (
            transfer_ps(framed_bytes(size, costs.mtu_bytes, costs.response_header_bytes), costs.link_ps_per_kib)
            for size in sizes
        )


class _Read:
    __slots__ = ("length_bytes", "prices", "qp", "query", "signaled", "tag", "tail_ps")

    def __init__(self, qp: QueuePair, query: int, tag: int, length_bytes: int, signaled: bool, prices: ReadPrices):
        self.qp = qp
        self.query = query
        self.tag = tag
        self.length_bytes = length_bytes
        self.signaled = signaled
        self.prices = prices
        self.tail_ps = 0


class SimulatedNetwork:
    """Compute nodes and memory nodes joined by one switch.

    Parameters
    ----------
    calendar : Calendar
        The clock.
    profile : HardwareProfile
        Every constant.
    compute_nodes, memory_nodes : int
        How many there are; each has one NIC with one link.
    seed : int
        Of the random tails; without effect unless the profile asks for tails.
    note : callable or None
        ``note(kind, query, tag, *times)`` writes down what happens to reads, see ``kernels.engine_trace``.

    Attributes
    ----------
    compute : list of ComputeNic
    memory : list of MemoryNic
    """

    def __init__(
        self,
        calendar: Calendar,
        profile: HardwareProfile,
        compute_nodes: int,
        memory_nodes: int,
        seed: int = 0,
        note: Callable[..., None] | None = None,
    ) -> None:
        self.calendar = calendar
        self.costs = profile.network
        self.compute = [ComputeNic(node) for node in range(compute_nodes)]
        self.memory = [MemoryNic(node) for node in range(memory_nodes)]
        self._seed = seed
        self._write_down = note
        self._prices: dict[int, ReadPrices] = {}
        # A memory node that one compute node alone reads from is fed by one FIFO link, and so is a compute node that
        # reads from one memory node alone: no event is needed to find out who comes first.
        self._one_requester = compute_nodes == 1
        self._one_responder = memory_nodes == 1

    def create_qp(self, compute_node: int, memory_node: int, cq: CompletionQueue) -> QueuePair:
        """Connect a compute node with a memory node.

        Parameters
        ----------
        compute_node, memory_node : int
            The two ends.
        cq : CompletionQueue
            Gets the completions; several queue pairs may share one.

        Returns
        -------
        QueuePair
            To post to.
        """
        return QueuePair(self.compute[compute_node], self.memory[memory_node], cq, self.costs.max_outstanding)

    def post(self, qp: QueuePair, chain: Chain) -> None:
        """Ring the doorbell for a chain, now. Costs of the CPU are the caller's.

        Parameters
        ----------
        qp : QueuePair
            Where to post.
        chain : Chain
            At least one work request, all for the queue pair's memory node. Tags are unique among the reads of the
            same query and compute node that are not completed.

        Raises
        ------
        ProtocolError
            If the chain is empty or names another memory node.
        ConfigError
            If a read has no bytes.
        """
        requests = chain.requests
        if not requests:
            raise ProtocolError(f"query {chain.query} posted an empty chain; expected at least one work request")
        now = self.calendar.now
        nic = qp.nic
        query, prices, reads = chain.query, self._prices, []
        for request in requests:
            if request.memory_node != qp.memory.node:
                raise ProtocolError(f"{request!r} was posted to a queue pair of memory node {qp.memory.node}")
            length = request.length_bytes
            price = prices.get(length) or self._price(length)
            reads.append(_Read(qp, query, request.tag, length, request.signaled, price))
        nic.doorbells += 1
        nic.change_outstanding(len(reads), now)
        costs = self.costs
        if costs.is_free:
            for read in reads:
                self._note(trace.RUNG, read, now, now)
                qp.in_flight.append(read)
                self.calendar.at(now, _COMPLETION, nic.node, query, read.tag, self._complete, qp)
            return
        due = now + costs.doorbell_ps
        if len(reads) > 1:
            due += costs.wqe_fetch_ps
        if due < qp.doorbell_ps:  # chains of one queue pair are fetched in order
            due = qp.doorbell_ps
        qp.doorbell_ps = due
        qp.rung.append(reads)
        for read in reads:
            self._note(trace.RUNG, read, now, due)
        self.calendar.at(due, _DOORBELL, nic.node, query, reads[0].tag, self._doorbell, qp)

    def _note(self, kind: int, read: "_Read", *times_ps: int) -> None:
        if self._write_down:
            self._write_down(kind, read.query, read.tag & _TAG_OF_SEARCH, *times_ps)

    def counters(self) -> dict[str, Any]:
        """Return counts, bytes, busy times and outstanding reads of every NIC up to now."""
        now = self.calendar.now
        return {
            "span_ps": now,
            "compute": [nic.counters(now) for nic in self.compute],
            "memory": [nic.counters() for nic in self.memory],
        }

    def _price(self, length_bytes: int) -> ReadPrices:
        if length_bytes < 1:
            raise ConfigError(f"a read of {length_bytes} bytes; expected at least 1")
        self._prices[length_bytes] = ReadPrices(self.costs, length_bytes)
        return self._prices[length_bytes]

    def _doorbell(self, qp: QueuePair) -> None:
        qp.waiting.extend(qp.rung.popleft())
        self._admit(qp)

    def _admit(self, qp: QueuePair) -> None:
        waiting, calendar = qp.waiting, self.calendar
        now, node, service = calendar.now, qp.nic.node, self.costs.qp_service_ps
        while waiting and qp.free_slots:
            read = waiting.popleft()
            qp.free_slots -= 1
            start = qp.free_ps if qp.free_ps > now else now
            qp.free_ps = start + service
            self._note(trace.ADMITTED, read, now, start + service)
            qp.processing.append(read)
            calendar.at(start + service, _SEND, node, read.query, read.tag, self._send, qp)

    def _send(self, qp: QueuePair) -> None:
        read = qp.processing.popleft()
        qp.in_flight.append(read)
        nic = qp.nic
        queue = nic.queue
        if not queue and nic.processing_free_ps <= self.calendar.now:
            self._serve(nic, read)
            return
        queue.append(read)
        if len(queue) == 1:
            self._await_processing(nic)

    def _await_processing(self, nic: ComputeNic) -> None:
        head = nic.queue[0]
        self.calendar.at(nic.processing_free_ps, _NIC_START, nic.node, head.query, head.tag, self._start_next, nic)

    def _start_next(self, nic: ComputeNic) -> None:
        self._serve(nic, nic.queue.popleft())
        if nic.queue:
            self._await_processing(nic)

    def _serve(self, nic: ComputeNic, read: _Read) -> None:
        costs, calendar = self.costs, self.calendar
        service = costs.wr_service_ps
        if nic.outstanding > costs.cached_requests:
            service = work_request_ps(service, costs.wr_miss_ps, costs.cached_requests, nic.outstanding)
        done = nic.processing_free_ps = calendar.now + service
        processed = done
        nic.processing_busy_ps += service
        if nic.egress_free_ps > done:
            done = nic.egress_free_ps
        nic.egress_free_ps = done + costs.request_wire_ps
        arrival = nic.egress_free_ps + costs.transit_ps
        self._note(trace.SERVED, read, calendar.now, processed, nic.egress_free_ps, arrival)
        if self._one_requester:
            self._respond(read, arrival)
        else:
            calendar.at(arrival, _REQUEST, nic.node, read.query, read.tag, self._request, read)

    def _request(self, read: _Read) -> None:
        self._respond(read, self.calendar.now)

    def _respond(self, read: _Read, arrival_ps: int) -> None:
        costs, prices = self.costs, read.prices
        memory = read.qp.memory
        memory.requests += 1
        memory.payload_bytes += read.length_bytes
        pcie_whole, wire_whole = prices.pcie_whole, prices.wire_whole
        memory.pcie_busy_ps += pcie_whole
        memory.egress_busy_ps += wire_whole

        start = memory.processing_free_ps if memory.processing_free_ps > arrival_ps else arrival_ps
        start = processed = memory.processing_free_ps = start + costs.responder_service_ps

        if memory.pcie_free_ps > start:
            start = memory.pcie_free_ps
        memory.pcie_free_ps = start + pcie_whole
        fetching = start
        start += costs.pcie_read_ps
        head = start + prices.pcie_first
        tail = start + pcie_whole

        start = memory.egress_free_ps if memory.egress_free_ps > head else head
        memory.egress_free_ps = start + wire_whole
        self._note(trace.RESPONDED, read, processed, fetching, head, start)
        transit = costs.transit_ps
        read.tail_ps = tail_ps(start, wire_whole, tail, prices.wire_last) + transit
        if self._one_responder:
            self._receive(read, start + transit)
        else:
            self.calendar.at(start + transit, _RESPONSE, read.qp.nic.node, read.query, read.tag, self._response, read)

    def _response(self, read: _Read) -> None:
        self._receive(read, self.calendar.now)

    def _receive(self, read: _Read, arrival_ps: int) -> None:
        costs, prices, qp = self.costs, read.prices, read.qp
        nic = qp.nic
        pcie_whole, wire_whole = prices.pcie_whole, prices.wire_whole
        nic.pcie_busy_ps += pcie_whole
        nic.ingress_busy_ps += wire_whole

        start = nic.ingress_free_ps if nic.ingress_free_ps > arrival_ps else arrival_ps
        taking = start
        nic.ingress_free_ps = start + wire_whole
        head = start + prices.wire_first
        tail = start + wire_whole if start + wire_whole > read.tail_ps else read.tail_ps

        start = nic.pcie_free_ps if nic.pcie_free_ps > head else head
        nic.pcie_free_ps = start + pcie_whole
        done = tail_ps(start, pcie_whole, tail, prices.pcie_last) + costs.pcie_write_ps
        if costs.tails:
            uniform = uniform20(self._seed, read.query, read.tag)
            done += tail_excess_ps(costs.typical_ps, costs.p99_permille, costs.p999_permille, uniform)
        written = done
        if done < qp.completion_ps:  # a reliable connection completes in order
            done = qp.completion_ps
        qp.completion_ps = done
        self._note(trace.TAKEN, read, arrival_ps, taking, start, written, done)
        self.calendar.at(done, _COMPLETION, nic.node, read.query, read.tag, self._complete, qp)

    def _complete(self, qp: QueuePair) -> None:
        read = qp.in_flight.popleft()
        nic = qp.nic
        nic.reads += 1
        nic.payload_bytes += read.length_bytes
        now = self.calendar.now
        nic.outstanding_area += nic.outstanding * (now - nic.changed_ps)
        nic.changed_ps = now
        nic.outstanding -= 1
        covered = qp.covered
        if not read.signaled:
            covered.append(read)
        else:
            if covered:
                for earlier in covered:
                    self._note(trace.COVERED, earlier, now)
                    qp.cq.push(earlier.tag, False)
                covered.clear()
            qp.cq.push(read.tag)
        if not self.costs.is_free:
            qp.free_slots += 1
            if qp.waiting:
                self._admit(qp)
