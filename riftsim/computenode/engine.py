"""A simulated compute node: bounded main threads that drive queries, post reads and poll for completions.

A main thread is a core. It works on one thing at a time: it starts a query, or it polls once, takes in everything that was
visible at that moment, decides, and posts. While it is busy it sees nothing; completions that arrive meanwhile wait in its
completion queue for the next poll. Each piece of work is priced by the cost model and charged to the query it was for.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from riftsim.calendar import Calendar, EventKind
from riftsim.computenode.costs import CpuModel
from riftsim.errors import ProtocolError
from riftsim.rdma.simulated import QueuePair, SimulatedNetwork
from riftsim.search.messages import Answer, Program, ReadRequest, Step
from riftsim.transport.wr import Chain, WorkRequest

# A work request's tag carries the query's number of arrival above the tag that its search gave.
_TAG_BITS = 24
_TAG_MASK = (1 << _TAG_BITS) - 1


@dataclass(slots=True, eq=False)
class QueryRun:
    """One query on its way through a compute node; times in ps."""

    ordinal: int
    """Number of the arrival, over the whole run."""
    query: int
    compute_node: int
    arrival_ps: int
    thread: int = -1
    start_ps: int = -1
    end_ps: int = -1
    evaluation_ps: int = 0
    posting_ps: int = 0
    polling_ps: int = 0
    program: Program | None = None
    answer: Answer | None = None


@dataclass(slots=True, eq=False)
class _Thread:
    node: "ComputeNode"
    index: int
    queue_pairs: list[QueuePair] = field(default_factory=list)
    busy: bool = False
    active: int = 0
    to_start: deque[QueryRun] = field(default_factory=deque)
    runs: dict[int, QueryRun] = field(default_factory=dict)
    """Its queries, by number of arrival."""
    completions: list[int] = field(default_factory=list)
    """The completion queue: work-request tags not yet polled."""

    def push(self, tag: int) -> None:
        """Take a completion; a thread with nothing to do sees it at once."""
        self.completions.append(tag)
        if not self.busy:
            self.node.wake(self)


class ComputeNode:
    """Admission and main threads of one compute node.

    Parameters
    ----------
    calendar : Calendar
    network : SimulatedNetwork
    cpu : CpuModel
        Prices of what a core does.
    node : int
        Its number.
    memory_nodes : int
    threads, queries_per_thread : int
        Main threads, and how many queries each multiplexes.
    new_program : callable
        Makes a search program; programs are reused.
    on_finish : callable
        Told of every finished query.
    """

    def __init__(
        self,
        calendar: Calendar,
        network: SimulatedNetwork,
        cpu: CpuModel,
        *,
        node: int,
        memory_nodes: int,
        threads: int,
        queries_per_thread: int,
        new_program: Callable[[], Program],
        on_finish: Callable[[QueryRun], None],
    ):
        self._calendar = calendar
        self._network = network
        self._cpu = cpu
        self._node = node
        self._queries_per_thread = queries_per_thread
        self._new_program = new_program
        self._on_finish = on_finish
        self._idle_programs: list[Program] = []
        self._waiting: deque[QueryRun] = deque()
        self._busy_threads = 0
        self._threads = [_Thread(self, index) for index in range(threads)]
        for thread in self._threads:
            thread.queue_pairs = [network.create_qp(node, other, thread) for other in range(memory_nodes)]

    def submit(self, run: QueryRun) -> None:
        """Take an arriving query: to the least loaded main thread with room, else into the admission queue."""
        thread = min(self._threads, key=lambda candidate: (candidate.active, candidate.index))
        if thread.active < self._queries_per_thread:
            self._admit(thread, run)
        else:
            self._waiting.append(run)

    def _admit(self, thread: _Thread, run: QueryRun) -> None:
        thread.active += 1
        run.thread = thread.index
        thread.runs[run.ordinal] = run
        thread.to_start.append(run)
        if not thread.busy:
            self.wake(thread)

    def wake(self, thread: _Thread) -> None:
        """Give an idle thread a turn at the present instant."""
        self._occupy(thread, self._calendar.now)

    def _occupy(self, thread: _Thread, until_ps: int) -> None:
        """Keep the thread busy until then; its next turn comes at that time."""
        if not thread.busy:
            thread.busy = True
            self._busy_threads += 1
        self._calendar.at(until_ps, EventKind.THREAD, self._node, thread.index, 0, self._turn, thread)

    def _turn(self, thread: _Thread) -> None:
        """What a thread does next, once it is free."""
        if thread.to_start:
            until_ps = self._start(thread, thread.to_start.popleft())
        elif thread.completions:
            until_ps = self._poll(thread)
        else:
            thread.busy = False
            self._busy_threads -= 1
            return
        self._occupy(thread, until_ps)

    def _start(self, thread: _Thread, run: QueryRun) -> int:
        run.start_ps = self._calendar.now
        run.program = self._idle_programs.pop() if self._idle_programs else self._new_program()
        return self._carry_out(thread, run, run.program.start(run.query), run.start_ps)

    def _poll(self, thread: _Thread) -> int:
        """Poll once, then work on what was visible, query by query in order of first completion."""
        by_query: dict[int, list[int]] = {}
        for tag in thread.completions:
            by_query.setdefault(tag >> _TAG_BITS, []).append(tag & _TAG_MASK)
        seen = len(thread.completions)
        thread.completions.clear()
        now_ps = self._calendar.now
        poll_ps = self._cpu.poll_ps(seen)
        until_ps = now_ps + poll_ps
        for ordinal, tags in by_query.items():
            run = thread.runs[ordinal]
            run.polling_ps += poll_ps * len(tags) // seen
            until_ps = self._carry_out(thread, run, run.program.receive(tags), until_ps)
        return until_ps

    def _carry_out(self, thread: _Thread, run: QueryRun, step: Step, from_ps: int) -> int:
        """Charge a step to the thread from a time on; return when it is done with it."""
        work_ps = self._cpu.work_ps(step.work, self._busy_threads)
        run.evaluation_ps += work_ps
        at_ps = from_ps + work_ps
        if step.chain:
            posted_ps = self._post(thread, run, step.chain, at_ps)
            run.posting_ps += posted_ps - at_ps
            at_ps = posted_ps
        if step.done:
            self._calendar.at(at_ps, EventKind.FINISH, self._node, run.ordinal, 0, self._finish, (thread, run))
        return at_ps

    def _post(self, thread: _Thread, run: QueryRun, requests: tuple[ReadRequest, ...], from_ps: int) -> int:
        """Build and ring one chain per memory node, one after the other."""
        at_ps = from_ps
        for memory_node, queue_pair in enumerate(thread.queue_pairs):
            mine = [request for request in requests if request.memory_node == memory_node]
            if not mine:
                continue
            at_ps += self._cpu.post_ps(len(mine))
            chain = Chain(
                run.ordinal,
                [
                    WorkRequest(run.ordinal << _TAG_BITS | request.tag, memory_node, request.offset_bytes, request.length_bytes)
                    for request in mine
                ],
            )
            self._calendar.at(
                at_ps, EventKind.DOORBELL, self._node, run.ordinal, mine[0].tag, self._ring, (queue_pair, chain)
            )
        return at_ps

    def _ring(self, posting: tuple[QueuePair, Chain]) -> None:
        self._network.post(*posting)

    def _finish(self, finished: tuple[_Thread, QueryRun]) -> None:
        thread, run = finished
        if run.program is None:
            raise ProtocolError(f"query {run.query} ended twice")
        run.end_ps = self._calendar.now
        run.answer = run.program.answer()
        self._idle_programs.append(run.program)
        run.program = None
        del thread.runs[run.ordinal]
        thread.active -= 1
        if self._waiting and thread.active < self._queries_per_thread:
            self._admit(thread, self._waiting.popleft())
        self._on_finish(run)
