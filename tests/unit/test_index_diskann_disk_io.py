"""DiskANN's disk index: genuine files, records of every placement, and damaged ones."""

import os
from pathlib import Path

import numpy as np
import pytest

from riftsim.errors import IndexFileError
from riftsim.index.diskann_disk_io import read_disk_index, write_disk_index
from riftsim.index.graph import Graph
from riftsim.index.search import search_batch

samples = pytest.mark.skipif(
    "RIFTSIM_FORMATS_DIR" not in os.environ, reason="RIFTSIM_FORMATS_DIR names no folder of other tools' files"
)


def formats():
    return Path(os.environ["RIFTSIM_FORMATS_DIR"])


def ring(n, d, dtype=np.float32, width=3):
    """A ring, with vectors that tell their row."""
    neighbors = np.full((n, width), -1, np.int32)
    neighbors[:, 0] = (np.arange(n) + 1) % n
    return Graph(neighbors, np.ones(n, np.int32), n // 2), (np.arange(n * d) % 120).reshape(n, d).astype(dtype)


@samples
@pytest.mark.parametrize("name", ["diskann_disk", "diskann_disk_sharded"])
def test_genuine_files(name, tmp_path):
    source = formats() / name / "ann_disk.index"
    disk = read_disk_index(source)
    graph, vectors = disk.index.graph, disk.index.vectors
    assert (disk.record_bytes, disk.records_per_sector, graph.width) == (260, 15, 32)
    queries = np.fromfile(formats() / "vectors/query_50.u8bin", np.uint8, offset=8).reshape(50, 128)
    answer = np.load(formats() / name / "search_L64_W2.npz")
    ids, distances, _ = search_batch(vectors, 128, 0, graph.neighbors, graph.degrees, graph.start, queries, 64, 10)
    assert np.array_equal(distances, answer["dist"])
    assert (ids == answer["ids"]).mean() > 0.99
    write_disk_index(tmp_path / "again_disk.index", graph, vectors)
    assert (tmp_path / "again_disk.index").read_bytes() == source.read_bytes()


@samples
def test_entry_points_of_a_sharded_build():
    disk = read_disk_index(formats() / "diskann_disk_sharded/ann_disk.index")
    assert disk.entry_rows.tolist() == [443, 158, 33]
    assert disk.entry_centroids.shape == (3, 128)


@pytest.mark.parametrize(
    ("n", "d", "dtype"),
    [(40, 8, np.float32), (1, 8, np.uint8), (30, 1021, np.float32), (5, 1500, np.float32), (3, 4080, np.int8)],
)
def test_round_trip_of_short_exact_and_long_records(tmp_path, n, d, dtype):
    graph, vectors = ring(n, d, dtype)
    if n == 1:
        graph = Graph(np.full((1, 3), -1, np.int32), np.zeros(1, np.int32), 0)
    path = tmp_path / "a_disk.index"
    write_disk_index(path, graph, vectors)
    assert path.stat().st_size % 4096 == 0
    disk = read_disk_index(path, dtype)
    assert np.array_equal(disk.index.graph.neighbors, graph.neighbors)
    assert np.array_equal(disk.index.graph.degrees, graph.degrees)
    assert disk.index.graph.start == graph.start
    assert np.array_equal(disk.index.vectors, vectors)
    assert disk.record_bytes == d * np.dtype(dtype).itemsize + 16
    assert disk.entry_rows is None


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 8, "byte 0: number of metadata: found 8, expected 9 or 12"),
        (8 + 8 * 7, 8192, "metadata 7: found 8192, the layout of PipeANN"),
        (8 + 8 * 7, 1, "found 1, re-ranking vectors"),
        (8 + 8 * 8, 4096, "file size: found 4096, expected 8192"),
        (8 + 8 * 2, 40, "rows, width, start, frozen rows"),
        (8 + 8 * 4, 9, "record bytes and records per sector"),
        (8, 200, "size: found 8192, expected 16384 for 200 rows"),
        (4096 + 32, 4, "byte 4096: degree of row 0: found 4, expected at most 3"),
        (4096 + 36, 40, "row 0, place 0: expected neighbours 0 to 39, found 40"),
    ],
)
def test_damage_is_named(tmp_path, at, value, message):
    path = tmp_path / "a_disk.index"
    write_disk_index(path, *ring(40, 8))
    data = bytearray(path.read_bytes())
    data[at : at + 4] = np.array(value, "<u4").tobytes()
    path.write_bytes(data)
    with pytest.raises(IndexFileError, match=message) as caught:
        read_disk_index(path, np.float32)
    assert str(path) in str(caught.value)


def test_type_must_be_known(tmp_path):
    path = tmp_path / "a_disk.index"
    write_disk_index(path, *ring(40, 8))
    with pytest.raises(IndexFileError, match=r"found no a_metadata\.bin, expected it or the dtype"):
        read_disk_index(path)
