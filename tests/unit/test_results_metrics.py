"""Known answers of the metrics table, its page in the docs, and confidence intervals."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from riftsim.errors import ResultsError
from riftsim.results import intervals, metrics, metrics_page

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def closed_loop(concurrency=4, latency_ps=250_000_000, rounds=50) -> pd.DataFrame:
    """A loop in which every query takes equally long, so that every metric is known."""
    start = np.repeat(np.arange(rounds, dtype=np.int64) * latency_ps, concurrency)
    n = len(start)
    return pd.DataFrame(
        {
            "query": np.arange(n),
            "arrival_ps": start,
            "end_ps": start + latency_ps,
            "queue_ps": np.full(n, 10_000_000),
            "gate_ps": np.full(n, 30_000_000),
            "drain_ps": np.full(n, 10_000_000),
            "evaluation_ps": np.full(n, 60_000_000),
            "posting_ps": np.full(n, 20_000_000),
            "polling_ps": np.full(n, 20_000_000),
            "wait_ps": np.full(n, 100_000_000),
            "expansions": np.full(n, 40),
            "evaluations": np.tile([900, 1100], n // 2),
            "insertions": np.full(n, 250),
            "reads_record": np.full(n, 30),
            "reads_vector": np.full(n, 6),
            "reads_adjacency": np.full(n, 4),
            "requests_merged": np.full(n, 2),
            "requests_dropped": np.full(n, 3),
            "gate_closed": np.full(n, 5),
            "hidden_updates": np.tile([10, 30], n // 2),
            "chains": np.full(n, 10),
            "bytes_read": np.full(n, 20480),
            "co_packed": np.full(n, 80),
            "co_visited": np.tile([8, 16], n // 2),
            "recall": np.tile([0.9, 1.0], n // 2),
            "recall_ties": np.ones(n),
        }
    )


STATED = {
    "progress": {
        "expansions": [10] * 8 + [30, 60],
        "evaluated": [1000] * 10,
        "inserted": [500, 400, 100, 0, 0, 0, 0, 12, 2, 1],
        "backlog_mean": [2.0] * 7 + [10.0, 20.0, 40.0],
        "hidden_p95": 2.0,
    },
    "worker_busy_ps": [300, 500],
    "workers": 4,
    "memory_threads": [{"busy_ps": 1500, "threads": 2}, {"busy_ps": 900, "threads": 4}],
    "network": {"span_ps": 1000},
    "states": {"defer_ratio": 0.5, "window": 7.5, "allowance": 2.5, "busy_workers": 3.0},
}
"""What a run with samples states of itself."""


def test_stated_numbers():
    found = metrics.evaluate(closed_loop(), STATED)
    expected = {
        "hidden_updates_p95": 2.0,
        "update_ratio_early": 0.5,
        "update_ratio_late": 0.005,
        "backlog_early": 2.0,
        "backlog_late": (10 * 10 + 30 * 20 + 60 * 40) / 100,
        "worker_utilisation": 0.1,
        "memory_utilisation": 0.4,
        "defer_ratio_mean": 0.5,
        "window_mean": 7.5,
        "allowance_mean": 2.5,
        "busy_workers_mean": 3.0,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    nothing = {"progress": {}, "worker_busy_ps": [0], "workers": 0, "network": {"span_ps": 5}}
    bare = metrics.evaluate(closed_loop(), nothing)
    assert all(np.isnan(bare[name]) for name in expected)


def test_known_answers():
    found = metrics.evaluate(closed_loop(), {})
    expected = {
        "recall": 0.95,
        "recall_ties": 1.0,
        "latency_mean_us": 250.0,
        "latency_p99_9_us": 250.0,
        "qps": 16_000.0,
        "in_flight": 4.0,
        "expansions": 40,
        "evaluations": 1000,
        "update_ratio": 0.25,
        "reads": 40,
        "reads_per_chain": 4,
        "bytes_per_read": 512,
        "kib_read": 20,
        "wait_us": 100,
        "gate_us": 30,
        "drain_us": 10,
        "gate_share": 0.12,
        "exact_reads": 36,
        "gate_closed": 5,
        "hidden_updates": 0.5,
        "visit_hit_rate": 0.15,
        "wait_share": 0.4,
        "idle_us": 0,
        "bandwidth_gbps": 16_000 * 20480 * 8 / 1e9,
        "requests_per_s": 640_000,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert np.isnan(found["hops"])


def test_partitions_are_reads_of_a_system_that_reads_nothing_else():
    nothing = {f"reads_{kind}": 0 for kind in ("record", "vector", "adjacency")}
    found = metrics.evaluate(closed_loop().assign(**nothing, partitions_read=2), {}, ["reads", "bytes_per_read"])
    assert found == {"reads": 2, "bytes_per_read": 10240}
    assert np.isnan(metrics.evaluate(pd.DataFrame({"partitions_read": [1]}), {}, ["reads"])["reads"])


def test_stated_throughput_comes_before_the_span():
    found = metrics.evaluate(closed_loop(), {"qps": 12_000.0, "span_ps": 1})
    assert found["qps"] == 12_000
    assert found["in_flight"] == pytest.approx(3.0)
    assert metrics.evaluate(closed_loop(), {"qps": None, "span_ps": 10**12})["qps"] == 200


def test_closed_loops_are_counted_by_their_latencies():
    rows = closed_loop().iloc[:-3]
    found = metrics.evaluate(rows, {"closed_loops": 4, "qps": 17_000.0})
    assert (found["qps"], found["in_flight"]) == (pytest.approx(16_000), pytest.approx(4))
    assert metrics.confidence(rows, {"closed_loops": 4}, ["qps"])["qps"] == pytest.approx((16_000, 16_000))
    assert np.isnan(metrics.confidence(rows.iloc[:39], {"closed_loops": 4}, ["qps"])["qps"]).all()
    no_time = rows.assign(end_ps=rows["arrival_ps"])
    assert metrics.evaluate(no_time, {"closed_loops": 4}, ["qps"])["qps"] == np.inf


def test_without_a_clock_counts_remain():
    counts = closed_loop().drop(columns=[name for name in closed_loop() if name.endswith("_ps")])
    found = metrics.evaluate(counts, {"qps": None, **STATED})
    clocked = ("latency", "qps", "in_flight", "bandwidth", "requests_per_s", *metrics.LATENCY_PARTS, "idle", "work_")
    # These are counts although "evaluation" and "gate" are parts of the latency.
    counted = ("evaluations", "gate_closed")
    timed = {name for name in found if name.startswith(clocked) and name not in counted}
    assert {name for name, value in found.items() if np.isnan(value)} == timed | {"exact_evaluations", "hops"}
    assert all(np.isnan(value).all() for value in metrics.confidence(counts, {}, timed).values())


def test_a_metric_that_does_not_exist_is_named():
    for compute in (metrics.evaluate, metrics.confidence):
        with pytest.raises(ResultsError, match=r"metric: found 'recal' \(did you mean 'recall'\?\)"):
            compute(pd.DataFrame(), {}, ["recal"])


def test_no_rows_no_numbers():
    empty = closed_loop().iloc[:0]
    assert all(np.isnan(value) for value in metrics.evaluate(empty, {}).values())
    assert all(np.isnan(bounds).all() for bounds in metrics.confidence(empty, {}).values())


@pytest.mark.parametrize(
    ("count", "probability", "expected"),
    [(1, 0.5, 1), (4, 0.5, 2), (5, 0.5, 3), (20, 0.95, 19), (100, 0.99, 99), (101, 0.99, 100), (999, 0.999, 999)],
)
def test_percentiles_are_nearest_rank(count, probability, expected):
    values = np.random.default_rng(0).permutation(np.arange(1, count + 1))
    assert metrics.quantile(values, probability) == expected


def test_interval_of_a_mean_agrees_with_theory():
    values = np.random.default_rng(1).exponential(size=2000)
    low, high = intervals.mean_interval(values, np.arange(2000))
    half = 1.96 * values.std() / np.sqrt(2000)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), rel=0.02)


def test_interval_of_many_queries_meets_the_bootstrap(monkeypatch):
    rng = np.random.default_rng(2)
    over, under = rng.poisson(5, 4000), rng.poisson(20, 4000)
    drawn = intervals.ratio_interval(over, under, np.arange(4000))
    monkeypatch.setattr(intervals, "_MANY_QUERIES", 100)
    assert intervals.ratio_interval(over, under, np.arange(4000)) == pytest.approx(drawn, rel=0.005)


def test_interval_of_a_quantile_agrees_with_binomial_theory():
    values = np.random.default_rng(3).permutation(np.arange(1000.0))
    low, high = intervals.quantile_interval(values, np.arange(1000), 0.95)
    expected = stats.binom.ppf([0.025, 0.975], 1000, 0.95)
    assert (low, high) == pytest.approx(tuple(expected), abs=2)


def test_exact_and_drawn_quantile_bootstrap_agree():
    values = np.random.default_rng(4).permutation(np.arange(400.0))
    exact = intervals.quantile_interval(values, np.arange(400), 0.9)
    # One query measured twice takes the general path with nearly the same sample.
    drawn = intervals.quantile_interval(np.append(values, values[0]), np.append(np.arange(400), 0), 0.9)
    assert drawn == pytest.approx(exact, abs=2)


def test_repeated_queries_do_not_narrow_an_interval():
    values = np.random.default_rng(5).normal(size=300)
    once = intervals.mean_interval(values, np.arange(300))
    often = intervals.mean_interval(np.tile(values, 10), np.tile(np.arange(300), 10))
    assert often == pytest.approx(once, abs=0.01)
    wide = intervals.quantile_interval(np.tile(values, 10), np.tile(np.arange(300), 10), 0.5)
    assert wide == pytest.approx(intervals.quantile_interval(values, np.arange(300), 0.5), abs=0.05)


def test_batch_means_of_a_poisson_stream():
    ends = np.cumsum(np.random.default_rng(6).exponential(1e-4, size=8000))
    low, high = intervals.rate_interval(10_000, ends)
    # The count of 8000 events has standard deviation sqrt(8000), 1.1 %; the estimate of it from 20 batches varies.
    assert 0.5 * 2.09 * 112 < (high - low) / 2 < 1.7 * 2.09 * 112
    assert low < 10_000 < high
    assert np.isnan(intervals.rate_interval(1.0, ends[:39])).all()


@pytest.mark.parametrize("runs", [2, 5, 31, 400])
def test_interval_over_runs_is_students(runs):
    values = np.random.default_rng(runs).normal(size=runs)
    expected = stats.t.interval(0.95, runs - 1, loc=values.mean(), scale=stats.sem(values))
    assert intervals.runs_interval(values) == pytest.approx(expected, rel=0.01, abs=1e-3)
    assert np.isnan(intervals.runs_interval(values[:1])).all()


def test_intervals_are_repeatable_and_hold_the_value():
    frame = closed_loop()
    frame["end_ps"] += np.random.default_rng(7).integers(0, 50_000_000, len(frame))
    first = metrics.confidence(frame, {}, seed=3)
    np.testing.assert_equal(metrics.confidence(frame, {}, seed=3), first)
    for name, value in metrics.evaluate(frame, {}).items():
        low, high = first[name]
        assert np.isnan(low) or low <= value + 1e-9 <= high + 2e-9, name


def test_page_agrees_with_the_table():
    page = PAGE.read_text(encoding="utf-8")
    assert page == metrics_page.renewed(page), "run: python -m riftsim.results.metrics_page docs/metrics.md"


def test_every_metric_is_fully_described():
    for name, metric in metrics.METRICS.items():
        assert metric.name == name
        assert metric.symbol
        assert metric.unit
        assert metric.formula
        assert metric.better in ("higher", "lower", "-")
        row = next(line for line in metrics_page.table().splitlines() if line.startswith(f"| `{name}` |"))
        assert metric.symbol.replace("|", "\\|") in row


def test_page_without_marks():
    with pytest.raises(ValueError, match="lacks the marks"):
        metrics_page.renewed("# Metrics\n")
