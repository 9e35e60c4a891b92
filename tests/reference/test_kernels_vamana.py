"""The whole build against the same batches in plain Python."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from riftsim.index import vamana
from riftsim.index.graph import unreachable
from riftsim.rng import stream

_spec = importlib.util.spec_from_file_location("index_oracles", Path(__file__).with_name("index_oracles.py"))
oracles = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracles)


@pytest.mark.parametrize(("R", "L", "slack"), [(6, 10, 1.3), (4, 4, 1.0)])
def test_same_graph_as_plain_python(monkeypatch, R, L, slack):
    monkeypatch.setattr(vamana, "_BATCH_SHARE", 0.05)
    monkeypatch.setattr(vamana, "repair", lambda graph, *_: (graph, 0))
    rng = np.random.default_rng(R)
    vectors = rng.integers(0, 60, (260, 4)).astype(np.uint8)
    graph, report = vamana.build_vamana(vectors, 0, R=R, L=L, slack=slack, seed=5, threads=1)
    order = stream(5, "insertion order").permutation(len(vectors))
    order = [graph.start, *order[order != graph.start].tolist()]
    expected = oracles.build(0, vectors, order, R, L, 1.2, slack, 0.05)
    found = [graph.neighbors[row, :degree].tolist() for row, degree in enumerate(graph.degrees)]
    assert found == expected
    assert report.unreachable_before_repair == len(unreachable(graph))
