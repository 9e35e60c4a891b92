"""The evaluation workers that all queries of a compute node share (RiftANN, sections 3.3 and 3.4).

Tasks wait in one queue. A free worker takes the oldest task whose query may have one more running; no worker is
reserved for a query. A worker needs a core, and under the dynamic split it takes one only while main threads leave
it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from riftsim.calendar import Calendar, EventKind
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.recorder import Note, note_nothing
from riftsim.kernels import engine_trace as trace
from riftsim.kernels.pool import next_task

# The Python engine calls the kernel's source, a compiled engine the kernel.
_next_task = next_task.py_func


@dataclass(slots=True, eq=False)
class PooledTask:
    """One evaluation task on its way through the pool."""

    slot: int
    """The query's slot at the compute node."""
    ordinal: int
    """Number of the query's arrival."""
    number: int
    """Number of the task within its query."""
    neighbors: int
    done: Callable[["PooledTask"], None]


class WorkerPool:
    """Workers and their queue.

    Parameters
    ----------
    calendar : Calendar
    cpu : CpuModel
    node : int
        The compute node.
    workers : int
        Most tasks that run at once.
    core_is_free : callable
        Whether a worker may take a core now.
    on_release : callable
        Told when a worker gives its core back.
    on_backlog : callable
        Told the queries (numbers of arrival) of tasks that no worker could take just now, oldest first.
    busy_cores : callable
        Cores busy at this moment, for the contention of memory bandwidth.
    note : callable
        Writes down what happens to traced queries.
    """

    def __init__(
        self,
        calendar: Calendar,
        cpu: CpuModel,
        *,
        node: int,
        workers: int,
        core_is_free: Callable[[], bool],
        on_release: Callable[[], None],
        on_backlog: Callable[[list[int]], None],
        busy_cores: Callable[[], int],
        note: Note = note_nothing,
    ):
        self.workers = workers
        self.busy = 0
        self.busy_ps = 0
        """Time that workers have spent on finished tasks."""
        self._calendar = calendar
        self._cpu = cpu
        self._node = node
        self._core_is_free = core_is_free
        self._on_release = on_release
        self._on_backlog = on_backlog
        self._busy_cores = busy_cores
        self._note = note
        self._queue: list[PooledTask] = []
        self._slots: list[int] = []
        self._running: list[int] = []
        self._allowance: list[int] = []
        self._look_due = False

    @property
    def look_due(self) -> bool:
        """Whether workers will look for tasks at this instant still."""
        return self._look_due

    @property
    def queued(self) -> int:
        """Tasks that wait."""
        return len(self._queue)

    @property
    def has_work(self) -> bool:
        """Whether a worker has a task that it may take, if there is a core for it."""
        return self.busy < self.workers and _next_task(self._slots, self._running, self._allowance) >= 0

    def open_slot(self, slot: int, allowance: int) -> None:
        """Begin a query in a slot with its worker allowance T_q."""
        while len(self._running) <= slot:
            self._running.append(0)
            self._allowance.append(0)
        self._running[slot] = 0
        self._allowance[slot] = allowance

    def allow(self, slot: int, allowance: int) -> None:
        """Set T_q of a query."""
        self._allowance[slot] = allowance
        self.look()

    def submit(self, tasks: list[PooledTask]) -> None:
        """Queue tasks that a main thread has just handed over."""
        self._queue += tasks
        self._slots += [task.slot for task in tasks]
        for task in tasks:
            self._note(trace.QUEUED, task.ordinal, task.number, self._calendar.now)
        self.look()

    def take_back(self, slots: set[int]) -> PooledTask | None:
        """Remove and return the oldest queued task of some queries, for their main thread to evaluate itself."""
        for at, slot in enumerate(self._slots):
            if slot in slots:
                del self._slots[at]
                return self._queue.pop(at)
        return None

    def look(self) -> None:
        """Let workers look for tasks once more at this instant, after its present events."""
        if not self._look_due and self._queue and self.busy < self.workers:
            self._look_due = True
            self._calendar.at(self._calendar.now, EventKind.WORKER, self._node, 0, 0, self._take, None)

    def _take(self, _: None) -> None:
        self._look_due = False
        self._start_tasks()
        if self._queue:
            self._on_backlog([task.ordinal for task in self._queue])

    def _start_tasks(self) -> None:
        while self.busy < self.workers and self._core_is_free():
            at = _next_task(self._slots, self._running, self._allowance)
            if at < 0:
                return
            del self._slots[at]
            task = self._queue.pop(at)
            self.busy += 1
            self._running[task.slot] += 1
            took_ps = self._cpu.task_ps(task.neighbors, self._busy_cores())
            self.busy_ps += took_ps
            now_ps = self._calendar.now
            self._note(trace.RUN_BY_WORKER, task.ordinal, task.number, now_ps, now_ps + took_ps, task.neighbors)
            self._calendar.at(
                now_ps + took_ps,
                EventKind.EVALUATED,
                self._node,
                task.ordinal,
                task.number,
                self._evaluated,
                task,
            )

    def _evaluated(self, task: PooledTask) -> None:
        self.busy -= 1
        self._running[task.slot] -= 1
        # A thread that waits for a core gets this one before the task's own thread may ask for one.
        self._on_release()
        task.done(task)
        self.look()
