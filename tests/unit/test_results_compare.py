"""Paired differences with known answers."""

import hashlib
import json

import numpy as np
import pytest

from riftsim.errors import ResultsError
from riftsim.results.compare import compare, compare_all
from riftsim.results.recorder import PointResult, write_run
from riftsim.results.store import RunSet, load_runs, open_run

QUERIES = 400


def record(root, gate, latency_us, recall=None, seed=0, split=0, size=10, query=None):
    config = {
        "name": "fake",
        "seed": seed,
        "dataset": {"split_seed": split},
        "search": {"k": 10, "L": size},
        "system": {"kind": "riftann", "gate": {"kind": gate}},
    }
    digest = hashlib.sha256(json.dumps(config).encode()).hexdigest()
    n = len(latency_us)
    columns = {
        "query": np.arange(n) if query is None else query,
        "arrival_ps": np.zeros(n, np.int64),
        "end_ps": np.round(np.asarray(latency_us) * 1e6).astype(np.int64),
        "recall": np.ones(n) if recall is None else recall,
    }
    shape = (n, 10)
    result = PointResult(columns, np.zeros(shape, np.int32), np.zeros(shape, np.float32), facts={"driver": "sim"})
    return open_run(write_run(root, "fake", f"{gate}-{size}-{seed}-{split}", config, digest, result, {}))


def test_a_constant_difference_is_resolved_whatever_the_spread(tmp_path):
    base = np.random.default_rng(0).lognormal(5, 1, QUERIES)
    found = compare(
        [record(tmp_path, "impact-aware", base - 1)], [record(tmp_path, "wait-all", base)], "latency_mean_us"
    )
    assert found.difference == pytest.approx(-1, abs=1e-5)
    assert (found.difference_low, found.difference_high) == pytest.approx((-1, -1), abs=1e-5)
    assert found.verdict == "lower"
    assert found.queries == QUERIES
    assert found.ratio == pytest.approx(1 - 1 / base.mean(), abs=1e-6)


def test_the_interval_is_that_of_the_paired_differences(tmp_path):
    rng = np.random.default_rng(1)
    base, change = rng.lognormal(5, 1, QUERIES), rng.normal(2, 10, QUERIES)
    found = compare(
        [record(tmp_path, "ungated", base + change)], [record(tmp_path, "wait-all", base)], "latency_mean_us"
    )
    half = 1.96 * change.std() / np.sqrt(QUERIES)
    assert found.difference == pytest.approx(change.mean(), abs=1e-4)
    assert (found.difference_high - found.difference_low) / 2 == pytest.approx(half, rel=0.1)


@pytest.mark.parametrize(
    ("shift", "claimed", "verdict"),
    [
        (10, None, "higher"),
        (-10, None, "lower"),
        (1, None, "unresolved"),
        (10, 1.0, "unresolved"),
        (1, 50.0, "equal"),
        (3, 50.0, "higher"),
    ],
)
def test_unresolved_where_the_interval_is_wider_than_the_difference(tmp_path, shift, claimed, verdict):
    # The interval is 2 * 1.96 * 20 / sqrt(400) = 3.9 wide.
    noise = np.random.default_rng(2).normal(0, 20, QUERIES)
    noise -= noise.mean()
    base = np.full(QUERIES, 500.0)
    runs = [record(tmp_path, "ungated", base + noise + shift)], [record(tmp_path, "wait-all", base)]
    assert compare(*runs, "latency_mean_us", claimed=claimed).verdict == verdict


def test_equal_runs_are_equal(tmp_path):
    recall = np.random.default_rng(3).binomial(10, 0.9, QUERIES) / 10
    runs = [[record(tmp_path, gate, np.ones(QUERIES), recall)] for gate in ("wait-all", "ungated")]
    found = compare(*runs, "recall")
    assert (found.difference, found.ratio, found.verdict) == (0.0, 1.0, "equal")


def test_seeds_that_disagree_widen_the_interval(tmp_path):
    base = np.full(QUERIES, 100.0)
    shifts = {0: 5.0, 1: -5.0, 2: 6.0, 3: -6.0, 4: 1.0}
    runs = [record(tmp_path, "ungated", base + shift, seed=seed) for seed, shift in shifts.items()]
    references = [record(tmp_path, "wait-all", base, seed=seed) for seed in reversed(shifts)]
    found = compare(runs, references, "latency_mean_us")
    assert found.seeds == 5
    assert found.difference == pytest.approx(0.2, abs=1e-6)
    # Means of 5 draws out of the 5 shifts: standard deviation std / sqrt(5) = 2.2.
    assert found.difference_high - found.difference_low == pytest.approx(2 * 1.96 * 2.2, rel=0.15)
    assert found.verdict == "unresolved"


def test_a_query_shared_by_seeds_is_drawn_for_all_of_them(tmp_path):
    change = np.random.default_rng(4).normal(0, 10, QUERIES)
    base = np.full(QUERIES, 100.0)

    def width(splits):
        runs, references = (
            [
                record(tmp_path / str(splits), gate, base + factor * change, seed=seed, split=split)
                for seed, split in enumerate(splits)
            ]
            for gate, factor in (("ungated", 1), ("wait-all", 0))
        )
        found = compare(runs, references, "latency_mean_us")
        return found.difference_high - found.difference_low

    one, shared, apart = width((0,)), width((0, 0, 0, 0)), width((0, 1, 2, 3))
    assert shared == pytest.approx(one, rel=0.1)
    # Four pairs drawn with replacement: 1 + 3/4 of independent variance, over 4.
    assert apart == pytest.approx(one * np.sqrt(1.75 / 4), rel=0.1)


def test_repeated_queries_count_with_their_mean(tmp_path):
    query = np.tile(np.arange(100), 3)
    run = record(tmp_path, "ungated", 10.0 + query, query=query)
    found = compare([run], [record(tmp_path, "wait-all", 9.0 + np.arange(100))], "latency_mean_us")
    assert found.difference == pytest.approx(1.0, abs=1e-6)
    assert found.queries == 100


def test_what_cannot_be_paired_is_refused(tmp_path):
    one = record(tmp_path, "ungated", np.ones(10))
    with pytest.raises(ResultsError, match=r"measured 10 queries, .* 9, 9 of them the same"):
        compare([one], [record(tmp_path, "wait-all", np.ones(9))], "recall")
    with pytest.raises(ResultsError, match="expected the same"):
        compare([one], [record(tmp_path, "wait-all", np.ones(10), seed=3)], "recall")
    with pytest.raises(ResultsError, match="several runs with the same seeds"):
        compare([one, record(tmp_path, "u-only", np.ones(10))], [one], "recall")
    with pytest.raises(ResultsError, match="has no reads"):
        compare([one], [one], "reads")
    with pytest.raises(ResultsError, match="expected one of latency_mean_us, recall"):
        compare([one], [one], "beauty")
    with pytest.raises(ResultsError, match="found no run with"):
        compare_all(RunSet([one]), {"system.gate": "rho-only"})


def test_each_size_is_compared_with_its_own_reference(tmp_path):
    for size in (10, 20):
        for seed in (0, 1):
            base = size + np.arange(50.0)
            record(tmp_path, "wait-all", base, seed=seed, size=size)
            record(tmp_path, "ungated", base / 2, seed=seed, size=size)
    table = compare_all(load_runs(tmp_path), {"system.gate": "wait-all"}, ["latency_mean_us"])
    assert len(table) == 4
    ratios = table.set_index(["search.L", "system.gate.kind"])["ratio"]
    assert ratios.to_dict() == pytest.approx(
        {(size, gate): ratio for size in (10, 20) for gate, ratio in (("wait-all", 1.0), ("ungated", 0.5))}
    )
    assert set(table["seeds"]) == {2}
