"""Who sends queries when, on a real clock: the loads of ``load`` for event loops in threads."""

import threading
from collections import deque
from collections.abc import Callable

import numpy as np

from riftsim.computenode.run import QueryRun


class LiveLoad:
    """Arrivals of a compute node, taken by its event loops, and the measured queries that have ended.

    As in simulation, queries are numbered in the order of their arrival; the first ``warmup`` are not measured, the
    next ``measured`` are, and arrivals go on until the last measured one has ended. Any thread may call any method.

    Parameters
    ----------
    queries : int
        Evaluated queries; arrivals cycle through them.
    warmup, measured : int
        Arrivals dropped first, and arrivals measured.
    concurrency : int or None
        Closed loop: queries in flight.
    arrivals_ps : int64 (m,) or None
        Open loop: times of arrival, ascending.
    on_progress : callable or None
        Told the number of measured queries that have ended.
    """

    def __init__(
        self,
        *,
        queries: int,
        warmup: int,
        measured: int,
        concurrency: int | None,
        arrivals_ps: np.ndarray | None,
        on_progress: Callable[[int], None] | None = None,
    ):
        self.finished: list[QueryRun] = []
        self._queries = queries
        self._warmup = warmup
        self._measured = measured
        self._closed = arrivals_ps is None
        self._times = deque([0] * concurrency if self._closed else arrivals_ps.tolist())
        self._arrivals = 0
        self._on_progress = on_progress
        self._lock = threading.Lock()

    @property
    def complete(self) -> bool:
        """Whether every measured query has ended: nothing more arrives."""
        return len(self.finished) == self._measured

    def take(self, now_ps: int) -> QueryRun | None:
        """The oldest query that has arrived and that no event loop has taken."""
        with self._lock:
            if self.complete or not self._times or self._times[0] > now_ps:
                return None
            arrival_ps = self._times.popleft()
            ordinal = self._arrivals
            self._arrivals += 1
            # Warm-up takes the last queries, so that the measured ones begin with the first.
            query = (ordinal - self._warmup) % self._queries
            return QueryRun(ordinal=ordinal, query=query, compute_node=0, arrival_ps=arrival_ps)

    def finish(self, run: QueryRun) -> None:
        """Note a query that has ended; a closed loop replaces it at once."""
        with self._lock:
            if self._closed:
                self._times.append(run.end_ps)
            if self._warmup <= run.ordinal < self._warmup + self._measured:
                self.finished.append(run)
                if self._on_progress:
                    self._on_progress(len(self.finished))
