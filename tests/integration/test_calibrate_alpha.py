"""calibrate-alpha from end to end on 2,000 bundled vectors."""

import json

import numpy as np
import pytest

from riftsim.artifacts import ArtifactStore
from riftsim.assembly import calibration_ratios
from riftsim.assembly.point import run_point
from riftsim.cli import main
from riftsim.config.sweep import load_experiment
from riftsim.errors import ConfigError
from riftsim.experiments.alpha import calibrate

FILE = {
    "name": "small",
    "dataset": {"name": "sift-photos-10k", "n": 2000, "queries": 60},
    "index": {"kind": "vamana", "R": 16, "L": 32},
    "codes": {"kind": "pq", "bytes": 16},
    "search": {"k": 10, "L": 12},
    "system": {"kind": "riftann", "verification": {"kind": "calibrated", "delta": 0.01}},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ArtifactStore(tmp_path_factory.mktemp("artifacts"))


@pytest.fixture(scope="module")
def config():
    return load_experiment(FILE).points[0].config


@pytest.fixture(scope="module")
def found(config, store):
    return calibrate(config, alphas=(1.0, 1.1, 1.3), artifacts=store)


def test_alpha_is_the_quantile_and_covers_what_it_promises(config, store, found):
    chosen, judged = calibration_ratios(config, 64, artifacts=store)
    ordered = np.sort(chosen.ratios)
    assert found.alpha == max(1.0, ordered[int(np.ceil(0.99 * len(ordered))) - 1])
    assert found.coverage >= 0.99
    assert found.alpha_low <= found.alpha <= found.alpha_high
    assert found.held_out_coverage == np.mean(judged.ratios <= found.alpha)
    assert found.held_out_low <= found.held_out_coverage <= found.held_out_high
    assert (found.ratios, found.held_out_ratios) == (len(chosen.ratios), len(judged.ratios))
    assert len(chosen.ratios) + chosen.zero <= found.asked == 5000
    assert len(judged.ratios) <= 600


def test_reads_grow_with_alpha_between_the_two_ends(found):
    reads = [policy.exact_reads for policy in found.policies]
    assert [policy.policy for policy in found.policies] == ["expansion-only", *["calibrated"] * 4, "verify-all"]
    assert sum(policy.chosen for policy in found.policies) == 1
    assert reads == sorted(reads)
    assert reads[0] < reads[-1]
    recalls = [policy.recall for policy in found.policies]
    # The traversal is the same, and more verified nodes cannot push a true neighbour out of the k nearest.
    assert recalls == sorted(recalls)


def test_the_command_prints_and_writes_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "small.yaml"
    file.write_text(json.dumps(FILE), encoding="utf-8")
    out = tmp_path / "out"
    assert main(["calibrate-alpha", str(file), "--set", "dataset.queries=20", "--out", str(out), "--json"]) == 0
    (printed,) = json.loads(capsys.readouterr().out)
    (written,) = json.loads((out / "alpha.json").read_text(encoding="utf-8"))
    assert printed == written
    assert printed["alpha"] >= 1
    assert printed["policies"][0]["alpha"] is None
    assert (out / "verification.png").stat().st_size > 1000


def test_an_unsound_setting_is_refused_before_any_work(capsys, tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(json.dumps(FILE), encoding="utf-8")
    assert main(["calibrate-alpha", str(file), "--set", "search.L=3", "--out", str(tmp_path / "out")]) == 2
    assert "search.L" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rule", [{"kind": "calibrated", "alpha": 1.2}, {"kind": "calibrated"}])
def test_inner_products_have_no_rule_even_if_alpha_is_given(tmp_path, store, rule):
    # d^ <= alpha * tau with a negative tau would ask for less than no rule at all, the more the larger alpha is.
    dataset = {
        "name": "products",
        "licence": "generated",
        "metric": "ip",
        "dtype": "uint8",
        "dimension": 16,
        "n": 300,
        "synthetic": {"intrinsic_dimension": 4, "clusters": 2, "queries": 40},
        "split": {"kind": "pooled", "calibration": 20},
    }
    (tmp_path / "products.yaml").write_text(json.dumps(dataset), encoding="utf-8")
    settings = FILE | {
        "dataset": {"name": str(tmp_path / "products.yaml")},
        "index": {"kind": "vamana", "R": 8, "L": 16},
        "system": {"kind": "riftann", "verification": rule},
        "driver": {"kind": "local"},
    }
    config = load_experiment(settings).points[0].config
    with pytest.raises(ConfigError, match=r"needs a metric with distances .*'products' has 'ip'"):
        run_point(config, artifacts=store)
