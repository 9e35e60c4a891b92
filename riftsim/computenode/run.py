"""A query on its way through a compute node, and the main thread that drives it."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from riftsim.computenode.workers import PooledTask
from riftsim.rdma.servers import QueuePair
from riftsim.search.messages import Answer, Blocked, Program


@dataclass(slots=True, eq=False)
class QueryRun:
    """One query and where its time went; times in ps.

    The parts add up: ``end - arrival`` = queueing (``start - arrival``) + evaluation + posting + polling + the three
    kinds of waiting, for a main thread that drives one query at a time.
    """

    ordinal: int
    """Number of the arrival, over the whole run."""
    query: int
    compute_node: int
    arrival_ps: int
    thread: int = -1
    slot: int = -1
    start_ps: int = -1
    end_ps: int = -1
    evaluation_ps: int = 0
    """Work on the main thread: tables, lists, distances, insertions, merging, hand-over, control."""
    posting_ps: int = 0
    polling_ps: int = 0
    waited_ps: list[int] = field(default_factory=lambda: [0] * len(Blocked))
    """Waiting, by what it waited for (``Blocked``)."""
    idle_from_ps: int = -1
    blocked: Blocked = Blocked.READS
    program: Program | None = None
    answer: Answer | None = None
    allowance: int = 0
    """T_q."""
    lists: int = 0
    """Completed expansions since the query's last control point."""
    defer_ratio: float = 0.0
    """At the last control point."""

    def count_evaluation(self, took_ps: int) -> None:
        """Charge work on a main thread."""
        self.evaluation_ps += took_ps

    def leave_idle(self, at_ps: int) -> None:
        """Charge the time since the last piece of work to what the query waited for."""
        self.waited_ps[self.blocked] += at_ps - self.idle_from_ps


@dataclass(slots=True, eq=False)
class MainThread:
    """A core that drives queries; also the completion queue of its queue pairs."""

    index: int
    wake: Callable[["MainThread"], None]
    queue_pairs: list[QueuePair] = field(default_factory=list)
    busy: bool = False
    active: int = 0
    runs: dict[int, QueryRun] = field(default_factory=dict)
    """Its queries, by number of arrival."""
    to_start: deque[QueryRun] = field(default_factory=deque)
    completions: list[int] = field(default_factory=list)
    """Tags of work requests whose completions were not polled yet."""
    entries: int = 0
    """Completion-queue entries among them."""
    evaluated: list[PooledTask] = field(default_factory=list)
    """Tasks that workers have finished and that were not merged yet."""
    resuming: list[int] = field(default_factory=list)
    """Queries that go on whether or not something completes, by number of arrival."""

    def push(self, tag: int, is_entry: bool = True) -> None:
        """Take a completion, with or without an entry of its own; a thread with nothing to do sees it at once."""
        self.completions.append(tag)
        self.entries += is_entry
        if not self.busy:
            self.wake(self)

    def task_done(self, task: PooledTask) -> None:
        """Take the result of a worker, likewise."""
        self.evaluated.append(task)
        if not self.busy:
            self.wake(self)
