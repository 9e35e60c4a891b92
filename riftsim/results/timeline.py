"""A query's main thread as intervals without gaps, from arrival to end: every picosecond has one kind."""

import numpy as np
import pandas as pd

from riftsim.results.trace import BLOCKED_DRAIN, BLOCKED_GATE, BLOCKED_READS, Trace

WAITS = {BLOCKED_READS: "wait", BLOCKED_GATE: "gate", BLOCKED_DRAIN: "drain"}
"""Kinds of waiting, by what the search was blocked by."""

KINDS = ("queue", "start", "evaluation", "posting", "polling", "control", *WAITS.values())
"""Kinds of intervals: admission queue, set-up and tables, computing, posting reads, polling, a control point, reads in
flight, gate closed, unfinished evaluations with nothing left to read."""


def main_thread(one: Trace) -> pd.DataFrame:
    """Say what a query's main thread did for it, and what the query waited for in between.

    Parameters
    ----------
    one : Trace
        Of one query (``Trace.of``).

    Returns
    -------
    DataFrame
        ``kind`` (of ``KINDS``), ``from_ps``, ``until_ps``; in order, without gaps and without empty intervals. The
        lengths add up to the latency. Where a thread drives several queries, its work for the others is waiting here.
    """
    facts = one.queries.iloc[0]
    rows = [("queue", facts.arrival_ps, facts.start_ps)]
    own = one.tasks[one.tasks["by_main"]].sort_values("started_ps")
    own_tasks = list(zip(own["started_ps"], own["ended_ps"], strict=True))
    until, blocked = facts.start_ps, BLOCKED_READS
    for number, step in enumerate(one.steps.itertuples()):
        while own_tasks and own_tasks[0][0] < step.from_ps:
            started, ended = own_tasks.pop(0)
            rows += [(WAITS[blocked], until, started), ("evaluation", started, ended)]
            until = ended
        rows += [
            (WAITS[blocked], until, step.from_ps),
            ("polling", step.from_ps, step.polled_ps),
            ("start" if number == 0 else "evaluation", step.polled_ps, step.computed_ps),
            ("posting", step.computed_ps, step.posted_ps),
            ("control", step.posted_ps, step.until_ps),
        ]
        until, blocked = step.until_ps, step.blocked
    table = pd.DataFrame(rows, columns=["kind", "from_ps", "until_ps"]).astype(
        {"from_ps": np.int64, "until_ps": np.int64}
    )
    return table[table["until_ps"] > table["from_ps"]].reset_index(drop=True)


def lanes(starts_ps: np.ndarray, ends_ps: np.ndarray) -> np.ndarray:
    """Put intervals that overlap into different lanes, as few as possible.

    Parameters
    ----------
    starts_ps, ends_ps : int64 (n,)
        Ascending starts.

    Returns
    -------
    int64 (n,)
        Lane of each, from 0.
    """
    free_at: list[int] = []
    chosen = np.zeros(len(starts_ps), np.int64)
    for at, (start, end) in enumerate(zip(starts_ps, ends_ps, strict=True)):
        lane = next((number for number, free in enumerate(free_at) if free <= start), len(free_at))
        if lane == len(free_at):
            free_at.append(0)
        free_at[lane] = end
        chosen[at] = lane
    return chosen
