"""What a query's latency was spent on: the chain of things that each waited for the one before, from end to arrival.

The walk goes backwards. While the main thread worked without a pause, it is the main thread that the query waited for.
Where it had been idle, the completion that it waited for (the last that it then took in, where it was busy with other
queries meanwhile) is followed back, through the stages of a read or a worker's task, to the moment at which the main
thread posted or handed it over, and the walk goes on there. What happened meanwhile on the main thread is hidden behind
that completion and does not count. The pieces have no gaps, so they add up to the latency.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from riftsim.results.trace import BLOCKED_GATE, BLOCKED_READS, READ_TIMES, Trace
from riftsim.units import PS_PER_US

ADMISSION = "admission queue"
COMPUTE = "main thread: computing"
POSTING = "main thread: posting"
POLLING = "main thread: polling"
CONTROLLER = "controller"
CORE = "core"
QUEUE_PAIR = "queue pair"
NIC = "NIC processing"
PCIE = "PCIe"
WIRE = "wire"
MEMORY_NODE = "memory node"
WORKER_QUEUE = "worker queue"
TASKS = "evaluation tasks"
GATE = "gate"

RESOURCES = (
    ADMISSION, COMPUTE, POSTING, POLLING, CONTROLLER, CORE, QUEUE_PAIR, NIC, PCIE, WIRE, MEMORY_NODE, WORKER_QUEUE,
    TASKS,
)  # fmt: skip
"""What a piece of a critical path can be spent on.

A core is waited for, or the thread that works on other queries. Evaluation tasks are run by workers or, while all of
them are busy, by the query's own main thread; their price is one and the same.
"""

READ_STAGES = (
    PCIE, QUEUE_PAIR, NIC, NIC, NIC, WIRE, WIRE, MEMORY_NODE, PCIE, PCIE, WIRE, WIRE, WIRE, WIRE, PCIE, QUEUE_PAIR,
    QUEUE_PAIR,
)  # fmt: skip
"""The resource between each two of ``READ_TIMES``, from the doorbell to visibility."""


class Piece(NamedTuple):
    """A stretch of a critical path."""

    resource: str
    from_ps: int
    until_ps: int


class Activity(NamedTuple):
    """What the main thread does without a pause: a step, or an evaluation task of its own."""

    from_ps: int
    until_ps: int
    parts: tuple[Piece, ...]
    seen: tuple[int, ...]
    """Completions that it took in: positions in ``QueryPath.completions``."""
    task: int
    """The own task's position likewise, -1 for a step."""
    blocked: int
    """What the query waits for afterwards."""


class Completion(NamedTuple):
    """A read or a task: the stages that it went through, without gaps, until the main thread could see it."""

    from_ps: int
    visible_ps: int
    stages: tuple[Piece, ...]


class QueryPath:
    """What a query did, as activities of its main thread and completions that they caused and took in.

    Parameters
    ----------
    one : Trace
        Of one query (``Trace.of``).
    """

    def __init__(self, one: Trace):
        facts = one.queries.iloc[0]
        self.arrival_ps, self.start_ps, self.end_ps = int(facts.arrival_ps), int(facts.start_ps), int(facts.end_ps)
        self.completions = [*_reads(one), *_tasks(one)]
        self.activities = sorted(self._activities(one), key=lambda activity: activity.from_ps)
        self.waits = [BLOCKED_READS, *self._blocked()[:-1]]
        """What the query waited for before each activity."""

    def _activities(self, one: Trace) -> Iterator[Activity]:
        steps = one.steps
        seen_ps = np.concatenate([one.reads["seen_ps"], one.tasks["merged_ps"]])
        # What the main thread has evaluated itself needs no completion: it comes later on the same thread anyway.
        waited_for = np.flatnonzero(
            np.concatenate([np.full(len(one.reads), True), ~one.tasks["by_main"].to_numpy(bool)])
        )
        by_step: list[list[int]] = [[] for _ in range(len(steps))]
        for completion, step in zip(
            waited_for, np.searchsorted(steps["from_ps"].to_numpy(), seen_ps[waited_for]), strict=True
        ):
            by_step[step].append(int(completion))
        for number, step in enumerate(steps.itertuples()):
            edges = (step.from_ps, step.polled_ps, step.computed_ps, step.posted_ps, step.until_ps)
            parts = _pieces((POLLING, COMPUTE, POSTING, CONTROLLER), edges)
            yield Activity(step.from_ps, step.until_ps, parts, tuple(by_step[number]), -1, step.blocked)
        for number, task in enumerate(one.tasks.itertuples()):
            if task.by_main:
                parts = _pieces((TASKS,), (task.started_ps, task.ended_ps))
                position = len(one.reads) + number
                yield Activity(task.started_ps, task.ended_ps, parts, (), position, BLOCKED_READS)

    def _blocked(self) -> list[int]:
        """What the query waits for after each activity; an own task leaves that as it was."""
        found: list[int] = []
        for activity in self.activities:
            found.append(found[-1] if activity.task >= 0 and found else activity.blocked)
        return found


def critical_path(path: QueryPath) -> list[Piece]:
    """Return the pieces of a query's critical path, from its arrival to its end, without gaps."""
    backwards: list[Piece] = []

    def spend(resource: str, from_ps: int, until_ps: int) -> None:
        if until_ps > from_ps:
            backwards.append(Piece(resource, from_ps, until_ps))

    at, now_ps = len(path.activities) - 1, path.end_ps
    while True:
        activity = path.activities[at]
        for part in reversed(activity.parts):
            spend(part.resource, part.from_ps, min(part.until_ps, now_ps))
        if at == 0:
            break
        now_ps, before = activity.from_ps, path.activities[at - 1]
        if activity.task >= 0:  # its thread took the task because no worker did
            spend(WORKER_QUEUE, before.until_ps, now_ps)
            at, now_ps = at - 1, before.until_ps
            continue
        woken_ps = max((path.completions[seen].visible_ps for seen in activity.seen), default=before.until_ps)
        spend(CORE, max(woken_ps, before.until_ps), now_ps)
        if woken_ps <= before.until_ps:
            at, now_ps = at - 1, before.until_ps
            continue
        waker = next(path.completions[seen] for seen in activity.seen if path.completions[seen].visible_ps == woken_ps)
        for stage in reversed(waker.stages):
            spend(*stage)
        now_ps = waker.from_ps
        while at > 0 and path.activities[at].from_ps >= now_ps:
            at -= 1
    spend(ADMISSION, path.arrival_ps, path.start_ps)
    return backwards[::-1]


def latency_if_free(path: QueryPath, free: frozenset[str] = frozenset()) -> int:
    """Estimate the latency if some resources took no time, all decisions and other waits being as they were.

    What was recorded is played again: each step begins when the one before has ended and all that it took in is
    visible. A free ``GATE`` lets a step that the closed gate held back begin at once. With nothing free, this is the
    latency.

    Parameters
    ----------
    path : QueryPath
    free : set of str
        Of ``RESOURCES``, and ``GATE``.

    Returns
    -------
    int
        ps.
    """

    def took(*pieces: Piece) -> int:
        return sum(piece.until_ps - piece.from_ps for piece in pieces if piece.resource not in free)

    clock = _Clock()
    until_ps = path.start_ps
    now_ps = path.arrival_ps + took(Piece(ADMISSION, path.arrival_ps, path.start_ps))
    for activity, wait in zip(path.activities, path.waits, strict=True):
        ready_ps, was_ready_ps, wait_for = now_ps, until_ps, CORE
        for seen in activity.seen:
            completion = path.completions[seen]
            ready_ps = max(ready_ps, clock.at(completion.from_ps) + took(*completion.stages))
            was_ready_ps = max(was_ready_ps, completion.visible_ps)
        if activity.task >= 0:
            handed_over_ps, wait_for = path.completions[activity.task].from_ps, WORKER_QUEUE
            ready_ps, was_ready_ps = max(ready_ps, clock.at(handed_over_ps)), max(was_ready_ps, handed_over_ps)
        if not (GATE in free and wait == BLOCKED_GATE):
            now_ps = ready_ps + took(Piece(wait_for, was_ready_ps, activity.from_ps))
        for part in activity.parts:
            clock.note(part, now_ps, took(part))
            now_ps += took(part)
        until_ps = activity.until_ps
    return now_ps - path.arrival_ps


class _Clock:
    """From recorded times at which the main thread worked to those of a replay."""

    def __init__(self) -> None:
        self._untils: list[int] = []
        self._parts: list[tuple[int, int, bool]] = []

    def note(self, part: Piece, from_ps: int, took_ps: int) -> None:
        self._untils.append(part.until_ps)
        self._parts.append((part.from_ps, from_ps, took_ps > 0))

    def at(self, recorded_ps: int) -> int:
        from_ps, replayed_ps, takes_time = self._parts[bisect_left(self._untils, recorded_ps)]
        return replayed_ps + (recorded_ps - from_ps if takes_time else 0)


def gate_closed_ps(path: QueryPath, pieces: Iterable[Piece]) -> dict[str, int]:
    """Of the pieces of a critical path, the time by resource while the closed gate held an expansion back."""
    closed = [
        (before.until_ps, after.from_ps)
        for before, after, wait in zip(path.activities, path.activities[1:], path.waits[1:], strict=False)
        if wait == BLOCKED_GATE
    ]
    found = dict.fromkeys(RESOURCES, 0)
    for resource, from_ps, until_ps in pieces:
        found[resource] += sum(max(0, min(until_ps, end) - max(from_ps, start)) for start, end in closed)
    return found


def summary(trace: Trace) -> pd.DataFrame:
    """Put the critical paths of the traced queries together.

    Returns
    -------
    DataFrame
        One row per resource that any of them spent time on, then ``GATE`` if it was closed: ``resource``,
        ``critical_us`` (mean per query; these add up to the mean latency, the gate's apart, which lies in the others),
        ``share`` of the latency, ``gate_closed_us`` (the part of it while the gate was closed), ``if_free_us`` (mean of
        ``latency_if_free``) and ``speed_up`` (latency over it).
    """
    paths = [QueryPath(trace.of(row)) for row in trace.queries["row"]]
    pieces = [critical_path(path) for path in paths]
    spent = dict.fromkeys(RESOURCES, 0)
    for piece in (piece for own in pieces for piece in own):
        spent[piece.resource] += piece.until_ps - piece.from_ps
    closed = dict.fromkeys(RESOURCES, 0)
    for path, own in zip(paths, pieces, strict=True):
        for resource, time_ps in gate_closed_ps(path, own).items():
            closed[resource] += time_ps
    latency_ps = sum(path.end_ps - path.arrival_ps for path in paths)
    rows = [(resource, spent[resource], closed[resource]) for resource in RESOURCES if spent[resource]]
    if any(closed.values()):
        rows.append((GATE, sum(closed.values()), sum(closed.values())))
    per_query_us = len(paths) * PS_PER_US
    table = []
    for resource, spent_ps, closed_ps in rows:
        free_ps = sum(latency_if_free(path, frozenset([resource])) for path in paths)
        table.append(
            {
                "resource": resource,
                "critical_us": spent_ps / per_query_us,
                "share": spent_ps / latency_ps if latency_ps else 0.0,
                "gate_closed_us": closed_ps / per_query_us,
                "if_free_us": free_ps / per_query_us,
                "speed_up": latency_ps / free_ps if free_ps else float("inf"),
            }
        )
    columns = ["resource", "critical_us", "share", "gate_closed_us", "if_free_us", "speed_up"]
    return pd.DataFrame(table, columns=columns)


def _pieces(resources: tuple[str, ...], edges: Iterable[int]) -> tuple[Piece, ...]:
    edges = list(map(int, edges))
    return tuple(Piece(*values) for values in zip(resources, edges[:-1], edges[1:], strict=True))


def _reads(one: Trace) -> Iterator[Completion]:
    times = one.reads[list(READ_TIMES[:-1])].to_numpy()
    for edges in np.maximum.accumulate(times, axis=1):  # a network without cost leaves out the points in between
        yield Completion(int(edges[0]), int(edges[-1]), _pieces(READ_STAGES, edges))


def _tasks(one: Trace) -> Iterator[Completion]:
    for task in one.tasks.itertuples():
        edges = (task.queued_ps, task.started_ps, task.ended_ps)
        yield Completion(int(edges[0]), int(edges[-1]), _pieces((WORKER_QUEUE, TASKS), edges))
