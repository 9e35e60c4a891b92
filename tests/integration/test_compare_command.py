"""Two runs compared query by query, runs that cannot be compared, and reruns with a free resource."""

import json

import pytest

from riftsim.cli import main
from riftsim.config.sweep import load_experiment
from riftsim.experiments.api import run
from riftsim.experiments.what_if import run_with_free
from riftsim.results.critical_path import ADMISSION, COMPUTE, GATE, NIC, QUEUE_PAIR, WORKER_QUEUE

SET = {
    "dataset.queries": 12,
    "sweep": {"search.L": [20, 24]},
    "system": {"kind": "riftann"},
    "load": {"kind": "closed", "concurrency": 4},
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return run("quickstart", set=SET, out=tmp_path_factory.mktemp("results")).runs


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_two_runs_are_compared(recorded, capsys):
    paths = [str(one.path) for one in recorded]
    assert main(["compare", *paths, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["configuration"] == [{"key": "search.L", "run": 20, "reference": 24}]
    latency = next(one for one in found["measures"] if one["measure"] == "latency_mean_us")
    mean_us = [((one.queries["end_ps"] - one.queries["arrival_ps"]) / 1e6).mean() for one in recorded]
    assert latency["difference"] == pytest.approx(mean_us[0] - mean_us[1])
    assert latency["queries"] == 12
    parting = found["parting"]
    assert parting["read_position"] > 0
    assert main(["compare", *paths, "--query", "2"]) == 0
    out = capsys.readouterr().out
    assert "search.L   20   24" in out
    assert "query 2 (row 2 of A, 2 of B)" in out
    assert "12 queries, paired" in out


def test_a_run_agrees_with_itself(recorded, capsys):
    assert main(["compare", str(recorded[0].path), str(recorded[0].path)]) == 0
    assert "the runs agree in all of its" in capsys.readouterr().out


def test_what_cannot_be_compared_is_named(recorded, capsys, tmp_path):
    settings = {**SET, "sweep": {}, "search.L": 20, "dataset.queries": 10, "search.k": 5}
    other = run("quickstart", set=settings, out=tmp_path / "others").runs[0]
    assert main(["compare", str(recorded[0].path), str(other.path)]) == 2
    error = capsys.readouterr().err
    assert "cannot be compared" in error
    assert "search.k 10 against 5" in error
    assert "12 evaluated queries against 10, 10 of them the same" in error
    assert main(["compare", str(recorded[0].path), str(tmp_path)]) == 2
    assert "found no complete run" in capsys.readouterr().err


@pytest.fixture(scope="module")
def config():
    return load_experiment("quickstart", {**SET, "sweep": {}, "search.L": 20}).points[0].config


def mean_us(queries) -> float:
    return float((queries["end_ps"] - queries["arrival_ps"]).mean() / 1e6)


def test_a_free_resource_takes_no_time(config, recorded):
    measured_us = mean_us(recorded[0].queries)
    for resource in (COMPUTE, NIC):
        assert mean_us(run_with_free(config, resource).queries) < measured_us
    assert run_with_free(config, COMPUTE).queries["evaluation_ps"].sum() < recorded[0].queries["evaluation_ps"].sum()


@pytest.mark.parametrize("resource", [ADMISSION, QUEUE_PAIR, GATE])
def test_what_no_query_waited_for_can_be_freed(config, resource):
    found = run_with_free(config, resource).queries
    assert len(found["query"]) == 12
    if resource == GATE:
        assert found["gate_ps"].sum() == 0


def test_reruns_stand_beside_the_estimates(recorded, capsys):
    assert main(["critical-path", str(recorded[0].path), "--queries", "4", "--rerun", "--json"]) == 0
    rows = {row["resource"]: row for row in json.loads(capsys.readouterr().out)}
    assert WORKER_QUEUE in rows or len(rows) > 5
    for row in rows.values():
        assert row["rerun_us"] > 0
        assert 0 <= row["rerun_recall"] <= 1
