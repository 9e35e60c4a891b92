"""Where two runs of the same query part: the first event that differs, and the first read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from riftsim.kernels.query import READ_ADJACENCY, READ_RECORD, READ_VECTOR
from riftsim.results.trace import BLOCKED_DRAIN, BLOCKED_GATE, BLOCKED_READS, Trace

_PARTS = {READ_RECORD: "record", READ_VECTOR: "vector", READ_ADJACENCY: "adjacency list"}
_WAITS = {
    BLOCKED_READS: "waits for reads",
    BLOCKED_GATE: "finds the gate closed",
    BLOCKED_DRAIN: "waits for evaluations",
}


class Event(NamedTuple):
    """Something that happened to a query."""

    time_ps: int
    """From its arrival."""
    what: str


@dataclass(frozen=True)
class Divergence:
    """How far two runs of a query agree.

    Attributes
    ----------
    position : int
        Events that agree in kind and time.
    events : (Event or None, Event or None)
        The next one of each run, None where there is no further one.
    read_position : int
        Reads posted that agree.
    reads : (Event or None, Event or None)
        The next read of each run; both None if the runs read the same in the same order.
    """

    position: int
    events: tuple[Event | None, Event | None]
    read_position: int
    reads: tuple[Event | None, Event | None]

    @property
    def agree(self) -> bool:
        """Whether nothing differs."""
        return self.events == (None, None)


def events_of(one: Trace) -> list[Event]:
    """Return what happened to a query (``Trace.of``), in order of time."""
    origin = int(one.queries.iloc[0].arrival_ps)
    found = [(int(time_ps) - origin, order, what) for time_ps, order, what in _events(one)]
    return [Event(time_ps, what) for time_ps, _, what in sorted(found)]


def first_difference(one: Trace, other: Trace) -> Divergence:
    """Compare two traces of the same query."""
    position, events = _parting(events_of(one), events_of(other))
    # Reads are compared without their times: these differ where anything does.
    reads = [_posts(each) for each in (one, other)]
    read_position, names = _parting(*([read.what for read in own] for own in reads))
    nexts = [own[read_position] if name else None for own, name in zip(reads, names, strict=True)]
    return Divergence(position, events, read_position, (nexts[0], nexts[1]))


def _parting(own: list, others: list) -> tuple[int, tuple]:
    """How many leading entries are equal, and the next of each list, None at its end."""
    at = 0
    while at < min(len(own), len(others)) and own[at] == others[at]:
        at += 1
    return at, tuple(each[at] if at < len(each) else None for each in (own, others))


def _posts(one: Trace) -> list[Event]:
    origin = int(one.queries.iloc[0].arrival_ps)
    return [
        Event(int(read.rung_ps) - origin, f"posts a read of the {_PARTS[read.kind]} of node {read.node}")
        for read in one.reads.sort_values("tag").itertuples()
    ]


def _events(one: Trace) -> Iterator[tuple[int, tuple[int, int], str]]:
    yield one.queries.iloc[0].start_ps, (0, 0), "starts"
    for read in one.reads.itertuples():
        yield read.rung_ps, (1, read.tag), f"posts a read of the {_PARTS[read.kind]} of node {read.node}"
        yield read.visible_ps, (2, read.tag), f"read {read.tag} is visible"
        yield read.seen_ps, (3, read.tag), f"polls and sees read {read.tag}"
    for task in one.tasks.itertuples():
        who = "main thread" if task.by_main else "a worker"
        yield task.queued_ps, (4, task.task), f"hands task {task.task} over"
        yield task.started_ps, (5, task.task), f"{who} begins task {task.task} of {task.neighbors} neighbours"
        yield task.merged_ps, (6, task.task), f"polls and sees task {task.task} done"
    for number, point in enumerate(one.control.itertuples()):
        set_point = f"W_R = {point.window}, T_q = {point.allowance}"
        yield (
            point.at_ps,
            (7, number),
            f"controller sees {point.unfinished} of {point.generated} unfinished: {set_point}",
        )
    for number, step in enumerate(one.steps.itertuples()):
        yield step.until_ps, (8, number), "ends" if step.done else _WAITS[step.blocked]
