"""The one table of metrics: name, symbol, unit, direction, formula, and the function that computes it from a run.

Tables, figures, the command line and ``docs/metrics.md`` all read this table, so that a number means one thing. A
metric whose columns or facts a run lacks (latency without a clock, say) is not a number.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd

from riftsim.results import intervals
from riftsim.units import KIB, PS_PER_S, PS_PER_US

Facts = dict[str, Any]
LATENCY_PARTS = ("wait", "evaluation", "posting", "polling", "queue")


@dataclasses.dataclass(frozen=True)
class Metric:
    """One row of the table.

    Attributes
    ----------
    name, symbol, unit : str
        ``unit`` "1" is a plain number.
    label : str
        What it is called in a figure or table; ``{k}`` stands for the number of results asked for.
    better : {"higher", "lower", "-"}
        Direction; "-" where neither is better.
    formula : str
        In the symbols of ``docs/metrics.md``.
    value : callable
        ``(queries, facts) -> float``.
    interval : callable
        ``(queries, facts, seed) -> (low, high)``, 95 %; not a number where no interval is defined.
    """

    name: str
    symbol: str
    unit: str
    label: str
    better: Literal["higher", "lower", "-"]
    formula: str
    value: Callable[[pd.DataFrame, Facts], float]
    interval: Callable[[pd.DataFrame, Facts, int], tuple[float, float]]


def evaluate(queries: pd.DataFrame, facts: Facts, names: Iterable[str] | None = None) -> dict[str, float]:
    """Compute metrics of one run.

    Parameters
    ----------
    queries : pandas.DataFrame
        One row per measured query, columns as in :class:`riftsim.results.recorder.PointResult`.
    facts : dict
        The run's facts.
    names : iterable of str, optional
        Which metrics; all by default.

    Returns
    -------
    dict of str to float
        Not a number where the run lacks what the metric needs.
    """
    return {name: METRICS[name].value(queries, facts) for name in names or METRICS}


def confidence(
    queries: pd.DataFrame, facts: Facts, names: Iterable[str] | None = None, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """Compute the 95 % confidence intervals of metrics of one run; parameters as in :func:`evaluate`."""
    return {name: METRICS[name].interval(queries, facts, seed) for name in names or METRICS}


def latency_us(queries: pd.DataFrame) -> np.ndarray:
    """Return each query's latency, queueing included, in microseconds; empty if the run has no clock."""
    if "end_ps" not in queries or "arrival_ps" not in queries:
        return np.empty(0)
    return (queries["end_ps"].to_numpy() - queries["arrival_ps"].to_numpy()) / PS_PER_US


def quantile(values: np.ndarray, probability: float) -> float:
    """Return the nearest-rank quantile: the smallest value that at least this share of the values does not exceed."""
    if not len(values):
        return math.nan
    rank = intervals.nearest_rank(probability, len(values)) - 1
    return float(np.partition(values, rank)[rank])


# ---------------------------------------------------------------- per-query series of numbers


def _columns(*names: str, per: float = 1.0) -> Callable[[pd.DataFrame], np.ndarray]:
    """Make a series: the sum of columns divided by ``per``; empty if one of them is missing."""

    def series(queries: pd.DataFrame) -> np.ndarray:
        if any(name not in queries for name in names):
            return np.empty(0)
        return sum(queries[name].to_numpy().astype(np.float64) for name in names) / per

    return series


def _rest_us(queries: pd.DataFrame) -> np.ndarray:
    parts = _columns(*(f"{part}_ps" for part in LATENCY_PARTS), per=PS_PER_US)(queries)
    return latency_us(queries) - parts if len(parts) else parts


_READS = _columns("reads_record", "reads_vector", "reads_adjacency")
_BYTES = _columns("bytes_read")


# ---------------------------------------------------------------- values of a whole run


def span_s(queries: pd.DataFrame, facts: Facts) -> float:
    """Return the measured span in seconds: first arrival to last end, as the run states it or from the rows."""
    if facts.get("span_ps") is not None:
        return facts["span_ps"] / PS_PER_S
    if "end_ps" not in queries or queries.empty:
        return math.nan
    return float(queries["end_ps"].max() - queries["arrival_ps"].min()) / PS_PER_S


def throughput_qps(queries: pd.DataFrame, facts: Facts) -> float:
    """Return queries per second: the steady-state throughput that the run states, else measured queries over span."""
    if facts.get("qps") is not None:
        return float(facts["qps"])
    span = span_s(queries, facts)
    return len(queries) / span if span > 0 else math.nan


def _throughput_interval(queries: pd.DataFrame, facts: Facts, seed: int) -> tuple[float, float]:
    if "end_ps" not in queries:
        return intervals.NO_INTERVAL
    return intervals.rate_interval(throughput_qps(queries, facts), queries["end_ps"].to_numpy() / PS_PER_S)


def _no_interval(queries: pd.DataFrame, facts: Facts, seed: int) -> tuple[float, float]:
    return intervals.NO_INTERVAL


# ---------------------------------------------------------------- makers of rows


def _mean(name, symbol, unit, label, better, formula, series) -> Metric:
    def value(queries, facts):
        numbers = series(queries)
        return float(numbers.mean()) if len(numbers) else math.nan

    def interval(queries, facts, seed):
        numbers = series(queries)
        return intervals.mean_interval(numbers, _query_of(queries), seed) if len(numbers) else intervals.NO_INTERVAL

    return Metric(name, symbol, unit, label, better, formula, value, interval)


def _ratio(name, symbol, label, better, formula, over, under, unit="1") -> Metric:
    def value(queries, facts):
        numerators, denominators = over(queries), under(queries)
        total = denominators.sum()
        return float(numerators.sum() / total) if len(numerators) and total > 0 else math.nan

    def interval(queries, facts, seed):
        numerators, denominators = over(queries), under(queries)
        if not len(numerators) or not denominators.sum() > 0:
            return intervals.NO_INTERVAL
        return intervals.ratio_interval(numerators, denominators, _query_of(queries), seed)

    return Metric(name, symbol, unit, label, better, formula, value, interval)


def _latency_quantile(name, percent) -> Metric:
    def value(queries, facts):
        return quantile(latency_us(queries), percent / 100)

    def interval(queries, facts, seed):
        numbers = latency_us(queries)
        if not len(numbers):
            return intervals.NO_INTERVAL
        return intervals.quantile_interval(numbers, _query_of(queries), percent / 100, seed)

    formula = f"the ⌈{percent} % · N⌉-th smallest T_i"
    return Metric(name, f"T_P{percent}", "µs", f"P{percent} latency", "lower", formula, value, interval)


def _of_rate(name, symbol, unit, label, better, formula, series) -> Metric:
    """A product of throughput and a mean over queries."""

    def value(queries, facts):
        numbers = series(queries)
        return throughput_qps(queries, facts) * float(numbers.mean()) if len(numbers) else math.nan

    return Metric(name, symbol, unit, label, better, formula, value, _no_interval)


def _query_of(queries: pd.DataFrame) -> np.ndarray:
    return queries["query"].to_numpy() if "query" in queries else np.arange(len(queries))


_PART_TEXT = {
    "wait": (
        "W",
        "Exposed RDMA wait",
        "time in which the main thread had nothing to do for the query but wait for reads",
    ),
    "evaluation": ("E", "Evaluation", "main-thread time for tables, distances, list insertion and parsing"),
    "posting": ("P", "Posting", "main-thread time for posting work requests"),
    "polling": ("C", "Polling", "main-thread time for polling and handling completions"),
    "queue": ("Q", "Queueing", "s_i − a_i, time from arrival to the start of the search"),
}


def _latency_part(part: str) -> list[Metric]:
    letter, label, text = _PART_TEXT[part]
    series = _columns(f"{part}_ps", per=PS_PER_US)
    mean = f"(1/N) · Σ {letter}_i; {letter}_i = {text}"
    return [
        _mean(f"{part}_us", letter, "µs", label, "lower", mean, series),
        _ratio(f"{part}_share", f"{letter}/T", f"{label} share", "-", f"Σ {letter}_i / Σ T_i", series, latency_us),
    ]


_RECALL = "(1/N) · Σ |A_i ∩ G_i| / k; G_i = the first k ids of the ground truth"
_RECALL_TIES = "(1/N) · Σ min(k, |{v ∈ A_i : d(q_i, v) ≤ d(q_i, k-th true neighbour)}|) / k"

_TABLE = [
    _mean("recall", "Recall@k", "1", "Recall@{k}", "higher", _RECALL, _columns("recall")),
    _mean("recall_ties", "Recall_t@k", "1", "Recall@{k} with ties", "higher", _RECALL_TIES, _columns("recall_ties")),
    _mean("latency_mean_us", "T", "µs", "Mean latency", "lower", "(1/N) · Σ T_i; T_i = e_i − a_i", latency_us),
    _latency_quantile("latency_p50_us", 50),
    _latency_quantile("latency_p95_us", 95),
    _latency_quantile("latency_p99_us", 99),
    _latency_quantile("latency_p99_9_us", 99.9),
    Metric(
        "qps",
        "X",
        "1/s",
        "Throughput",
        "higher",
        "completions per second in the steady state; N / (max e_i − min a_i) where the run states none",
        throughput_qps,
        _throughput_interval,
    ),
    _of_rate("in_flight", "F", "1", "Queries in flight", "-", "X · T (Little's law)", lambda q: latency_us(q) / 1e6),
    _mean("expansions", "n_x", "1", "Expansions", "lower", "(1/N) · Σ expanded nodes", _columns("expansions")),
    _mean(
        "evaluations",
        "n_d",
        "1",
        "Evaluations",
        "lower",
        "(1/N) · Σ compact distances computed",
        _columns("evaluations"),
    ),
    _mean(
        "exact_evaluations",
        "n_e",
        "1",
        "Exact evaluations",
        "lower",
        "(1/N) · Σ exact distances computed",
        _columns("exact_evaluations"),
    ),
    _mean(
        "insertions",
        "n_i",
        "1",
        "Insertions",
        "-",
        "(1/N) · Σ insertions into the candidate list",
        _columns("insertions"),
    ),
    _ratio(
        "update_ratio",
        "ρ̄",
        "Update ratio",
        "-",
        "Σ insertions / Σ compact distances computed",
        _columns("insertions"),
        _columns("evaluations"),
    ),
    _mean("hops", "h", "1", "Hops", "lower", "(1/N) · Σ rounds of expansion", _columns("hops")),
    _mean("reads", "n_r", "1", "Reads", "lower", "n_rec + n_vec + n_adj", _READS),
    _mean(
        "reads_record", "n_rec", "1", "Record reads", "lower", "(1/N) · Σ full-record reads", _columns("reads_record")
    ),
    _mean("reads_vector", "n_vec", "1", "Vector reads", "lower", "(1/N) · Σ vector reads", _columns("reads_vector")),
    _mean(
        "reads_adjacency",
        "n_adj",
        "1",
        "Adjacency reads",
        "lower",
        "(1/N) · Σ adjacency-list reads",
        _columns("reads_adjacency"),
    ),
    _mean("chains", "n_c", "1", "Chains", "lower", "(1/N) · Σ posted chains (doorbells)", _columns("chains")),
    _ratio("reads_per_chain", "n_r/n_c", "Reads per chain", "-", "Σ reads / Σ chains", _READS, _columns("chains")),
    _mean("bytes_read", "B", "bytes", "Bytes read", "lower", "(1/N) · Σ payload bytes read", _BYTES),
    _mean("kib_read", "B/1024", "KiB", "KiB read", "lower", "B / 1024", _columns("bytes_read", per=KIB)),
    _ratio("bytes_per_read", "B/n_r", "Bytes per read", "-", "Σ payload bytes / Σ reads", _BYTES, _READS, "bytes"),
    *[metric for part in LATENCY_PARTS for metric in _latency_part(part)],
    _mean(
        "idle_us", "I", "µs", "Idle", "lower", "T − (W + E + P + C + Q): the main thread served other queries", _rest_us
    ),
    _ratio("idle_share", "I/T", "Idle share", "-", "Σ I_i / Σ T_i", _rest_us, latency_us),
    _of_rate("bandwidth_gbps", "β", "Gb/s", "Bandwidth", "-", "8 · X · B / 10⁹", lambda q: 8e-9 * _BYTES(q)),
    _of_rate("requests_per_s", "λ", "1/s", "Requests per second", "-", "X · n_r", _READS),
]

METRICS: dict[str, Metric] = {metric.name: metric for metric in _TABLE}
