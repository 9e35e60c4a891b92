"""Files that other tools wrote are read as their facts say (folder in RIFTSIM_FORMATS_DIR, with EXPECTED.json)."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from riftsim.errors import DataError
from riftsim.workload.formats import read_annbench_truth, read_range_truth, read_truth_file, read_vectors, write_vectors
from riftsim.workload.groundtruth import exact_topk
from riftsim.workload.truth_check import adopt_truth

FOLDER = Path(os.environ.get("RIFTSIM_FORMATS_DIR", "/nonexistent"))

pytestmark = pytest.mark.skipif(
    not (FOLDER / "EXPECTED.json").exists(), reason="RIFTSIM_FORMATS_DIR does not point at the sample files"
)


@pytest.fixture(scope="module")
def expected():
    return json.loads((FOLDER / "EXPECTED.json").read_text())


@pytest.mark.parametrize(
    "name",
    [
        "base_2000.u8bin",
        "query_50.u8bin",
        "small_100x16.bvecs",
        "small_100x16.fbin",
        "small_100x16.fvecs",
        "small_100x16.i8bin",
        "gt_50x10.ivecs",
        "gt_50x10_idsonly.ibin",
    ],
)
def test_matrices(expected, name, tmp_path):
    facts = expected[f"vectors/{name}"]
    found = read_vectors(FOLDER / "vectors" / name)
    assert found.shape == (facts["n"], facts["d"])
    np.testing.assert_allclose(found.ravel()[:6], facts["first"], rtol=1e-7)
    write_vectors(tmp_path / name, found)
    assert (tmp_path / name).read_bytes() == (FOLDER / "vectors" / name).read_bytes()


def test_ground_truths_say_the_same_and_are_true(expected):
    folder = FOLDER / "vectors"
    base, queries = read_vectors(folder / "base_2000.u8bin"), read_vectors(folder / "query_50.u8bin")
    whole = read_truth_file(folder / "gt_50x10_ids_dists.ibin")
    np.testing.assert_array_equal(whole.distances[0, :5], expected["vectors/gt_50x10_ids_dists.ibin"]["first_dist"])
    exact = exact_topk(base, queries, 10, "l2")
    for name in ("gt_50x10_ids_dists.ibin", "gt_50x10_idsonly.ibin", "gt_50x10.ivecs"):
        found = read_truth_file(folder / name)
        truth = adopt_truth(*found[:2], base, queries, "l2", name)
        np.testing.assert_array_equal(truth.distances, exact.distances)
        np.testing.assert_array_equal(truth.ids, whole.ids)


def test_range_truth(expected):
    folder = FOLDER / "vectors"
    base, queries = read_vectors(folder / "base_2000.u8bin"), read_vectors(folder / "query_50.u8bin")
    facts = expected["vectors/gt_range_r2_150000.ibin"]
    found = read_range_truth(folder / "gt_range_r2_150000.ibin")
    assert len(found.starts) == facts["nq"] + 1
    assert len(found.ids) == facts["total"]
    assert np.diff(found.starts)[:8].tolist() == facts["counts"]
    squared = ((base[found.ids].astype(float) - np.repeat(queries, np.diff(found.starts), axis=0)) ** 2).sum(axis=1)
    np.testing.assert_array_equal(found.distances, squared)


@pytest.mark.parametrize(("name", "metric"), [("euclidean", "l2"), ("angular", "cosine")])
def test_dense_annbench_files(expected, name, metric):
    path = FOLDER / "hdf5" / f"tiny-16-{name}.hdf5"
    base, queries = read_vectors(path), read_vectors(path, part="test")
    assert base.shape == (300, 16)
    assert queries.shape == (20, 16)
    if metric == "cosine":
        base = base / np.linalg.norm(base, axis=1, keepdims=True)
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    found = read_annbench_truth(path)
    assert found.ids[0, :5].tolist() == expected[f"hdf5/tiny-16-{name}.hdf5"]["first_neighbors"]
    truth = adopt_truth(*found[:2], base, queries, metric, path)
    exact = exact_topk(base, queries, 10, metric)
    np.testing.assert_allclose(truth.distances, exact.distances, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["hamming", "jaccard"])
def test_other_annbench_distances_are_refused_with_a_reason(name):
    with pytest.raises(DataError, match=f"{name}.*not supported"):
        read_vectors(FOLDER / "hdf5" / f"tiny-32-{name}.hdf5")
