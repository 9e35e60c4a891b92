"""Degree report, reachability, repair and validation of graphs."""

import numpy as np
import pytest

from riftsim.errors import IndexFileError
from riftsim.index.graph import Graph, degree_report, repair, unreachable, validate
from riftsim.kernels.views import flat_view


def graph_of(lists, width, start=0):
    """Make a graph from lists."""
    neighbors = np.full((len(lists), width), -1, np.int32)
    for row, others in enumerate(lists):
        neighbors[row, : len(others)] = others
    return Graph(neighbors, np.array([len(others) for others in lists], np.int32), start)


def test_report():
    report = degree_report(graph_of([[1, 2], [0], [], [0, 1, 2]], 4))
    assert report.facts() == {
        "n": 4, "R": 4, "min": 0, "mean": 1.5, "max": 3, "at_most_half": 0.75, "unreachable": 1
    }  # fmt: skip


def test_unreachable_follows_directed_edges_from_the_start():
    assert unreachable(graph_of([[1], [], [0, 3], [2]], 2)).tolist() == [2, 3]
    assert unreachable(graph_of([[1], [], [0, 3], [2]], 2, start=3)).tolist() == []


@pytest.mark.parametrize("width", [1, 2, 6])
def test_repair_reaches_every_row_within_the_width(width):
    rng = np.random.default_rng(width)
    n = 300
    vectors = rng.integers(0, 255, (n, 3)).astype(np.uint8)
    lists = [rng.choice(np.delete(np.arange(n), row), rng.integers(0, width + 1), replace=False) for row in range(n)]
    lists[0] = [1][:width]
    graph = graph_of(lists, width)
    before = graph.neighbors.copy()
    lost = set(unreachable(graph).tolist())
    assert lost
    repaired, connected = repair(graph, vectors, 0, L=8)
    validate(repaired)
    assert len(unreachable(repaired)) == 0
    assert 0 < connected <= len(lost)
    assert repaired.degrees.max() <= width
    assert np.array_equal(graph.neighbors, before)


def test_repair_prefers_the_nearest_row_with_a_free_place():
    vectors = np.array([[0], [10], [20], [21]], np.uint8)
    repaired, connected = repair(graph_of([[1, 2], [0], [0], []], 2), vectors, 0)
    assert connected == 1
    assert repaired.neighbors[2].tolist() == [0, 3]


def test_repair_leaves_a_connected_graph_alone():
    graph = graph_of([[1], [0]], 2)
    assert repair(graph, np.zeros((2, 1), np.uint8), 0) == (graph, 0)


@pytest.mark.parametrize(
    ("row", "place", "value", "message"),
    [
        (1, 0, 4, "row 1, place 0: expected neighbours 0 to 3, found 4"),
        (1, 0, -1, "row 1, place 0: expected neighbours 0 to 3, found -1"),
        (2, 1, 2, "row 2, place 1: expected no edge to itself, found 2"),
        (2, 1, 0, "row 2, place 1: expected distinct neighbours, found 0"),
        (0, 2, 3, "row 0, place 2: expected -1 past its degree 2, found 3"),
    ],
)
def test_validation_names_row_and_place(row, place, value, message):
    graph = graph_of([[1, 2], [0], [0, 1], [0]], 3)
    validate(graph)
    graph.neighbors[row, place] = value
    with pytest.raises(IndexFileError, match=f"^some.file: {message}$"):
        validate(graph, "some.file")


def test_validation_of_degrees_and_start():
    good = graph_of([[1], [0]], 2)
    with pytest.raises(IndexFileError, match="row 1: expected degree 0 to 2, found 3"):
        validate(Graph(good.neighbors, np.array([1, 3], np.int32), 0))
    with pytest.raises(IndexFileError, match="start row: expected 0 to 1, found 2"):
        validate(Graph(good.neighbors, good.degrees, 2))
    with pytest.raises(IndexFileError, match="int64"):
        validate(Graph(good.neighbors.astype(np.int64), good.degrees, 0))
    with pytest.raises(IndexFileError, match="expected 2 degrees"):
        validate(Graph(good.neighbors, np.zeros(3, np.int32), 0))


def test_flat_view_shares_memory_even_of_read_only_maps(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(12, dtype=np.float32).reshape(3, 4))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    view = flat_view(mapped)
    assert view.tolist() == list(range(12))
    assert view.flags.writeable
    assert np.shares_memory(view, mapped)
    with pytest.raises(ValueError, match="C-contiguous"):
        flat_view(np.zeros((3, 4))[:, :2])
