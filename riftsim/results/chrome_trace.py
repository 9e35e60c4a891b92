"""A query's timeline in the trace-event format of Chrome, which Perfetto and chrome://tracing open.

One process is the query, its threads are tracks: the main thread, what it waits for, the critical path, reads in flight
and tasks on workers (as many tracks as there were at once). Times are in µs from the query's arrival.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from riftsim.files import atomic_write
from riftsim.kernels.query import READ_ADJACENCY, READ_RECORD, READ_VECTOR
from riftsim.results.critical_path import READ_STAGES, QueryPath, critical_path
from riftsim.results.timeline import WAITS, lanes, main_thread
from riftsim.results.trace import BLOCKED_GATE, READ_TIMES, Trace
from riftsim.units import PS_PER_US

READ_NAMES = {READ_RECORD: "record", READ_VECTOR: "vector", READ_ADJACENCY: "adjacency list"}

_PROCESS = 1
_QUERY, _MAIN, _WAITING, _CRITICAL = 1, 2, 3, 4
_READS, _WORKERS, _QUEUED = 100, 200, 300
_FIXED = {_QUERY: "query", _MAIN: "main thread", _WAITING: "waits for", _CRITICAL: "critical path"}


def chrome_trace(one: Trace, about: dict[str, Any]) -> dict[str, Any]:
    """Make the trace of one query.

    Parameters
    ----------
    one : Trace
        Of one query (``Trace.of``).
    about : dict
        What the run is, kept beside the events.

    Returns
    -------
    dict
        JSON object of the trace-event format.
    """
    facts = one.queries.iloc[0]
    origin = int(facts.arrival_ps)
    path = QueryPath(one)
    thread = main_thread(one)
    waits = ["queue", *WAITS.values()]
    slices = [("query", _QUERY, origin, int(facts.end_ps), {})]
    slices += [
        (row.kind, _WAITING if row.kind in waits else _MAIN, row.from_ps, row.until_ps, {})
        for row in thread.itertuples()
    ]
    slices += [(piece.resource, _CRITICAL, piece.from_ps, piece.until_ps, {}) for piece in critical_path(path)]
    slices += [*_reads(one.reads), *_tasks(one.tasks)]
    events = [_slice(origin, *values) for values in slices]
    events += _counters(origin, one)
    events.sort(key=lambda event: (event["ts"], -event.get("dur", 0.0)))
    return {
        "displayTimeUnit": "ns",
        "otherData": {**about, "arrival_ps": origin},
        "traceEvents": [*_names(facts, {event["tid"] for event in events if "tid" in event}), *events],
    }


def write_chrome_trace(one: Trace, about: dict[str, Any], path: Path) -> None:
    """Write the trace of one query, see ``chrome_trace``."""
    with atomic_write(path) as partial:
        partial.write_text(json.dumps(chrome_trace(one, about), separators=(",", ":")), encoding="utf-8")


def _us(time_ps: int) -> float:
    return time_ps / PS_PER_US


def _slice(origin: int, name: str, track: int, from_ps: int, until_ps: int, details: dict) -> dict[str, Any]:
    return {
        "ph": "X",
        "pid": _PROCESS,
        "tid": track,
        "name": name,
        "ts": _us(int(from_ps) - origin),
        "dur": _us(int(until_ps) - int(from_ps)),
        "args": {name: int(value) for name, value in details.items()},
    }


def _reads(reads: pd.DataFrame) -> Iterator[tuple]:
    reads = reads.sort_values("rung_ps")
    chosen = lanes(reads["rung_ps"].to_numpy(), reads["seen_ps"].to_numpy())
    for lane, read in zip(chosen, reads.itertuples(), strict=True):
        details = {"tag": read.tag, "node": read.node, "memory_node": read.memory_node}
        yield f"read of {READ_NAMES[read.kind]}", _READS + int(lane), read.rung_ps, read.seen_ps, details
        before = read.rung_ps
        for name, resource in zip(READ_TIMES[1:], (*READ_STAGES, "not polled yet"), strict=True):
            at_ps = getattr(read, name)
            if at_ps > before:
                yield f"{resource}: {name.removesuffix('_ps')}", _READS + int(lane), before, at_ps, {}
                before = at_ps


def _tasks(tasks: pd.DataFrame) -> Iterator[tuple]:
    """Waiting tasks, and those that workers run; the main thread's own are on its track."""
    for track, name, begin, end in (
        (_QUEUED, "waits for a worker", "queued_ps", "started_ps"),
        (_WORKERS, "evaluation", "started_ps", "ended_ps"),
    ):
        own = tasks[(tasks[end] > tasks[begin]) & ~(tasks["by_main"] & (track == _WORKERS))].sort_values(begin)
        for lane, task in zip(lanes(own[begin].to_numpy(), own[end].to_numpy()), own.itertuples(), strict=True):
            details = {"task": task.task, "neighbors": task.neighbors}
            yield name, track + int(lane), getattr(task, begin), getattr(task, end), details


def _counters(origin: int, one: Trace) -> Iterator[dict[str, Any]]:
    """Unfinished evaluations and what the gate decided after each step, W_R and T_q over time."""
    series: list[tuple[str, int, int]] = []
    for step in one.steps.itertuples():
        series.append(("unfinished evaluations", step.until_ps, step.unfinished))
        series.append(("gate holds an expansion back", step.until_ps, step.blocked == BLOCKED_GATE))
    for point in one.control.itertuples():
        series += [("window W_R", point.at_ps, point.window), ("worker allowance T_q", point.at_ps, point.allowance)]
    for name, at_ps, value in series:
        event = {
            "ph": "C",
            "pid": _PROCESS,
            "name": name,
            "ts": _us(int(at_ps) - origin),
            "args": {"value": int(value)},
        }
        yield event


def _names(facts: Any, tracks: Iterable[int]) -> Iterator[dict[str, Any]]:
    def named(kind: str, name: str, **more: int) -> dict[str, Any]:
        return {"ph": "M", "pid": _PROCESS, "name": kind, "args": {"name": name}, **more}

    yield named("process_name", f"query {facts.row} (compute node {facts.compute_node}, thread {facts.thread})")
    for track in sorted(tracks):
        kinds = {_READS: "reads", _WORKERS: "workers", _QUEUED: "queued tasks"}
        base = track // 100 * 100
        name = _FIXED[track] if track in _FIXED else f"{kinds[base]} {track - base}"
        yield named("thread_name", name, tid=track)
        yield {"ph": "M", "pid": _PROCESS, "tid": track, "name": "thread_sort_index", "args": {"sort_index": track}}
