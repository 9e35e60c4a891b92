"""Records and regions: the paper's byte counts, contents decoded again, shards, bad input."""

import numpy as np
import pytest

from riftsim.artifacts import ArtifactStore
from riftsim.errors import ConfigError, DataError
from riftsim.memnode import region as region_module
from riftsim.memnode.layout import NO_ID, RecordLayout
from riftsim.memnode.region import build_region
from riftsim.memnode.shards import by_table, contiguous, hashed
from riftsim.memnode.store import stored_region

PLACEMENTS = [
    lambda n: contiguous(n, 1),
    lambda n: contiguous(n, 4),
    lambda n: hashed(n, 3),
    lambda n: by_table(n, 3, lambda ids, nodes: (ids % 5 == 0).astype(np.int8) * 2),
]


def _index(n=101, d=7, width=5, dtype=np.uint8):
    rng = np.random.default_rng(0)
    vectors = rng.integers(0, 100, (n, d)).astype(dtype)
    degrees = rng.integers(0, width + 1, n).astype(np.int32)
    neighbors = rng.integers(0, n, (n, width)).astype(np.int32)
    neighbors[np.arange(width) >= degrees[:, None]] = -1
    return vectors, neighbors, degrees


def test_record_arithmetic_of_the_paper():
    layout = RecordLayout(128, np.uint8, 96)
    assert (layout.vector_bytes, layout.adjacency_bytes, layout.record_bytes) == (128, 388, 516)
    assert round(813 * layout.record_bytes / 1024, 2) == 409.68
    assert round((813 * layout.vector_bytes + 405 * layout.adjacency_bytes) / 1024, 2) == 255.08


def test_wider_elements_make_longer_vectors():
    layout = RecordLayout(96, np.float32, 64)
    assert (layout.vector_bytes, layout.adjacency_bytes, layout.record_bytes) == (384, 260, 644)


@pytest.mark.parametrize("arguments", [(0, np.uint8, 4), (4, np.uint8, 0), (4, np.float64, 4)])
def test_impossible_layout_is_refused(arguments):
    with pytest.raises(ConfigError, match="expected"):
        RecordLayout(*arguments)


@pytest.mark.parametrize("place", PLACEMENTS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_decoding_gives_the_input_back(place, dtype, monkeypatch):
    monkeypatch.setattr(region_module, "_ROWS_AT_ONCE", 17)
    vectors, neighbors, degrees = _index(dtype=dtype)
    region = build_region(vectors, neighbors, degrees, place(len(vectors)))
    for node in range(len(vectors)):
        vector, ids = region.decode(node)
        np.testing.assert_array_equal(vector, vectors[node])
        np.testing.assert_array_equal(ids, neighbors[node, : degrees[node]])
        assert vector.dtype == dtype


def test_bytes_of_a_record_and_unused_places():
    vectors = np.array([[1, 2, 3]], np.uint8)
    region = build_region(vectors, np.array([[7, 9]], np.int32), np.array([1], np.int32), contiguous(1, 1))
    assert region.buffer.tobytes() == bytes([1, 2, 3]) + b"\1\0\0\0" + b"\7\0\0\0" + NO_ID.to_bytes(4, "little")


def test_shards_account_for_every_byte():
    vectors, neighbors, degrees = _index()
    region = build_region(vectors, neighbors, degrees, hashed(101, 4))
    parts = [region.shard(memory_node) for memory_node in range(4)]
    np.testing.assert_array_equal(np.concatenate(parts), region.buffer)
    accounting = region.accounting()
    assert accounting["total_bytes"] == sum(accounting["bytes_per_memory_node"]) == 101 * 31
    assert accounting["vector_bytes"] + accounting["adjacency_bytes"] == accounting["total_bytes"]
    assert accounting["records_per_memory_node"] == [26, 26, 26, 23]
    assert region.bases.tolist() == [0, 26 * 31, 52 * 31, 78 * 31]


def test_a_mapped_region_is_made_once_and_equals_one_in_memory(tmp_path):
    vectors, neighbors, degrees = _index()
    in_memory = build_region(vectors, neighbors, degrees, hashed(101, 2))
    store = ArtifactStore(tmp_path)

    def mapped(placement, vectors=vectors, fingerprint="a"):
        return stored_region(
            vectors, neighbors, degrees, placement, fingerprint=fingerprint, store=store, mapped_from_bytes=1
        )

    region = mapped(hashed(101, 2))
    np.testing.assert_array_equal(region.buffer, in_memory.buffer)
    assert type(region.buffer) is np.ndarray
    region.buffer[0] ^= 1  # private: neither the file nor who maps it next sees it
    other = vectors + 1
    np.testing.assert_array_equal(mapped(hashed(101, 2), other).buffer, in_memory.buffer)
    assert not np.array_equal(mapped(hashed(101, 2), other, "b").buffer, in_memory.buffer)
    assert not np.array_equal(mapped(contiguous(101, 2)).buffer, in_memory.buffer)
    assert len(list((tmp_path / "region").glob("[!.]*"))) == 3
    assert not list((tmp_path / "scratch").iterdir())


def test_a_small_region_is_not_kept(tmp_path):
    vectors, neighbors, degrees = _index()
    stored_region(vectors, neighbors, degrees, contiguous(101, 1), fingerprint="a", store=ArtifactStore(tmp_path))
    assert not list(tmp_path.iterdir())


def test_arrays_of_different_indexes_are_refused():
    vectors, neighbors, degrees = _index()
    with pytest.raises(DataError, match="found 100 vectors, 101 adjacency lists"):
        build_region(vectors[:-1], neighbors, degrees, contiguous(101, 1))
    degrees[3] = 6
    with pytest.raises(DataError, match="row 3: found degree 6, expected 0 to 5"):
        build_region(vectors, neighbors, degrees, contiguous(101, 1))
