"""The one table of metrics: name, symbol, unit, direction, formula, and the function that computes it from a run.

Tables, figures, the command line and ``docs/metrics.md`` all read this table, so that a number means one thing. A
metric whose columns or facts a run lacks (latency without a clock, say) is not a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from riftsim.errors import ResultsError, did_you_mean
from riftsim.results.metric_rows import (
    Facts,
    Metric,
    columns,
    latency_quantile,
    latency_us,
    mean,
    of_facts,
    of_rate,
    quantile,
    ratio,
    throughput_interval,
    throughput_qps,
)
from riftsim.units import KIB, PS_PER_US

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LATENCY_PARTS", "METRICS", "Metric", "confidence", "evaluate", "latency_us", "quantile", "throughput_qps"]

LATENCY_PARTS = ("wait", "gate", "drain", "evaluation", "posting", "polling", "queue")
"""What the latency of a query is made of; with ``idle``, the time its main thread gave to other queries, all of it."""


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

    Raises
    ------
    ResultsError
        There is no such metric; names the nearest.
    """
    return {name: _metric(name).value(queries, facts) for name in names or METRICS}


def confidence(
    queries: pd.DataFrame, facts: Facts, names: Iterable[str] | None = None, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """Compute the 95 % confidence intervals of metrics of one run; parameters as in :func:`evaluate`."""
    return {name: _metric(name).interval(queries, facts, seed) for name in names or METRICS}


def _metric(name: str) -> Metric:
    if name not in METRICS:
        raise ResultsError(f"metric: found '{name}'{did_you_mean(name, METRICS)}, expected one of docs/metrics.md")
    return METRICS[name]


def _rest_us(queries: pd.DataFrame) -> np.ndarray:
    parts = columns(*(f"{part}_ps" for part in LATENCY_PARTS), per=PS_PER_US)(queries)
    return latency_us(queries) - parts if len(parts) else parts


_READS_OF_RECORDS = columns("reads_record", "reads_vector", "reads_adjacency")


def _reads(queries: pd.DataFrame) -> np.ndarray:
    """All reads of each query; a system that reads whole partitions has no others."""
    found = _READS_OF_RECORDS(queries)
    return found + queries["partitions_read"].to_numpy() if len(found) and "partitions_read" in queries else found


_BYTES = columns("bytes_read")
_WAIT_US = columns("wait_ps", per=PS_PER_US)


def _other_than_wait_us(queries: pd.DataFrame) -> np.ndarray:
    wait = _WAIT_US(queries)
    return latency_us(queries) - wait if len(wait) else wait


_PART_TEXT = {
    "wait": (
        "W",
        "Exposed RDMA wait",
        "time in which the main thread had nothing to do for the query but wait for reads",
    ),
    "gate": (
        "A",
        "Gate closed",
        "time in which the main thread waited for evaluations because the gate admitted no expansion",
    ),
    "drain": ("D", "Drain", "time in which only unfinished evaluations were left to wait for"),
    "evaluation": ("E", "Evaluation", "main-thread time for tables, distances, list insertion and parsing"),
    "posting": ("P", "Posting", "main-thread time for posting work requests"),
    "polling": ("C", "Polling", "main-thread time for polling and handling completions"),
    "queue": ("Q", "Queueing", "s_i − a_i, time from arrival to the start of the search"),
}


def _latency_part(part: str) -> list[Metric]:
    letter, label, text = _PART_TEXT[part]
    series = columns(f"{part}_ps", per=PS_PER_US)
    formula = f"(1/N) · Σ {letter}_i; {letter}_i = {text}"
    return [
        mean(f"{part}_us", letter, "µs", label, "lower", formula, series),
        ratio(f"{part}_share", f"{letter}/T", f"{label} share", "-", f"Σ {letter}_i / Σ T_i", series, latency_us),
    ]


_STAGES = (("early", "first tenth", slice(0, 1)), ("late", "last three tenths", slice(7, 10)))
"""Parts of a search that the paper reports (section 4.6), as slices of the tenths in ``facts["progress"]``."""

_STATES = (
    ("defer_ratio", "r", "Mean defer ratio"),
    ("window", "W_R", "Mean window"),
    ("allowance", "T_q", "Mean worker allowance"),
    ("busy_workers", "w", "Mean busy workers"),
)


def _update_ratio(tenths: slice) -> Callable[[Facts], float]:
    return lambda facts: sum(facts["progress"]["inserted"][tenths]) / sum(facts["progress"]["evaluated"][tenths])


def _backlog(tenths: slice) -> Callable[[Facts], float]:
    def read(facts: Facts) -> float:
        progress = facts["progress"]
        weights = progress["expansions"][tenths]
        return float(np.dot(progress["backlog_mean"][tenths], weights)) / sum(weights)

    return read


def _worker_utilisation(facts: Facts) -> float:
    busy_ps = facts["worker_busy_ps"]
    return sum(busy_ps) / (facts["network"]["span_ps"] * facts["workers"] * len(busy_ps))


def _memory_utilisation(facts: Facts) -> float:
    busy_ps, threads = (sum(each[key] for each in facts["memory_threads"]) for key in ("busy_ps", "threads"))
    return busy_ps / (facts["network"]["span_ps"] * threads)


def _state(name: str) -> Callable[[Facts], float]:
    return lambda facts: facts["states"][name]


_RECALL = "(1/N) · Σ |A_i ∩ G_i| / k; G_i = the first k ids of the ground truth"
_RECALL_TIES = "(1/N) · Σ min(k, |{v ∈ A_i : d(q_i, v) ≤ d(q_i, k-th true neighbour)}|) / k"

_TABLE = [
    mean("recall", "Recall@k", "1", "Recall@{k}", "higher", _RECALL, columns("recall")),
    mean("recall_ties", "Recall_t@k", "1", "Recall@{k} with ties", "higher", _RECALL_TIES, columns("recall_ties")),
    mean("latency_mean_us", "T", "µs", "Mean latency", "lower", "(1/N) · Σ T_i; T_i = e_i − a_i", latency_us),
    latency_quantile("latency_p50_us", 50),
    latency_quantile("latency_p95_us", 95),
    latency_quantile("latency_p99_us", 99),
    latency_quantile("latency_p99_9_us", 99.9),
    Metric(
        "qps",
        "X",
        "1/s",
        "Throughput",
        "higher",
        "C / T of C closed loops, whose queries follow one another; else N / (max e_i − min a_i)",
        throughput_qps,
        throughput_interval,
    ),
    of_rate("in_flight", "F", "1", "Queries in flight", "-", "X · T (Little's law)", lambda q: latency_us(q) / 1e6),
    mean("expansions", "n_x", "1", "Expansions", "lower", "(1/N) · Σ expanded nodes", columns("expansions")),
    mean(
        "evaluations",
        "n_d",
        "1",
        "Evaluations",
        "lower",
        "(1/N) · Σ compact distances computed",
        columns("evaluations"),
    ),
    mean(
        "exact_evaluations",
        "n_e",
        "1",
        "Exact evaluations",
        "lower",
        "(1/N) · Σ exact distances computed",
        columns("exact_evaluations"),
    ),
    mean(
        "insertions",
        "n_i",
        "1",
        "Insertions",
        "-",
        "(1/N) · Σ insertions into the candidate list",
        columns("insertions"),
    ),
    ratio(
        "update_ratio",
        "ρ̄",
        "Update ratio",
        "-",
        "Σ insertions / Σ compact distances computed",
        columns("insertions"),
        columns("evaluations"),
    ),
    mean("hops", "h", "1", "Hops", "lower", "(1/N) · Σ rounds of expansion", columns("hops")),
    mean("reads", "n_r", "1", "Reads", "lower", "n_rec + n_vec + n_adj, of d-HNSW partitions", _reads),
    mean("reads_record", "n_rec", "1", "Record reads", "lower", "(1/N) · Σ full-record reads", columns("reads_record")),
    mean("reads_vector", "n_vec", "1", "Vector reads", "lower", "(1/N) · Σ vector reads", columns("reads_vector")),
    mean(
        "reads_adjacency",
        "n_adj",
        "1",
        "Adjacency reads",
        "lower",
        "(1/N) · Σ adjacency-list reads",
        columns("reads_adjacency"),
    ),
    mean("chains", "n_c", "1", "Chains", "lower", "(1/N) · Σ posted chains (doorbells)", columns("chains")),
    mean(
        "exact_reads",
        "n_v",
        "1",
        "Exact-vector reads",
        "lower",
        "n_rec + n_vec",
        columns("reads_record", "reads_vector"),
    ),
    ratio("reads_per_chain", "n_r/n_c", "Reads per chain", "-", "Σ reads / Σ chains", _reads, columns("chains")),
    mean("bytes_read", "B", "bytes", "Bytes read", "lower", "(1/N) · Σ payload bytes read", _BYTES),
    mean("kib_read", "B/1024", "KiB", "KiB read", "lower", "B / 1024", columns("bytes_read", per=KIB)),
    ratio("bytes_per_read", "B/n_r", "Bytes per read", "-", "Σ payload bytes / Σ reads", _BYTES, _reads, "bytes"),
    mean(
        "requests_merged",
        "n_m",
        "1",
        "Requests merged",
        "-",
        "(1/N) · Σ expansions whose node was also due for verification: one read instead of two",
        columns("requests_merged"),
    ),
    mean(
        "requests_dropped",
        "n_o",
        "1",
        "Requests dropped",
        "-",
        "(1/N) · Σ verifications once due that revalidation found needless",
        columns("requests_dropped"),
    ),
    mean(
        "gate_closed",
        "n_g",
        "1",
        "Closed decisions",
        "-",
        "(1/N) · Σ decisions with a candidate and a free slot at which the gate was closed",
        columns("gate_closed"),
    ),
    ratio(
        "hidden_updates",
        "U_h",
        "Hidden updates",
        "lower",
        "Σ updates hidden from an admitted expansion / Σ expansions; hidden = unfinished then, inserted later",
        columns("hidden_updates"),
        columns("expansions"),
    ),
    of_facts(
        "hidden_updates_p95",
        "U_h,P95",
        "1",
        "P95 hidden updates",
        "lower",
        "95 % quantile of the hidden updates over all expansions",
        lambda facts: facts["progress"]["hidden_p95"],
    ),
    *(
        of_facts(
            f"update_ratio_{stage}",
            f"ρ̄_{stage}",
            "1",
            f"Update ratio, {words}",
            "-",
            f"Σ insertions / Σ evaluations, from the {words} of each search's expansions",
            _update_ratio(tenths),
        )
        for stage, words, tenths in _STAGES
    ),
    *(
        of_facts(
            f"backlog_{stage}",
            f"Ū_{stage}",
            "1",
            f"Backlog at admission, {words}",
            "-",
            f"mean of U (unfinished evaluations) at the admissions of the {words} of each search's expansions",
            _backlog(tenths),
        )
        for stage, words, tenths in _STAGES
    ),
    of_facts(
        "worker_utilisation",
        "η",
        "1",
        "Worker utilisation",
        "-",
        "busy time of the evaluation workers / (simulated time · workers · compute nodes)",
        _worker_utilisation,
    ),
    *(
        of_facts(
            f"{name}_mean", symbol, "1", label, "-", f"mean of {symbol} over samples and active queries", _state(name)
        )
        for name, symbol, label in _STATES
    ),
    *[metric for part in LATENCY_PARTS for metric in _latency_part(part)],
    mean(
        "idle_us",
        "I",
        "µs",
        "Idle",
        "lower",
        "T − (W + A + D + E + P + C + Q): the main thread served other queries",
        _rest_us,
    ),
    ratio("idle_share", "I/T", "Idle share", "-", "Σ I_i / Σ T_i", _rest_us, latency_us),
    ratio("wait_per_read_us", "W/n_r", "Exposed wait per read", "lower", "Σ W_i / Σ reads", _WAIT_US, _reads, "µs"),
    ratio(
        "wait_per_chain_us",
        "W/n_c",
        "Exposed wait per chain",
        "lower",
        "Σ W_i / Σ chains; with one read in flight per query, the latency of a read",
        _WAIT_US,
        columns("chains"),
        "µs",
    ),
    ratio(
        "work_over_wait",
        "(T−W)/W",
        "Work over exposed wait",
        "-",
        "Σ (T_i − W_i) / Σ W_i",
        _other_than_wait_us,
        _WAIT_US,
    ),
    mean(
        "evaluation_whole_us",
        "E+A+D",
        "µs",
        "Evaluation and waits for it",
        "lower",
        "E + A + D",
        columns("evaluation_ps", "gate_ps", "drain_ps", per=PS_PER_US),
    ),
    ratio(
        "visit_hit_rate",
        "h_v",
        "Visit hit rate",
        "higher",
        "Σ nodes packed with a visited one and visited too / Σ nodes packed with a visited one",
        columns("co_visited"),
        columns("co_packed"),
    ),
    of_facts(
        "memory_utilisation",
        "η_m",
        "1",
        "Memory threads busy",
        "-",
        "busy time of the memory nodes' threads / (simulated time · threads)",
        _memory_utilisation,
    ),
    of_rate("bandwidth_gbps", "β", "Gb/s", "Bandwidth", "-", "8 · X · B / 10⁹", lambda q: 8e-9 * _BYTES(q)),
    of_rate("requests_per_s", "λ", "1/s", "Requests per second", "-", "X · n_r", _reads),
]

METRICS: dict[str, Metric] = {metric.name: metric for metric in _TABLE}
