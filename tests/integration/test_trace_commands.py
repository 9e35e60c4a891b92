"""Timelines and critical paths from the command line: of a recorded run and of an experiment file."""

import json
import re
from pathlib import Path

import pytest

from riftsim.cli import main
from riftsim.config.keys import blocks_of, tag_of
from riftsim.config.sweep import load_experiment
from riftsim.config.systems import SystemConfig
from riftsim.errors import ConfigError, ResultsError
from riftsim.experiments.api import run
from riftsim.experiments.retrace import chosen_query, run_of, traced

ROOT = Path(__file__).parents[2]
SET = {
    "dataset.queries": 12,
    "sweep": {},
    "search.L": 24,
    "system": {"kind": "riftann"},
    "load": {"kind": "closed", "concurrency": 4},
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return run("quickstart", set=SET, out=tmp_path_factory.mktemp("results")).runs[0]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_recorded_query_is_traced(recorded, capsys, tmp_path):
    assert main(["trace", str(recorded.path), "--slowest"]) == 0
    out, told = capsys.readouterr()
    lines = told.splitlines()
    assert lines[1] == f"repeating quickstart/{recorded.manifest['slug']} with one query traced"
    assert lines[2].startswith(f"[1/1] {recorded.manifest['slug']}: ")
    row = chosen_query(recorded, slowest=True)
    latency_ps = (recorded.queries["end_ps"] - recorded.queries["arrival_ps"]).to_numpy()
    assert row == latency_ps.argmax()
    assert f"query {row} of quickstart/{recorded.name}: {latency_ps[row] / 1e6:.1f} us" in out
    file = tmp_path / "results/traces/quickstart/figures" / f"{recorded.name}-query-{row}.json"
    assert json.loads(file.read_text())["otherData"]["row"] == row
    assert file.with_suffix(".png").exists()
    header, *lines = file.with_suffix(".csv").read_text().splitlines()
    assert header == "track,lane,kind,from_us,until_us"
    assert len({line.split(",")[0] for line in lines}) >= 3


def test_critical_paths_of_a_run(recorded, capsys, tmp_path):
    assert main(["critical-path", str(recorded.path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    mean_us = (recorded.queries["end_ps"] - recorded.queries["arrival_ps"]).mean() / 1e6
    assert sum(row["critical_us"] for row in rows if row["resource"] != "gate") == pytest.approx(mean_us)
    assert main(["critical-path", str(recorded.path), "--query", "1"]) == 0
    out = capsys.readouterr().out
    assert "query 1" in out
    assert "evaluation tasks" in out
    assert (tmp_path / f"results/traces/quickstart/figures/{recorded.name}-critical-path.svg").exists()


def test_an_experiment_file_needs_one_point():
    with pytest.raises(ConfigError, match=r"found 15 points, expected one: choose with --set one value of each of"):
        run_of("quickstart")
    with pytest.raises(ResultsError, match=r"found no complete run; expected the directory of one"):
        run_of(".")


UNTRACED = {
    "distvs": "found system 'distvs', whose calls are not written down; those of in_memory_vamana, remote_vamana, ",
    "d_hnsw": "found system 'd_hnsw', whose batches are not written down; those of in_memory_vamana, remote_vamana, ",
    "diskann": "found system 'diskann', whose reads of a drive are not written down; those of in_memory_vamana, ",
    "pipeann": "found system 'pipeann', whose reads of a drive are not written down; those of in_memory_vamana, ",
}
SMALL = [f"--set={each}" for each in ("dataset.queries=12", "sweep={}", "search.L=24")]


@pytest.mark.parametrize("command", ["trace", "critical-path"])
@pytest.mark.parametrize("kind", UNTRACED)
def test_a_system_without_timelines_is_refused_before_it_runs(command, kind, capsys, tmp_path):
    assert main([command, "quickstart", *SMALL, f"--set=system={{kind: {kind}}}"]) == 2
    told = capsys.readouterr().err
    assert f"its queries cannot be traced: {UNTRACED[kind]}" in told
    assert "driver.trace" not in told
    assert list(tmp_path.iterdir()) == []


def test_a_driver_without_timelines_is_refused_before_it_runs(capsys, tmp_path):
    assert main(["trace", "quickstart", *SMALL, "--set=driver={kind: local}"]) == 2
    assert "found driver 'local', which writes down no timelines; 'sim' does" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_recorded_run_without_timelines_is_refused_too(capsys, tmp_path):
    settings = {**SET, "system": {"kind": "distvs"}, "cluster.threads": 8}
    recorded = run("quickstart", set=settings, out=tmp_path / "results").runs[0]
    for command in (["trace", str(recorded.path)], ["compare", str(recorded.path), str(recorded.path)]):
        assert main(command) == 2
        assert f"{recorded.path}: its queries cannot be traced: {UNTRACED['distvs']}" in capsys.readouterr().err
    assert main(["compare", str(recorded.path), str(recorded.path), "--no-events"]) == 0
    assert not (tmp_path / "results/traces").exists()


@pytest.mark.parametrize("kind", UNTRACED)
def test_a_trace_in_the_configuration_of_such_a_system_is_named(kind):
    changes = {"system": {"kind": kind}, "sweep": {}, "driver": {"kind": "sim", "trace": {}}}
    with pytest.raises(ConfigError, match=rf"driver\.trace: found one with {UNTRACED[kind].removeprefix('found ')}"):
        load_experiment("quickstart", changes)


def test_the_page_lists_the_systems():
    """Every built-in system is in one row of the table: those that can be traced, and those that cannot."""
    rows = re.findall(r"^\| (`.*) \| (yes|no)", (ROOT / "docs/tracing.md").read_text(), re.MULTILINE)
    found = {(name, answer) for names, answer in rows for name in re.findall(r"`(\w+)`", names)}
    kinds = {tag_of(block) for block in blocks_of(SystemConfig)} - {"plugin"}
    assert found == {(kind, "no" if kind in UNTRACED else "yes") for kind in kinds}


def test_wrong_queries_are_named(recorded):
    with pytest.raises(ResultsError, match="found no query 12; expected one of 0 to 11"):
        chosen_query(recorded, 12)


def test_a_run_of_another_riftsim_is_not_explained(recorded):
    changed = recorded.queries.copy()
    changed.loc[3, "end_ps"] += 1
    stale = type(recorded)(recorded.path, recorded.manifest)
    stale.__dict__["queries"] = changed
    with pytest.raises(ResultsError, match="its repetition gave other times"):
        traced(stale, [2])
