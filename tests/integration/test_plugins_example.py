"""The example package, built and installed as a user would, into a folder of its own and without a network."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from riftsim import plugins
from riftsim.config.sweep import load_experiment
from riftsim.errors import PluginError
from riftsim.experiments.runner import run_experiment
from riftsim.results.store import load_runs
from riftsim.testing import check_installed

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plugin_package"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--target", str(folder / "site"), str(folder / "source")], check=True, timeout=120)
    return folder / "site"


@pytest.fixture(autouse=True)
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(str(site))


def test_it_announces_its_plugins_and_passes_its_own_tests():
    check_installed("placement", "striped")
    check_installed("system", "sequential")
    tests = runpy.run_path(str(EXAMPLE / "tests" / "test_placement.py"))
    tests["test_the_placement_keeps_its_contract"](7)
    tests["test_the_placement_is_announced"]()


def test_its_policies_pass_their_tests():
    tests = runpy.run_path(str(EXAMPLE / "tests" / "test_policies.py"))
    tests["test_the_gate_expects_updates_that_it_has_not_seen"](0, 64, 67, False)
    tests["test_the_controller_halves_and_widens"](60, 100, 8, 4)
    tests["test_the_verification_cools_down"]()
    tests["test_they_are_announced"]()


def test_its_gate_and_controller_run(tmp_path):
    small = ["dataset.n=2000", "dataset.queries=40", "index={kind: vamana, R: 16, L: 32}", "codes.bytes=16"]
    report = run_experiment(load_experiment(EXAMPLE / "policies.yaml", small), out=tmp_path)
    assert [outcome.error for outcome in report.outcomes] == [None] * 4
    runs = load_runs(tmp_path)
    assert all(run.metrics(["recall"])["recall"] > 0.9 for run in runs)
    own = runs.where({"system.gate": "impact-aware"}).where({"system.balancing": "adaptive"}).runs[0]
    gated = runs.where({"system.gate": "plugin"}).where({"system.balancing": "adaptive"}).runs[0]
    # (inserted + 1) / (completed + 2) * U <= 1 with at most 64 completed admits no more than 66; U_max is 128.
    found = gated.metrics(["gate_closed", "backlog_late"])
    assert found["gate_closed"] > 0
    assert 0 < found["backlog_late"] <= 66
    assert found["backlog_late"] != own.metrics(["backlog_late"])["backlog_late"]
    halved = runs.where({"system.gate": "impact-aware"}).where({"system.balancing": "plugin"}).runs[0]
    assert halved.windows["window"].max() <= 16
    assert halved.windows["window"].min() < own.windows["window"].min(), "it halves where the other takes one off"


def test_its_verification_runs_on_simpy_only(tmp_path):
    small = {
        "dataset": {"name": "sift-photos-10k", "n": 2000, "queries": 40},
        "index": {"kind": "vamana", "R": 16, "L": 32},
        "codes": {"kind": "pq", "bytes": 16},
        "sweep": {},
        "search.L": 20,
    }
    reads = {}
    for name, rule in {
        "tight": {"kind": "calibrated", "alpha": 1.0},
        "cooling": {"kind": "plugin", "name": "cooling"},
        "wide": {"kind": "calibrated", "alpha": 1.4},
    }.items():
        report = run_experiment(
            load_experiment(EXAMPLE / "policies.yaml", {**small, "system.verification": rule}), out=tmp_path / name
        )
        assert [outcome.error for outcome in report.outcomes] == [None]
        (run,) = load_runs(tmp_path / name)
        reads[name] = run.metrics(["exact_reads"])["exact_reads"]
        assert run.facts["engine"] == ("simpy" if name == "cooling" else "compiled")
    assert reads["tight"] < reads["cooling"] < reads["wide"]
    compiled = {**small, "system.verification": {"kind": "plugin", "name": "cooling"}, "driver.engine": "compiled"}
    report = run_experiment(load_experiment(EXAMPLE / "policies.yaml", compiled), out=tmp_path / "compiled")
    assert "Cooling" in report.outcomes[0].error


def test_options_of_the_experiment_reach_it():
    place = plugins.make("placement", "striped", {"run": 2})
    assert place(np.arange(8), 3).tolist() == [0, 0, 1, 1, 2, 2, 0, 0]
    with pytest.raises(PluginError, match="run: found 0, expected at least 1"):
        plugins.make("placement", "striped", {"run": 0})


def test_its_experiment_runs(tmp_path):
    small = ["dataset.n=2000", "dataset.queries=20", "index={kind: vamana, R: 16, L: 32}"]
    report = run_experiment(load_experiment(EXAMPLE / "experiment.yaml", small), out=tmp_path)
    assert [outcome.error for outcome in report.outcomes] == [None] * 4
    table = load_runs(tmp_path).table(["recall", "reads", "latency_mean_us"])
    of_system = table.groupby(table["system.kind"])
    assert table["recall"].min() > 0.8
    assert (of_system["recall"].nunique() == 1).all(), "where a record lies changes no result"
    assert of_system["latency_mean_us"].mean()["plugin"] > of_system["latency_mean_us"].mean()["remote_vamana"]


def test_one_that_is_missing_fails_before_anything_runs(tmp_path):
    plan = load_experiment(EXAMPLE / "experiment.yaml", ["dataset.n=2000", "system={kind: plugin, name: sequentiel}"])
    report = run_experiment(plan, out=tmp_path)
    assert all("did you mean 'sequential'?" in outcome.error for outcome in report.outcomes)
