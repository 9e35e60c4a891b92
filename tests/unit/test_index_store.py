"""Graphs are built once per content and parameters, and damage is refused."""

import numpy as np
import pytest

from riftsim.artifacts import ArtifactStore
from riftsim.errors import IndexFileError
from riftsim.index import store as module
from riftsim.index.store import stored_vamana

VECTORS = np.random.default_rng(0).integers(0, 256, (200, 6)).astype(np.uint8)


def load(store, **change):
    arguments = {"fingerprint": "abc", "R": 6, "L": 12, "threads": 1} | change
    return stored_vamana(VECTORS, 0, store=store, **arguments)


def test_second_time_is_read_and_equal(tmp_path, monkeypatch):
    store = ArtifactStore(tmp_path)
    built = load(store)
    monkeypatch.setattr(module, "build_vamana", None)
    read = load(store, threads=2)
    assert (built.facts["cached"], read.facts["cached"]) == (False, True)
    assert np.array_equal(built.graph.neighbors, read.graph.neighbors)
    assert read.graph.start == built.facts["start"]
    assert read.facts["degrees"]["unreachable"] == 0
    assert read.facts["build"]["R"] == 6


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"R": 5}, {"L": 13}, {"alpha": 1.1}, {"slack": 1.1}, {"fingerprint": "d"}]
)
def test_every_parameter_is_part_of_the_key(tmp_path, change):
    store = ArtifactStore(tmp_path)
    load(store)
    assert not load(store, **change).facts["cached"]


def test_a_damaged_file_is_refused(tmp_path):
    store = ArtifactStore(tmp_path)
    load(store)
    path = next(tmp_path.rglob("neighbors.npy"))
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(IndexFileError, match=r"neighbors\.npy"):
        load(store)
