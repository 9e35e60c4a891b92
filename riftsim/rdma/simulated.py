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

from typing import Any, Protocol

from riftsim.calendar import Calendar, EventKind
from riftsim.errors import ConfigError, ProtocolError
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
from riftsim.transport.wr import Chain

_COMPLETION = int(EventKind.COMPLETION)
_RESPONSE = int(EventKind.RESPONSE)
_REQUEST = int(EventKind.REQUEST)
_NIC_START = int(EventKind.NIC_START)
_SEND = int(EventKind.SEND)
_DOORBELL = int(EventKind.DOORBELL)


class CompletionQueue(Protocol):
    """What the network needs of a completion queue."""

    def push(self, tag: int) -> None:
        """Take the tag of a completed read, in the event in which it becomes visible."""


class ReadPrices:
    """What a read of one length costs at the stages that depend on it; picoseconds, for first packet, whole, last."""

    __slots__ = ("pcie_first", "pcie_last", "pcie_whole", "wire_first", "wire_last", "wire_whole")

    def __init__(self, costs: NetworkCosts, length_bytes: int) -> None:
        first = min(length_bytes, costs.mtu_bytes)
        last = last_packet_bytes(length_bytes, costs.mtu_bytes)
        self.pcie_first, self.pcie_whole, self.pcie_last = (
            transfer_ps(framed_bytes(size, costs.pcie_payload_bytes, costs.pcie_header_bytes), costs.pcie_ps_per_kib)
            for size in (first, length_bytes, last)
        )
        self.wire_first, self.wire_whole, self.wire_last = (
            transfer_ps(framed_bytes(size, costs.mtu_bytes, costs.response_header_bytes), costs.link_ps_per_kib)
            for size in (first, length_bytes, last)
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

    Attributes
    ----------
    compute : list of ComputeNic
    memory : list of MemoryNic
    """

    def __init__(
        self, calendar: Calendar, profile: HardwareProfile, compute_nodes: int, memory_nodes: int, seed: int = 0
    ) -> None:
        self.calendar = calendar
        self.costs = profile.network
        self.compute = [ComputeNic(node) for node in range(compute_nodes)]
        self.memory = [MemoryNic(node) for node in range(memory_nodes)]
        self._seed = seed
        self._prices: dict[int, ReadPrices] = {}

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
        nic.doorbells += 1
        nic.change_outstanding(len(requests), now)
        query, prices, reads = chain.query, self._prices, []
        for request in requests:
            if request.memory_node != qp.memory.node:
                raise ProtocolError(f"{request!r} was posted to a queue pair of memory node {qp.memory.node}")
            length = request.length_bytes
            price = prices.get(length) or self._price(length)
            reads.append(_Read(qp, query, request.tag, length, request.signaled, price))
        costs = self.costs
        if costs.is_free:
            for read in reads:
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
        self.calendar.at(due, _DOORBELL, nic.node, query, reads[0].tag, self._doorbell, qp)

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
            qp.processing.append(read)
            calendar.at(start + service, _SEND, node, read.query, read.tag, self._send, qp)

    def _send(self, qp: QueuePair) -> None:
        read = qp.processing.popleft()
        qp.in_flight.append(read)
        nic = qp.nic
        queue = nic.queue
        if not queue and nic.processing.free_ps <= self.calendar.now:
            self._serve(nic, read)
            return
        queue.append(read)
        if len(queue) == 1:
            self._await_processing(nic)

    def _await_processing(self, nic: ComputeNic) -> None:
        head = nic.queue[0]
        self.calendar.at(nic.processing.free_ps, _NIC_START, nic.node, head.query, head.tag, self._start_next, nic)

    def _start_next(self, nic: ComputeNic) -> None:
        self._serve(nic, nic.queue.popleft())
        if nic.queue:
            self._await_processing(nic)

    def _serve(self, nic: ComputeNic, read: _Read) -> None:
        costs, calendar = self.costs, self.calendar
        service = work_request_ps(costs.wr_service_ps, costs.wr_miss_ps, costs.cached_requests, nic.outstanding)
        processing, egress = nic.processing, nic.egress
        done = processing.free_ps = calendar.now + service
        processing.busy_ps += service
        start = egress.free_ps if egress.free_ps > done else done
        sent = egress.free_ps = start + costs.request_wire_ps
        egress.busy_ps += costs.request_wire_ps
        calendar.at(sent + costs.transit_ps, _REQUEST, nic.node, read.query, read.tag, self._request, read)

    def _request(self, read: _Read) -> None:
        costs, calendar, prices = self.costs, self.calendar, read.prices
        memory = read.qp.memory
        memory.requests += 1
        memory.payload_bytes += read.length_bytes
        now = calendar.now

        processing = memory.processing
        start = processing.free_ps if processing.free_ps > now else now
        understood = processing.free_ps = start + costs.responder_service_ps
        processing.busy_ps += costs.responder_service_ps

        pcie = memory.pcie
        start = pcie.free_ps if pcie.free_ps > understood else understood
        pcie.free_ps = start + prices.pcie_whole
        pcie.busy_ps += prices.pcie_whole
        start += costs.pcie_read_ps
        head = start + prices.pcie_first
        tail = start + prices.pcie_whole

        egress = memory.egress
        start = egress.free_ps if egress.free_ps > head else head
        egress.free_ps = start + prices.wire_whole
        egress.busy_ps += prices.wire_whole
        read.tail_ps = tail_ps(start, prices.wire_whole, tail, prices.wire_last) + costs.transit_ps
        calendar.at(start + costs.transit_ps, _RESPONSE, read.qp.nic.node, read.query, read.tag, self._response, read)

    def _response(self, read: _Read) -> None:
        costs, calendar, prices, qp = self.costs, self.calendar, read.prices, read.qp
        nic = qp.nic
        now = calendar.now

        ingress = nic.ingress
        start = ingress.free_ps if ingress.free_ps > now else now
        ingress.free_ps = start + prices.wire_whole
        ingress.busy_ps += prices.wire_whole
        head = start + prices.wire_first
        tail = tail_ps(start, prices.wire_whole, read.tail_ps, 0)

        pcie = nic.pcie
        start = pcie.free_ps if pcie.free_ps > head else head
        pcie.free_ps = start + prices.pcie_whole
        pcie.busy_ps += prices.pcie_whole
        done = tail_ps(start, prices.pcie_whole, tail, prices.pcie_last) + costs.pcie_write_ps
        if costs.tails:
            uniform = uniform20(self._seed, read.query, read.tag)
            done += tail_excess_ps(costs.typical_ps, costs.p99_permille, costs.p999_permille, uniform)
        if done < qp.completion_ps:  # a reliable connection completes in order
            done = qp.completion_ps
        qp.completion_ps = done
        calendar.at(done, _COMPLETION, nic.node, read.query, read.tag, self._complete, qp)

    def _complete(self, qp: QueuePair) -> None:
        read = qp.in_flight.popleft()
        nic = qp.nic
        nic.reads += 1
        nic.payload_bytes += read.length_bytes
        nic.change_outstanding(-1, self.calendar.now)
        covered = qp.covered
        if not read.signaled:
            covered.append(read.tag)
        else:
            if covered:
                for tag in covered:
                    qp.cq.push(tag)
                covered.clear()
            qp.cq.push(read.tag)
        if not self.costs.is_free:
            qp.free_slots += 1
            if qp.waiting:
                self._admit(qp)
