"""The parts of the simulated network that queue: NICs of compute nodes and memory nodes, and queue pairs.

A FIFO server is one number, the instant at which it has served all that has arrived (``*_free_ps``), and the time
that it spent on it (``*_busy_ps``). Only ``simulated`` changes them.
"""

from collections import deque
from typing import Any

from riftsim.transport.outstanding import OutstandingReads


class ComputeNic(OutstandingReads):
    """The requester's side.

    Its servers: ``processing`` of work requests, NIC-wide; ``egress``, requests onto the link; ``ingress``, responses
    from the link; ``pcie``, responses to memory.

    Attributes
    ----------
    node : int
        Number of the compute node.
    queue : deque
        Reads that wait for ``processing``, whose service time is known only when it starts.
    reads, payload_bytes, doorbells : int
        Completed reads, their bytes, chains posted.
    """

    __slots__ = (
        "doorbells",
        "egress_free_ps",
        "ingress_busy_ps",
        "ingress_free_ps",
        "node",
        "payload_bytes",
        "pcie_busy_ps",
        "pcie_free_ps",
        "processing_busy_ps",
        "processing_free_ps",
        "queue",
        "reads",
    )

    def __init__(self, node: int) -> None:
        super().__init__()
        self.node = node
        self.queue: deque = deque()
        self.processing_free_ps = self.egress_free_ps = self.ingress_free_ps = self.pcie_free_ps = 0
        self.processing_busy_ps = self.ingress_busy_ps = self.pcie_busy_ps = 0
        self.reads = self.payload_bytes = self.doorbells = 0

    def counters(self, now_ps: int) -> dict[str, Any]:
        """Return what was counted up to now; times in picoseconds."""
        return {
            "reads": self.reads,
            "payload_bytes": self.payload_bytes,
            "doorbells": self.doorbells,
            **self.outstanding_counters(now_ps),
            "busy_ps": {
                "work_requests": self.processing_busy_ps,
                "ingress": self.ingress_busy_ps,
                "pcie_write": self.pcie_busy_ps,
            },
        }


class MemoryNic:
    """The responder's side: nothing else happens at a memory node.

    Its servers: ``processing`` of requests; ``pcie``, data from memory; ``egress``, responses onto the link.

    Attributes
    ----------
    node : int
        Number of the memory node.
    requests, payload_bytes : int
        Reads served and their bytes.
    """

    __slots__ = (
        "egress_busy_ps",
        "egress_free_ps",
        "node",
        "payload_bytes",
        "pcie_busy_ps",
        "pcie_free_ps",
        "processing_free_ps",
        "requests",
    )

    def __init__(self, node: int) -> None:
        self.node = node
        self.processing_free_ps = self.pcie_free_ps = self.egress_free_ps = 0
        self.pcie_busy_ps = self.egress_busy_ps = 0
        self.requests = self.payload_bytes = 0

    def counters(self) -> dict[str, Any]:
        """Return what was counted so far; times in picoseconds."""
        return {
            "requests": self.requests,
            "payload_bytes": self.payload_bytes,
            "busy_ps": {"pcie_read": self.pcie_busy_ps, "egress": self.egress_busy_ps},
        }


class QueuePair:
    """A reliable connection between a compute node and a memory node; made by ``SimulatedNetwork.create_qp``.

    Attributes
    ----------
    nic : ComputeNic
        Requester.
    memory : MemoryNic
        Responder.
    cq : object with ``push(tag)``
        Where completions become visible.
    free_slots : int
        How many more reads may be outstanding on the wire.
    rung, waiting, processing, in_flight : deque
        In posting order: chains whose doorbell is on its way, reads that wait for a slot, reads in the queue pair's own
        processing, reads after it. First in, first out through all of them.
    covered : list
        Completed unsignalled reads, not yet visible.
    doorbell_ps, free_ps, completion_ps : int
        When the last chain is known to the NIC, the queue pair's processing is free, the last read completes.
    """

    __slots__ = (
        "completion_ps",
        "covered",
        "cq",
        "doorbell_ps",
        "free_ps",
        "free_slots",
        "in_flight",
        "memory",
        "nic",
        "processing",
        "rung",
        "waiting",
    )

    def __init__(self, nic: ComputeNic, memory: MemoryNic, cq: Any, slots: int) -> None:
        self.nic = nic
        self.memory = memory
        self.cq = cq
        self.free_slots = slots
        self.rung: deque = deque()
        self.waiting: deque = deque()
        self.processing: deque = deque()
        self.in_flight: deque = deque()
        self.covered: list = []
        self.doorbell_ps = self.free_ps = self.completion_ps = 0
