"""The proximity graph: adjacency lists of a fixed width, and what can be said about them without searching."""

from dataclasses import asdict, dataclass

import numpy as np

from riftsim.errors import IndexFileError
from riftsim.kernels.candidates import id_of
from riftsim.kernels.greedy import best_first
from riftsim.kernels.reach import DEGREE, LOOP, OUTSIDE, PAST_DEGREE, REPEATED, first_flaw, spread
from riftsim.kernels.views import flat_view


@dataclass(frozen=True)
class Graph:
    """Directed graph over rows 0 to n-1.

    Attributes
    ----------
    neighbors : ndarray (n, R) int32
        Neighbours of each row in list order; -1 in places past its degree.
    degrees : ndarray (n,) int32
        Neighbours that each row has.
    start : int
        Row where searches begin.
    """

    neighbors: np.ndarray
    degrees: np.ndarray
    start: int

    @property
    def n(self) -> int:
        """Rows."""
        return self.neighbors.shape[0]

    @property
    def width(self) -> int:
        """Places per row, R."""
        return self.neighbors.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return self.neighbors.nbytes + self.degrees.nbytes


@dataclass(frozen=True)
class DegreeReport:
    """Degrees of a graph and the rows that a search cannot reach."""

    n: int
    R: int
    min: int
    mean: float
    max: int
    at_most_half: float
    unreachable: int

    def facts(self) -> dict:
        """Return the report as plain values."""
        return asdict(self)


def degree_report(graph: Graph) -> DegreeReport:
    """Summarise degrees and reachability.

    Returns
    -------
    DegreeReport
        ``at_most_half`` is the share of rows with a degree of at most R/2; ``unreachable`` counts rows that no path
        from the start leads to.
    """
    degrees = graph.degrees
    return DegreeReport(
        n=graph.n,
        R=graph.width,
        min=int(degrees.min()),
        mean=float(degrees.mean()),
        max=int(degrees.max()),
        at_most_half=float(np.mean(degrees <= graph.width // 2)),
        unreachable=len(unreachable(graph)),
    )


def unreachable(graph: Graph) -> np.ndarray:
    """Return the rows (int64, ascending) that no path from the start leads to."""
    reached = np.zeros(graph.n, np.uint8)
    spread(
        flat_view(graph.neighbors), graph.width, flat_view(graph.degrees), graph.start, reached,
        np.empty(graph.n, np.int32),
    )  # fmt: skip
    return np.flatnonzero(reached == 0)


def repair(graph: Graph, vectors: np.ndarray, metric: int, L: int = 64) -> tuple[Graph, int]:
    """Connect every row to the start, keeping every degree at most R.

    Unreachable rows are taken in ascending order. A search finds the reached rows nearest to row u; the nearest with a
    free place gets the edge to u. If none of the L has one, u is spliced into the last edge of the nearest: w -> x
    becomes w -> u -> x, where u gives up its own last edge if it has no free place. Nothing reached is lost by that,
    because no path from the start led through u. Then whatever u leads to counts as reached, and the next is taken.

    Parameters
    ----------
    graph : Graph
        Left as it is.
    vectors : ndarray (n, d)
        uint8, int8 or float32, C-contiguous.
    metric : int
        0 for squared L2, 1 for minus the inner product.
    L : int
        Candidate-list size of the searches.

    Returns
    -------
    Graph, int
        A graph that leaves no row unreachable, and how many rows got an edge.
    """
    lost = unreachable(graph)
    if not len(lost):
        return graph, 0
    neighbors, degrees = graph.neighbors.copy(), graph.degrees.copy()
    n, width = neighbors.shape
    flat, flat_neighbors = flat_view(vectors), flat_view(neighbors)
    reached, queue = np.ones(n, np.uint8), np.empty(n, np.int32)
    reached[lost] = 0
    keys, marks, epoch = np.empty(L, np.uint64), np.zeros(n, np.uint8), np.zeros(1, np.uint8)
    fresh, evicted, counts = np.empty(width, np.int32), np.empty(0, np.uint64), np.empty(5, np.int64)
    d = vectors.shape[1]
    connected = 0
    for row in lost.tolist():
        if reached[row]:
            continue
        size = best_first(
            metric, flat, d, flat_neighbors, width, degrees, graph.start, flat, row * d, keys, L, marks, epoch, fresh,
            evicted, counts,
        )  # fmt: skip
        near = [int(id_of(key)) for key in keys[:size]]
        parent = next((node for node in near if degrees[node] < width), None)
        if parent is None:
            parent = near[0]
            last = int(neighbors[parent, width - 1])
            neighbors[parent, width - 1] = row
            if last not in neighbors[row, : degrees[row]]:
                degrees[row] = min(degrees[row] + 1, width)
                neighbors[row, degrees[row] - 1] = last
        else:
            neighbors[parent, degrees[parent]] = row
            degrees[parent] += 1
        connected += 1
        spread(flat_neighbors, width, degrees, row, reached, queue)
    return Graph(neighbors, degrees, graph.start), connected


def validate(graph: Graph, source: str = "graph") -> None:
    """Check types, shapes and every edge.

    Parameters
    ----------
    source : str
        What the graph was read from, for the message.

    Raises
    ------
    IndexFileError
        Naming the first bad row and what is wrong with it: an id outside 0 to n-1, an edge to itself, a repeated
        neighbour, a filled place past the degree.
    """
    neighbors, degrees = graph.neighbors, graph.degrees
    if neighbors.ndim != 2 or neighbors.dtype != np.int32 or degrees.dtype != np.int32:
        raise IndexFileError(
            f"{source}: expected int32 neighbours (n, R) and int32 degrees (n,), found {neighbors.dtype} "
            f"{neighbors.shape} and {degrees.dtype} {degrees.shape}"
        )
    n = len(neighbors)
    if degrees.shape != (n,):
        raise IndexFileError(f"{source}: expected {n} degrees, found shape {degrees.shape}")
    if not 0 <= graph.start < n:
        raise IndexFileError(f"{source}: start row: expected 0 to {n - 1}, found {graph.start}")
    flaw, row, place = first_flaw(flat_view(neighbors), graph.width, flat_view(degrees), np.full(n, -1, np.int32))
    if flaw == DEGREE:
        raise IndexFileError(f"{source}: row {row}: expected degree 0 to {graph.width}, found {degrees[row]}")
    if flaw:
        expected = {
            OUTSIDE: f"neighbours 0 to {n - 1}",
            LOOP: "no edge to itself",
            REPEATED: "distinct neighbours",
            PAST_DEGREE: f"-1 past its degree {degrees[row]}",
        }[flaw]
        raise IndexFileError(f"{source}: row {row}, place {place}: expected {expected}, found {neighbors[row, place]}")
