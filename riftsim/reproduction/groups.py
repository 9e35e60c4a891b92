"""Runs put together: by configuration, by gate, by step of the breakdown; and what is read off a group."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riftsim.results.compare import compare
from riftsim.results.intervals import runs_interval
from riftsim.results.store import Run

STEPS = ("Remote-Vamana", "+ calibrated pipeline", "+ impact-aware traversal", "+ pipeline balancing")
"""The progressive breakdown (section 4.4)."""

SPANS = {"first 10 %": slice(0, 1), "first 20 %": slice(0, 2), "last 40 %": slice(6, 10), "last 30 %": slice(7, 10)}
"""Parts of a search, as slices of its tenths."""


def by(runs: Iterable[Run], *keys: str) -> dict[tuple, list[Run]]:
    """Group runs by the values of dotted keys."""
    return named(runs, lambda run: tuple(run.parameters.get(key) for key in keys))


def named(runs: Iterable[Run], name_of: Callable[[Run], Any]) -> dict[Any, list[Run]]:
    """Group runs by a name."""
    groups: dict[Any, list[Run]] = {}
    for run in runs:
        groups.setdefault(name_of(run), []).append(run)
    return groups


def by_gate(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Group the runs of each gate setting, e.g. ``u-only 32``."""
    return named(runs, gate_of)


def gate_of(run: Run) -> str:
    """Name the gate of a run and its setting."""
    gate = {key.rsplit(".", 1)[1]: value for key, value in run.parameters.items() if key.startswith("system.gate.")}
    setting = gate.get("bound", gate.get("theta", gate.get("epsilon", "")))
    return f"{gate['kind']} {setting}".strip()


def step_of(run: Run) -> str:
    """Name the step of the breakdown that a run belongs to."""
    parameters = run.parameters
    if parameters["system.kind"] == "remote_vamana":
        return STEPS[0]
    if parameters["system.gate.kind"] == "wait-all":
        return STEPS[1]
    return STEPS[3] if parameters["system.balancing.kind"] == "adaptive" else STEPS[2]


def progress(run: Run) -> dict[str, float]:
    """Read update ratio, work and backlog over the progress of searches, and hidden updates, off the facts of a run."""
    part = run.facts["progress"]
    inserted, evaluated, expanded = (np.array(part[name]) for name in ("inserted", "evaluated", "expansions"))
    row = {f"update ratio, {name}": inserted[at].sum() / evaluated[at].sum() for name, at in SPANS.items()}
    row["evaluated per expansion, last 40 %"] = evaluated[6:].sum() / expanded[6:].sum()
    for statistic in ("median", "mean"):
        tenths = np.array(part[f"backlog_{statistic}"])
        row[f"backlog, first 10 %, {statistic}"] = tenths[0]
        row[f"backlog, last 30 %, {statistic}"] = tenths[7:].mean()
    row |= {"hidden, mean": part["hidden_mean"], "hidden, P95": part["hidden_p95"]}
    return {key: float(value) for key, value in row.items()}


def over_runs(runs: Sequence[Run], value: Callable[[Run], float]) -> tuple[float, float, float]:
    """Return the mean of a number over runs that differ in seeds, with its 95 % interval (Student's)."""
    numbers = np.array([value(run) for run in runs], dtype=np.float64)
    return (float(numbers.mean()), *runs_interval(numbers))


@dataclass(frozen=True)
class Dominance:
    """What impact-aware settings have against one setting of another gate (section 4.6).

    Attributes
    ----------
    holds : bool or None
        True if one of them is at least as good in recall and latency by means, False if each is worse in one of both
        beyond its paired interval; in between, nothing is known (None).
    by : str
        The setting that dominates most clearly; empty if none does.
    resolved : int
        In how many of the two measures it is better beyond the paired interval.
    latency_ratio, recall_difference : float
        Of that setting against the other gate; not a number if none dominates.
    """

    holds: bool | None
    by: str = ""
    resolved: int = 0
    latency_ratio: float = math.nan
    recall_difference: float = math.nan


def dominance(groups: Mapping[str, Sequence[Run]]) -> dict[str, Dominance]:
    """Tell for each U-only and rho-only setting whether an impact-aware one dominates it.

    Parameters
    ----------
    groups : mapping of str to sequence of Run
        Runs of each gate setting, as `by_gate` names them.

    Returns
    -------
    dict of str to Dominance
    """
    ours = {name: runs for name, runs in groups.items() if name.startswith("impact-aware")}
    others = {name: runs for name, runs in groups.items() if name.startswith(("u-only", "rho-only"))}
    return {name: _dominated(runs, ours) for name, runs in others.items()}


def _dominated(runs: Sequence[Run], ours: Mapping[str, Sequence[Run]]) -> Dominance:
    found, worse = [], []
    for name, own in ours.items():
        latency, recall = compare(own, runs, "latency_mean_us"), compare(own, runs, "recall")
        worse.append(latency.difference_low > 0 or recall.difference_high < 0)
        if latency.difference <= 0 and recall.difference >= 0:
            resolved = (latency.difference_high < 0) + (recall.difference_low > 0)
            found.append(Dominance(True, name, resolved, latency.ratio, recall.difference))
    if found:
        return max(found, key=lambda one: (one.resolved, -one.latency_ratio))
    return Dominance(False if all(worse) else None)


def burst(run: Run) -> dict[str, float]:
    """Read states and latency before, in and after the burst off a run of section 4.7.

    ``settled`` is the second half of the burst; the peak is the largest mean over a fortieth of it.
    """
    begin, end = (run.facts["burst"][key] for key in ("start_ps", "end_ps"))
    queries, windows = run.queries, run.windows
    latency_us = (queries.end_ps - queries.arrival_ps) / 1e6
    inside = (queries.arrival_ps >= begin) & (queries.arrival_ps < end)
    before = windows[windows.time_ps.between(queries.arrival_ps.min(), begin)]
    settled = windows[windows.time_ps.between((begin + end) / 2, end)]
    whole = windows[windows.time_ps.between(begin, end)]
    after = windows[windows.time_ps.between(end + (end - begin) / 2, queries.arrival_ps.max())]
    fortieths = whole.groupby(np.floor((whole.time_ps - begin) / (end - begin) * 40)).defer_ratio.mean()
    row = {"defer_peak": fortieths.max(), "defer_low": fortieths.min()}
    for name in ("defer_ratio", "busy_workers", "window", "queries_waiting"):
        row |= {
            f"{name}_before": before[name].mean(),
            f"{name}_settled": settled[name].mean(),
            f"{name}_burst": whole[name].mean(),
            f"{name}_after": after[name].mean(),
        }
    row["p99_before_us"] = _p99(latency_us[queries.arrival_ps < begin])
    row["p99_burst_us"] = _p99(latency_us[inside])
    row["mean_before_us"] = latency_us[queries.arrival_ps < begin].mean()
    row["mean_burst_us"] = latency_us[inside].mean()
    row["recall_burst"] = queries.recall[inside].mean()
    finished = ((queries.end_ps >= begin) & (queries.end_ps < end)).sum()
    row["completed_qps_burst"] = finished / ((end - begin) / 1e12)
    return {key: float(value) for key, value in row.items()}


def _p99(latency_us: pd.Series) -> float:
    return float(np.quantile(latency_us, 0.99, method="inverted_cdf")) if len(latency_us) else float("nan")
