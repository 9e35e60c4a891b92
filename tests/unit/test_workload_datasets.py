"""Loading data sets: the bundled one, splits, prefixes, checks, messages."""

import os
import subprocess
import sys

import numpy as np
import pytest
import yaml

from riftsim.artifacts import ArtifactStore
from riftsim.errors import ConfigError, DataError
from riftsim.workload.datasets import load_dataset, verify_checksums
from riftsim.workload.distances import unit_vectors
from riftsim.workload.formats import write_annbench, write_truth_file, write_vectors
from riftsim.workload.groundtruth import exact_topk
from riftsim.workload.locate import dataset_files
from riftsim.workload.publish import publish_dataset
from riftsim.workload.spec import read_spec

DATA_DIR = os.environ.get("RIFTSIM_DATA_DIR")


@pytest.fixture(autouse=True)
def no_data_dir(monkeypatch):
    monkeypatch.delenv("RIFTSIM_DATA_DIR", raising=False)


@pytest.fixture
def folder(tmp_path):
    """A small published set: 800 base, 60 query, 30 calibration vectors."""
    draw = np.random.default_rng(11)
    vectors = {
        part: draw.integers(1, 256, (rows, 8)).astype(np.uint8)
        for part, rows in (("base", 800), ("query", 60), ("calib", 30))
    }
    publish_dataset(tmp_path / "small", "small", "for tests", "none", vectors, "uint8", [200], calibration=20)
    return tmp_path / "small"


def change(folder, **keys):
    path = folder / "small.yaml"
    content = yaml.safe_load(path.read_text())
    content.update(keys)
    path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not None}))
    return path


def test_the_bundled_set():
    data = load_dataset("sift-photos-10k")
    assert data.base.shape == (10_000, 128)
    assert data.base.dtype == np.uint8
    assert data.queries.shape == (1000, 128)
    assert data.calibration.shape == (500, 128)
    assert data.truth.ids.shape == (1000, 100)
    assert data.calibration_truth.ids.shape == (500, 100)
    assert set(verify_checksums("sift-photos-10k").values()) == {"ok"}
    again = exact_topk(data.base, data.queries[:20], 100, "l2")
    np.testing.assert_array_equal(again.ids, data.truth.ids[:20])
    np.testing.assert_array_equal(again.distances, data.truth.distances[:20])


def test_neither_faiss_nor_h5py_nor_numba_is_imported_for_it():
    code = (
        "import sys; from riftsim.workload.datasets import load_dataset; load_dataset('sift-photos-10k');"
        "print([m for m in ('faiss', 'h5py', 'numba', 'pandas') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert answer.stdout.strip() == "[]"


def test_split_is_disjoint_complete_and_a_function_of_the_seed():
    first = load_dataset("sift-photos-10k")
    again = load_dataset("sift-photos-10k")
    other = load_dataset("sift-photos-10k", split_seed=1)
    np.testing.assert_array_equal(first.queries, again.queries)
    assert not np.array_equal(first.query_rows, other.query_rows)
    assert first.fingerprint == again.fingerprint == other.fingerprint
    for data in (first, other):
        rows = np.concatenate([data.query_rows, data.calibration_rows])
        np.testing.assert_array_equal(np.sort(rows), np.arange(1500))
        # truths went along with their queries
        nearest = data.base[data.truth.ids[:, 0]].astype(np.int64)
        squared = ((nearest - data.queries) ** 2).sum(axis=1)
        np.testing.assert_array_equal(squared, data.truth.distances[:, 0])
        nearest = data.base[data.calibration_truth.ids[:, 0]].astype(np.int64)
        squared = ((nearest - data.calibration) ** 2).sum(axis=1)
        np.testing.assert_array_equal(squared, data.calibration_truth.distances[:, 0])


def test_every_file_of_the_package_is_valid_and_named_as_its_file():
    for name, path in dataset_files().items():
        assert read_spec(path).name == name


def test_prefix_uses_its_truth_file_or_computes_and_keeps_it(folder, tmp_path):
    whole, part = load_dataset(folder / "small.yaml"), load_dataset(folder / "small.yaml", n=200)
    assert (whole.n, part.n, part.dimension) == (800, 200, 8)
    assert whole.fingerprint != part.fingerprint
    assert part.truth.ids.max() < 200
    store = ArtifactStore(tmp_path / "cache")
    computed = load_dataset(folder / "small.yaml", n=150, queries=10, artifacts=store)
    kept = load_dataset(folder / "small.yaml", n=150, queries=10, artifacts=store)
    slow = exact_topk(computed.base, computed.queries, 100, "l2")
    for data in (computed, kept):
        np.testing.assert_array_equal(data.truth.ids, slow.ids)
    assert computed.truth.ids.shape == (10, 100)
    assert len(list((tmp_path / "cache" / "ground-truth").glob("[!.]*"))) >= 2
    tiny = load_dataset(folder / "small.yaml", n=30)
    assert tiny.truth.ids.shape == (70, 30)


def test_a_truth_that_is_too_shallow_is_computed_as_deep_as_asked(folder):
    path = folder / "small.yaml"
    given, deeper, all_rows = (load_dataset(path, n=200, depth=depth) for depth in (1, 150, 200))
    assert [data.truth.depth for data in (given, deeper, all_rows)] == [100, 150, 200]
    assert [data.calibration_truth.depth for data in (given, deeper)] == [100, 150]
    np.testing.assert_array_equal(deeper.truth.ids, exact_topk(deeper.base, deeper.queries, 150, "l2").ids)
    np.testing.assert_array_equal(deeper.truth.ids[:, :100], given.truth.ids)
    with pytest.raises(DataError, match=r"201 neighbours per query \(search\.k\) are asked for, expected at most 200"):
        load_dataset(path, n=200, depth=201)


@pytest.mark.parametrize(("n", "queries"), [(801, None), (0, None), (None, 71), (None, 0)])
def test_more_than_there_is(folder, n, queries):
    with pytest.raises(DataError, match="expected between 1 and"):
        load_dataset(folder / "small.yaml", n=n, queries=queries)


def test_split_by_file_and_too_large_a_calibration(folder):
    path = change(folder, split={"kind": "by-file"})
    data = load_dataset(path)
    assert (len(data.queries), len(data.calibration)) == (60, 30)
    np.testing.assert_array_equal(data.query_rows, np.arange(60))
    with pytest.raises(DataError, match=r"split\.calibration is 90, expected below 90"):
        load_dataset(change(folder, split={"kind": "pooled", "calibration": 90}))
    with pytest.raises(ConfigError, match="no 'calibration' file"):
        load_dataset(change(folder, split={"kind": "by-file"}, calibration=None, calibration_truth=None, sha256=None))


def test_without_a_calibration_file_the_queries_are_split(folder):
    path = change(folder, calibration=None, calibration_truth=None, sha256=None)
    data = load_dataset(path)
    assert (len(data.queries), len(data.calibration)) == (40, 20)
    assert len(np.intersect1d(data.query_rows, data.calibration_rows)) == 0


def test_truths_of_other_bases_are_refused(folder):
    path = change(folder, truth={800: "gt_200.ibin"}, sha256=None)
    with pytest.raises(DataError, match=r"gt_200\.ibin.*nearer than"):
        load_dataset(path)
    path = change(folder, truth={200: "gt_800.ibin"})
    with pytest.raises(DataError, match=r"gt_800\.ibin.*another base"):
        load_dataset(path, n=200)
    path = change(folder, truth={800: "gt_800.ibin"}, metric="ip")
    with pytest.raises(DataError, match="metric"):
        load_dataset(path)


def test_shape_and_type_must_be_as_stated(folder):
    for key, value, message in (
        ("dimension", 9, "8 dimensions, the data set says 9"),
        ("n", 900, "800 rows, the data set says 900"),
        ("dtype", "int8", "u8bin"),
    ):
        path = change(folder, **{key: value})
        with pytest.raises(DataError, match=message):
            load_dataset(path)
        change(folder, dimension=8, n=800, dtype="uint8")


def test_yaml_errors_name_the_key(folder):
    for keys, message in (
        ({"metrik": "l2"}, "unknown key 'metrik' \\(did you mean 'metric'\\?\\); expected one of: base, "),
        ({"split": {"kind": "pooled", "sed": 3}}, "unknown key 'split.sed' \\(did you mean 'seed'"),
        ({"metric": "hamming"}, "metric"),
        ({"n": 0}, "`n`"),
        ({"queries": None}, "'queries' is missing"),
        ({"sha256": {"bse.u8bin": "0" * 64}}, "did you mean 'base.u8bin'"),
        ({"truth": {900: "gt_800.ibin"}, "sha256": None}, "truth: for 900 base rows"),
        ({"synthetic": {"intrinsic_dimension": 3}}, "both given"),
    ):
        original = (folder / "small.yaml").read_text()
        path = change(folder, **keys)
        with pytest.raises(ConfigError, match=message) as error:
            load_dataset(path)
        assert str(path) in str(error.value)
        path.write_text(original)
    (folder / "small.yaml").write_text("name: [")
    with pytest.raises(ConfigError, match=r"small.yaml:1: "):
        load_dataset(folder / "small.yaml")


def test_names_and_folders(folder, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="did you mean 'sift-photos-10k'"):
        load_dataset("sift-photo-10k")
    with pytest.raises(DataError, match="no such data-set file"):
        load_dataset(tmp_path / "nothing.yaml")
    assert load_dataset("small", data_dir=tmp_path).n == 800
    monkeypatch.setenv("RIFTSIM_DATA_DIR", f"{tmp_path / 'empty'}{os.pathsep}{tmp_path}")
    assert load_dataset("small").n == 800
    with pytest.raises(DataError, match="RIFTSIM_DATA_DIR"):
        load_dataset("sift1m")
    (folder / "gt_800.ibin").unlink()
    with pytest.raises(DataError, match=r"gt_800\.ibin: missing"):
        load_dataset("small")


def test_checksums(folder):
    assert set(verify_checksums(folder / "small.yaml").values()) == {"ok"}
    content = bytearray((folder / "base.u8bin").read_bytes())
    content[-1] ^= 1
    (folder / "base.u8bin").write_bytes(content)
    with pytest.raises(DataError, match=r"base\.u8bin: SHA-256 is"):
        verify_checksums(folder / "small.yaml")


def test_cosine_is_normalised_and_zero_vectors_are_refused(folder):
    base = np.fromfile(folder / "base.u8bin", np.uint8, offset=8).reshape(800, 8)
    path = change(folder, metric="cosine", truth=None, calibration_truth=None, sha256=None)
    data = load_dataset(path)
    assert data.base.dtype == data.queries.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(data.base, axis=1), 1, rtol=1e-6)
    assert data.truth.metric == "cosine"
    cosine = unit_vectors(base, "") @ data.queries[0]
    np.testing.assert_array_equal(np.argsort(-cosine)[:5], data.truth.ids[0, :5])
    base[123] = 0
    write_vectors(folder / "base.u8bin", base)
    with pytest.raises(DataError, match="row 123 is a zero vector"):
        load_dataset(path)


def test_float_rows_that_are_not_finite_are_refused(tmp_path):
    values = np.random.default_rng(0).random((50, 4), np.float32)
    for name, array in (("base", values), ("query", values[:10])):
        write_vectors(tmp_path / f"{name}.fbin", array)
    path = tmp_path / "x.yaml"
    path.write_text(
        "{name: x, licence: none, metric: l2, dtype: float32, dimension: 4, n: 50, base: base.fbin, "
        "queries: query.fbin, split: {calibration: 4, kind: pooled}}"
    )
    assert load_dataset(path).truth.distances[:, 0].max() == 0
    content = np.fromfile(tmp_path / "base.fbin", np.float32)
    content[2 + 17 * 4] = np.nan
    content.tofile(tmp_path / "base.fbin")
    with pytest.raises(DataError, match=r"base\.fbin: row 17, column 0 is nan"):
        load_dataset(path)


def test_half_precision_hdf5_and_several_base_files(tmp_path):
    draw = np.random.default_rng(6)
    base, queries = (draw.normal(size=(rows, 4)).astype(np.float16).astype(np.float32) for rows in (60, 12))
    truth = exact_topk(base, queries, 20, "l2")
    write_vectors(tmp_path / "all.f16bin", base)
    write_vectors(tmp_path / "first.f16bin", base[:25])
    write_vectors(tmp_path / "rest.f16bin", base[25:])
    write_vectors(tmp_path / "query.f16bin", queries)
    write_truth_file(tmp_path / "gt.ibin", truth.ids, truth.distances)
    write_annbench(tmp_path / "x.hdf5", base, queries, truth.ids, truth.distances, "l2")
    common = "licence: none, metric: l2, dimension: 4, n: 60, split: {kind: pooled, calibration: 4}"
    for name, text in (
        ("one", "dtype: float16, base: all.f16bin, queries: query.f16bin, truth: {60: gt.ibin}"),
        ("two", "dtype: float16, base: [first.f16bin, rest.f16bin], queries: query.f16bin, truth: {60: gt.ibin}"),
        ("hdf", "dtype: float32, base: x.hdf5, queries: x.hdf5, truth: {60: x.hdf5}"),
    ):
        (tmp_path / f"{name}.yaml").write_text(f"{{name: {name}, {common}, {text}}}")
        data = load_dataset(tmp_path / f"{name}.yaml")
        np.testing.assert_array_equal(data.base, base)
        assert data.base.dtype == np.float32
        np.testing.assert_array_equal(data.truth.ids, truth.ids[data.query_rows])
        assert load_dataset(tmp_path / f"{name}.yaml", n=40).n == 40
    (tmp_path / "hdf.yaml").write_text((tmp_path / "hdf.yaml").read_text().replace("metric: l2", "metric: cosine"))
    with pytest.raises(DataError, match="is for metric 'l2', the data set says 'cosine'"):
        load_dataset(tmp_path / "hdf.yaml")


def test_generated_sets(tmp_path):
    path = tmp_path / "gen.yaml"
    path.write_text(
        "{name: gen, licence: none, metric: l2, dtype: uint8, dimension: 16, n: 5000, "
        "synthetic: {intrinsic_dimension: 4, clusters: 10, queries: 60}, split: {kind: pooled, calibration: 20}}"
    )
    store = ArtifactStore(tmp_path / "cache")
    kept, again = load_dataset(path, artifacts=store), load_dataset(path, artifacts=store)
    plain = load_dataset(path, n=1000)
    np.testing.assert_array_equal(kept.base, again.base)
    np.testing.assert_array_equal(kept.base[:1000], plain.base)
    assert kept.fingerprint == again.fingerprint
    assert (len(kept.queries), len(kept.calibration)) == (40, 20)
    assert verify_checksums(path) == {}


@pytest.mark.data
@pytest.mark.parametrize("name", ["sift-photos-100k", "deep-photos-100k", "text-wordnet-100k"])
@pytest.mark.parametrize("n", [10_000, 100_000])
@pytest.mark.skipif(not DATA_DIR, reason="RIFTSIM_DATA_DIR does not point at the 100 K sets")
def test_the_100k_sets(name, n):
    data = load_dataset(name, n=n, data_dir=DATA_DIR)
    assert len(data.queries) == 2000
    assert len(data.calibration) == 1000
    again = exact_topk(data.base, data.queries[:5], 100, "l2")
    np.testing.assert_allclose(again.distances, data.truth.distances[:5], rtol=1e-4, atol=1e-5)
