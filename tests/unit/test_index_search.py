"""The batch path: padding, hidden rows, threads, and arrays that do not fit."""

import numpy as np
import pytest

from riftsim.errors import ConfigError, DataError
from riftsim.index.search import search_batch

VECTORS = np.arange(20, dtype=np.uint8)[:, None] * 3
CHAIN = np.stack([np.arange(20) - 1, np.arange(20) + 1], axis=1).astype(np.int32)
CHAIN[0], CHAIN[19] = [1, -1], [18, -1]
DEGREES = np.array([1] + [2] * 18 + [1], np.int32)


def search(queries, L, k, **more):
    return search_batch(VECTORS, 1, 0, CHAIN, DEGREES, 0, np.array(queries, np.uint8)[:, None], L, k, **more)


def test_known_answer():
    ids, distances, counts = search([0, 1], 3, 2, threads=1)
    assert ids.tolist() == [[0, 1], [0, 1]]
    assert distances.tolist() == [[0, 9], [1, 4]]
    assert counts[0].tolist()[:3] == [3, 4, 3]  # 0, 1, 2 expanded; 0 to 3 evaluated; 3 no longer fits


def test_fewer_rows_than_k_are_padded():
    ids, distances, _ = search([0], 30, 25)
    assert ids[0, :20].tolist() == list(range(20))
    assert (ids[0, 20:] == -1).all()
    assert np.isinf(distances[0, 20:]).all()


def test_hidden_rows_route_but_are_not_returned():
    hidden = np.zeros(20, bool)
    hidden[:3] = True
    ids, _, _ = search([0], 6, 5, hidden=hidden)
    assert ids.tolist() == [[3, 4, 5, -1, -1]]


def test_threads_do_not_change_the_answer():
    queries = np.arange(100) % 60
    for one, other in zip(search(queries, 8, 4, threads=1), search(queries, 8, 4, threads=3), strict=True):
        assert np.array_equal(one, other)


def test_no_queries():
    ids, _, counts = search(np.empty(0), 5, 3)
    assert ids.shape == (0, 3)
    assert counts.shape == (0, 4)


def test_arrays_that_do_not_fit():
    with pytest.raises(ConfigError, match="found k=5, L=4"):
        search([0], 4, 5)
    with pytest.raises(DataError, match=r"queries: expected uint8 \(q, 1\), found float32"):
        search_batch(VECTORS, 1, 0, CHAIN, DEGREES, 0, np.zeros((2, 1), np.float32), 4, 2)
    with pytest.raises(DataError, match="20 adjacency rows need 20"):
        search_batch(VECTORS[:5], 1, 0, CHAIN, DEGREES, 0, VECTORS[:1], 4, 2)


def test_offsets_beyond_two_gibi_elements(tmp_path):
    d = 960
    n = 2**31 // d + 100
    vectors = np.memmap(tmp_path / "sparse", np.uint8, mode="w+", shape=(n, d))  # pages never written take no space
    vectors[n - 3 :] = np.array([[9], [5], [7]], np.uint8)
    neighbors = np.zeros((n, 2), np.int32)
    neighbors[0] = [n - 3, n - 2]
    neighbors[n - 3] = [n - 1, 0]
    degrees = np.full(n, 2, np.int32)
    ids, distances, _ = search_batch(
        vectors, d, 0, neighbors, degrees, 0, np.full((1, d), 7, np.uint8), 4, 3, threads=1
    )
    assert ids.tolist() == [[n - 1, n - 3, n - 2]]
    assert distances.tolist() == [[0, 4 * d, 4 * d]]
