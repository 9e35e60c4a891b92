"""Pipeline balancing of a compute node's queries: when the controller acts, on what, and what follows."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from riftsim.controller.protocol import Controller, ControlView, SetPoint


@dataclass(frozen=True)
class Balancing:
    """Pipeline balancing of a node's queries.

    Attributes
    ----------
    controller : Controller
    interval : int
        Completed expansions between two control points.
    per_query : bool
        Whether completions are counted for each query or over the compute node.
    allowance : int
        T_q at the start of a query.
    """

    controller: Controller
    interval: int = 32
    per_query: bool = False
    allowance: int = 1


class ControlPoints:
    """Control points of a compute node: completed expansions of all its queries, whichever thread drives them.

    Parameters
    ----------
    interval : int
        Completed expansions between two control points.

    Attributes
    ----------
    passed : int
        Control points so far; read without the lock, by threads that look for a new one.
    """

    def __init__(self, interval: int):
        self.passed = 0
        self._interval = interval
        self._lists = 0
        self._lock = threading.Lock()

    def count(self, lists: int) -> None:
        """Count completed expansions; any thread may."""
        with self._lock:
            self._lists += lists
            if self._lists >= self._interval:
                self._lists = 0
                self.passed += 1


class BalancedQuery(Protocol):
    """What balancing needs to know of a query (``QueryRun``)."""

    program: Any
    slot: int
    allowance: int
    lists: int
    defer_ratio: float


class Balancer:
    """Counts completed expansions and lets the controller act at its control points.

    Parameters
    ----------
    balancing : Balancing
    active : dict of int to BalancedQuery
        The queries being searched; all of the compute node, or those of one of its event loops.
    free_workers : callable
        Workers of the pool without a task.
    allow : callable
        ``allow(slot, allowance)``: tells the pool of a new T_q.
    on_control : callable
        ``on_control(query, view, point)``: told what the controller saw of a query and what it decided.
    points : ControlPoints or None
        Shared by the event loops of a compute node; by default it has but one.
    """

    def __init__(
        self,
        balancing: Balancing,
        active: dict[int, BalancedQuery],
        *,
        free_workers: Callable[[], int],
        allow: Callable[[int, int], None],
        on_control: Callable[[Any, ControlView, SetPoint], None] = lambda query, view, point: None,
        points: ControlPoints | None = None,
    ):
        self._balancing = balancing
        self._active = active
        self._free_workers = free_workers
        self._allow = allow
        self._on_control = on_control
        self._points = points or ControlPoints(balancing.interval)
        self._seen = 0
        """Control points at which this one's queries were controlled."""

    def count(self, run: BalancedQuery, lists: int) -> int:
        """Count completed expansions of a query; at a control point control. Returns how many queries were."""
        balancing = self._balancing
        if balancing.per_query:
            run.lists += lists
            if run.lists < balancing.interval:
                return 0
            run.lists = 0
            return self._control([run])
        self._points.count(lists)
        return self.catch_up()

    def catch_up(self) -> int:
        """Control if a control point has passed, whoever counted up to it. Returns how many queries were."""
        if self._points.passed == self._seen:
            return 0
        self._seen = self._points.passed
        return self._control([other for other in self._active.values() if other.program is not None])

    def _control(self, runs: list[BalancedQuery]) -> int:
        controlled = 0
        free = self._free_workers()
        for run in runs:
            counters = getattr(run.program, "counters", None)
            if counters is None:
                continue
            unfinished, generated, window = counters()
            view = ControlView(unfinished, generated, run.allowance, window, free)
            point = self._balancing.controller.decide(view)
            run.program.apply(point.window)
            self._on_control(run, view, point)
            run.defer_ratio = unfinished / generated if generated else 0.0
            free -= max(0, point.allowance - run.allowance)
            if point.allowance != run.allowance:
                run.allowance = point.allowance
                self._allow(run.slot, point.allowance)
            controlled += 1
        return controlled
