"""Searches on bundled vectors, to the id, the count and the picosecond.

When a change of the searches or of the latency model is meant to change them, make the numbers anew and say why in the
commit:

    RIFTSIM_REGENERATE=1 python -m pytest tests/golden/test_searches.py

then look at the difference of ``searches.json``. Vectors are bytes, so all distances are whole numbers, and times are
integers: the numbers are the same on every machine. The codec is not trained, as k-means may differ between releases of
faiss: its centroids are pieces of some of the vectors.
"""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from search_runs import simulate, system_of
from search_worlds import make_world

from riftsim.quantize.pq import ProductCodec

FILE = Path(__file__).with_name("searches.json")
HARDWARE = str(Path(__file__).with_name("hardware.yaml"))
"""A copy of a profile, so that a better constant in the profile changes nothing here."""
QUERIES = 12
SYSTEMS = {
    "in_memory": {},
    "remote": {"verification": "verify-all"},
    "async": {"verification": "expansion-only"},
    "riftann": {"verification": {"kind": "calibrated", "alpha": 1.2, "delta": 0.001, "calibration_L": 64}},
}


@pytest.fixture(scope="module")
def world(photos):
    """The small index with 16-byte codes whose centroids are pieces of 256 vectors."""
    generator = np.random.Generator(np.random.Philox(key=1))
    pivots = photos.vectors[generator.choice(len(photos.vectors), 256, replace=False)].astype(np.float32)
    starts = np.arange(0, 129, 8, dtype=np.int32)
    codec = ProductCodec("l2", pivots, np.zeros(128, np.float32), starts)
    return make_world(photos.vectors, photos.queries, photos.graph, codec=codec)


def outcome(name: str, world) -> dict:
    run = simulate(system_of(name, world, **SYSTEMS[name]), profile=HARDWARE, queries=QUERIES, concurrency=3, warmup=0)
    ids = np.stack([each.answer.ids for each in run.runs])
    counts = [each.answer.counts for each in run.runs]
    return {
        "ids": hashlib.sha256(ids.astype("<i4").tobytes()).hexdigest(),
        "counts": {count: sum(each[count] for each in counts) for count in counts[0]},
        "latency_sum_ps": sum(each.end_ps - each.arrival_ps for each in run.runs),
        "waited_sum_ps": np.sum([each.waited_ps for each in run.runs], axis=0).tolist(),
    }


def test_graph_is_the_one_of_the_golden_runs(photos):
    """If this fails, the graph has changed and the numbers below with it."""
    digest = hashlib.sha256(photos.graph.neighbors.astype("<i4").tobytes()).hexdigest()
    _compare("graph", digest)


@pytest.mark.parametrize("name", SYSTEMS)
def test_searches_are_as_they_were(world, name):
    _compare(name, outcome(name, world))


def _compare(key: str, found) -> None:
    golden = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if os.environ.get("RIFTSIM_REGENERATE"):
        golden[key] = found
        FILE.write_text(json.dumps(golden, indent=2) + "\n", encoding="utf-8")
        return
    assert found == golden[key]
