"""The command compare-live, on a simulated run that says of itself that it was live."""

import csv
import json

import numpy as np
import pytest
import yaml

import riftsim
from riftsim.cli import main
from riftsim.experiments.live_comparison import ks_distance
from riftsim.results.recorder import CONFIG_FILE
from riftsim.results.store import load_runs

EXPERIMENT = {
    "name": "lived",
    "dataset": {"name": "sift-photos-10k", "n": 1000, "queries": 30},
    "index": {"kind": "vamana", "R": 16, "L": 32},
    "codes": {"kind": "pq", "bytes": 16},
    "search": {"k": 10, "L": 20},
    "load": {"kind": "closed", "concurrency": 1},
    "driver": {"kind": "sim"},
    "sweep": {"system": [{"kind": "remote_vamana"}, {"kind": "riftann"}]},
}


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lived")
    riftsim.run(EXPERIMENT, out=folder)
    for one in load_runs(folder):
        config = {**one.config, "driver": {"kind": "live", "memnodes": ["127.0.0.1:7471"]}}
        (one.path / CONFIG_FILE).write_text(yaml.safe_dump(config))
    return folder


def test_a_run_that_is_its_simulation_agrees_in_everything(lived, tmp_path, capsys):
    assert main(["compare-live", str(lived), "--out", str(tmp_path), "--json"]) == 0
    remote, riftann = json.loads(capsys.readouterr().out)
    assert (remote["system"], riftann["system"]) == ("remote_vamana", "riftann")
    for one in (remote, riftann):
        assert one["mean_error"] == one["ks"] == 0
        assert one["same_requests"] == 1
        assert one["live"] == one["simulated"]
        assert one["live"]["reads"] > 0
    assert remote["requests_must_agree"]
    assert not riftann["requests_must_agree"]
    assert json.loads((tmp_path / "comparison.json").read_text()) == [remote, riftann]
    assert (tmp_path / "live-against-simulated.png").exists()
    with (tmp_path / "comparison.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [(row["system"], row["concurrency"], row["queries"]) for row in rows] == [
        ("remote_vamana", "1", "30"),
        ("riftann", "1", "30"),
    ]
    mean_us = remote["simulated"]["latency_mean_us"]
    assert float(rows[0]["simulated_latency_mean_us"]) == pytest.approx(mean_us, rel=1e-5)


def test_another_profile_shows_as_difference(lived, tmp_path, capsys):
    words = ["compare-live", str(lived), "--hardware", "zero-wait", "--out", str(tmp_path), "--no-plots"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "Kolmogorov-Smirnov distance of the latencies: 1.000" in text
    assert "queries with the same reads and bytes: 100.0% (expected: all)" in text
    assert "-100.0%" in text  # of the exposed wait


def test_without_a_live_run_it_says_so(tmp_path, capsys):
    assert main(["compare-live", str(tmp_path)]) == 2
    assert "found no complete run with driver.kind 'live'" in capsys.readouterr().err


def test_kolmogorov_smirnov():
    assert ks_distance(np.arange(10), np.arange(10)) == 0
    assert ks_distance(np.array([1, 2]), np.array([3, 4])) == 1
    assert ks_distance(np.array([1, 2, 3, 4]), np.array([3, 4, 5, 6])) == 0.5
