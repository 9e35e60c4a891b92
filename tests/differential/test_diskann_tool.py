"""Our DiskANN beside the tool, on the same files: its index searched by us, and ours by it."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from search_worlds import make_world

from riftsim.artifacts import ArtifactStore
from riftsim.assembly import run_point
from riftsim.assembly.export import export_disk_index
from riftsim.assembly.index import load_search_index
from riftsim.config.sweep import load_experiment
from riftsim.errors import ConfigError
from riftsim.index.diskann_disk_io import read_disk_index
from riftsim.quantize.diskann_pq import read_codec, read_codes
from riftsim.search.rounds import RoundSearch
from riftsim.workload.datasets import load_dataset

samples = pytest.mark.skipif(
    "RIFTSIM_FORMATS_DIR" not in os.environ, reason="RIFTSIM_FORMATS_DIR names no folder of other tools' files"
)
peer = pytest.mark.skipif(
    "RIFTSIM_PEER_PYTHON" not in os.environ, reason="RIFTSIM_PEER_PYTHON names no interpreter that has diskannpy"
)
QUERIES, L, W = 60, 30, 4
SMALL = {
    "name": "small",
    "dataset": {"name": "sift-photos-10k", "n": 2000, "queries": QUERIES},
    "index": {"kind": "vamana", "R": 24, "L": 48},
    "codes": {"kind": "pq", "bytes": 16},
    "search": {"k": 10, "L": L},
    "system": {"kind": "diskann", "beam_width": W},
    "driver": {"kind": "local"},
}
# The tool hangs with one thread. What it reads is counted by the kernel: direct reads, 4 KiB each.
SEARCH = """
import diskannpy, numpy, sys
folder, L, W = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def read():
    return int(next(line for line in open("/proc/self/io") if line.startswith("read_bytes")).split()[1])
queries = numpy.load(folder + "/queries.npy")
index = diskannpy.StaticDiskIndex(folder, num_threads=2, num_nodes_to_cache=0, cache_mechanism=0)
before = read()
found = index.batch_search(queries, 10, L, 2, W)
reads = (read() - before) / 4096 / len(queries)
numpy.savez(folder + "/found.npz", ids=found.identifiers, distances=found.distances, reads=reads)
"""
BUILD = """
import diskannpy, numpy, sys
folder = sys.argv[1]
codes_gb = 2000 * 16 / 2**30
diskannpy.build_disk_index(numpy.load(folder + "/base.npy"), "l2", folder, 48, 24, codes_gb, 1.0, 2)
"""


def tool(program: str, *arguments) -> None:
    command = [os.environ["RIFTSIM_PEER_PYTHON"], "-c", program, *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)


def assert_alike(found, ours) -> None:
    """The same results within what rounding of compact distances changes, and the same reads where they are counted."""
    assert (found["ids"] == ours.ids).mean() > 0.98
    assert (found["distances"] == ours.distances).mean() > 0.98
    if found["reads"] > 0:  # a file system in memory has no direct reads to count
        assert found["reads"] == pytest.approx(ours.queries["reads_record"].mean(), rel=0.01)


@samples
def test_genuine_files_are_searched_as_the_tool_does():
    folder = Path(os.environ["RIFTSIM_FORMATS_DIR"])
    source = folder / "diskann_disk"
    disk = read_disk_index(source / "ann_disk.index")
    queries = np.fromfile(folder / "vectors/query_50.u8bin", np.uint8, offset=8).reshape(50, 128)
    codec = read_codec(source / "ann_pq_pivots.bin")
    codes = read_codes(source / "ann_pq_compressed.bin", codec, 2000)
    world = make_world(disk.index.vectors, queries, disk.index.graph, codec=codec)
    assert (world.codes == codes).mean() > 0.9999
    program = RoundSearch(*world.search_arguments(), list_size=64, k=10, beam_width=2)
    answers = [program.run(query) for query in range(50)]
    answer = np.load(source / "search_L64_W2.npz")
    assert np.array_equal([found.distances for found in answers], answer["dist"])
    assert np.array_equal([found.ids for found in answers], answer["ids"])
    # 66.4 reads per query is what the kernel counted for the tool on these files.
    assert np.mean([found.counts["reads_record"] for found in answers]) == pytest.approx(66.4, abs=0.3)


@samples
def test_a_sharded_build_is_refused():
    path = Path(os.environ["RIFTSIM_FORMATS_DIR"]) / "diskann_disk_sharded/ann_disk.index"
    asked = {**SMALL, "index": {"kind": "file", "path": str(path), "format": "diskann_disk"}}
    with pytest.raises(ConfigError, match="sharded build with 3 entry points"):
        run_point(load_experiment(asked).points[0].config)


@peer
def test_the_tool_searches_what_we_wrote(tmp_path):
    config = load_experiment(SMALL).points[0].config
    store = ArtifactStore(tmp_path / "artifacts")
    dataset = load_dataset("sift-photos-10k", n=2000, queries=QUERIES)
    export_disk_index(load_search_index(config, dataset, store), tmp_path / "ann", "l2")
    np.save(tmp_path / "queries.npy", np.asarray(dataset.queries))
    tool(SEARCH, tmp_path, L, W)
    assert_alike(np.load(tmp_path / "found.npz"), run_point(config, artifacts=store))


@peer
def test_we_search_what_the_tool_built(tmp_path):
    dataset = load_dataset("sift-photos-10k", n=2000, queries=QUERIES)
    np.save(tmp_path / "base.npy", np.asarray(dataset.base))
    np.save(tmp_path / "queries.npy", np.asarray(dataset.queries))
    tool(BUILD, tmp_path)
    tool(SEARCH, tmp_path, L, W)
    files = {
        "index": {"kind": "file", "path": str(tmp_path / "ann_disk.index"), "format": "diskann_disk"},
        "codes": {
            "kind": "file",
            "pivots": str(tmp_path / "ann_pq_pivots.bin"),
            "codes": str(tmp_path / "ann_pq_compressed.bin"),
        },
    }
    (point,) = load_experiment({**SMALL, **files}).points
    ours = run_point(point.config, artifacts=ArtifactStore(tmp_path / "artifacts"))
    assert_alike(np.load(tmp_path / "found.npz"), ours)
