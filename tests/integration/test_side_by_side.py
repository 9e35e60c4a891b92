"""Rows of the table of systems: recorded numbers put together, and a budget that holds."""

import dataclasses
from types import SimpleNamespace

import pandas as pd
import pytest

from riftsim.errors import ResultsError
from riftsim.reproduction import side_by_side, studies
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.levels import SMOKE

SMALL = dataclasses.replace(SMOKE, queries=60, work_queries=60)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return Lab(SMALL, tmp_path_factory.mktemp("rows"))


def test_rows_stand_for_runs_at_equal_recall(lab):
    own = side_by_side.row(lab, "SIFT", "riftann", 0.9)
    other = side_by_side.row(lab, "SIFT", "cxl_ann", 0.9)
    assert own["recall"] >= 0.9 - 0.03, "the level matches on its first split"
    assert (own["in_flight"], other["in_flight"]) == (22, 32)
    assert own["splits"] == 2
    assert other["splits"] == 1
    assert own["saturated_qps"] >= 0.9 * own["qps"]
    assert "latency_over_riftann" not in own
    assert other["latency_over_riftann"] == pytest.approx(other["latency_mean_us"] / own["latency_mean_us"], rel=0.05)
    run = studies.system(lab, "SIFT", "riftann")[0]
    assert side_by_side.reads(run) == pytest.approx(run.metrics(["reads"])["reads"])
    assert side_by_side.kib(run) == pytest.approx(run.metrics(["kib_read"])["kib_read"])
    called = studies.system(lab, "SIFT", "distvs")[0]
    assert called.parameters["load.concurrency"] == 45
    assert side_by_side.reads(called) == called.queries["calls"].mean()
    assert 0 < side_by_side.cpu_share(called) < 1


def test_threads_that_route_count_as_those_that_search():
    """Two threads of four search or deserialise; routing takes 5 ps of a thread per query, a query each 25 ps."""
    batch = {"search_ps": 1500, "deserialize_ps": 500, "routing_ps": 20, "batch_ps": 1000}
    run = SimpleNamespace(
        parameters={"cluster.threads": 4},
        facts={"batches": [batch]},
        queries=pd.DataFrame({"evaluation_ps": [4, 6]}),
        metrics=lambda _: {"qps": 1e12 / 25},
    )
    assert side_by_side.cpu_share(run) == pytest.approx((2 + 0.2) / 4)


def test_a_system_beyond_the_scaled_budget_is_an_error(lab, monkeypatch):
    monkeypatch.setattr(side_by_side, "FIXED_GB", 0.0)
    with pytest.raises(ResultsError, match=r"bytes at the compute node, expected at most 480,000"):
        side_by_side.row(lab, "SIFT", "riftann", 0.9)
