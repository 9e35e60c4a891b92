"""What a run records of itself: parts that add up, states over time, fingerprints, zeros where nothing is read."""

import gc
from pathlib import Path

import numpy as np
import pytest
from small_experiment import SMALL

from riftsim.artifacts import ArtifactStore
from riftsim.assembly import run_point
from riftsim.config.sweep import load_experiment
from riftsim.results import metrics
from riftsim.results.metrics import evaluate


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ArtifactStore(tmp_path_factory.mktemp("artifacts"))


def run(store, **changes):
    import pandas as pd

    result = run_point(load_experiment({**SMALL, **changes}).points[0].config, artifacts=store)
    return result, pd.DataFrame(result.queries)


def test_parts_of_the_latency_add_up_and_the_gate_has_its_own(store):
    result, queries = run(store, system={"kind": "riftann", "gate": {"kind": "wait-all"}})
    found = evaluate(queries, result.facts)
    assert sum(found[f"{part}_us"] for part in metrics.LATENCY_PARTS) == pytest.approx(found["latency_mean_us"])
    assert found["idle_us"] == pytest.approx(0, abs=1e-6)
    assert found["gate_us"] > 0
    assert found["gate_closed"] > 0
    assert found["hidden_updates"] == found["hidden_updates_p95"] == found["backlog_late"] == 0
    assert found["exact_reads"] == pytest.approx((queries["reads_record"] + queries["reads_vector"]).mean())
    assert 0 < found["worker_utilisation"] <= 1


def test_a_burst_says_when_it_was_and_states_are_means_of_samples(store):
    load = {"kind": "burst", "rate_qps": 40000, "before_ms": 1, "burst_ms": 2, "after_ms": 1}
    result, queries = run(store, load=load, driver={"kind": "sim", "sample_us": 20})
    burst = result.facts["burst"]
    assert burst["end_ps"] - burst["start_ps"] == 2_000_000_000
    first, last = queries["arrival_ps"].min(), queries["arrival_ps"].max()
    assert first <= burst["start_ps"] < burst["end_ps"] <= last
    inside = queries["arrival_ps"].between(burst["start_ps"], burst["end_ps"]).sum()
    assert inside == pytest.approx(160, abs=40)
    assert len(queries) - inside == pytest.approx(80, abs=30)
    states = result.facts["states"]
    measured = (result.windows["time_ps"] >= first) & (result.windows["time_ps"] <= queries["end_ps"].max())
    for name in ("busy_workers", "window", "defer_ratio"):
        assert states[name] == pytest.approx(np.nanmean(result.windows[name][measured]))
    assert evaluate(queries, result.facts, ["window_mean"])["window_mean"] == states["window"]
    assert 1 <= states["window"] <= 8


def test_an_in_memory_run_reads_nothing(store):
    result, queries = run(store, system={"kind": "in_memory_vamana"})
    for column in ("reads_record", "reads_vector", "reads_adjacency", "bytes_read", "chains"):
        assert (queries[column] == 0).all()
    found = evaluate(queries, result.facts)
    assert (found["reads"], found["exact_reads"], found["gate_us"], found["drain_us"]) == (0, 0, 0, 0)


def test_the_graph_has_a_fingerprint_of_its_content(store):
    prints = [
        run(store, driver={"kind": "local"}, **changes)[0].facts["index"]["fingerprint"]
        for changes in ({}, {"search": {"L": 30}}, {"index": {"kind": "vamana", "R": 16, "L": 32, "seed": 1}})
    ]
    assert prints[0] == prints[1] != prints[2]
    assert len(prints[0]) == 64


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_the_states_of_queries_in_flight_are_counted(store, engine):
    result, _ = run(store, driver={"kind": "sim", "engine": engine})
    states, charged = result.facts["query_states"], result.facts["budget"]["items"]["state of 8 queries in flight"]
    assert 8 <= states["count"] <= 9  # one is made to look at
    assert 8 * states["largest_bytes"] >= charged
    assert states["largest_bytes"] <= states["total_bytes"] <= states["count"] * states["largest_bytes"]


@pytest.mark.parametrize(
    "changes",
    [
        {"system": {"kind": "riftann"}},
        {"system": {"kind": "distvs"}, "cluster": {"threads": 38}},
        {"system": {"kind": "pipeann"}},
    ],
    ids=lambda changes: changes["system"]["kind"],
)
def test_files_are_let_go_when_a_run_ends(store, changes):
    """Without waiting for a garbage collection: a process of many runs would keep graphs and vectors of all of them."""
    run(store, **changes)  # makes what it maps
    gc.collect()
    gc.disable()
    try:
        run(store, **changes)
        mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(store.root) in line]
    finally:
        gc.enable()
    assert mapped == []
