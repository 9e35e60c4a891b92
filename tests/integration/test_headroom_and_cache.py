"""Oracles, record caches and the delayed search as an experiment file asks for them."""

import numpy as np
import pytest

from riftsim.artifacts import ArtifactStore
from riftsim.assembly import run_point
from riftsim.config.sweep import load_experiment
from riftsim.errors import ConfigError
from riftsim.storage.record_cache import ENTRY_BYTES

N, CODE_BYTES, RECORD_BYTES = 2000, 16, 128 + 4 + 4 * 16
SMALL = {
    "name": "small",
    "dataset": {"name": "sift-photos-10k", "n": N, "queries": 30},
    "index": {"kind": "vamana", "R": 16, "L": 32},
    "codes": {"kind": "pq", "bytes": CODE_BYTES},
    "search": {"k": 10, "L": 12},
    "cluster": {"threads": 8},
    "load": {"kind": "closed", "concurrency": 8},
}
RECORDS = 100


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ArtifactStore(tmp_path_factory.mktemp("artifacts"))


def run(store, **changes):
    return run_point(load_experiment({**SMALL, **changes}).points[0].config, artifacts=store)


def cluster(kind: str, records: int = RECORDS) -> dict:
    size_bytes = N * CODE_BYTES + records * (RECORD_BYTES + ENTRY_BYTES)
    return {"threads": 8, "record_cache": {"kind": kind, "code_and_record_gb": size_bytes / 1e9}}


def test_a_record_cache_is_charged_and_saves_the_reads_of_the_nodes_near_the_start(store):
    system = {"kind": "async_vamana"}
    plain = run(store, system=system)
    assert plain.facts["engine"] == "compiled"
    for kind in ("visits", "hops"):
        cached = run(store, system=system, cluster=cluster(kind))
        assert cached.facts["engine"] == "simpy"
        assert cached.facts["system"]["record_cache"] == {"kind": kind, "records": RECORDS, "share": RECORDS / N}
        items = cached.facts["budget"]["items"]
        assert items["cached records"] == RECORDS * RECORD_BYTES
        assert items["table of cached records"] == RECORDS * ENTRY_BYTES
        order = [np.argsort(result.queries["query"], kind="stable") for result in (plain, cached)]
        assert np.array_equal(plain.ids[order[0]], cached.ids[order[1]])
        local, remote = cached.queries["reads_cached"], cached.queries["reads_record"]
        assert (local >= 1).all(), "every search expands the start node"
        assert np.array_equal((local + remote)[order[1]], plain.queries["reads_record"][order[0]])
        assert cached.queries["bytes_read"].sum() == remote.sum() * RECORD_BYTES


def test_the_oracles_in_a_configuration(store):
    local = {"kind": "local"}
    answers = {
        kind: run(store, driver=local, system={"kind": "remote_vamana", "beam_width": 1, "verification": kind})
        for kind in ("expansion-only", "verify-all")
    }
    gated = {"kind": "riftann", "window": 1, "gate": {"kind": "oracle"}, "balancing": {"kind": "fixed"}}
    oracle = run(store, driver=local, system={**gated, "verification": {"kind": "oracle"}})
    assert oracle.queries["recall_ties"].mean() >= answers["verify-all"].queries["recall"].mean()
    assert (oracle.queries["reads_record"] == answers["expansion-only"].queries["expansions"]).all()
    assert oracle.queries["hidden_updates"].sum() == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"system": {"kind": "in_memory_vamana"}, "cluster": cluster("hops")},
            r"cluster.record_cache.kind: found 'hops', but system 'in_memory_vamana'.* expected 'none'",
        ),
        (
            {"system": {"kind": "distvs"}, "driver": {"kind": "sim", "trace": {"first": 0}}},
            r"driver.trace: found one with system 'distvs', whose calls are not written down",
        ),
        (
            {"system": {"kind": "distvs"}, "cluster": cluster("hops")},
            r"cluster.record_cache.kind: found 'hops', but system 'distvs'.* expected 'none'",
        ),
        (
            {"system": {"kind": "riftann"}, "cluster": cluster("visits", -10)},
            r"cluster.record_cache.code_and_record_gb: found .*, but the compact codes alone take 3.2e-05",
        ),
        (
            {
                "system": {"kind": "async_vamana"},
                "cluster": cluster("hops"),
                "driver": {"kind": "sim", "engine": "compiled"},
            },
            r"driver.engine: found 'compiled', but the search CachedSearch is Python",
        ),
        ({"system": {"kind": "one_hop_delay"}}, r"driver.kind: found 'sim', but system 'one_hop_delay' has no latency"),
    ],
)
def test_what_cannot_be_run_is_refused(store, changes, message):
    with pytest.raises(ConfigError, match=message):
        run(store, **changes)
