"""One compute thread of a live run: many queries at once, posting, polling and merging without ever waiting for one.

What an event loop does with a step is what a simulated main thread does with it (``computenode.engine``); only that the
work is done and measured here, where it is priced there.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from riftsim.computenode.balancing import Balancer, Balancing, ControlPoints
from riftsim.computenode.live_load import LiveLoad
from riftsim.computenode.run import QueryRun
from riftsim.computenode.worker_threads import WorkerThreads
from riftsim.errors import ProtocolError
from riftsim.kernels.worker_pool import QUEUE_COLUMNS
from riftsim.search.messages import Program, ReadRequest, Step
from riftsim.transport.pipeline import ReadPipeline
from riftsim.transport.port import Read, ReadPort
from riftsim.units import PS_PER_NS, PS_PER_S

_COLLECTED_AT_ONCE = 1024
_TURNS_BETWEEN_DEADLINES = 256


@dataclass
class LoopCosts:
    """What the event loop itself took: the cost of Python beside every live figure, ns and counts."""

    posting_ns: int = 0
    polling_ns: int = 0
    empty_polling_ns: int = 0
    polls: int = 0
    empty_polls: int = 0


class EventLoop:
    """Drives the queries of one thread over one port.

    Parameters
    ----------
    number : int
        Of the event loop.
    port : ReadPort
        Its own.
    programs : list of Program
        One per query that may be in flight; program ``i`` lands its reads from slot ``i * landing_slots`` on.
    load : LiveLoad
    pool : WorkerThreads or None
        Evaluation workers; None for searches that hand out no tasks.
    first_slot : int
        Of its queries in the pool.
    balancing : Balancing
    control_points : ControlPoints
        Of the compute node. One that another event loop comes to is seen here at the next turn: no thread touches a
        search that another one drives.
    helps : bool
        Whether the loop evaluates its own queued tasks when it has nothing else to do.
    signal_last_only : bool
        Whether only the last read of a chain asks for a completion.
    deadline_s : float
        A query that takes longer is an error: nothing may wait for ever.
    now_ps : callable
        The run's clock.
    """

    def __init__(
        self,
        number: int,
        port: ReadPort,
        programs: list[Program],
        *,
        load: LiveLoad,
        pool: WorkerThreads | None,
        first_slot: int,
        balancing: Balancing,
        control_points: ControlPoints,
        helps: bool,
        signal_last_only: bool,
        deadline_s: float,
        now_ps: Callable[[], int],
    ):
        self.costs = LoopCosts()
        self.pipeline = ReadPipeline(port, signal_last_only=signal_last_only)
        self.stopped = False
        """Set from outside to end the loop early."""
        self._number = number
        self._load = load
        self._pool = pool
        self._first_slot = first_slot
        self._allowance = balancing.allowance
        self._helps = helps and pool is not None
        self._deadline_s = deadline_s
        self._now_ps = now_ps
        self._programs = programs
        self._landing_slots = programs[0].landing_slots
        self._free = list(range(len(programs)))[::-1]
        self._runs: dict[int, QueryRun] = {}
        """By slot."""
        self._resuming: list[int] = []
        """Slots whose queries go on whether or not something completes."""
        self._tags: dict[int, int] = {}
        """Tag of the read in each landing slot that is in use."""
        self._collected = np.zeros((_COLLECTED_AT_ONCE, QUEUE_COLUMNS), np.int64)
        self._balancer = Balancer(
            balancing,
            self._runs,
            free_workers=lambda: pool.free if pool else 0,
            allow=self._allow,
            points=control_points,
        )
        for slot, program in enumerate(programs):
            program.land_in(port.buffer, slot * self._landing_slots * port.slot_bytes, port.slot_bytes)
            leave_evaluation = getattr(program, "leave_evaluation", None)
            if leave_evaluation and pool:
                leave_evaluation(partial(pool.held, first_slot + slot, program))

    def run(self) -> None:
        """Search until all measured queries have ended and those in flight with them.

        Raises
        ------
        TransportError
            If a memory node is lost for which there is no other, or a query exceeds its deadline.
        """
        turns = 0
        while not self.stopped:
            started = self._admit()
            if not self._runs:
                if self._load.complete:
                    return
                if not started:
                    time.sleep(0)
                    continue
            if not self._poll() and not (self._helps and self._pool.evaluate_own(self._number)):
                time.sleep(0)  # lets other threads have the interpreter, and the core if there is but one
            self._balancer.catch_up()
            turns += 1
            if turns % _TURNS_BETWEEN_DEADLINES == 0:
                self._require_progress()

    # ------------------------------------------------------------ queries

    def _admit(self) -> bool:
        """Start the queries that have arrived, as far as there is room."""
        started = False
        while self._free and (run := self._load.take(self._now_ps())) is not None:
            slot = run.slot = self._free.pop()
            run.thread = self._number
            run.allowance = self._allowance
            run.program = self._programs[slot]
            self._runs[slot] = run
            run.start_ps = run.idle_from_ps = self._now_ps()
            step = run.program.start(run.query)
            if self._pool:
                handle = run.program.handle
                self._pool.open_slot(self._first_slot + slot, self._number, handle, run.query, run.allowance)
            self._carry_out(run, step, run.start_ps)
            started = True
        return started

    def _finish(self, run: QueryRun) -> None:
        run.answer = run.program.answer()
        run.end_ps = self._now_ps()
        run.evaluation_ps += run.end_ps - run.idle_from_ps
        run.program = None
        del self._runs[run.slot]
        self._free.append(run.slot)
        self._load.finish(run)

    def _require_progress(self) -> None:
        """Refuse to wait for ever."""
        limit_ps = self._now_ps() - int(self._deadline_s * PS_PER_S)
        for slot, run in self._runs.items():
            if run.start_ps < limit_ps:
                first = slot * self._landing_slots
                raise self.pipeline.overdue(set(range(first, first + self._landing_slots)), self._deadline_s)

    # ------------------------------------------------------------ a turn

    def _poll(self) -> bool:
        """Poll once, then work on what was there, query by query; False if there was nothing."""
        before_ps = self._now_ps()
        completed, lost = self.pipeline.poll()
        tasks = self._pool.collect(self._number, self._collected) if self._pool else []
        after_ps = self._now_ps()
        self.costs.polls += 1
        if not completed and not lost and not tasks and not self._resuming:
            self.costs.empty_polls += 1
            self.costs.empty_polling_ns += (after_ps - before_ps) // PS_PER_NS
            return False
        self.costs.polling_ns += (after_ps - before_ps) // PS_PER_NS
        seen: dict[int, tuple[list[int], list[int], list[int]]] = {}
        for landed in completed:
            seen.setdefault(landed // self._landing_slots, ([], [], []))[0].append(self._tags.pop(landed))
        for slot, number in tasks:
            seen.setdefault(slot - self._first_slot, ([], [], []))[1].append(number)
        for landed in lost:
            seen.setdefault(landed // self._landing_slots, ([], [], []))[2].append(self._tags.pop(landed))
        for slot in self._resuming:
            seen.setdefault(slot, ([], [], []))
        resumed, self._resuming = set(self._resuming), []
        share_ps = (after_ps - before_ps) // len(seen)
        for slot, (reads, evaluated, failed) in seen.items():
            run = self._runs[slot]
            begin_ps = self._now_ps()
            run.polling_ps += share_ps
            run.leave_idle(begin_ps - share_ps)
            if failed:
                begin_ps = self._carry_out(run, run.program.retry(failed), begin_ps)
            if reads or evaluated or slot in resumed:
                self._carry_out(run, run.program.receive(reads, evaluated), begin_ps)
        return True

    def _carry_out(self, run: QueryRun, step: Step, from_ps: int) -> int:
        """Charge the computing of a step that began at a time, post what it asks for; return the time at its end."""
        now_ps = self._now_ps()
        run.evaluation_ps += now_ps - from_ps
        if step.chain:
            self._post(run, step.chain)
            posted_ps = self._now_ps()
            run.posting_ps += posted_ps - now_ps
            self.costs.posting_ns += (posted_ps - now_ps) // PS_PER_NS
            now_ps = posted_ps
        if step.tasks or step.work.lists:
            if step.tasks:
                self._hand_over(run, step)
            if step.work.lists:
                self._balancer.count(run, step.work.lists)
            after_ps = self._now_ps()
            run.evaluation_ps += after_ps - now_ps
            now_ps = after_ps
        run.idle_from_ps = now_ps
        run.blocked = step.blocked
        if step.calls:
            raise ProtocolError(f"query {run.query} calls a memory node, but these only let their memory be read")
        if step.then is not None:
            return self._carry_out(run, step.then, now_ps)
        if step.resume:
            self._resuming.append(run.slot)
        if step.done:
            self._finish(run)
        return now_ps

    def _post(self, run: QueryRun, requests: tuple[ReadRequest, ...]) -> None:
        first = run.slot * self._landing_slots
        by_node: dict[int, list[Read]] = {}
        for request in requests:
            landing = first + request.tag % self._landing_slots
            self._tags[landing] = request.tag
            by_node.setdefault(request.memory_node, []).append(
                Read(landing, request.offset_bytes, request.length_bytes)
            )
        for memory_node, reads in by_node.items():
            self.pipeline.submit(memory_node, reads)

    def _hand_over(self, run: QueryRun, step: Step) -> None:
        if self._pool is None:
            raise ProtocolError(f"query {run.query} hands out evaluation tasks, but the system has no workers")
        self._pool.submit(self._first_slot + run.slot, step.tasks)

    def _allow(self, slot: int, allowance: int) -> None:
        if self._pool:
            self._pool.allow(self._first_slot + slot, allowance)
