"""Building a Vamana graph in memory."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from riftsim.errors import ConfigError, DataError
from riftsim.index._threads import Pieces, usable_threads
from riftsim.index.graph import Graph, repair, unreachable
from riftsim.kernels import vamana as kernels
from riftsim.kernels.views import flat_view
from riftsim.rng import stream

_BATCH_SHARE = 0.005  # of n; ParlayANN takes 0.02, which costs 0.002 to 0.004 recall@10 at L=10 on 100 K SIFT vectors
_POOL = 750  # candidates that one pruning considers at most, as in DiskANN
_CHUNK_ROWS = 1024
ALGORITHM = 1  # raised whenever the same input and parameters give another graph
DTYPES = (np.uint8, np.int8, np.float32)


@dataclass(frozen=True)
class BuildReport:
    """Parameters, outcome and cost of a build; ``cpu_s`` is over all threads of the process."""

    n: int
    d: int
    R: int
    L: int
    alpha: float
    slack: float
    seed: int
    threads: int
    batches: int
    min_degree: int
    mean_degree: float
    max_degree: int
    unreachable_before_repair: int
    repaired: int
    cpu_s: float
    wall_s: float

    def facts(self) -> dict:
        """Return the report as plain values."""
        return asdict(self)


def build_vamana(
    vectors: np.ndarray,
    metric: int,
    *,
    R: int,
    L: int,
    alpha: float = 1.2,
    slack: float = 1.3,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Graph, BuildReport]:
    """Build the graph by inserting batches of doubling size, at most 0.5 % of n, in random order.

    Each point searches the graph so far, keeps at most R of the nodes expanded (``kernels.prune``: a round with factor
    1, then one with ``alpha``), and is linked back from them. Lists may grow to ``slack * R`` meanwhile. Rows that
    cannot be reached in the end are connected (``graph.repair``). The graph depends on data, parameters and seed only,
    not on the number of threads. Peak memory is the vectors, the graph, and ``slack`` times the graph.

    Parameters
    ----------
    vectors : ndarray (n, d)
        uint8, int8 or float32, finite; C-contiguous, memory maps included.
    metric : int
        0 for squared L2, 1 for minus the inner product.
    R, L : int
        Largest degree; candidate-list size of the insertion searches.
    alpha : float
        At least 1; applies to internal distances (squared for L2), as in DiskANN.
    slack : float
        At least 1.
    seed : int
        Draws the insertion order.
    threads : int, optional
        All usable processors by default.
    progress : callable, optional
        Called with (points inserted, n) after each batch.

    Returns
    -------
    Graph, BuildReport

    Raises
    ------
    DataError
        Vectors of another type or shape.
    ConfigError
        Parameters out of range.

    References
    ----------
    Subramanya et al., "DiskANN", NeurIPS 2019; Manohar et al., "ParlayANN", PPoPP 2024.
    """
    _check(vectors, metric, R, L, alpha, slack)
    began_cpu, began_wall = time.process_time(), time.perf_counter()
    threads = usable_threads(threads)
    n, d = vectors.shape
    start = medoid(vectors)
    order = stream(seed, "insertion order").permutation(n).astype(np.int32)
    order = np.concatenate([np.array([start], np.int32), order[order != start]])
    neighbors, degrees, batches = _insert_all(
        vectors, metric, order, R, L, np.float32(alpha), int(np.ceil(slack * R)), threads, progress
    )
    graph = Graph(neighbors, degrees, start)
    lost = len(unreachable(graph))
    graph, repaired = repair(graph, vectors, metric, L)
    report = BuildReport(
        n=n, d=d, R=R, L=L, alpha=float(alpha), slack=float(slack), seed=seed, threads=threads, batches=batches,
        min_degree=int(graph.degrees.min()), mean_degree=float(graph.degrees.mean()),
        max_degree=int(graph.degrees.max()), unreachable_before_repair=lost, repaired=repaired,
        cpu_s=time.process_time() - began_cpu, wall_s=time.perf_counter() - began_wall,
    )  # fmt: skip
    return graph, report


def _insert_all(vectors, metric, order, R, L, alpha, width, threads, progress):
    """Return neighbours (n, R), degrees and the number of batches; lists of ``width`` live only in here."""
    n, d = vectors.shape
    neighbors, degrees = np.empty((n, width), np.int32), np.zeros(n, np.int32)
    most = max(1, int(n * _BATCH_SHARE))
    reverse = _ReverseEdges(n, most * R)
    table = (metric, flat_view(vectors), d, flat_view(neighbors), width, degrees)
    start = int(order[0])

    def choose(begin, end, scratch):
        kernels.choose_neighbors(*table, start, order, begin, end, R, alpha, *scratch.search, *scratch.prune)

    def link_back(begin, end, scratch):
        kernels.add_reverse_edges(*table, *reverse.groups, begin, end, R, alpha, *scratch.reprune)

    def finish(begin, end, scratch):
        kernels.prune_long_rows(*table, begin, end, R, alpha, *scratch.reprune)

    batches = 0
    with Pieces(threads, lambda: _Scratch(n, width, R, L)) as pieces:
        done = 1
        while done < n:
            stop = min(done + min(done, most), n)
            pieces.run(choose, done, stop, least=8)
            targets = kernels.group_reverse_edges(*table[3:], order, done, stop, reverse.heads, *reverse.groups)
            pieces.run(link_back, 0, targets)
            done = stop
            batches += 1
            if progress:
                progress(done, n)
        pieces.run(finish, 0, n)
    return np.ascontiguousarray(neighbors[:, :R]), degrees, batches


def medoid(vectors: np.ndarray) -> int:
    """Return the row nearest to the mean of all rows in L2 (the lowest of equals), as DiskANN's start row."""
    n = len(vectors)
    chunks = [slice(at, at + _CHUNK_ROWS) for at in range(0, n, _CHUNK_ROWS)]
    mean = sum(vectors[rows].sum(axis=0, dtype=np.float64) for rows in chunks) / n
    best, nearest = np.inf, 0
    for rows in chunks:
        difference = vectors[rows] - mean
        squares = np.einsum("ij,ij->i", difference, difference)
        at = int(squares.argmin())
        if squares[at] < best:
            best, nearest = squares[at], rows.start + at
    return nearest


class _Scratch:
    """Arrays of one thread, in the order in which the kernels take them."""

    def __init__(self, n, width, R, L):
        pool = np.empty(L + _POOL, np.uint64)
        resume, nearer = np.empty(len(pool), np.int32), np.empty(len(pool), np.int32)
        marks, epoch = np.zeros(n, np.uint8), np.zeros(1, np.uint8)
        fresh, evicted = np.empty(width, np.int32), np.empty(_POOL, np.uint64)
        self.search = (np.empty(L, np.uint64), L, marks, epoch, fresh, evicted)
        self.prune = (pool, resume, nearer)
        self.reprune = (pool[: max(_POOL, width)], np.empty(R, np.int32), resume, nearer)


class _ReverseEdges:
    """Arrays of ``kernels.group_reverse_edges``."""

    def __init__(self, n, edges):
        self.heads = np.zeros(n, np.int32)
        most_targets = min(n, edges)
        self.groups = (
            np.empty(most_targets, np.int32), np.empty(most_targets + 1, np.int64), np.empty(edges, np.int32)
        )  # fmt: skip


def _check(vectors, metric, R, L, alpha, slack):
    if vectors.ndim != 2 or 0 in vectors.shape or vectors.dtype not in DTYPES:
        raise DataError(
            f"vectors: expected non-empty (n, d) of uint8, int8 or float32, found {vectors.dtype} {vectors.shape}"
        )
    if not vectors.flags.c_contiguous:
        raise DataError(f"vectors: expected rows in C order, found strides {vectors.strides}")
    if metric not in (0, 1):
        raise ConfigError(f"metric: expected 0 (L2) or 1 (inner product), found {metric}")
    for name, value, least in (("R", R, 1), ("L", L, 1), ("alpha", alpha, 1.0), ("slack", slack, 1.0)):
        if not value >= least:
            raise ConfigError(f"{name}: expected at least {least}, found {value}")
