"""HNSW level 0 of faiss and hnswlib files."""

import os
import subprocess

import faiss
import numpy as np
import pytest

from riftsim.errors import IndexFileError
from riftsim.index.hnsw_io import read_faiss_hnsw, read_hnswlib
from riftsim.index.search import search_batch

RNG = np.random.default_rng(4)
VECTORS = RNG.integers(0, 256, (600, 16)).astype(np.float32)
QUERIES = RNG.integers(0, 256, (20, 16)).astype(np.float32)


def search(index, queries, metric):
    graph = index.graph
    return search_batch(
        index.vectors, 16, metric, graph.neighbors, graph.degrees, graph.start, queries, 64, 10,
        hidden=index.routing_only, threads=1,
    )  # fmt: skip


@pytest.mark.parametrize("metric", [0, 1])
def test_faiss_flat(tmp_path, metric):
    tool = faiss.IndexHNSWFlat(16, 8, (faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT)[metric])
    tool.add(VECTORS)
    tool.hnsw.efSearch = 64
    faiss.write_index(tool, str(tmp_path / "index"))
    index = read_faiss_hnsw(tmp_path / "index")
    assert index.metric == ("l2", "ip")[metric]
    assert np.array_equal(index.vectors, VECTORS)
    assert index.graph.width == 16
    expected, _ = tool.search(QUERIES, 10)
    _, distances, _ = search(index, QUERIES, metric)
    # faiss descends the upper levels first: the same lists from another entry.
    assert np.isclose(distances if metric == 0 else -distances, expected).mean() > 0.97


def test_faiss_bytes_with_external_ids_and_without_storage(tmp_path):
    tool = faiss.IndexIDMap(faiss.IndexHNSWSQ(16, faiss.ScalarQuantizer.QT_8bit_direct, 8))
    tool.train(VECTORS)
    tool.add_with_ids(VECTORS, np.arange(600) * 7 + 2**33)
    faiss.write_index(tool, str(tmp_path / "index"))
    index = read_faiss_hnsw(tmp_path / "index")
    assert index.vectors.dtype == np.uint8
    assert np.array_equal(index.vectors, VECTORS)
    assert index.ids[[0, 3]].tolist() == [2**33, 2**33 + 21]
    faiss.write_index(faiss.downcast_index(tool.index), str(tmp_path / "bare"), faiss.IO_FLAG_SKIP_STORAGE)
    bare = read_faiss_hnsw(tmp_path / "bare")
    assert bare.vectors is None
    assert np.array_equal(bare.graph.neighbors, index.graph.neighbors)


def test_other_faiss_kinds_are_refused(tmp_path):
    faiss.write_index(faiss.IndexFlatL2(16), str(tmp_path / "flat"))
    with pytest.raises(IndexFileError, match="byte 0: index kind: found b'IxF2', expected IHNf or IHNs or IxMp"):
        read_faiss_hnsw(tmp_path / "flat")
    tool = faiss.IndexHNSWSQ(16, faiss.ScalarQuantizer.QT_8bit, 8)
    tool.train(VECTORS)
    tool.add(VECTORS)
    faiss.write_index(tool, str(tmp_path / "quantised"))
    with pytest.raises(IndexFileError, match="quantiser type"):
        read_faiss_hnsw(tmp_path / "quantised")


def test_every_truncation_of_a_faiss_file_is_refused(tmp_path):
    tool = faiss.IndexHNSWFlat(16, 4)
    tool.add(VECTORS[:20])
    faiss.write_index(tool, str(tmp_path / "index"))
    data = (tmp_path / "index").read_bytes()
    cut = tmp_path / "cut"
    for size in [*range(0, len(data), 37), len(data) - 1]:
        cut.write_bytes(data[:size])
        with pytest.raises(IndexFileError, match="cut: byte"):
            read_faiss_hnsw(cut)
    cut.write_bytes(data + b"x")
    with pytest.raises(IndexFileError, match="1 more bytes"):
        read_faiss_hnsw(cut)


def hnswlib_bytes(lists, vectors, labels, deleted=(), m=2, upper=None):
    """Write the documented layout: header, records with stale slots, upper levels."""
    n, slots = len(lists), 2 * m
    upper = upper or {}
    vector_bytes = vectors[0].nbytes
    offset = 4 + 4 * slots
    header = (
        np.array([0, n + 5, n, offset + vector_bytes + 8, offset + vector_bytes, offset], "<u8").tobytes()
        + np.array([max(upper.values(), default=0)], "<i4").tobytes()
        + np.array([1], "<u4").tobytes()
        + np.array([m, slots, m], "<u8").tobytes()
        + np.array([1 / np.log(m)], "<f8").tobytes()
        + np.array([100], "<u8").tobytes()
    )
    assert len(header) == 96
    records = b""
    for row, others in enumerate(lists):
        stale = list(others) + [row] * (slots - len(others))
        records += np.array([len(others)], "<u2").tobytes() + bytes([row in deleted, 0])
        records += np.array(stale, "<u4").tobytes() + vectors[row].tobytes() + np.array([labels[row]], "<u8").tobytes()
    levels = b""
    for row in range(n):
        size = upper.get(row, 0) * (4 + 4 * m)
        levels += np.array([size], "<u4").tobytes() + bytes(size)
    return header + records + levels


LISTS = [[1, 2], [0, 3, 2], [], [1]]


def test_hnswlib_layout(tmp_path):
    vectors = np.arange(8, dtype=np.uint8).reshape(4, 2)
    path = tmp_path / "index.bin"
    path.write_bytes(hnswlib_bytes(LISTS, vectors, [7, 5, 2**40, 9], deleted={3}, upper={1: 2}))
    index = read_hnswlib(path, np.uint8, "l2")
    assert index.graph.neighbors.tolist() == [[1, 2, -1, -1], [0, 3, 2, -1], [-1] * 4, [1, -1, -1, -1]]
    assert index.graph.start == 1
    assert np.array_equal(index.vectors, vectors)
    assert index.ids.tolist() == [7, 5, 2**40, 9]
    assert index.routing_only.tolist() == [False, False, False, True]
    with pytest.raises(IndexFileError, match="vector bytes: found 2, expected a multiple of 4 for float32"):
        read_hnswlib(path, np.float32, "l2")


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 1, "byte 0: level-0 offset: found 1, expected 0"),
        (8, 3, "capacity: found 3, expected at least the 4 rows"),
        (16, 90, "capacity"),
        (24, 31, "record layout"),
        (52, 4, "byte 52: entry row: found 4, expected 0 to 3"),
        (64, 5, "record layout"),
        (100, 4, "row 0, place 0: expected neighbours 0 to 3, found 4"),
        (96, 5, "row 0: expected degree 0 to 4, found 5"),
        (96 + 4 * 30 + 4, 11, "upper levels of row 1: found 11, expected 0 to 2 times 12 bytes"),
        (96 + 4 * 30 + 4, 36, "upper levels of row 1: found 36"),
    ],
)
def test_damaged_hnswlib_files_are_named(tmp_path, at, value, message):
    vectors = np.arange(8, dtype=np.uint8).reshape(4, 2)
    data = bytearray(hnswlib_bytes(LISTS, vectors, range(4), upper={1: 2}))
    data[at : at + 4] = np.array(value, "<u4").tobytes()
    (tmp_path / "index.bin").write_bytes(data)
    with pytest.raises(IndexFileError, match=message) as caught:
        read_hnswlib(tmp_path / "index.bin", np.uint8, "l2")
    assert "index.bin" in str(caught.value)


def test_truncated_hnswlib_files_are_refused(tmp_path):
    data = hnswlib_bytes(LISTS, np.zeros((4, 2), np.uint8), range(4), upper={1: 2})
    for size in range(0, len(data), 7):
        (tmp_path / "cut").write_bytes(data[:size])
        with pytest.raises(IndexFileError, match="cut"):
            read_hnswlib(tmp_path / "cut", np.uint8, "l2")
    (tmp_path / "cut").write_bytes(data + b"abc")
    with pytest.raises(IndexFileError, match="3 more bytes"):
        read_hnswlib(tmp_path / "cut", np.uint8, "l2")


@pytest.mark.skipif(
    "RIFTSIM_PEER_PYTHON" not in os.environ, reason="RIFTSIM_PEER_PYTHON names no interpreter that has hnswlib"
)
def test_genuine_hnswlib_file(tmp_path):
    np.save(tmp_path / "vectors.npy", VECTORS)
    np.save(tmp_path / "queries.npy", QUERIES)
    program = (
        "import hnswlib, numpy, sys\n"
        "vectors, queries = (numpy.load(f'{sys.argv[1]}/{name}.npy') for name in ('vectors', 'queries'))\n"
        "index = hnswlib.Index('l2', vectors.shape[1])\n"
        "index.init_index(len(vectors) + 100, M=8, ef_construction=100, random_seed=1)\n"
        "index.add_items(vectors, numpy.arange(len(vectors)) * 3 + 1, num_threads=1)\n"
        "[index.mark_deleted(label) for label in (1, 31, 61)]\n"
        "index.set_ef(64)\n"
        "labels, distances = index.knn_query(queries, 10, num_threads=1)\n"
        "index.save_index(f'{sys.argv[1]}/index.bin')\n"
        "numpy.savez(f'{sys.argv[1]}/found.npz', labels=labels, distances=distances)\n"
    )
    subprocess.run([os.environ["RIFTSIM_PEER_PYTHON"], "-c", program, str(tmp_path)], check=True)
    index = read_hnswlib(tmp_path / "index.bin", np.float32, "l2")
    found = np.load(tmp_path / "found.npz")
    assert set(index.ids[index.routing_only].tolist()) == {1, 31, 61}
    assert np.array_equal(index.vectors[np.argsort(index.ids)], VECTORS)
    rows, distances, _ = search(index, QUERIES, 0)
    assert (index.ids[rows] == found["labels"]).mean() > 0.97
    assert np.isclose(distances, found["distances"]).mean() > 0.97
