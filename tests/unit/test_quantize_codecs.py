"""Codecs: chunk rule, training, encoding, distances, round trips, bad input."""

import warnings

import numpy as np
import pytest

from riftsim.artifacts import ArtifactStore
from riftsim.errors import ConfigError, DataError
from riftsim.quantize.full import FullCodec
from riftsim.quantize.pq import ProductCodec, chunk_starts_of
from riftsim.quantize.sq import ScalarCodec
from riftsim.quantize.store import codes_for, train_codec


def _clustered(n=1500, d=22, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(40, 200, (12, d))
    points = centres[rng.integers(0, 12, n)] + rng.normal(0, 12, (n, d))
    return np.clip(points, 0, 255).astype(np.uint8)


def _decoded_pq(codec, codes):
    columns = [
        codec.pivots[codes[:, chunk].astype(int), start:stop]
        for chunk, (start, stop) in enumerate(zip(codec.chunk_starts[:-1], codec.chunk_starts[1:], strict=True))
    ]
    return np.hstack(columns).astype(np.float64) + codec.centroid


def test_twenty_bytes_of_128_dimensions():
    starts = chunk_starts_of(128, 20)
    assert np.diff(starts).tolist() == [7] * 8 + [6] * 12
    assert (starts[0], starts[-1]) == (0, 128)


@pytest.mark.parametrize("chunks", [0, 23])
def test_impossible_code_size_is_refused(chunks):
    with pytest.raises(ConfigError, match=f"found {chunks} bytes for 22-d vectors, expected 1 to 22"):
        ProductCodec.train(_clustered(300), "l2", chunks)


@pytest.mark.parametrize("m", [5, 11])
def test_every_chunk_gets_its_nearest_centroid(m):
    vectors = _clustered()
    codec = ProductCodec.train(vectors, "l2", m, seed=3)
    codes = codec.encode(vectors)
    points = vectors.astype(np.float64) - codec.centroid
    starts = codec.chunk_starts
    for chunk in range(m):
        columns = slice(starts[chunk], starts[chunk + 1])
        pivots = codec.pivots[:, columns].astype(np.float64)
        squared = ((points[:, None, columns] - pivots) ** 2).sum(axis=2)
        taken = np.take_along_axis(squared, codes[:, chunk, None].astype(int), axis=1)[:, 0]
        np.testing.assert_allclose(taken, squared.min(axis=1), rtol=1e-5, atol=1e-3)


def test_kmeans_beats_random_centroids_and_more_bytes_beat_fewer():
    vectors = _clustered()
    errors = []
    for m in (2, 5, 11):
        codec = ProductCodec.train(vectors, "l2", m)
        errors.append(((_decoded_pq(codec, codec.encode(vectors)) - vectors) ** 2).sum(axis=1).mean())
    assert errors == sorted(errors, reverse=True)
    rng = np.random.default_rng(0)
    random = ProductCodec("l2", vectors[rng.choice(1500, 256)], np.zeros(22), chunk_starts_of(22, 2))
    assert errors[0] < 0.9 * ((_decoded_pq(random, random.encode(vectors)) - vectors) ** 2).sum(axis=1).mean()


def test_training_is_a_function_of_the_seed():
    vectors = _clustered()
    first, again = (ProductCodec.train(vectors, "l2", 4, seed=1, training_vectors=600) for _ in range(2))
    other = ProductCodec.train(vectors, "l2", 4, seed=2, training_vectors=600)
    assert first.pivots.tobytes() == again.pivots.tobytes()
    assert first.pivots.tobytes() != other.pivots.tobytes()
    assert first.facts["training_vectors"] == 600


@pytest.mark.parametrize("threads", [1, 2])
def test_training_does_not_depend_on_threads(threads):
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        codec = ProductCodec.train(_clustered(), "l2", 1)
        assert faiss.omp_get_max_threads() == threads
    finally:
        faiss.omp_set_num_threads(before)
    reference = ProductCodec.train(_clustered(), "l2", 1)
    assert codec.pivots.tobytes() == reference.pivots.tobytes()


def test_encoding_in_portions_is_encoding_at_once(monkeypatch):
    vectors = _clustered()
    for codec in (ProductCodec.train(vectors, "l2", 5), ScalarCodec.train(vectors.astype(np.float32), "l2")):
        whole = codec.encode(vectors)
        monkeypatch.setattr("riftsim.quantize.codec.ROWS_AT_ONCE", 333)
        np.testing.assert_array_equal(codec.encode(vectors), whole)
        monkeypatch.undo()


def test_few_training_vectors_are_the_centroids_and_one_warning_says_so():
    vectors = _clustered(40)
    with pytest.warns(match="found 40 training vectors, expected at least 256") as caught:
        codec = ProductCodec.train(vectors, "l2", 4)
    assert len(caught) == 1
    assert codec.facts["centroids"] == 40
    assert "warning" in codec.facts
    codes = codec.encode(vectors)
    assert codes.max() < 40
    np.testing.assert_allclose(_decoded_pq(codec, codes), vectors, atol=1e-3)


def test_no_training_vectors_is_an_error():
    with pytest.raises(DataError, match="no training vectors"):
        ProductCodec.train(np.zeros((0, 8), np.float32), "l2", 4)


@pytest.mark.parametrize("metric", ["l2", "ip", "cosine"])
@pytest.mark.parametrize("settings", [{"kind": "pq", "bytes": 5, "seed": 0}, {"kind": "sq8"}])
def test_distances_are_those_to_decoded_vectors(metric, settings):
    vectors = _clustered(400).astype(np.float32) / 100 - 1
    if metric == "cosine":
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    codec = train_codec(vectors, metric, settings)
    codes = codec.encode(vectors)
    if settings["kind"] == "pq":
        decoded = _decoded_pq(codec, codes)
    else:
        decoded = codec.least + codec.step.astype(np.float64) * codes
        assert np.abs(decoded - vectors).max() <= 0.51 * codec.step.max()
    query = vectors[7].astype(np.float64)
    expected = -(decoded @ query) if metric == "ip" else ((decoded - query) ** 2).sum(axis=1)
    np.testing.assert_allclose(codec.distances(vectors[7], codes), expected, rtol=1e-4, atol=1e-4)
    table = codec.table(vectors[7])
    assert table.shape == (codec.table_entries,)
    np.testing.assert_array_equal(codec.distances(vectors[7], codes, table), codec.distances(vectors[7], codes))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_sq8_loses_nothing_of_one_byte_integers(dtype):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    vectors = rng.integers(info.min, info.max + 1, (50, 128)).astype(dtype)
    codec = ScalarCodec.train(vectors, "l2")
    codes = codec.encode(vectors)
    np.testing.assert_array_equal(codec.least + codec.step * codes, vectors)
    query = vectors[0].astype(np.float32)
    np.testing.assert_array_equal(codec.distances(query, codes), ((vectors - query) ** 2).sum(axis=1))
    assert codec.facts["lossless"]


def test_sq8_keeps_a_constant_dimension_and_clips_outliers():
    vectors = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    vectors[:, 1] = 4.0
    codec = ScalarCodec.train(vectors, "l2", outliers=0.01)
    codes = codec.encode(vectors)
    assert (codes[:, 1] == 0).all()
    assert 5 <= (codes[:, 0] == 255).sum() <= 20
    on, beside = (codec.distances(np.array([0, value, 0], np.float32), codes) for value in (4, 5))
    np.testing.assert_allclose(beside - on, 1.0, atol=1e-4)
    with pytest.raises(ConfigError, match="outliers"):
        ScalarCodec.train(vectors, "l2", outliers=0.5)


@pytest.mark.parametrize("kind", ["pq", "sq8", "full"])
def test_state_makes_the_codec_again(kind):
    vectors = _clustered(400).astype(np.float32)
    codec = train_codec(vectors, "ip", {"kind": kind, **({"bytes": 3} if kind == "pq" else {})})
    again = type(codec).from_state("ip", codec.state(), codec.facts)
    codes = codec.encode(vectors)
    np.testing.assert_array_equal(again.encode(vectors), codes)
    np.testing.assert_array_equal(again.distances(vectors[0], codes), codec.distances(vectors[0], codes))
    assert again.arguments[:5] == codec.arguments[:5]
    assert codes.shape == (400, codec.code_bytes)
    with pytest.raises(DataError, match="found 21-d, expected the same"):
        codec.encode(vectors[:, :21])


def test_full_codes_are_the_vectors_and_not_a_copy():
    vectors = _clustered(50)
    codec = FullCodec.train(vectors, "l2")
    assert np.shares_memory(codec.encode(vectors), vectors)
    with pytest.raises(DataError, match="found float32"):
        codec.encode(vectors.astype(np.float32))


def test_unknown_metric_and_kind_are_refused():
    with pytest.raises(ConfigError, match="expected one of l2, ip, cosine"):
        FullCodec.train(_clustered(5), "hamming")
    with pytest.raises(ConfigError, match="found 'rabitq'"):
        train_codec(_clustered(5), "l2", {"kind": "rabitq"})


def test_codes_come_from_the_cache_the_second_time(tmp_path):
    store, vectors = ArtifactStore(tmp_path), _clustered(200)
    settings = {"kind": "pq", "bytes": 6, "seed": 0, "training_vectors": 1000}
    results = []
    for _ in range(2):
        with pytest.warns(match="expected at least 256"):
            results.append(codes_for("print", vectors, "l2", settings, store))
    (first, codes), (second, codes_again) = results
    assert (first.facts["cached"], second.facts["cached"]) == (False, True)
    np.testing.assert_array_equal(codes, codes_again)
    np.testing.assert_array_equal(first.parameters, second.parameters)
    with pytest.warns(match="expected at least 256"):
        assert not codes_for("print", vectors, "l2", {**settings, "bytes": 5}, store)[0].facts["cached"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codec, codes = codes_for("print", vectors, "l2", {"kind": "full"}, store)
        assert codes_for("print", vectors, "l2", {"kind": "sq8"}, store)[1].shape == (200, 22)
    assert np.shares_memory(codes, vectors)
    assert codec.code_bytes == 22
