"""A run over an index file of another tool: same recall as the built graph, and nothing kept from a former file."""

import numpy as np
import pytest

from riftsim.artifacts import ArtifactStore
from riftsim.assembly import run_point
from riftsim.config.sweep import load_experiment
from riftsim.index.diskann_io import write_memory_index
from riftsim.index.graph import Graph
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
