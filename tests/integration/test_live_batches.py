"""d-HNSW under the driver ``live``: whole partitions are read from fake memory nodes, deserialised and searched."""

import numpy as np
import pytest
from live_experiments import D_HNSW, FakeVerbs, experiment, run

from riftsim.assembly import live
from riftsim.errors import ConfigError, TransportError

ADDRESSES = ["fake-0-0:1", "fake-1-0:1"]
ROOMY, TIGHT = 0.1, 0.0005
"""Memory budgets, GB: for all partitions of 149 KB, and for one of them beside two landing slots."""


def content(driver, budget_gb=ROOMY, system=D_HNSW, **cluster):
    cluster = {"memory_budget_gb": budget_gb, **cluster}
    return {**experiment("remote_vamana", driver, queries=30, cluster=cluster), "system": system}


@pytest.fixture
def memory_nodes(monkeypatch):
    """Put fake memory nodes in the place of verbs."""

    def put(**settings):
        fake = FakeVerbs(content({"kind": "local"}), **settings)
        monkeypatch.setattr(live, "VerbsPort", fake)
        return fake

    return put


@pytest.mark.parametrize("budget_gb", [ROOMY, TIGHT])
@pytest.mark.parametrize("signalling", ["every", "last"])
def test_a_live_run_finds_what_the_local_one_finds(memory_nodes, budget_gb, signalling):
    local = run(content({"kind": "local"}))
    memory_nodes(seed=3)
    driver = {"kind": "live", "memnodes": ADDRESSES, "queue_pairs": 2}
    found = run(content(driver, budget_gb, signalling=signalling))
    order = np.argsort(found.queries["query"])
    assert np.array_equal(found.ids[order], local.ids)
    assert np.array_equal(found.queries["evaluations"][order], local.queries["evaluations"])
    counters = found.facts["batches"][0]
    cached = found.facts["system"]["cached_partitions"]
    assert cached == (8 if budget_gb == ROOMY else 1)
    assert counters["partitions_read"] <= counters["partitions_wanted"]
    assert (counters["partitions_read"] == 8) == (budget_gb == ROOMY)
    assert counters["deserialize_ps"] > 0
    assert counters["search_ps"] > 0
    parts = ("queue", "evaluation", "posting", "polling", "wait", "gate", "drain")
    total_ps = sum(found.queries[f"{part}_ps"] for part in parts)
    assert np.array_equal(total_ps, found.queries["end_ps"] - found.queries["arrival_ps"])


def test_replicas_go_on_when_a_memory_node_is_lost(memory_nodes):
    fake = memory_nodes(replicas=2)
    fake.nodes["fake-1-0:1"].killed_after = 1
    driver = {"kind": "live", "memnodes": fake.addresses, "replicas": 2}
    found = run(content(driver, TIGHT))
    assert "RETRY_EXC_ERR" in found.facts["failures"][0]
    assert np.array_equal(found.ids[np.argsort(found.queries["query"])], run(content({"kind": "local"})).ids)


def test_a_memory_node_that_serves_records_is_refused(monkeypatch):
    monkeypatch.setattr(live, "VerbsPort", FakeVerbs(content({"kind": "local"}, system={"kind": "remote_vamana"})))
    with pytest.raises(TransportError, match="serves another index or layout"):
        run(content({"kind": "live", "memnodes": ADDRESSES}))


def test_failures_end_in_an_error_that_names_the_place(memory_nodes):
    driver = {"kind": "live", "memnodes": ADDRESSES, "deadline_s": 0.05}
    memory_nodes().nodes["fake-1-0:1"].killed = True
    with pytest.raises(TransportError, match=r"memory node 1 .*RETRY_EXC_ERR"):
        run(content(driver))
    memory_nodes().nodes["fake-0-0:1"].stalled = True
    with pytest.raises(TransportError, match=r"memory node 0 .*no completion within 0.05 s"):
        run(content(driver))
    memory_nodes().nodes["fake-0-0:1"].region[:64] = 0
    with pytest.raises(TransportError, match=r"memory node 0, bytes 0 to .*found no partition 0"):
        run(content(driver))


@pytest.mark.parametrize(("key", "value"), [("event_loops", 2), ("record", "log.parquet")])
def test_what_batches_have_not_is_refused(memory_nodes, key, value):
    memory_nodes()
    with pytest.raises(ConfigError, match=rf"driver\.{key}"):
        run(content({"kind": "live", "memnodes": ADDRESSES, key: value}))
