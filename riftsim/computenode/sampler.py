"""The state of the compute nodes over time: one row per sample and node."""

import numpy as np

from riftsim.calendar import Calendar, EventKind
from riftsim.computenode.engine import ComputeNode
from riftsim.computenode.load import Load

_COLUMNS = (
    "time_ps",
    "compute_node",
    "queries_waiting",
    "queries_active",
    "busy_threads",
    "busy_workers",
    "tasks_queued",
    "window",
    "allowance",
    "defer_ratio",
    "unfinished",
)


def columns_of(rows: list[tuple]) -> dict[str, np.ndarray]:
    """Samples as columns; means over the active queries are float64 and NaN where there is none."""
    values = np.array(rows, np.float64).reshape(len(rows), len(_COLUMNS))
    means = ("window", "allowance", "defer_ratio", "unfinished")
    return {
        name: values[:, at] if name in means else values[:, at].astype(np.int64) for at, name in enumerate(_COLUMNS)
    }


class Sampler:
    """Looks at all compute nodes at equal intervals, until every measured query has ended.

    Parameters
    ----------
    calendar : Calendar
    load : Load
        Whose nodes are looked at.
    interval_ps : int
        Time between two samples.
    """

    def __init__(self, calendar: Calendar, load: Load, interval_ps: int):
        self._calendar = calendar
        self._load = load
        self._interval_ps = interval_ps
        self._rows: list[tuple] = []
        self._schedule()

    def columns(self) -> dict[str, np.ndarray]:
        """The samples as columns, see ``columns_of``."""
        return columns_of(self._rows)

    def _schedule(self) -> None:
        self._calendar.at(self._calendar.now + self._interval_ps, EventKind.SAMPLE, 0, 0, 0, self._sample, None)

    def _sample(self, _: None) -> None:
        for number, node in enumerate(self._load.nodes):
            self._rows.append((self._calendar.now, number, *_state_of(node)))
        if not self._load.complete:
            self._schedule()


def _state_of(node: ComputeNode) -> tuple:
    runs = [run for run in node.active.values() if run.program is not None]
    counters = [run.program.counters() for run in runs if hasattr(run.program, "counters")]
    return (
        node.waiting,
        len(runs),
        node.busy_threads,
        node.pool.busy,
        node.pool.queued,
        np.mean([window for _, _, window in counters]) if counters else np.nan,
        np.mean([run.allowance for run in runs]) if runs else np.nan,
        np.mean([run.defer_ratio for run in runs]) if counters else np.nan,
        np.mean([unfinished for unfinished, _, _ in counters]) if counters else np.nan,
    )
