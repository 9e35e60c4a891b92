"""The event calendar: integer time and one total order of events, driven by SimPy.

An event is (time, delta round, kind, compute node, query, tag). The order of two events never depends on which was
scheduled first, so another engine that schedules the same events runs them in the same order. SimPy owns the clock and
runs its own processes in between: at an instant that both have, SimPy's events come first, then the calendar's.

Delta rounds: what an event schedules for the very instant at which it runs waits until all events of the present round
have run. A round therefore sees the state that the previous one left, whatever the order within it.
"""

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush
from itertools import pairwise
from operator import itemgetter
from typing import Any

import simpy
from simpy.core import Infinity, StopSimulation

from riftsim.errors import ProtocolError


class EventKind(IntEnum):
    """What happens; at one instant and round the smaller kind happens first.

    The network's news come first, downstream before upstream, then the news of the compute node, and decisions last:
    who decides has seen everything of the instant.
    """

    COMPLETION = 0
    """A read is done: its slot of the queue pair is free and, if signalled, its CQE is visible."""
    RESPONSE = 1
    """The first bit of a response reaches the compute node's link."""
    REQUEST = 2
    """A read request reaches the memory node's NIC."""
    NIC_START = 3
    """The compute node's NIC takes the next queued work request into service."""
    SEND = 4
    """A work request has left its queue pair's processing and reaches the NIC-wide processing."""
    DOORBELL = 5
    """A chain is known to the compute node's NIC."""
    EVALUATED = 6
    """A worker has finished an evaluation task."""
    FINISH = 7
    """A query has ended on its main thread."""
    RING = 8
    """A main thread rings the doorbell for a chain."""
    HANDOVER = 9
    """A main thread hands evaluation tasks over."""
    ARRIVAL = 10
    """A query arrives."""
    WORKER = 11
    """Workers of the evaluation pool look for tasks."""
    THREAD = 12
    """A main thread is free to poll, merge and decide."""
    SAMPLE = 13
    """A recorder takes a sample of the state; changes nothing."""
    SERVICE = 14
    """A thread of an active memory node is told of a call, has replied to it, or is free again."""


class Calendar(simpy.Environment):
    """A SimPy environment in integer picoseconds, with riftsim's own events beside SimPy's.

    SimPy processes live in it as in any environment (``calendar.process(...)``, ``calendar.timeout(...)`` in
    picoseconds). ``now`` is the present instant for both. Every event through SimPy costs about 3 us, here about 1 us.

    Attributes
    ----------
    executed : int
        Calendar events run so far.

    Notes
    -----
    Two events with the same time, round, kind, node, query and tag have no order: an error of the caller, which raises
    ``ProtocolError`` when they meet.
    """

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        self.executed = 0
        self._events: list[tuple] = []
        self._next_round: list[tuple] = []
        self._stopping = False

    def at(
        self, time_ps: int, kind: int, node: int, query: int, tag: int, action: Callable[[Any], None], argument: Any
    ) -> None:
        """Schedule ``action(argument)``.

        Parameters
        ----------
        time_ps : int
            When, in picoseconds. The present instant means its next delta round.
        kind : EventKind
            What happens.
        node, query, tag : int
            Compute node, query and tag: the rest of the order.
        action : callable
            Called with ``argument``.
        argument : object
            Handed over as it is.

        Raises
        ------
        ProtocolError
            If the time has passed, or another event has the same place in the order.
        """
        event = (time_ps, kind, node, query, tag, action, argument)
        if time_ps > self._now:
            try:
                heappush(self._events, event)
            except TypeError:  # the comparison went past the tag to the action
                raise _same_place(event) from None
        elif time_ps < self._now:
            raise ProtocolError(
                f"event {EventKind(kind).name} (node {node}, query {query}, tag {tag}) is scheduled for {time_ps} ps; "
                f"expected no earlier than now, {self._now} ps"
            )
        else:
            self._next_round.append(event)

    def run(self, until: int | simpy.Event | None = None) -> Any:
        """Run until nothing is left, ``stop`` is called, a SimPy event has happened, or the clock stands at ``until``.

        Parameters
        ----------
        until : int or simpy.Event, optional
            An instant in picoseconds later than now (its own events are not run), or a SimPy event.
        """
        self._stopping = False
        return super().run(until)

    def stop(self) -> None:
        """End the run after the present instant; what is scheduled stays scheduled."""
        self._stopping = True

    def peek(self) -> int | float:
        """Return the time of the next event of either kind, infinity if there is none."""
        if self._next_round:
            return self._now
        following = super().peek()
        return min(following, self._events[0][0]) if self._events else following

    def step(self) -> None:
        """Run the next SimPy event, or all calendar events before it."""
        events, waiting = self._events, self._queue
        if not events and not self._next_round:
            super().step()
        else:
            upcoming = events[0][0] if events else Infinity
            if self._next_round:  # left by SimPy's processes at this instant, or by the caller before the run
                upcoming = self._now
            if waiting and waiting[0][0] <= upcoming:
                super().step()
            elif events and events[0][0] == upcoming:
                self._run_instants()
            else:
                self._run_rounds()
        if self._stopping:
            raise StopSimulation(None)

    def _run_instants(self) -> None:
        events, waiting = self._events, self._queue
        executed = 0
        try:
            while events and not (waiting and waiting[0][0] <= events[0][0]) and not self._stopping:
                event = _earliest(events)
                now = self._now = event[0]
                event[5](event[6])
                executed += 1
                while events and events[0][0] == now:
                    previous = event
                    event = _earliest(events)
                    if event[4] == previous[4] and event[:5] == previous[:5]:
                        raise _same_place(event)
                    event[5](event[6])
                    executed += 1
                if self._next_round:
                    self._run_rounds()
        finally:
            self.executed += executed

    def _run_rounds(self) -> None:
        while self._next_round:
            this_round = self._next_round
            self._next_round = []
            if len(this_round) > 1:
                this_round.sort(key=_place)
                for earlier, later in pairwise(this_round):
                    if earlier[4] == later[4] and earlier[:5] == later[:5]:
                        raise _same_place(later)
            for event in this_round:
                event[5](event[6])
            self.executed += len(this_round)


_place = itemgetter(0, 1, 2, 3, 4)


def _earliest(events: list[tuple]) -> tuple:
    try:
        return heappop(events)
    except TypeError:  # as in ``at``
        raise _same_place(events[0]) from None


def _same_place(event: tuple) -> ProtocolError:
    time_ps, kind, node, query, tag = event[:5]
    return ProtocolError(
        f"two events {EventKind(kind).name} have the same place in the order: "
        f"{time_ps} ps, node {node}, query {query}, tag {tag}; expected different tags"
    )
