"""SSDs on the event calendar: chains of sector reads go in, completions come out, as with ``rdma.simulated``.

The path of a read, with the event that begins each part:

- ``post``: it waits at the host while its submission queue is full, then for the controller, which takes one read after
  the other and sets the highest rate of reads; then each of its sectors for the unit of flash that it lies on.
- RESPONSE: the last unit is done; the read goes onto the link to the host, whose rate is the highest throughput.
- COMPLETION: what is left of the interface's time has passed; the read is visible.

Units are striped over the drive's bytes, so reads of different places meet by chance: c queues with one server each,
not one queue with c servers. Reads of one page that wait for a unit one after the other share its read of the flash:
else the unit under the node that every search begins with would limit them all. Nothing is written, so there are no
garbage collection and no tail behind it.
"""

from collections import deque
from typing import Any

from riftsim.calendar import Calendar, EventKind
from riftsim.errors import ConfigError, ProtocolError
from riftsim.index.sectors import SECTOR_BYTES
from riftsim.storage.profile import SsdProfile
from riftsim.transport.completion import CompletionQueue
from riftsim.transport.outstanding import OutstandingReads
from riftsim.transport.wr import Chain, WorkRequest

_COMPLETION = int(EventKind.COMPLETION)
_RESPONSE = int(EventKind.RESPONSE)


class Drive(OutstandingReads):
    """One SSD: instants at which its servers are free, the time that they were busy, and counts.

    Attributes
    ----------
    node, number : int
        Compute node that it belongs to, and which of that node's drives it is.
    reads, payload_bytes, submissions : int
        Completed reads, their bytes, chains submitted.
    """

    def __init__(self, node: int, number: int, units: int) -> None:
        super().__init__()
        self.node = node
        self.number = number
        self.units_free_ps = [0] * units
        self.units_last = [-1] * units
        """Stripe that each unit reads, or will have read, last."""
        self.controller_free_ps = self.link_free_ps = 0
        self.controller_busy_ps = self.media_busy_ps = self.link_busy_ps = 0
        self.reads = self.payload_bytes = self.submissions = 0

    def counters(self, now_ps: int) -> dict[str, Any]:
        """Return what was counted up to now; times in picoseconds."""
        return {
            "reads": self.reads,
            "payload_bytes": self.payload_bytes,
            "submissions": self.submissions,
            **self.outstanding_counters(now_ps),
            "busy_ps": {
                "controller": self.controller_busy_ps,
                "media": self.media_busy_ps,
                "link": self.link_busy_ps,
            },
        }


class SubmissionQueue:
    """A main thread's way to a drive; made by ``SimulatedSsds.create_qp``."""

    __slots__ = ("cq", "drive", "free_slots", "waiting")

    def __init__(self, drive: Drive, cq: CompletionQueue, depth: int) -> None:
        self.drive = drive
        self.cq = cq
        self.free_slots = depth
        self.waiting: deque[_Read] = deque()


class _Read:
    __slots__ = ("length_bytes", "offset", "query", "queue", "tag")

    def __init__(self, queue: SubmissionQueue, query: int, request: WorkRequest):
        self.queue = queue
        self.query = query
        self.tag = request.tag
        self.offset = request.remote_offset
        self.length_bytes = request.length_bytes


class SimulatedSsds:
    """The drives of all compute nodes; none is shared between nodes.

    Parameters
    ----------
    calendar : Calendar
        The clock.
    profile : SsdProfile
        Every constant.
    compute_nodes, drives : int
        How many nodes there are, and drives of each.

    Attributes
    ----------
    drives : list of list of Drive
        By compute node and number.
    """

    def __init__(self, calendar: Calendar, profile: SsdProfile, compute_nodes: int, drives: int = 1) -> None:
        self.calendar = calendar
        self.profile = profile
        self.drives = [
            [Drive(node, number, profile.units) for number in range(drives)] for node in range(compute_nodes)
        ]

    def create_qp(self, compute_node: int, drive: int, cq: CompletionQueue) -> SubmissionQueue:
        """Open a submission queue of a compute node to one of its drives.

        Parameters
        ----------
        compute_node, drive : int
            The two ends.
        cq : CompletionQueue
            Gets the completions; several queues may share one.
        """
        return SubmissionQueue(self.drives[compute_node][drive], cq, self.profile.queue_depth)

    def post(self, queue: SubmissionQueue, chain: Chain) -> None:
        """Submit a chain of reads, now. Costs of the CPU are the caller's.

        Parameters
        ----------
        queue : SubmissionQueue
            Where to submit.
        chain : Chain
            At least one read of whole sectors; ``memory_node`` of each is the number of the drive. Every read
            completes with an entry of its own, whether or not it is signalled.

        Raises
        ------
        ProtocolError
            If the chain is empty or names another drive.
        ConfigError
            If a read does not begin or end at a sector.
        """
        if not chain.requests:
            raise ProtocolError(f"query {chain.query} posted an empty chain; expected at least one read")
        drive = queue.drive
        for request in chain.requests:
            if request.memory_node != drive.number:
                raise ProtocolError(f"{request!r} was posted to a queue of drive {drive.number}")
            if request.length_bytes < 1 or request.remote_offset % SECTOR_BYTES or request.length_bytes % SECTOR_BYTES:
                raise ConfigError(f"{request!r}: expected whole sectors of {SECTOR_BYTES} bytes, at least one")
        drive.submissions += 1
        drive.change_outstanding(len(chain.requests), self.calendar.now)
        for request in chain.requests:
            queue.waiting.append(_Read(queue, chain.query, request))
        self._admit(queue)

    def counters(self) -> dict[str, Any]:
        """Return counts, bytes, busy times and outstanding reads of every drive up to now."""
        now = self.calendar.now
        return {"span_ps": now, "drives": [drive.counters(now) for node in self.drives for drive in node]}

    def _admit(self, queue: SubmissionQueue) -> None:
        profile, drive, calendar = self.profile, queue.drive, self.calendar
        units_free, units_last = drive.units_free_ps, drive.units_last
        while queue.waiting and queue.free_slots:
            read = queue.waiting.popleft()
            queue.free_slots -= 1
            start = max(calendar.now, drive.controller_free_ps)
            drive.controller_free_ps = start + profile.command_ps
            drive.controller_busy_ps += profile.command_ps
            # The controller alone feeds the units, in order: they can be reserved here.
            first, last = read.offset // profile.stripe_bytes, (read.offset + read.length_bytes - 1)
            done = 0
            for stripe in range(first, last // profile.stripe_bytes + 1):
                unit = stripe % profile.units
                if units_last[unit] != stripe or units_free[unit] <= drive.controller_free_ps:
                    units_last[unit] = stripe
                    units_free[unit] = max(drive.controller_free_ps, units_free[unit]) + profile.media_ps
                    drive.media_busy_ps += profile.media_ps
                done = max(done, units_free[unit])
            calendar.at(done, _RESPONSE, drive.node, read.query, read.tag, self._transfer, read)

    def _transfer(self, read: _Read) -> None:
        profile, drive, calendar = self.profile, read.queue.drive, self.calendar
        transfer = profile.transfer_ps(read.length_bytes)
        drive.link_free_ps = max(calendar.now, drive.link_free_ps) + transfer
        drive.link_busy_ps += transfer
        visible = drive.link_free_ps + profile.interface_ps
        calendar.at(visible, _COMPLETION, drive.node, read.query, read.tag, self._complete, read)

    def _complete(self, read: _Read) -> None:
        queue = read.queue
        drive = queue.drive
        drive.reads += 1
        drive.payload_bytes += read.length_bytes
        drive.change_outstanding(-1, self.calendar.now)
        queue.free_slots += 1
        queue.cq.push(read.tag)
        self._admit(queue)
