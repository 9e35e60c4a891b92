"""Every system that keeps something at the compute node is held to its memory budget."""

import re

import pytest
from small_experiment import SMALL

from riftsim.artifacts import ArtifactStore
from riftsim.assembly import run_point
from riftsim.config.sweep import load_experiment
from riftsim.errors import BudgetError, ConfigError

SYSTEMS = {
    "remote_vamana": {},
    "async_vamana": {},
    "riftann": {},
    "diskann": {},
    "pipeann": {},
    "cxl_ann": {},
    "distvs": {"cluster": {"threads": 38}},
    "d_hnsw": {"system": {"kind": "d_hnsw", "partitions": 8, "routed": 2}},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ArtifactStore(tmp_path_factory.mktemp("artifacts"))


def _run(store, kind, budget_gb):
    changes = {**SMALL, "system": {"kind": kind}, **SYSTEMS[kind]}
    changes["cluster"] = {**changes.get("cluster", {}), "memory_budget_gb": budget_gb}
    return run_point(load_experiment(changes).points[0].config, artifacts=store)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_system_over_its_budget_is_refused_with_what_takes_it(store, kind):
    taken = (
        "222.3 KiB beside 3.5 MiB" if kind == "d_hnsw" else r"\(\d+ bytes\) over .*\n  state of 8 queries in flight "
    )
    with pytest.raises((BudgetError, ConfigError), match=r"cluster\.memory_budget_gb") as found:
        _run(store, kind, 1e-6)
    assert re.search(taken, str(found.value))


def test_the_budget_may_be_used_to_the_last_byte(store):
    with pytest.raises(BudgetError) as found:
        _run(store, "riftann", 1e-6)
    needed_bytes = int(re.search(r"sum +([\d,]+) bytes", str(found.value))[1].replace(",", ""))
    assert _run(store, "riftann", 1e-9 * needed_bytes).facts["budget"]["total_bytes"] == needed_bytes
    with pytest.raises(BudgetError, match=r"\(1 bytes\) over"):
        _run(store, "riftann", 1e-9 * (needed_bytes - 1))
