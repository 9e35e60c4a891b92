"""A simulated compute node: bounded main threads that drive queries, post reads and poll for completions.

A main thread works on one thing at a time: it starts a query, or it polls once, takes in everything that was visible
at that moment, decides, and posts. While it is busy it sees nothing; completions that arrive meanwhile wait for the
next poll. Each piece of work is priced by the cost model and charged to the query it was for.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from riftsim.calendar import Calendar, EventKind
from riftsim.computenode.balancing import Balancer, Balancing
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.posting import TAG_BITS, TAG_MASK, Posting
from riftsim.computenode.recorder import Note, note_nothing
from riftsim.computenode.run import MainThread, QueryRun
from riftsim.computenode.workers import PooledTask, WorkerPool
from riftsim.controller.protocol import ControlView, SetPoint
from riftsim.errors import ProtocolError
from riftsim.kernels import engine_trace as trace
from riftsim.rdma.calls import CallService
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.search.messages import CallRequest, EvaluationTask, Program, Step


@dataclass(frozen=True)
class CpuBudget:
    """How the cores of a compute node are used.

    Attributes
    ----------
    threads : int
        Cores in all.
    workers : int
        Most of them that work in the shared evaluation pool at once.
    dynamic : bool
        Whether workers take cores as the load leaves them (every core may drive queries) or have cores of their own.
    queries_per_thread : int
        Queries that a main thread multiplexes.
    main_threads_help : bool
        Whether a main thread with nothing else to do evaluates its own queued tasks while all workers are busy.
    workers_first : bool
        Whether a worker with a task takes the core of a main thread between two of its pieces of work: a thread that is
        woken on a processor of its own waker runs before this one goes on.
    """

    threads: int
    workers: int = 0
    dynamic: bool = False
    queries_per_thread: int = 1
    main_threads_help: bool = False
    workers_first: bool = False

    @property
    def main_threads(self) -> int:
        """Threads that drive queries."""
        return self.threads if self.dynamic else self.threads - self.workers

    def on_one_core(self) -> "CpuBudget":
        """The same threads, taking turns on one core: as many queries in flight, one piece of work at a time."""
        in_flight = self.main_threads * self.queries_per_thread
        workers = min(self.workers, 1)
        return replace(
            self,
            threads=1,
            workers=workers,
            dynamic=True,
            queries_per_thread=in_flight,
            workers_first=bool(workers),
        )


def _no_counters() -> tuple[int, int, int]:
    return 0, 0, 0


class ComputeNode:
    """Admission, main threads and workers of one compute node.

    Parameters
    ----------
    calendar : Calendar
    network : SimulatedNetwork
    cpu : CpuModel
        Prices of what a core does.
    node : int
        Its number.
    memory_nodes : int
    budget : CpuBudget
    balancing : Balancing
    signal_last_only : bool
        Whether only the last read of a chain asks for a completion entry.
    new_program : callable
        Makes a search program; programs are reused.
    on_finish : callable
        Told of every finished query.
    note : callable
        Writes down what happens to traced queries.
    calls : CallService or None
        Takes calls to active memory nodes.
    """

    def __init__(
        self,
        calendar: Calendar,
        network: SimulatedNetwork,
        cpu: CpuModel,
        *,
        node: int,
        memory_nodes: int,
        budget: CpuBudget,
        balancing: Balancing,
        signal_last_only: bool,
        new_program: Callable[[], Program],
        on_finish: Callable[[QueryRun], None],
        note: Note = note_nothing,
        calls: CallService | None = None,
    ):
        self._calendar = calendar
        self._cpu = cpu
        self._node = node
        self._budget = budget
        self._balancing = balancing
        self._posting = Posting(calendar, network, calls, cpu, node=node, signal_last_only=signal_last_only, note=note)
        self._new_program = new_program
        self._on_finish = on_finish
        self._note = note
        self._idle_programs: list[Program] = []
        self._free_slots: list[int] = []
        self._slots = 0
        self._waiting: deque[QueryRun] = deque()
        self._busy_threads = 0
        self._without_core: deque[MainThread] = deque()
        self.active: dict[int, QueryRun] = {}
        """Queries being searched, by number of arrival."""
        self.pool = WorkerPool(
            calendar,
            cpu,
            node=node,
            workers=budget.workers,
            core_is_free=lambda: not budget.dynamic or self.busy_cores < budget.threads,
            on_release=self._core_released,
            on_backlog=self._help,
            busy_cores=lambda: self.busy_cores,
            note=note,
        )
        self._balancer = Balancer(
            balancing,
            self.active,
            free_workers=lambda: self.pool.workers - self.pool.busy,
            allow=self.pool.allow,
            on_control=self._note_control,
        )
        self._threads = [MainThread(index, self.wake) for index in range(budget.main_threads)]
        for thread in self._threads:
            thread.queue_pairs = [network.create_qp(node, other, thread) for other in range(memory_nodes)]

    @property
    def busy_cores(self) -> int:
        """Cores with work at this moment."""
        return self._busy_threads + self.pool.busy

    @property
    def busy_threads(self) -> int:
        """Main threads with work at this moment."""
        return self._busy_threads

    @property
    def waiting(self) -> int:
        """Queries in the admission queue."""
        return len(self._waiting)

    # ------------------------------------------------------------ admission

    def submit(self, run: QueryRun) -> None:
        """Take an arriving query: to the least loaded main thread with room, else into the admission queue."""
        thread = min(self._threads, key=lambda candidate: (candidate.active, candidate.index))
        if thread.active < self._budget.queries_per_thread:
            self._admit(thread, run)
        else:
            self._waiting.append(run)

    def _admit(self, thread: MainThread, run: QueryRun) -> None:
        thread.active += 1
        run.thread = thread.index
        thread.runs[run.ordinal] = run
        thread.to_start.append(run)
        if not thread.busy:
            self.wake(thread)

    def _finish(self, finished: tuple[MainThread, QueryRun]) -> None:
        thread, run = finished
        if run.program is None:
            raise ProtocolError(f"query {run.query} ended twice")
        run.end_ps = self._calendar.now
        run.answer = run.program.answer()
        self._idle_programs.append(run.program)
        run.program = None
        self._free_slots.append(run.slot)
        del self.active[run.ordinal]
        del thread.runs[run.ordinal]
        thread.active -= 1
        if self._waiting and thread.active < self._budget.queries_per_thread:
            self._admit(thread, self._waiting.popleft())
        self._on_finish(run)

    # ------------------------------------------------------------ cores

    def wake(self, thread: MainThread) -> None:
        """Give an idle thread a turn at the present instant, or as soon as a core is free."""
        thread.busy = True
        if self._budget.dynamic and self.busy_cores >= self._budget.threads:
            self._without_core.append(thread)
        else:
            self._busy_threads += 1
            self._next_turn(thread, self._calendar.now)

    def _next_turn(self, thread: MainThread, at_ps: int) -> None:
        self._calendar.at(at_ps, EventKind.THREAD, self._node, thread.index, 0, self._turn, thread)

    def _core_released(self) -> None:
        """A core became free: a main thread that waits for one comes first, then the workers."""
        if self._without_core:
            self._busy_threads += 1
            self._next_turn(self._without_core.popleft(), self._calendar.now)
        elif self._budget.dynamic:
            self.pool.look()

    # ------------------------------------------------------------ a thread's turn

    def _turn(self, thread: MainThread) -> None:
        """What a thread does next, once it is free."""
        if self._budget.workers_first and self.pool.has_work:
            self._busy_threads -= 1
            self._without_core.append(thread)
            self.pool.look()
            return
        if thread.to_start:
            until_ps = self._start(thread, thread.to_start.popleft())
        elif thread.completions or thread.evaluated or thread.resuming:
            until_ps = self._poll(thread)
        elif task := self._own_task(thread):
            until_ps = self._evaluate(thread, task)
        else:
            thread.busy = False
            self._busy_threads -= 1
            self._core_released()
            return
        self._next_turn(thread, until_ps)

    def _start(self, thread: MainThread, run: QueryRun) -> int:
        run.start_ps = self._calendar.now
        run.program = self._idle_programs.pop() if self._idle_programs else self._new_program()
        if self._free_slots:
            run.slot = self._free_slots.pop()
        else:
            run.slot = self._slots
            self._slots += 1
        run.allowance = self._balancing.allowance
        self.pool.open_slot(run.slot, run.allowance)
        self.active[run.ordinal] = run
        run.idle_from_ps = run.start_ps
        self._note(trace.START, run.ordinal, thread.index, self._node, run.arrival_ps, run.start_ps)
        made: list[tuple[QueryRun, CallRequest]] = []
        at_ps = self._carry_out(thread, run, run.program.start(run.query), run.start_ps, made)
        return self._call(thread, made, at_ps)

    def _poll(self, thread: MainThread) -> int:
        """Poll once, then work on what was visible, query by query in order of first completion."""
        seen: dict[int, tuple[list[int], list[int]]] = {}
        for tag in thread.completions:
            seen.setdefault(tag >> TAG_BITS, ([], []))[0].append(tag & TAG_MASK)
            self._note(trace.SEEN, tag >> TAG_BITS, tag & TAG_MASK, self._calendar.now)
        for task in thread.evaluated:
            seen.setdefault(task.ordinal, ([], []))[1].append(task.number)
            self._note(trace.MERGED, task.ordinal, task.number, self._calendar.now)
        for ordinal in thread.resuming:
            seen.setdefault(ordinal, ([], []))
        poll_ps = self._cpu.poll_ps(thread.entries)
        thread.completions.clear()
        thread.entries = 0
        thread.evaluated.clear()
        thread.resuming.clear()
        at_ps = self._calendar.now + poll_ps
        made: list[tuple[QueryRun, CallRequest]] = []
        for ordinal, (reads, tasks) in seen.items():
            run = thread.runs[ordinal]
            share_ps = poll_ps // len(seen)
            run.polling_ps += share_ps
            run.leave_idle(at_ps - share_ps)
            at_ps = self._carry_out(thread, run, run.program.receive(reads, tasks), at_ps, made, share_ps)
        return self._call(thread, made, at_ps)

    def _help(self, queries: list[int]) -> None:
        """Wake idle main threads whose queries have tasks that no worker could take."""
        if not self._budget.main_threads_help:
            return
        for ordinal in queries:
            thread = self._threads[self.active[ordinal].thread]
            if not thread.busy:
                self.wake(thread)

    def _own_task(self, thread: MainThread) -> PooledTask | None:
        if not self._budget.main_threads_help or self.pool.look_due or not self.pool.queued:
            return None
        return self.pool.take_back({run.slot for run in thread.runs.values()})

    def _evaluate(self, thread: MainThread, task: PooledTask) -> int:
        """Evaluate a task of its own on the main thread; it is merged at the next poll."""
        run = thread.runs[task.ordinal]
        now_ps = self._calendar.now
        took_ps = self._cpu.evaluate_ps(task.neighbors, self.busy_cores)
        run.leave_idle(now_ps)
        run.evaluation_ps += took_ps
        run.idle_from_ps = now_ps + took_ps
        thread.evaluated.append(task)
        self._note(trace.RUN_BY_MAIN, run.ordinal, task.number, now_ps, now_ps + took_ps, task.neighbors)
        return now_ps + took_ps

    def _carry_out(
        self,
        thread: MainThread,
        run: QueryRun,
        step: Step,
        from_ps: int,
        made: list[tuple[QueryRun, CallRequest]],
        polled_ps: int = 0,
    ) -> int:
        """Charge a step to the thread from a time on, before which the query's share of a poll took ``polled_ps``;
        return when the thread is done with it. Its calls go into ``made``."""
        work_ps = self._cpu.work_ps(step.work, self.busy_cores)
        run.evaluation_ps += work_ps
        computed_ps = at_ps = from_ps + work_ps
        if step.chain:
            posted_ps = self._posting.reads(thread, run, step.chain, at_ps)
            run.posting_ps += posted_ps - at_ps
            at_ps = posted_ps
        posted_ps = at_ps
        made += [(run, request) for request in step.calls]
        if step.tasks:
            self._calendar.at(
                at_ps,
                EventKind.HANDOVER,
                self._node,
                run.ordinal,
                step.tasks[0].number,
                self._hand_over,
                (thread, run, step.tasks),
            )
        if step.work.lists:
            control_ps = self._balancer.count(run, step.work.lists) * self._cpu.control_ps
            run.evaluation_ps += control_ps
            at_ps += control_ps
        run.idle_from_ps = at_ps
        run.blocked = step.blocked
        if step.resume:
            thread.resuming.append(run.ordinal)
        if step.done:
            self._calendar.at(at_ps, EventKind.FINISH, self._node, run.ordinal, 0, self._finish, (thread, run))
        times_ps = (from_ps - polled_ps, from_ps, computed_ps, posted_ps, at_ps)
        unfinished, _, _ = getattr(run.program, "counters", _no_counters)()
        how = step.blocked + trace.DONE * step.done
        self._note(trace.STEP, run.ordinal, thread.index, *times_ps, how, unfinished)
        if step.then is None:
            return at_ps
        return self._carry_out(thread, run, step.then, at_ps, made)

    def _call(self, thread: MainThread, made: list[tuple[QueryRun, CallRequest]], from_ps: int) -> int:
        """Make the calls of a turn; return when the thread is done with it."""
        if not made:
            return from_ps
        at_ps = self._posting.calls(thread, made, from_ps)
        for run, _ in made:
            run.posting_ps += (at_ps - from_ps) // len(made)
            run.idle_from_ps = at_ps
        return at_ps

    # ------------------------------------------------------------ handing over

    def _hand_over(self, handed: tuple[MainThread, QueryRun, tuple[EvaluationTask, ...]]) -> None:
        thread, run, tasks = handed
        self.pool.submit(
            [PooledTask(run.slot, run.ordinal, task.number, task.neighbors, thread.task_done) for task in tasks]
        )

    def _note_control(self, run: QueryRun, view: ControlView, point: SetPoint) -> None:
        self._note(
            trace.CONTROL,
            run.ordinal,
            0,
            self._calendar.now,
            view.unfinished,
            view.generated,
            view.allowance,
            point.allowance,
            view.window,
            point.window,
        )
