"""Finding runs among other files, tables of swept parameters, versions and damage."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riftsim.errors import ResultsError
from riftsim.results import provenance, store
from riftsim.results.recorder import PointResult, write_run


def add(root, candidates=64, system="remote_vamana", experiment="try", **more):
    digest = f"{hash_of(candidates, system):08x}" + "0" * 56
    config = {
        "name": experiment,
        "search": {"k": 2, "L": candidates},
        "system": {"kind": system, **more},
        "plots": [{"kind": "breakdown", "title": system}],
    }
    n = 50
    result = PointResult(
        {"query": np.arange(n), "recall": np.full(n, candidates / 200)},
        np.zeros((n, 2), np.int32),
        np.zeros((n, 2), np.float32),
    )
    return write_run(
        root, experiment, f"{system}-L={candidates}", config, digest, result, provenance.collect(0)
    ), digest


def hash_of(candidates, system):
    return sum(system.encode()) * 1000 + candidates


def test_table_has_the_swept_parameters_and_the_metrics(tmp_path):
    for system, more in (("remote_vamana", {"beam_width": 4}), ("in_memory_vamana", {})):
        for candidates in (100, 20):
            add(tmp_path, candidates, system, **more)
    table = store.load_runs(tmp_path).table(["recall"], confidence=True)
    assert list(table.columns) == [
        "experiment",
        "run",
        "search.L",
        "system.kind",
        "system.beam_width",
        "recall",
        "recall_low",
        "recall_high",
    ]
    assert list(table["search.L"]) == [20, 100, 20, 100]
    assert list(table["recall"]) == pytest.approx([0.1, 0.5, 0.1, 0.5])
    assert pd.isna(table["system.beam_width"][0])
    assert table["system.beam_width"][2] == 4


def test_a_lone_run_sweeps_nothing(tmp_path):
    add(tmp_path)
    runs = store.load_runs(tmp_path)
    assert runs.swept == []
    assert len(runs.table()) == 1
    assert store.RunSet([]).table(["recall"]).columns.tolist() == ["experiment", "run", "recall"]


def test_find_tells_equal_short_hashes_apart(tmp_path):
    path, digest = add(tmp_path)
    assert store.find_run(tmp_path, "try", digest).path == path
    assert store.find_run(tmp_path, "try", digest[:8] + "1" * 56) is None
    assert store.find_run(tmp_path, "other", digest) is None
    assert store.find_run(tmp_path / "absent", "try", digest) is None


def test_runs_are_found_at_every_level_and_once(tmp_path):
    path, _ = add(tmp_path, experiment="one")
    add(tmp_path, experiment="two")
    assert len(store.load_runs(path)) == 1
    assert len(store.load_runs(tmp_path / "one", tmp_path, path)) == 2


def test_foreign_and_unfinished_files_are_passed_over(tmp_path):
    path, digest = add(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    for name, text in (("a", "{"), ("b", "[1]"), ("c", json.dumps({"format": "another"})), ("d", "\0\1")):
        (tmp_path / "try" / name).mkdir()
        (tmp_path / "try" / name / "manifest.json").write_text(text)
    hidden = tmp_path / "try" / f".{path.name}.partial"
    hidden.mkdir()
    (hidden / "manifest.json").write_bytes((path / "manifest.json").read_bytes())
    assert [run.path for run in store.load_runs(tmp_path)] == [path]
    assert store.find_run(tmp_path, "try", digest).path == path


def test_newer_schema_is_refused(tmp_path):
    path, digest = add(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps(manifest | {"schema_version": 99}))
    for read in (lambda: store.load_runs(tmp_path), lambda: store.find_run(tmp_path, "try", digest)):
        with pytest.raises(ResultsError, match=r"manifest.json: schema version 99; this riftsim reads up to 1"):
            read()


def test_damage_is_named(tmp_path):
    path, _ = add(tmp_path)
    (path / "queries.parquet").write_bytes(b"PAR1 and no more")
    (path / "config.yaml").write_text("a: [")
    (run,) = store.load_runs(tmp_path)
    for read in (lambda: run.queries, lambda: run.ids):
        with pytest.raises(ResultsError, match=r"queries.parquet: the run's table cannot be read"):
            read()
    with pytest.raises(ResultsError, match=r"config.yaml: the run's configuration cannot be read"):
        _ = run.config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hashes": None}, "hashes: found None, expected a mapping"),
        ({"facts": [1]}, r"facts: found \[1\], expected a mapping"),
        ({"k": "ten"}, "k: found 'ten', expected a whole number"),
        ({"experiment": 3}, "experiment: found 3, expected a text"),
        ({"queries": None}, "queries: found None, expected a whole number"),
        ({"schema_version": "1"}, "schema version '1'; this riftsim reads up to 1"),
    ],
)
def test_a_manifest_that_was_edited_names_the_key(tmp_path, change, message):
    path, digest = add(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps(manifest | change))
    for read in (lambda: store.load_runs(tmp_path), lambda: store.find_run(tmp_path, "try", digest)):
        with pytest.raises(ResultsError, match=rf"manifest.json: {message}"):
            read()


def test_a_table_that_was_edited_names_the_column(tmp_path):
    path, _ = add(tmp_path)
    whole = pq.read_table(path / "queries.parquet")

    def refused(table, read, message):
        pq.write_table(table, path / "queries.parquet")
        with pytest.raises(ResultsError, match=rf"queries.parquet: {message}"):
            read(store.open_run(path))

    texts = whole.set_column(1, "recall", pa.array(["x"] * len(whole)))
    refused(texts, lambda run: run.queries, "column recall: found string, expected numbers")
    refused(whole.slice(1), lambda run: run.queries, "found 49 rows, expected 50, as manifest.json has")
    uneven = whole.set_column(whole.schema.get_field_index("ids"), "ids", pa.array([[1, 2]] * len(whole)))
    refused(uneven, lambda run: run.ids, "column ids: found list<.*>, expected lists of 2")
    refused(whole.drop_columns(["ids"]), lambda run: run.ids, "column ids: found no such column, expected lists of 2")


def test_missing_folder(tmp_path):
    with pytest.raises(ResultsError, match="no such results folder"):
        store.load_runs(tmp_path / "absent")


def test_provenance_names_the_machine_by_its_parts_only():
    found = provenance.collect(3, "2030-01-01T00:00:00.000+00:00")
    assert set(found) == {"started", "finished", "seed", "command", "versions", "machine"}
    assert found["started"] == "2030-01-01T00:00:00.000+00:00"
    assert set(found["machine"]) == {"cpu", "cores", "usable_cores", "memory_bytes", "system", "kernel", "architecture"}
    assert {"riftsim", "commit", "dirty", "python", "numpy", "numba", "faiss-cpu", "simpy"} <= set(found["versions"])
    assert "/" not in found["command"][0]


def test_a_package_in_another_repository_reports_no_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "riftsim" / "results" / "provenance.py"))
    assert provenance._commit() == {"commit": None, "dirty": None}
