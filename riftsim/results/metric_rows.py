"""Rows of the table of metrics: what a metric is, and makers of the kinds that there are."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from riftsim.results import intervals
from riftsim.units import PS_PER_S, PS_PER_US, US_PER_S

if TYPE_CHECKING:
    import pandas as pd

Facts = dict[str, Any]


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


def columns(*names: str, per: float = 1.0) -> Callable[[pd.DataFrame], np.ndarray]:
    """Make a series: the sum of columns divided by ``per``; empty if one of them is missing."""

    def series(queries: pd.DataFrame) -> np.ndarray:
        if any(name not in queries for name in names):
            return np.empty(0)
        return sum(queries[name].to_numpy().astype(np.float64) for name in names) / per

    return series


# ---------------------------------------------------------------- values of a whole run


def span_s(queries: pd.DataFrame, facts: Facts) -> float:
    """Return the measured span in seconds: first arrival to last end, as the run states it or from the rows."""
    if facts.get("span_ps") is not None:
        return facts["span_ps"] / PS_PER_S
    if "end_ps" not in queries or queries.empty:
        return math.nan
    return float(queries["end_ps"].max() - queries["arrival_ps"].min()) / PS_PER_S


def closed_loop_qps(loops: int, latencies_us: np.ndarray) -> float:
    """Return the throughput of closed loops, queries per second.

    A loop is always at one query, so a query takes a loop for its latency, and ``n`` queries for the sum of theirs.
    Unlike a count of completions over a time, this does not depend on where in the loops' rounds the time begins and
    ends: loops that start together complete together.

    Parameters
    ----------
    loops : int
        Queries in flight, over all compute nodes.
    latencies_us : float64 (n,)
        Of queries that follow one another in the loops, microseconds.

    Returns
    -------
    float
        Infinite where nothing takes time.
    """
    mean_us = float(np.mean(latencies_us))
    return loops / mean_us * US_PER_S if mean_us else math.inf


def throughput_qps(queries: pd.DataFrame, facts: Facts) -> float:
    """Return queries per second: of closed loops by their latencies; else as the run states it, or over the span."""
    latencies = latency_us(queries)
    if facts.get("closed_loops") and len(latencies):
        return closed_loop_qps(facts["closed_loops"], latencies)
    if facts.get("qps") is not None:
        return float(facts["qps"])
    span = span_s(queries, facts)
    return len(queries) / span if span > 0 else math.nan


def throughput_interval(queries: pd.DataFrame, facts: Facts, seed: int) -> tuple[float, float]:
    """Return the 95 % interval of the throughput; none without a clock."""
    if "end_ps" not in queries:
        return intervals.NO_INTERVAL
    if facts.get("closed_loops"):
        return intervals.loops_interval(facts["closed_loops"], latency_us(queries) / US_PER_S)
    return intervals.rate_interval(throughput_qps(queries, facts), queries["end_ps"].to_numpy() / PS_PER_S)


def _no_interval(queries: pd.DataFrame, facts: Facts, seed: int) -> tuple[float, float]:
    return intervals.NO_INTERVAL


# ---------------------------------------------------------------- makers of rows


def mean(name, symbol, unit, label, better, formula, series) -> Metric:
    """The mean of a series over the queries."""

    def value(queries, facts):
        numbers = series(queries)
        return float(numbers.mean()) if len(numbers) else math.nan

    def interval(queries, facts, seed):
        numbers = series(queries)
        return intervals.mean_interval(numbers, _query_of(queries), seed) if len(numbers) else intervals.NO_INTERVAL

    return Metric(name, symbol, unit, label, better, formula, value, interval)


def ratio(name, symbol, label, better, formula, over, under, unit="1") -> Metric:
    """A sum over the queries divided by another."""

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


def latency_quantile(name, percent) -> Metric:
    """A percentile of the latency."""

    def value(queries, facts):
        return quantile(latency_us(queries), percent / 100)

    def interval(queries, facts, seed):
        numbers = latency_us(queries)
        if not len(numbers):
            return intervals.NO_INTERVAL
        return intervals.quantile_interval(numbers, _query_of(queries), percent / 100, seed)

    formula = f"the ⌈{percent} % · N⌉-th smallest T_i"
    return Metric(name, f"T_P{percent}", "µs", f"P{percent} latency", "lower", formula, value, interval)


def of_rate(name, symbol, unit, label, better, formula, series) -> Metric:
    """A product of throughput and a mean over queries."""

    def value(queries, facts):
        numbers = series(queries)
        return throughput_qps(queries, facts) * float(numbers.mean()) if len(numbers) else math.nan

    return Metric(name, symbol, unit, label, better, formula, value, _no_interval)


def of_facts(name, symbol, unit, label, better, formula, read) -> Metric:
    """A number that the run states, or that follows from what it states; none where ``read(facts)`` finds nothing."""

    def value(queries, facts):
        try:
            return float(read(facts))
        except (KeyError, IndexError, TypeError, ZeroDivisionError):
            return math.nan

    return Metric(name, symbol, unit, label, better, formula, value, _no_interval)


def _query_of(queries: pd.DataFrame) -> np.ndarray:
    return queries["query"].to_numpy() if "query" in queries else np.arange(len(queries))
