"""Invariants of the built graph: bounds, determinism, duplicates, edge cases, and how well it is searched."""

import hashlib
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from riftsim.errors import ConfigError, DataError
from riftsim.index.graph import unreachable, validate
from riftsim.index.search import search_batch
from riftsim.index.vamana import build_vamana, medoid


def clustered(n, d=16):
    """Bytes around 20 centres."""
    rng = np.random.default_rng(1)
    centres = rng.integers(40, 215, (20, d))
    return np.clip(centres[rng.integers(0, 20, n)] + rng.normal(0, 18, (n, d)), 0, 255).astype(np.uint8)


def recall(graph, vectors, queries, L, k=10):
    """Share of the exact k nearest that the search finds."""
    ids, _, _ = search_batch(vectors, vectors.shape[1], 0, graph.neighbors, graph.degrees, graph.start, queries, L, k)
    wide = vectors.astype(np.int64)
    exact = [np.argsort(((wide - query) ** 2).sum(axis=1), kind="stable")[:k] for query in queries.astype(np.int64)]
    return np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(ids, exact, strict=True)])


def test_graph_is_sound_and_searches_well():
    vectors, queries = np.split(clustered(3100), [3000])
    inserted = []
    graph, report = build_vamana(vectors, 0, R=16, L=40, threads=2, progress=lambda done, n: inserted.append((done, n)))
    validate(graph)
    assert graph.neighbors.shape == (3000, 16)
    assert graph.degrees.max() <= 16
    assert len(unreachable(graph)) == 0
    assert graph.start == medoid(vectors)
    assert recall(graph, vectors, queries, 50) > 0.98
    assert inserted[-1] == (3000, 3000)
    assert inserted == sorted(inserted)
    assert len(inserted) == report.batches
    assert report.mean_degree == pytest.approx(graph.degrees.mean())
    assert report.facts()["R"] == 16


def test_same_graph_for_any_number_of_threads_and_golden():
    vectors = clustered(2000)
    digests = set()
    for threads in (1, 2, 3):
        graph, _ = build_vamana(vectors, 0, R=16, L=30, seed=7, threads=threads)
        digests.add(hashlib.sha256(graph.neighbors.tobytes() + graph.degrees.tobytes()).hexdigest()[:16])
    assert digests == {"efc643af22ea7d23"}  # raise vamana.ALGORITHM when this changes on purpose
    other, _ = build_vamana(vectors, 0, R=16, L=30, seed=8, threads=1)
    assert not np.array_equal(other.neighbors, graph.neighbors)


def test_a_thousand_copies_stay_connected():
    vectors = np.full((1000, 8), 9, np.uint8)
    graph, report = build_vamana(vectors, 0, R=8, L=20, threads=1)
    validate(graph)
    assert len(unreachable(graph)) == 0
    assert report.max_degree <= 8
    ids, distances, _ = search_batch(vectors, 8, 0, graph.neighbors, graph.degrees, graph.start, vectors[:3], 50, 10)
    assert (distances == 0).all()
    assert all(len(set(row)) == 10 for row in ids.tolist())


def test_copies_among_others_stay_connected():
    vectors = clustered(1500)
    vectors[200:700] = vectors[3]
    graph, _ = build_vamana(vectors, 0, R=12, L=30, threads=1)
    validate(graph)
    assert len(unreachable(graph)) == 0
    assert recall(graph, vectors, vectors[1000:1050], 60, k=1) > 0.95


@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_fewer_rows_than_places(n):
    vectors = clustered(n)
    graph, report = build_vamana(vectors, 0, R=16, L=20, threads=2)
    validate(graph)
    assert len(unreachable(graph)) == 0
    assert report.n == n
    ids, _, _ = search_batch(vectors, 16, 0, graph.neighbors, graph.degrees, graph.start, vectors, 20, 20)
    assert ((ids >= 0).sum(axis=1) == n).all()


def test_inner_product_of_floats():
    rng = np.random.default_rng(0)
    vectors, queries = (
        rng.standard_normal((1500, 12)).astype(np.float32),
        rng.standard_normal((40, 12)).astype(np.float32),
    )
    graph, _ = build_vamana(vectors, 1, R=24, L=60, threads=1)
    validate(graph)
    assert len(unreachable(graph)) == 0
    ids, distances, _ = search_batch(vectors, 12, 1, graph.neighbors, graph.degrees, graph.start, queries, 100, 10)
    exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    assert np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(ids, exact, strict=True)]) > 0.9
    np.testing.assert_allclose(distances, -np.einsum("qd,qkd->qk", queries, vectors[ids]), rtol=1e-5, atol=1e-5)


def test_read_only_map_gives_the_same_graph(tmp_path):
    vectors = clustered(400)
    np.save(tmp_path / "v.npy", vectors)
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    first, second = (build_vamana(v, 0, R=8, L=16, threads=1)[0] for v in (vectors, mapped))
    assert np.array_equal(first.neighbors, second.neighbors)


def test_peak_memory_is_at_most_three_times_vectors_and_graph():
    build_vamana(clustered(50), 0, R=16, L=30, threads=2)
    tracemalloc.start()
    try:
        vectors = clustered(10_000, d=32)
        tracemalloc.reset_peak()
        graph, _ = build_vamana(vectors, 0, R=16, L=30, threads=2)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes <= 3 * (vectors.nbytes + graph.nbytes)


def test_medoid_is_the_row_nearest_to_the_mean():
    assert medoid(np.array([[0], [10], [4], [4]], np.uint8)) == 2


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"vectors": np.zeros((3, 2))}, DataError, "float64"),
        ({"vectors": np.zeros((0, 2), np.uint8)}, DataError, "non-empty"),
        ({"vectors": np.zeros((4, 4), np.uint8)[:, :2]}, DataError, "C order"),
        ({"metric": 2}, ConfigError, "metric: expected 0"),
        ({"R": 0}, ConfigError, "R: expected at least 1, found 0"),
        ({"alpha": 0.9}, ConfigError, "alpha: expected at least 1.0, found 0.9"),
        ({"slack": float("nan")}, ConfigError, "slack"),
    ],
)
def test_bad_input_is_named(change, error, message):
    arguments = {"vectors": np.zeros((3, 2), np.uint8), "metric": 0, "R": 2, "L": 2} | change
    with pytest.raises(error, match=message):
        build_vamana(arguments.pop("vectors"), arguments.pop("metric"), **arguments)


@pytest.mark.data
@pytest.mark.skipif("RIFTSIM_DATA_DIR" not in os.environ, reason="RIFTSIM_DATA_DIR names no folder of vector sets")
def test_recall_on_photographs():
    folder = Path(os.environ["RIFTSIM_DATA_DIR"]) / "sift-photos-100k"
    vectors, queries = (
        np.fromfile(folder / name, np.uint8, offset=8).reshape(-1, 128)[:rows]
        for name, rows in (("base.u8bin", 10_000), ("query.u8bin", 200))
    )
    graph, _ = build_vamana(vectors, 0, R=32, L=50)
    assert recall(graph, vectors, queries, 50) > 0.99
