"""What happened to traced queries, as tables; all times in ps of simulated time.

Every table has ``row``, the place of the query among the measured ones (the rows of ``queries.parquet``).
"""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from riftsim.errors import ResultsError
from riftsim.kernels import engine_trace as kinds

BLOCKED_READS, BLOCKED_GATE, BLOCKED_DRAIN = range(3)
"""What a query waits for after a step, numbered as in ``search.messages.Blocked``."""

READ_TIMES = (
    "rung_ps",
    "fetched_ps",
    "admitted_ps",
    "sent_ps",
    "served_ps",
    "processed_ps",
    "serialised_ps",
    "requested_ps",
    "handled_ps",
    "loading_ps",
    "loaded_ps",
    "answering_ps",
    "arrived_ps",
    "taken_ps",
    "writing_ps",
    "written_ps",
    "ordered_ps",
    "visible_ps",
    "seen_ps",
)
"""Points of a read's way, in their order.

The doorbell is rung; the work request is in the NIC, has a slot of its queue pair, has left the queue pair's
processing, enters and leaves the NIC-wide processing, is serialised, is at the memory node, is processed there; the
PCIe read begins, its first bytes are there; the response begins, its first bits are at the compute node, are taken in;
the PCIe write begins, is done, is done in the order of the queue pair; the completion is visible, the main thread has
seen it. -1 where the network takes no time.
"""

_READ_ROWS = {
    kinds.RUNG: ("rung_ps", "fetched_ps"),
    kinds.ADMITTED: ("admitted_ps", "sent_ps"),
    kinds.SERVED: ("served_ps", "processed_ps", "serialised_ps", "requested_ps"),
    kinds.RESPONDED: ("handled_ps", "loading_ps", "loaded_ps", "answering_ps"),
    kinds.TAKEN: ("arrived_ps", "taken_ps", "writing_ps", "written_ps", "ordered_ps"),
    kinds.COVERED: ("visible_ps",),
    kinds.SEEN: ("seen_ps",),
}
_TASK_ROWS = {
    kinds.QUEUED: ("queued_ps",),
    kinds.RUN_BY_WORKER: ("started_ps", "ended_ps", "neighbors"),
    kinds.RUN_BY_MAIN: ("started_ps", "ended_ps", "neighbors"),
    kinds.MERGED: ("merged_ps",),
}
_QUERY, _NUMBER = range(2)


@dataclasses.dataclass(frozen=True)
class Trace:
    """What happened to some queries.

    Attributes
    ----------
    queries : DataFrame
        ``row``, ``compute_node``, ``thread``, ``arrival_ps``, ``start_ps``, ``end_ps``.
    steps : DataFrame
        Work of the main thread for the query, in order: ``row``, ``from_ps`` to ``polled_ps`` (the query's share of a
        poll; none at its start), ``computed_ps`` (tables, lists, distances, merging), ``posted_ps``, ``until_ps``
        (control); then ``blocked`` (``BLOCKED_...``: what it waits for), ``done``, ``unfinished``
        evaluations (0 for round-synchronous searches).
    reads : DataFrame
        ``row``, ``tag``, ``node`` of the graph, ``kind`` (``READ_...`` of ``kernels.query``), ``memory_node``, and
        ``READ_TIMES``.
    tasks : DataFrame
        Evaluation tasks: ``row``, ``task``, ``neighbors``, ``queued_ps``, ``started_ps``, ``ended_ps``, ``merged_ps``
        (seen by the main thread), ``by_main`` (run by the query's own main thread).
    control : DataFrame
        Control points: ``row``, ``at_ps``, ``unfinished``, ``generated``, ``allowance_before``, ``allowance``,
        ``window_before``, ``window``.
    """

    queries: pd.DataFrame
    steps: pd.DataFrame
    reads: pd.DataFrame
    tasks: pd.DataFrame
    control: pd.DataFrame

    def of(self, row: int) -> "Trace":
        """Return the part of one query.

        Raises
        ------
        ResultsError
            If it was not traced.
        """
        traced = self.queries["row"].to_numpy()
        if row not in traced:
            known = f"{traced.min()} to {traced.max()}" if len(traced) else "none"
            raise ResultsError(f"trace: query {row} was not traced; expected one of {known}")
        return Trace(*(_where(table, row) for table in self._tables().values()))

    def write(self, folder: Path) -> None:
        """Write one Parquet file per table into a new folder."""
        folder.mkdir()
        for name, table in self._tables().items():
            table = pa.Table.from_pandas(table, preserve_index=False)
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")

    @classmethod
    def read(cls, folder: Path) -> "Trace":
        """Read what ``write`` wrote.

        Raises
        ------
        ResultsError
            If a file is missing or damaged.
        """
        try:
            return cls(
                *(pq.read_table(folder / f"{field.name}.parquet").to_pandas() for field in dataclasses.fields(cls))
            )
        except (OSError, pa.ArrowException) as error:
            raise ResultsError(f"{folder}: the run's trace cannot be read: {error}") from error

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def trace_of(blocks: list[np.ndarray], first_measured: int) -> Trace:
    """Make tables of the rows that an engine wrote down.

    Parameters
    ----------
    blocks : list of int64 (words,)
        Of ``kernels.engine_trace``, in order.
    first_measured : int
        Number of arrival of the first measured query.
    """
    rows = rows_by_kind(blocks)
    for each in rows:
        each[_QUERY] -= first_measured
    steps = _steps(rows)
    return Trace(_queries(rows, steps), steps, _reads(rows), _tasks(rows), _control(rows))


def rows_by_kind(blocks: list[np.ndarray]) -> list[np.ndarray]:
    """What was written down, by kind.

    Parameters
    ----------
    blocks : list of int64 (words,)
        Rows in order; none lies in two blocks.

    Returns
    -------
    list of int64 (2 + values, rows)
        For each kind the columns query, number and its values, in order.
    """
    counts = np.zeros(len(kinds.VALUES), np.int64)
    for block in blocks:
        kinds.count_rows(block, counts)
    columns = 2 + np.array(kinds.VALUES)
    ends = np.cumsum(columns * counts)
    places = ends - columns * counts
    out = np.empty(ends[-1], np.int64)
    for block in blocks:
        kinds.split_rows(block, counts, places, out)
    parts = np.split(out, ends[:-1])
    return [part.reshape(shape) for part, *shape in zip(parts, columns, counts, strict=True)]


def _where(table: pd.DataFrame, row: int) -> pd.DataFrame:
    return table[table["row"] == row].reset_index(drop=True)


def _queries(rows: list[np.ndarray], steps: pd.DataFrame) -> pd.DataFrame:
    starts = rows[kinds.START]
    row, thread, node, arrival_ps, start_ps = starts[:, np.argsort(starts[_QUERY])]
    ends = steps[steps["done"]].set_index("row")["until_ps"]
    return pd.DataFrame(
        {
            "row": row,
            "compute_node": node,
            "thread": thread,
            "arrival_ps": arrival_ps,
            "start_ps": start_ps,
            "end_ps": ends.reindex(row).to_numpy(np.int64),
        }
    )


def _steps(rows: list[np.ndarray]) -> pd.DataFrame:
    steps = rows[kinds.STEP]
    row, _, opened_ps, polled_ps, computed_ps, posted_ps, until_ps, how, unfinished = steps[
        :, np.argsort(steps[_QUERY], kind="stable")
    ]
    return pd.DataFrame(
        {
            "row": row,
            "from_ps": opened_ps,
            "polled_ps": polled_ps,
            "computed_ps": computed_ps,
            "posted_ps": posted_ps,
            "until_ps": until_ps,
            "blocked": how % kinds.DONE,
            "done": how >= kinds.DONE,
            "unfinished": unfinished,
        }
    )


def _reads(rows: list[np.ndarray]) -> pd.DataFrame:
    posted = rows[kinds.POSTED]
    columns = dict(zip(("row", "tag", "node", "kind", "memory_node"), posted, strict=True))
    columns |= {name: np.full(posted.shape[1], -1, np.int64) for name in READ_TIMES}
    _fill(columns, posted, rows, _READ_ROWS)
    # Without a completion entry of another read it is visible when it is done; a free network leaves that out too.
    done_ps = np.where(columns["ordered_ps"] >= 0, columns["ordered_ps"], columns["rung_ps"])
    columns["visible_ps"] = np.where(columns["visible_ps"] >= 0, columns["visible_ps"], done_ps)
    return pd.DataFrame(columns)


def _tasks(rows: list[np.ndarray]) -> pd.DataFrame:
    run = np.concatenate([rows[kinds.RUN_BY_WORKER], rows[kinds.RUN_BY_MAIN]], axis=1)
    order = np.lexsort((run[_NUMBER], run[_QUERY]))
    subjects = run[: _NUMBER + 1, order]
    columns = dict(zip(("row", "task"), subjects, strict=True))
    columns |= {name: np.full(len(order), -1, np.int64) for names in _TASK_ROWS.values() for name in names}
    _fill(columns, subjects, rows, _TASK_ROWS)
    return pd.DataFrame(columns).assign(by_main=order >= rows[kinds.RUN_BY_WORKER].shape[1])


def _fill(
    columns: dict[str, np.ndarray],
    subjects: np.ndarray,
    rows: list[np.ndarray],
    sources: dict[int, tuple[str, ...]],
) -> None:
    """Put values of rows of several kinds into the columns of the subjects that they are about, by query and number."""
    if not subjects.shape[1]:
        return
    first = subjects[_QUERY].min()
    numbers = np.zeros(subjects[_QUERY].max() - first + 1, np.int64)  # a query's numbers are below this
    np.maximum.at(numbers, subjects[_QUERY] - first, subjects[_NUMBER] + 1)
    base = np.cumsum(numbers) - numbers
    places = np.empty(numbers.sum(), np.int64)
    places[base[subjects[_QUERY] - first] + subjects[_NUMBER]] = np.arange(subjects.shape[1])
    for kind, names in sources.items():
        query, number, *values = rows[kind]
        place = places[base[query - first] + number]
        for name, value in zip(names, values, strict=True):
            columns[name][place] = value


def _control(rows: list[np.ndarray]) -> pd.DataFrame:
    row, _, *values = rows[kinds.CONTROL]
    names = ("at_ps", "unfinished", "generated", "allowance_before", "allowance", "window_before", "window")
    return pd.DataFrame({"row": row, **dict(zip(names, values, strict=True))})
