"""Laws that metrics keep on any data, and a round trip of any columns through a recorded run."""

import heapq
import math
import tempfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from riftsim.results import intervals, metrics, store
from riftsim.results.recorder import PointResult, write_run
from riftsim.rng import stream

times_ps = st.lists(st.integers(1, 10**10), min_size=1, max_size=60)


def closed_loop(service_ps, concurrency) -> pd.DataFrame:
    """Replace each query by the next as soon as it ends."""
    free = [0] * concurrency
    starts = []
    for time in service_ps:
        starts.append(free[0])
        heapq.heapreplace(free, free[0] + time)
    starts = np.array(starts, dtype=np.int64)
    return pd.DataFrame({"query": range(len(starts)), "arrival_ps": starts, "end_ps": starts + np.array(service_ps)})


@given(times_ps, st.integers(1, 8))
def test_littles_law(service_ps, concurrency):
    queries = closed_loop(service_ps, concurrency)
    found = metrics.evaluate(queries, {}, ["in_flight", "qps", "latency_mean_us"])
    # Time-averaged number in flight, by the area under it.
    span = queries["end_ps"].max() - queries["arrival_ps"].min()
    assert found["in_flight"] == pytest.approx(sum(service_ps) / span)
    assert found["in_flight"] == pytest.approx(found["qps"] * found["latency_mean_us"] * 1e-6)
    assert found["in_flight"] <= concurrency * (1 + 1e-9)


def test_the_rate_of_closed_loops_is_unbiased_and_its_interval_covers_it():
    """Loops that start in step, whatever the last round: renewal theory gives C / E[T]; counts are 10 % too high."""
    loops, measured, times = 16, 150, 200
    draws = stream(1, "closed loops").uniform(900_000, 1_100_000, (times, loops + measured)).astype(np.int64)
    expected, rates, counted, covered = loops * 1e6, [], [], 0
    for service_ps in draws:
        rows = closed_loop(service_ps, loops).iloc[loops:].sort_values("arrival_ps", kind="stable")
        found = metrics.evaluate(rows, {"closed_loops": loops, "qps": 1.0}, ["qps", "in_flight"])
        assert found["in_flight"] == pytest.approx(loops)
        low, high = metrics.confidence(rows, {"closed_loops": loops}, ["qps"])["qps"]
        covered += low <= expected <= high
        rates.append(found["qps"])
        window_ps = rows["arrival_ps"].iloc[-1] - rows["arrival_ps"].iloc[0]
        counted.append((measured - 1) / window_ps * 1e12)
    standard_error = np.std(rates) / np.sqrt(times)
    assert abs(np.mean(rates) - expected) < 4 * standard_error + 1e-4 * expected
    assert np.mean(counted) > 1.01 * expected
    assert 0.88 < covered / times <= 1.0


@given(
    arrays(np.float64, st.integers(1, 300), elements=st.integers(0, 50).map(float)),
    st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]),
)
def test_quantile_is_the_smallest_value_that_covers_the_share(values, probability):
    found = metrics.quantile(values, probability)
    assert found in values
    assert np.mean(values <= found) >= probability - 1e-9
    assert np.mean(values < found) < probability
    assert found == np.quantile(values, probability, method="inverted_cdf")


@given(st.lists(st.tuples(*[st.integers(0, 10**9)] * 8), min_size=1, max_size=40))
def test_shares_add_up(parts):
    columns = dict(zip([f"{name}_ps" for name in (*metrics.LATENCY_PARTS, "other")], np.array(parts).T, strict=True))
    arrival = np.arange(len(parts), dtype=np.int64)
    queries = pd.DataFrame({**columns, "arrival_ps": arrival, "end_ps": arrival + 1 + np.array(parts).sum(axis=1)})
    found = metrics.evaluate(queries, {})
    shares = [found[f"{name}_share"] for name in (*metrics.LATENCY_PARTS, "idle")]
    assert sum(shares) == pytest.approx(1.0)
    times = [found[f"{name}_us"] for name in (*metrics.LATENCY_PARTS, "idle")]
    assert sum(times) == pytest.approx(found["latency_mean_us"])
    ordered = [found[f"latency_{name}_us"] for name in ("p50", "p95", "p99", "p99_9")]
    assert ordered == sorted(ordered)


@given(arrays(np.float64, st.integers(2, 200), elements=st.floats(-1e6, 1e6)), st.integers(0, 3))
@settings(max_examples=30)
def test_intervals_stay_within_the_data(values, seed):
    distinct = np.arange(len(values))
    for low, high in (
        intervals.mean_interval(values, distinct, seed),
        intervals.quantile_interval(values, distinct, 0.9, seed),
        intervals.quantile_interval(np.tile(values, 2), np.tile(distinct, 2), 0.9, seed),
    ):
        slack = 1e-9 * np.abs(values).max()
        assert values.min() - slack <= low <= high <= values.max() + slack
    assert all(math.isnan(bound) for bound in intervals.mean_interval(values, np.zeros(len(values))))


@given(
    st.integers(0, 20).flatmap(
        lambda n: st.tuples(
            arrays(np.int64, n, elements=st.integers(-(2**63), 2**63 - 1)),
            arrays(np.float64, n, elements=st.floats(allow_nan=False)),
            arrays(np.int32, (n, 3), elements=st.integers(-1, 2**31 - 1)),
            arrays(np.float32, (n, 3), elements=st.floats(width=32, allow_nan=False)),
        )
    )
)
@settings(max_examples=15, deadline=None)
def test_columns_come_back_as_they_were(columns):
    integers, floats, ids, distances = columns
    result = PointResult({"expansions": integers, "recall": floats}, ids, distances)
    with tempfile.TemporaryDirectory() as folder:
        run = store.open_run(write_run(folder, "any", "point", {"name": "any"}, "ab" * 32, result, {}))
        np.testing.assert_array_equal(run.queries["expansions"], integers)
        np.testing.assert_array_equal(run.queries["recall"], floats)
        np.testing.assert_array_equal(run.ids, ids)
        np.testing.assert_array_equal(run.distances, distances)
        assert (run.ids.dtype, run.distances.dtype) == (np.int32, np.float32)
