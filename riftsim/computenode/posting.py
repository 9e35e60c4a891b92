"""What a main thread sends: chains of one-sided reads, and calls to active memory nodes."""

from riftsim.calendar import Calendar, EventKind
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.recorder import Note, note_nothing
from riftsim.computenode.run import MainThread, QueryRun
from riftsim.errors import ProtocolError
from riftsim.kernels import engine_trace as trace
from riftsim.rdma.calls import CallService
from riftsim.rdma.servers import QueuePair
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.search.messages import CallRequest, ReadRequest
from riftsim.transport.call import Call
from riftsim.transport.wr import Chain, WorkRequest

# A work request's tag carries the query's number of arrival above the tag that its search gave.
TAG_BITS = 24
TAG_MASK = (1 << TAG_BITS) - 1


class Posting:
    """Builds and rings for what the main threads of a compute node send.

    Parameters
    ----------
    calendar : Calendar
    network : SimulatedNetwork
        Takes the reads.
    calls : CallService or None
        Takes the calls; None where memory nodes are passive.
    cpu : CpuModel
        Prices on both sides.
    node : int
        The compute node.
    signal_last_only : bool
        Whether only the last read of a chain asks for a completion entry.
    note : callable
        Writes down what happens to traced queries.
    """

    def __init__(
        self,
        calendar: Calendar,
        network: SimulatedNetwork,
        calls: CallService | None,
        cpu: CpuModel,
        *,
        node: int,
        signal_last_only: bool,
        note: Note = note_nothing,
    ):
        self._calendar = calendar
        self._network = network
        self._calls = calls
        self._cpu = cpu
        self._node = node
        self._signal_last_only = signal_last_only
        self._note = note

    def reads(self, thread: MainThread, run: QueryRun, requests: tuple[ReadRequest, ...], from_ps: int) -> int:
        """Build and ring one chain per memory node, one after the other; return when the thread is done with it."""
        at_ps = from_ps
        for memory_node, queue_pair in enumerate(thread.queue_pairs):
            mine = [request for request in requests if request.memory_node == memory_node]
            if not mine:
                continue
            for read in mine:
                self._note(trace.POSTED, run.ordinal, read.tag, read.node, read.kind, memory_node)
            at_ps += self._cpu.post_ps(len(mine))
            last = mine[-1] if self._signal_last_only else None
            chain = Chain(
                run.ordinal,
                [
                    WorkRequest(
                        run.ordinal << TAG_BITS | read.tag,
                        memory_node,
                        read.offset_bytes,
                        read.length_bytes,
                        last is None or read is last,
                    )
                    for read in mine
                ],
            )
            self._calendar.at(
                at_ps, EventKind.RING, self._node, run.ordinal, mine[0].tag, self._ring_reads, (queue_pair, chain)
            )
        return at_ps

    def calls(self, thread: MainThread, made: list[tuple[QueryRun, CallRequest]], from_ps: int) -> int:
        """Ring once per memory node for the calls of all queries of a turn; return when the thread is done with it.

        Raises
        ------
        ProtocolError
            If the memory nodes are passive.
        """
        if self._calls is None:
            raise ProtocolError(f"query {made[0][0].query} calls a memory node, but memory nodes are passive here")
        at_ps = from_ps
        for memory_node, queue_pair in enumerate(thread.queue_pairs):
            mine = [(run, request) for run, request in made if request.memory_node == memory_node]
            if not mine:
                continue
            at_ps += self._cpu.post_ps(len(mine))
            calls = [
                Call(
                    run.ordinal,
                    run.ordinal << TAG_BITS | request.tag,
                    memory_node,
                    request.request_bytes,
                    request.reply_bytes,
                    self._cpu.work_ps(request.work, 1),
                    self._cpu.work_ps(request.after, 1),
                    self._cpu.handling_ps,
                )
                for run, request in mine
            ]
            first_run, first = mine[0]
            self._calendar.at(
                at_ps, EventKind.RING, self._node, first_run.ordinal, first.tag, self._ring_calls, (queue_pair, calls)
            )
        return at_ps

    def _ring_reads(self, posting: tuple[QueuePair, Chain]) -> None:
        self._network.post(*posting)

    def _ring_calls(self, posting: tuple[QueuePair, list[Call]]) -> None:
        self._calls.post(*posting)
