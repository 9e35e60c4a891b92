"""Experiments with the drivers ``live`` and ``replay``, from configuration to results, on fake memory nodes."""

import dataclasses

import msgspec
import numpy as np
import pytest
from live_experiments import SYSTEMS, FakeVerbs, config_of, experiment, run

from riftsim.assembly import live
from riftsim.config.check import problems
from riftsim.config.machines import LiveDriver
from riftsim.config.schema import ExperimentConfig
from riftsim.errors import ConfigError, TransportError
from riftsim.systems.context import System


@pytest.fixture
def memory_nodes(monkeypatch):
    """Put fake memory nodes in the place of verbs."""

    def put(content, **settings):
        fake = FakeVerbs(content, **settings)
        monkeypatch.setattr(live, "VerbsPort", fake)
        return fake

    return put


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_live_run_finds_what_the_local_one_finds_and_is_replayed(tmp_path, memory_nodes, system):
    content = experiment(system, {"kind": "local"}, queries=40)
    local = run(content)
    fake = memory_nodes(content)
    log = str(tmp_path / "log.parquet")
    driver = {"kind": "live", "memnodes": fake.addresses[::-1], "record": log, "queue_pairs": 2, "event_loops": 2}
    found = run(experiment(system, driver, queries=40, cluster={"signalling": "last"}))
    if system == "riftann":
        assert abs(found.queries["recall"].mean() - local.queries["recall"].mean()) < 0.02
    else:
        assert np.array_equal(found.ids, local.ids)
        assert np.array_equal(found.queries["recall"], local.queries["recall"])
        assert np.array_equal(found.queries["bytes_read"], local.queries["bytes_read"])
    assert found.facts["driver"] == "live"
    assert found.facts["python"]["posting_ns_per_read"] > 0
    parts = ("queue", "evaluation", "posting", "polling", "wait", "gate", "drain")
    total_ps = sum(found.queries[f"{part}_ps"] for part in parts)
    assert np.array_equal(total_ps, found.queries["end_ps"] - found.queries["arrival_ps"])

    replayed = run(experiment(system, {"kind": "replay", "log": log}, queries=40))
    assert replayed.facts["driver"] == "replay"
    for query, ids in zip(found.queries["query"], found.ids, strict=True):
        again = replayed.ids[replayed.queries["query"] == query]
        assert (again == ids).all(axis=1).any()


def test_replicas_go_on_when_a_memory_node_is_lost(memory_nodes):
    content = experiment("remote_vamana", {"kind": "local"}, queries=40)
    fake = memory_nodes(content, replicas=2)
    fake.nodes["fake-1-0:1"].killed_after = 100
    driver = {"kind": "live", "memnodes": fake.addresses, "replicas": 2}
    found = run(experiment("remote_vamana", driver, queries=40))
    assert np.array_equal(found.ids, run(content).ids)
    assert found.queries["retried"].sum() > 0
    (failure,) = found.facts["failures"]
    assert "memory node 1 (fake-1-0:1)" in failure


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"index_hash": "0" * 64}, "index_hash: found 0000"),
        ({"record_bytes": 517}, "record_bytes: found 517, expected 196"),
        ({"dtype": "float32"}, "dtype: found float32, expected uint8"),
        ({"shard": 7}, "shard: found 7, expected 0"),
        ({"shards": 3}, "shards: found 3, expected 2"),
    ],
)
def test_another_index_or_layout_is_found_out_before_any_read(memory_nodes, changed, complaint):
    fake = memory_nodes(experiment("remote_vamana", {"kind": "local"}, queries=40))
    first = fake.addresses[0]
    described = fake.descriptors[first]
    fake.descriptors[first] = dataclasses.replace(described, content={**described.content, **changed})
    with pytest.raises(TransportError, match=f"memory node {first} serves another index or layout .*{complaint}"):
        run(experiment("remote_vamana", {"kind": "live", "memnodes": fake.addresses}, queries=40))
    assert not any(node.served for node in fake.nodes.values())


def test_every_part_needs_its_memory_nodes(memory_nodes):
    fake = memory_nodes(experiment("remote_vamana", {"kind": "local"}, queries=40))
    twice = [fake.addresses[0]] * 2
    with pytest.raises(TransportError, match=r"found 2 memory nodes with part 0 .* expected 1|found 0 .* part 1"):
        run(experiment("remote_vamana", {"kind": "live", "memnodes": twice}, queries=40))


@pytest.mark.parametrize(
    ("kind", "reason"), [("in_memory_vamana", "reads nothing"), ("one_hop_delay", "has no latency")]
)
def test_systems_that_cannot_run_live_are_refused_with_the_reason(kind, reason):
    one = {"memory_nodes": 1, "placement": {"kind": "contiguous"}}
    content = experiment("remote_vamana", {"kind": "live", "memnodes": ["a:1"]}, queries=40, cluster=one)
    with pytest.raises(ConfigError, match=rf"driver\.kind: found 'live', but system .* {reason}"):
        run({**content, "system": {"kind": kind}})


def test_a_system_with_parts_that_are_only_simulated_is_refused():
    system = System("far", lambda: None, cluster_changes={"budget": None, "make_node": None})
    with pytest.raises(ConfigError, match=r"system 'far' needs what only the simulation has \(make_node\)"):
        live.ready_for_live(system, LiveDriver(memnodes=["a:1"]))


@pytest.mark.parametrize(
    ("driver", "cluster", "path"),
    [
        ({"memnodes": ["a:1"]}, {}, ("driver", "memnodes")),
        ({"memnodes": ["a:1", "b:1"], "replicas": 2}, {}, ("driver", "memnodes")),
        ({"memnodes": ["a:1", "b:1"]}, {"compute_nodes": 2}, ("cluster", "compute_nodes")),
        ({"memnodes": ["a:1", "b:1"]}, {"record_cache": {"kind": "hops"}}, ("cluster", "record_cache", "kind")),
    ],
)
def test_contradictions_of_a_live_configuration(driver, cluster, path):
    content = experiment("remote_vamana", {"kind": "live", **driver}, cluster=cluster)
    config = msgspec.convert(content, ExperimentConfig)
    assert [where for where, _ in problems(config)] == [path]


@pytest.mark.parametrize("driver", [{"retry_cnt": 7}, {"timeout": 0}, {"memnodes": []}, {"posting": "fast"}])
def test_values_that_could_wait_for_ever_are_refused(driver):
    with pytest.raises(msgspec.ValidationError):
        config_of(experiment("remote_vamana", {"kind": "live", "memnodes": ["a:1", "b:1"], **driver}))
