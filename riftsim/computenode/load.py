"""Who sends queries when: closed loops and open arrivals, and which queries are measured.

Queries are numbered in the order of their arrival. The first ``warmup`` arrivals are not measured, the next
``measured`` are, and arrivals go on until the last measured query has ended, so that load does not fall off while it
is being measured.
"""

from collections.abc import Callable

import numpy as np

from riftsim.calendar import Calendar, EventKind
from riftsim.computenode.engine import ComputeNode
from riftsim.computenode.run import QueryRun


class Load:
    """Feeds compute nodes and collects the measured queries.

    Parameters
    ----------
    calendar : Calendar
    queries : int
        Evaluated queries; arrivals cycle through them.
    warmup, measured : int
        Arrivals dropped first, and arrivals measured.
    on_progress : callable or None
        Called with the number of measured queries that have ended, for every one.
    """

    def __init__(
        self,
        calendar: Calendar,
        *,
        queries: int,
        warmup: int,
        measured: int,
        on_progress: Callable[[int], None] | None = None,
    ):
        self.calendar = calendar
        self.nodes: list[ComputeNode] = []
        self.finished: list[QueryRun] = []
        self._queries = queries
        self._warmup = warmup
        self._measured = measured
        self._arrivals = 0
        self._on_progress = on_progress

    @property
    def complete(self) -> bool:
        """Whether every measured query has ended."""
        return len(self.finished) == self._measured

    def _arrive(self, node: int) -> None:
        ordinal = self._arrivals
        self._arrivals += 1
        # Warm-up takes the last queries, so that the measured ones begin with the first.
        query = (ordinal - self._warmup) % self._queries
        run = QueryRun(ordinal=ordinal, query=query, compute_node=node, arrival_ps=self.calendar.now)
        self.nodes[node].submit(run)

    def _ended(self, run: QueryRun) -> None:
        if self._warmup <= run.ordinal < self._warmup + self._measured:
            self.finished.append(run)
            if self._on_progress:
                self._on_progress(len(self.finished))


class ClosedLoop(Load):
    """Keeps a fixed number of queries in flight at every compute node."""

    def begin(self, concurrency: int) -> None:
        """Send the first queries, one after the other over the compute nodes, all at the present instant."""
        now_ps = self.calendar.now
        for turn in range(concurrency):
            for node in range(len(self.nodes)):
                self.calendar.at(now_ps, EventKind.ARRIVAL, node, turn, 0, self._arrive, node)

    def on_finish(self, run: QueryRun) -> None:
        """Replace a finished query at once, unless all measured ones have ended."""
        self._ended(run)
        if not self.complete:
            self._arrive(run.compute_node)


class OpenLoop(Load):
    """Queries arrive at given times, whatever the state of the system, dealt over the compute nodes in turn."""

    def begin(self, arrivals_ps: np.ndarray) -> None:
        """Send queries at the given times (int64, ascending); more are needed than warm-up and measured ones
        together."""
        self._times = arrivals_ps
        self._schedule(0)

    def on_finish(self, run: QueryRun) -> None:
        """Note a finished query; arrivals do not depend on it."""
        self._ended(run)

    def _schedule(self, ordinal: int) -> None:
        if ordinal < len(self._times) and not self.complete:
            time_ps = int(self._times[ordinal])
            node = ordinal % len(self.nodes)
            self.calendar.at(time_ps, EventKind.ARRIVAL, node, ordinal, 0, self._arrive_in_turn, ordinal)

    def _arrive_in_turn(self, ordinal: int) -> None:
        self._schedule(ordinal + 1)
        self._arrive(ordinal % len(self.nodes))
