"""DiskANN's in-memory index: genuine files, files that were written here, and damaged ones."""

import os
from pathlib import Path

import numpy as np
import pytest

from riftsim.errors import IndexFileError
from riftsim.index.diskann_io import read_memory_index, write_memory_index
from riftsim.index.graph import Graph
from riftsim.index.search import search_batch

samples = pytest.mark.skipif(
    "RIFTSIM_FORMATS_DIR" not in os.environ, reason="RIFTSIM_FORMATS_DIR names no folder of other tools' files"
)


def formats():
    return Path(os.environ["RIFTSIM_FORMATS_DIR"])


def small():
    """Five rows, the last frozen and the start."""
    neighbors = np.array([[1, 2, -1], [0, -1, -1], [3, 0, 1], [2, -1, -1], [0, 3, -1]], np.int32)
    vectors = np.arange(10, dtype=np.int8).reshape(5, 2) - 5
    return Graph(neighbors, np.array([2, 1, 3, 1, 2], np.int32), 4), vectors


def write_small(folder):
    graph, vectors = small()
    write_memory_index(folder / "ann", graph, vectors, "l2", tags=[10, 11, 0, 13, 0], frozen=1, deleted=[3])
    return folder / "ann"


@samples
@pytest.mark.parametrize(("name", "frozen"), [("diskann_mem", 0), ("diskann_mem_tags", 1), ("diskann_dynamic", 1)])
def test_search_finds_what_diskann_found(name, frozen):
    index = read_memory_index(formats() / name / "ann")
    queries = np.fromfile(formats() / "vectors/query_50.u8bin", np.uint8, offset=8).reshape(50, 128)
    answer = np.load(formats() / name / "search_q50_k10_L64.npz")
    graph = index.graph
    rows, distances, _ = search_batch(
        index.vectors, 128, 0, graph.neighbors, graph.degrees, graph.start, queries, 64, 10, hidden=index.routing_only
    )
    assert np.array_equal(distances, answer["dist"])
    differs = index.ids[rows] != answer["ids"]
    assert not differs.any() or (np.diff(distances)[differs[:, 1:]] == 0).all()  # only ties may change places
    assert index.routing_only.sum() == frozen
    assert index.metric == "l2"


@samples
def test_lists_beyond_R_are_kept():
    assert read_memory_index(formats() / "diskann_dynamic/ann").graph.width == 41


@samples
def test_writing_what_was_read_gives_the_same_bytes(tmp_path):
    for name, more in (("diskann_mem", {}), ("diskann_mem_tags", {"frozen": 1})):
        source = formats() / name / "ann"
        index = read_memory_index(source)
        tags = index.ids if more else None
        write_memory_index(tmp_path / "ann", index.graph, index.vectors, index.metric, tags=tags, **more)
        for suffix in ("", ".data", "_metadata.bin", *([".tags"] if more else [])):
            assert Path(f"{tmp_path / 'ann'}{suffix}").read_bytes() == Path(f"{source}{suffix}").read_bytes()


def test_round_trip_with_tags_frozen_and_deleted_rows(tmp_path):
    graph, vectors = small()
    index = read_memory_index(write_small(tmp_path))
    assert np.array_equal(index.graph.neighbors, graph.neighbors)
    assert index.graph.start == 4
    assert np.array_equal(index.vectors, vectors)
    assert index.vectors.dtype == np.int8
    assert index.routing_only.tolist() == [False, False, False, True, True]
    assert index.ids[[0, 2]].tolist() == [10, 0]
    assert index.metric == "l2"
    write_memory_index(tmp_path / "ann", graph, vectors, "ip")
    again = read_memory_index(tmp_path / "ann")
    assert again.ids.tolist() == list(range(5))  # tags and deletions of the former index are gone
    assert not again.routing_only.any()


def test_without_metadata_the_caller_says(tmp_path):
    path = write_small(tmp_path)
    Path(f"{path}_metadata.bin").unlink()
    with pytest.raises(IndexFileError, match=r"found no ann_metadata\.bin"):
        read_memory_index(path)
    assert read_memory_index(path, np.int8, "cosine").metric == "cosine"


def test_the_caller_may_not_contradict_the_metadata(tmp_path):
    path = write_small(tmp_path)
    with pytest.raises(IndexFileError, match=r"ann_metadata\.bin: metric: found l2, expected ip as asked for"):
        read_memory_index(path, metric="ip")
    with pytest.raises(IndexFileError, match="dtype: found int8, expected uint8"):
        read_memory_index(path, np.uint8)


def patched(path, at, values, dtype="<u4"):
    data = bytearray(path.read_bytes())
    data[at : at + np.dtype(dtype).itemsize] = np.array(values, dtype).tobytes()
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("suffix", "damage", "message"),
    [
        ("", lambda p: p.write_bytes(p.read_bytes()[:-4]), "byte 0: file size: found 80, expected 76"),
        ("", lambda p: p.write_bytes(b"ab"), "byte 0: file size: found 2 bytes left in the file, expected 1 x 8 bytes"),
        ("", lambda p: patched(p, 24, 3), "row 0, place 2: expected distinct neighbours"),
        (
            "",
            lambda p: patched(p, 68, 9),
            "byte 68: row 4: found a list that ends at byte 108, expected a row at least",
        ),
        ("", lambda p: patched(p, 28, 5), "row 0, place 0: expected neighbours 0 to 4, found 5"),
        ("", lambda p: patched(p, 28, 2**32 - 1), "row 0, place 0: expected neighbours 0 to 4, found -1"),
        ("", lambda p: patched(p, 12, 77), "start and frozen rows: found 77 and 1, expected below 5 rows"),
        (".data", lambda p: p.write_bytes(p.read_bytes() + b"x"), "end of file: found 1 more bytes, expected none"),
        (".data", lambda p: patched(p, 0, 4), "end of file: found 2 more bytes"),
        (".data", lambda p: patched(p, 4, 3), "byte 4: columns: found 3, expected 2"),
        (".data", lambda p: p.unlink(), "cannot be read: No such file"),
        (".tags", lambda p: p.write_bytes(np.array([2, 1, 5, 6], "<u4").tobytes()), "found 2 tags, expected 5"),
        (".del", lambda p: patched(p, 8, 5), "found row 5, expected below 5"),
        ("_metadata.bin", lambda p: patched(p, 16, 5, "<u8"), "found 5 rows, expected 4"),
        ("_metadata.bin", lambda p: patched(p, 0, 3, "<u8"), "byte 0: dtype: found 3, expected 0 to 2"),
    ],
)
def test_damage_is_named(tmp_path, suffix, damage, message):
    path = write_small(tmp_path)
    damage(Path(f"{path}{suffix}"))
    with pytest.raises(IndexFileError, match=message) as caught:
        read_memory_index(path)
    assert str(path) in str(caught.value)


def test_nothing_is_written_that_does_not_fit(tmp_path):
    graph, vectors = small()
    with pytest.raises(IndexFileError, match="found vectors"):
        write_memory_index(tmp_path / "ann", graph, vectors[:3], "l2")
    with pytest.raises(IndexFileError, match="metric 'dot'"):
        write_memory_index(tmp_path / "ann", graph, vectors, "dot")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(
    "RIFTSIM_PEER_PYTHON" not in os.environ, reason="RIFTSIM_PEER_PYTHON names no interpreter that has diskannpy"
)
def test_diskannpy_loads_what_was_written(tmp_path):
    import subprocess

    from riftsim.index.vamana import build_vamana

    vectors = np.random.default_rng(0).integers(0, 256, (1000, 24)).astype(np.uint8)
    graph, _ = build_vamana(vectors, 0, R=16, L=40, threads=1)
    write_memory_index(tmp_path / "ann", graph, vectors, "l2")
    np.save(tmp_path / "queries.npy", vectors[:40] // 2)
    program = (
        "import diskannpy, numpy, sys\n"
        "options = {'num_threads': 1, 'initial_search_complexity': 64}\n"
        "index = diskannpy.StaticMemoryIndex(index_directory=sys.argv[1], **options)\n"
        "found = index.batch_search(numpy.load(sys.argv[1] + '/queries.npy'), 10, 64, 1)\n"
        "numpy.savez(sys.argv[1] + '/found.npz', ids=found.identifiers, distances=found.distances)\n"
    )
    peer = os.environ["RIFTSIM_PEER_PYTHON"]
    subprocess.run([peer, "-c", program, str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    found = np.load(tmp_path / "found.npz")
    _, distances, _ = search_batch(
        vectors, 24, 0, graph.neighbors, graph.degrees, graph.start, vectors[:40] // 2, 64, 10, threads=1
    )
    assert np.array_equal(distances, found["distances"])
