"""The parts of the simulated network that queue: NICs of compute nodes and memory nodes, and queue pairs.

A server is two numbers, the instant at which it is free and how long it has been busy. Only ``simulated`` changes them.
"""

from collections import deque
from typing import Any


class Server:
    """A FIFO server: a transmission line, a PCIe direction, a processing unit.

    Attributes
    ----------
    free_ps : int
        When the server has served everything that has arrived.
    busy_ps : int
        Time spent serving, up to ``free_ps``.
    """

    __slots__ = ("busy_ps", "free_ps")

    def __init__(self) -> None:
        self.free_ps = 0
        self.busy_ps = 0


class ComputeNic:
    """The requester's side: work-request processing, both directions of its link, PCIe writes, and what is counted.

    Attributes
    ----------
    node : int
        Number of the compute node.
    processing, egress, ingress, pcie : Server
        NIC-wide work-request processing, requests out, responses in, responses to memory.
    queue : deque
        Reads that wait for ``processing``, whose service time is known only when it starts.
    outstanding, peak_outstanding : int
        Reads posted and not completed, and the most there were.
    outstanding_area : int
        Integral of ``outstanding`` over time in picoseconds, up to ``changed_ps``.
    reads, payload_bytes, doorbells : int
        Completed reads, their bytes, chains posted.
    """

    __slots__ = (
        "changed_ps",
        "doorbells",
        "egress",
        "ingress",
        "node",
        "outstanding",
        "outstanding_area",
        "payload_bytes",
        "pcie",
        "peak_outstanding",
        "processing",
        "queue",
        "reads",
    )

    def __init__(self, node: int) -> None:
        self.node = node
        self.processing = Server()
        self.egress = Server()
        self.ingress = Server()
        self.pcie = Server()
        self.queue: deque = deque()
        self.outstanding = 0
        self.peak_outstanding = 0
        self.outstanding_area = 0
        self.changed_ps = 0
        self.reads = 0
        self.payload_bytes = 0
        self.doorbells = 0

    def change_outstanding(self, change: int, now_ps: int) -> None:
        """Add posted reads (or take completed ones off) at an instant."""
        self.outstanding_area += self.outstanding * (now_ps - self.changed_ps)
        self.changed_ps = now_ps
        self.outstanding += change
        if self.outstanding > self.peak_outstanding:
            self.peak_outstanding = self.outstanding

    def counters(self, now_ps: int) -> dict[str, Any]:
        """Return what was counted up to now; times in picoseconds."""
        area = self.outstanding_area + self.outstanding * (now_ps - self.changed_ps)
        return {
            "reads": self.reads,
            "payload_bytes": self.payload_bytes,
            "doorbells": self.doorbells,
            "outstanding_max": self.peak_outstanding,
            "outstanding_mean": area / now_ps if now_ps else 0.0,
            "busy_ps": {
                "work_requests": self.processing.busy_ps,
                "egress": self.egress.busy_ps,
                "ingress": self.ingress.busy_ps,
                "pcie_write": self.pcie.busy_ps,
            },
        }


class MemoryNic:
    """The responder's side: request processing, PCIe reads, responses out. Nothing else happens at a memory node."""

    __slots__ = ("egress", "node", "payload_bytes", "pcie", "processing", "requests")

    def __init__(self, node: int) -> None:
        self.node = node
        self.processing = Server()
        self.pcie = Server()
        self.egress = Server()
        self.requests = 0
        self.payload_bytes = 0

    def counters(self) -> dict[str, Any]:
        """Return what was counted so far; times in picoseconds."""
        return {
            "requests": self.requests,
            "payload_bytes": self.payload_bytes,
            "busy_ps": {
                "requests": self.processing.busy_ps,
                "pcie_read": self.pcie.busy_ps,
                "egress": self.egress.busy_ps,
            },
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
    covered : list of int
        Tags of completed unsignalled reads, not yet visible.
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
        self.covered: list[int] = []
        self.doorbell_ps = 0
        self.free_ps = 0
        self.completion_ps = 0
