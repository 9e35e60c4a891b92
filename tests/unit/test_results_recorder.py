"""Recording and reading runs: round trip, atomicity, refusal."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from riftsim.errors import ResultsError
from riftsim.results import provenance, recorder, store
from riftsim.results.recorder import PointResult, record_failure, write_run

HASH = "0123456789abcdef" * 4
OTHER = "01234567" + "f" * 56


def result(rows=6, k=3, windows=True) -> PointResult:
    start = np.arange(rows, dtype=np.int64) * 1000
    return PointResult(
        queries={
            "query": np.arange(rows, dtype=np.int64),
            "arrival_ps": start,
            "end_ps": start + 5_000_000,
            "bytes_read": np.full(rows, 516, dtype=np.int64),
            "recall": np.linspace(0.5, 1.0, rows),
        },
        ids=np.arange(rows * k, dtype=np.int32).reshape(rows, k) - 1,
        distances=np.linspace(0, 1, rows * k, dtype=np.float32).reshape(rows, k),
        windows={"at_ps": np.arange(4), "busy": np.arange(4) / 2} if windows else None,
        facts={
            "driver": "sim",
            "dataset": {"fingerprint": "d" * 8},
            "index": {"fingerprint": "i" * 8, "degree_mean": np.float32(12.5)},
            "qps": np.int64(2000),
            "undefined": float("nan"),
        },
    )


def config(candidates=64, **more):
    return {
        "name": "try",
        "seed": 7,
        "search": {"k": 3, "L": candidates},
        "system": {"kind": "remote_vamana", "beam_width": 4},
        **more,
    }


def write(root, slug="remote_vamana-L=64", digest=HASH, settings=None, **kwargs):
    return write_run(root, "try", slug, settings or config(), digest, result(**kwargs), provenance.collect(7))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_round_trip(tmp_path):
    path = write(tmp_path)
    assert path == tmp_path / "try" / "remote_vamana-L=64-01234567"
    assert sorted(item.name for item in path.iterdir()) == [
        "config.yaml",
        "manifest.json",
        "queries.parquet",
        "windows.parquet",
    ]
    run = store.find_run(tmp_path, "try", HASH)
    expected = result()
    assert run.config == config()
    np.testing.assert_array_equal(run.ids, expected.ids)
    np.testing.assert_array_equal(run.distances, expected.distances)
    assert list(run.queries.columns) == list(expected.queries)
    for name, values in expected.queries.items():
        np.testing.assert_array_equal(run.queries[name], values)
        assert run.queries[name].dtype == values.dtype
    assert list(run.windows["busy"]) == [0, 0.5, 1, 1.5]
    assert run.units()["end_ps"] == "ps"
    assert run.units()["bytes_read"] == "bytes"
    assert run.units()["recall"] == "1"


def test_manifest_is_strict_json_with_hashes_and_provenance(tmp_path):
    def refuse(constant):
        raise AssertionError(constant)

    manifest = json.loads((write(tmp_path) / "manifest.json").read_text(), parse_constant=refuse)
    assert manifest["schema_version"] == recorder.SCHEMA_VERSION
    assert manifest["hashes"] == {"config": HASH, "dataset": "d" * 8, "index": "i" * 8}
    assert (manifest["status"], manifest["driver"], manifest["seed"]) == ("complete", "sim", 7)
    assert manifest["facts"]["undefined"] is None
    assert manifest["facts"]["index"]["degree_mean"] == 12.5
    assert manifest["started"] <= manifest["finished"]
    assert manifest["versions"]["numpy"] == np.__version__
    assert manifest["machine"]["cores"] >= 1
    assert "hostname" not in json.dumps(manifest)


def test_no_windows_no_file(tmp_path):
    path = write(tmp_path, windows=False)
    assert not (path / "windows.parquet").exists()
    assert store.open_run(path).windows is None


def test_no_queries_at_all(tmp_path):
    run = store.open_run(write(tmp_path, rows=0, windows=False))
    assert run.ids.shape == (0, 3)
    assert np.isnan(run.metrics(["recall"])["recall"])


def test_a_recorded_run_is_never_rewritten(tmp_path):
    before = contents(write(tmp_path))
    again = write(tmp_path, rows=2)
    assert contents(again) == before


def test_place_taken_by_another_configuration(tmp_path):
    write(tmp_path)
    with pytest.raises(ResultsError, match="holds the configuration 0123"):
        write(tmp_path, digest=OTHER)
    assert store.find_run(tmp_path, "try", OTHER) is None


def test_place_taken_by_something_else(tmp_path):
    (tmp_path / "try" / "x-01234567").mkdir(parents=True)
    with pytest.raises(ResultsError, match="not a complete run"):
        write(tmp_path, slug="x")


@pytest.mark.parametrize("broken", ["queries", "windows", "manifest", "rename"])
def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch, broken):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    if broken == "manifest":
        monkeypatch.setattr(recorder, "_json", full)
    elif broken == "rename":
        monkeypatch.setattr(Path, "rename", full)
    else:
        real = pq.write_table

        def write_table(table, path, **kwargs):
            real(table, path, **kwargs)
            if broken in path.name:
                full()

        monkeypatch.setattr(pq, "write_table", write_table)
    with pytest.raises(ResultsError, match=r"try: the run .* No space left"):
        write(tmp_path)
    assert contents(tmp_path) == {}
    assert list((tmp_path / "try").iterdir()) == []
    assert len(store.load_runs(tmp_path)) == 0


def test_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(recorder, "_json", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path)
    assert contents(tmp_path) == {}


def test_another_process_was_faster(tmp_path, monkeypatch):
    write(tmp_path / "other")
    real = Path.rename

    def rename(self, target):
        real(tmp_path / "other" / "try" / target.name, target)
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    path = write(tmp_path, rows=2)
    assert len(store.open_run(path).ids) == 6
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_folder_that_is_a_file(tmp_path):
    (tmp_path / "try").write_text("in the way")
    with pytest.raises(ResultsError, match=r"try: the run .* cannot be written"):
        write(tmp_path)


def test_failure_is_kept_apart_until_the_point_succeeds(tmp_path):
    path = record_failure(tmp_path, "try", "remote_vamana-L=64", config(), HASH, "it broke", provenance.collect(7))
    assert path.parent == tmp_path / "try" / "failed"
    assert store.find_run(tmp_path, "try", HASH) is None
    assert len(store.load_runs(tmp_path)) == 0
    (failure,) = store.failures(tmp_path, "try")
    assert (failure["error"], failure["hashes"]["config"]) == ("it broke", HASH)
    write(tmp_path)
    assert store.failures(tmp_path, "try") == []


def test_columns_of_different_length():
    with pytest.raises(ResultsError, match="column recall of queries has 2 rows, expected 3"):
        PointResult({"recall": np.zeros(2)}, np.zeros((3, 1), np.int32), np.zeros((3, 1), np.float32))
    with pytest.raises(ResultsError, match="expected the same shape"):
        PointResult({}, np.zeros((3, 1), np.int32), np.zeros((3, 2), np.float32))


_TRY = """
import fcntl, sys
with open(sys.argv[1], "w") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(sys.argv[2][:8], 16))
"""


def _another_process_gets(folder, config_hash) -> bool:
    command = [sys.executable, "-c", _TRY, str(folder / recorder.LOCK_FILE), config_hash]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def test_a_configuration_that_is_run_is_reserved_and_no_other(tmp_path):
    with recorder.reserved(tmp_path, "sweep", HASH):
        assert not _another_process_gets(tmp_path / "sweep", HASH)
        assert _another_process_gets(tmp_path / "sweep", "f" * 64)
    assert _another_process_gets(tmp_path / "sweep", HASH)


def test_where_no_lock_can_be_had_the_run_goes_on(tmp_path):
    (tmp_path / "sweep").write_text("a file")
    with recorder.reserved(tmp_path, "sweep", HASH):
        pass
