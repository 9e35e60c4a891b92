"""A run over an index file of another tool: same recall as the built graph, and nothing kept from a former file."""

import numpy as np
import pytest

from riftsim.artifacts import ArtifactStore
from riftsim.assembly import prepare, run_point
from riftsim.config.sweep import load_experiment
from riftsim.errors import ConfigError, IndexFileError
from riftsim.index.diskann_io import write_memory_index
from riftsim.index.graph import Graph
from riftsim.quantize.diskann_pq import write_codec, write_codes
from riftsim.quantize.pq import ProductCodec
from riftsim.workload.datasets import load_dataset

SMALL = {
    "name": "imported",
    "dataset": {"name": "sift-photos-10k", "n": 2000, "queries": 60},
    "codes": {"kind": "pq", "bytes": 16},
    "search": {"k": 10, "L": 40},
    "system": {"kind": "remote_vamana", "verification": "verify-all"},
    "driver": {"kind": "local"},
}


def write_in_order(path, graph: Graph, base: np.ndarray, order: np.ndarray) -> None:
    """Write the graph with its rows in another order; row i is row ``order[i]`` of the data set."""
    row_of = np.empty(len(order), np.int32)
    row_of[order] = np.arange(len(order), dtype=np.int32)
    neighbors = graph.neighbors[order]
    moved = Graph(np.where(neighbors >= 0, row_of[neighbors], -1), graph.degrees[order], int(row_of[graph.start]))
    write_memory_index(path, moved, base[order], "l2", tags=order)


def test_an_index_file_that_was_replaced_brings_its_own_codes(photos, tmp_path):
    store = ArtifactStore(tmp_path / "artifacts")
    base = np.asarray(load_dataset("sift-photos-10k", n=2000, queries=60).base)
    path = tmp_path / "ann"
    asked = {**SMALL, "index": {"kind": "file", "path": str(path), "format": "diskann"}}
    config = load_experiment(asked).points[0].config
    results = []
    for order in (np.arange(2000), np.random.Generator(np.random.Philox(key=1)).permutation(2000)):
        write_in_order(path, photos.graph, base, order)
        results.append(run_point(config, artifacts=store))
    recalls = [result.queries["recall"].mean() for result in results]
    assert recalls[0] > 0.95
    assert recalls[1] == pytest.approx(recalls[0], abs=0.01)  # the sample that k-means is trained on differs
    assert not results[1].facts["codes"]["cached"]


def test_codes_that_another_tool_trained(tmp_path):
    """A quantiser and codes in DiskANN's files search like the ones they were written from."""
    base = load_dataset("sift-photos-10k", n=1000, queries=20).base
    codec = ProductCodec.train(base, "l2", 16)
    write_codec(codec, tmp_path / "x_pq_pivots.bin")
    write_codes(codec.encode(base), tmp_path / "x_pq_compressed.bin")
    small = {
        "sweep": {},
        "dataset": {"name": "sift-photos-10k", "n": 1000, "queries": 20},
        "index": {"kind": "vamana", "R": 16, "L": 32},
        "driver": {"kind": "local"},
        "system": {"kind": "remote_vamana"},
    }

    def ids(**codes):
        (point,) = load_experiment("quickstart", {**small, "codes": codes}).points
        return run_point(point.config, artifacts=ArtifactStore(tmp_path / "cache")).ids

    trained = ids(kind="pq", bytes=16)
    pivots, codes = str(tmp_path / "x_pq_pivots.bin"), str(tmp_path / "x_pq_compressed.bin")
    assert (ids(kind="file", pivots=pivots, codes=codes) == trained).all()
    assert (ids(kind="file", pivots=pivots) == trained).all()
    write_codes(codec.encode(base[:999]), tmp_path / "short.bin")
    with pytest.raises(IndexFileError, match="codes of 999 vectors, expected 1000"):
        ids(kind="file", pivots=pivots, codes=str(tmp_path / "short.bin"))


def test_an_index_that_was_built_is_searched_from_its_disk_files(tmp_path):
    """Vectors, graph and codes come back as they were written beside the cache."""
    store = ArtifactStore(tmp_path / "artifacts")
    built = {**SMALL, "dataset": {"name": "sift-photos-10k", "n": 600, "queries": 20}}
    built |= {"index": {"kind": "vamana", "R": 16, "L": 32}, "system": {"kind": "diskann"}}
    (point,) = load_experiment(built).points
    prefix = tmp_path / "new" / "ann"
    prepare(point.config, artifacts=store, disk_index=prefix)
    files = {
        "index": {"kind": "file", "path": f"{prefix}_disk.index", "format": "diskann_disk"},
        "codes": {"kind": "file", "pivots": f"{prefix}_pq_pivots.bin", "codes": f"{prefix}_pq_compressed.bin"},
    }
    (read,) = load_experiment({**built, **files}).points
    expected, found = (run_point(one.config, artifacts=store) for one in (point, read))
    assert np.array_equal(found.ids, expected.ids)
    assert found.queries["reads_record"].tolist() == expected.queries["reads_record"].tolist()
    (scalar,) = load_experiment({**built, "codes": {"kind": "sq8"}}).points
    with pytest.raises(ConfigError, match="expected a product quantiser"):
        prepare(scalar.config, artifacts=store, disk_index=prefix)
