"""Which nodes lie together: packs of equal size by published orderings of a graph, and how many a query uses.

A pack is what one coarser read would bring. The visit hit rate of an ordering (RiftANN, section 2.4 and figure 2a) is
the share of the other nodes in the packs that a query touches which the query visits too.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from riftsim.artifacts import Artifact, ArtifactStore
from riftsim.index.graph import Graph
from riftsim.kernels.partition import (
    count_both_ways,
    fill_packs,
    gather_both_ways,
    propagate_labels,
    shuffle_packs,
    stream_into_packs,
)
from riftsim.rng import stream

ALGORITHM = 1
"""Version of the methods, part of the key of stored packs."""
FENNEL_GAMMA = 1.5
"""Exponent of a pack's price (Tsourakakis et al., WSDM'14)."""
STARLING_ITERATIONS = 16
"""Of block shuffling (Wang et al., SIGMOD'24)."""
LABEL_ROUNDS = 10
"""Of label propagation; Ugander and Backstrom (WSDM'13) see most of the gain in the first rounds."""


def both_ways(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of each node along edges in either direction: int64 (n + 1,), int32 (edges,).

    An edge that a graph has in both directions counts twice.
    """
    counts = np.zeros(len(graph.degrees), np.int64)
    count_both_ways(graph.neighbors, graph.degrees, counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    others = np.empty(starts[-1], np.int32)
    gather_both_ways(graph.neighbors, graph.degrees, starts[:-1].copy(), others)
    return starts, others


def fennel(starts: np.ndarray, others: np.ndarray, pack: int, seed: int = 0, price: float = 1.0) -> np.ndarray:
    """Packs by Fennel's streaming rule, with a hard limit of ``pack`` nodes: int32 (n,).

    Parameters
    ----------
    starts, others : int64 (n + 1,), int32 (edges,)
        Of ``both_ways``.
    pack : int
        Most nodes of a pack.
    seed : int
        Of the order of the stream.
    price : float
        Times the published one; 0 counts neighbours alone.
    """
    n = len(starts) - 1
    packs = -(-n // pack)
    alpha = price * len(others) / 2 * packs ** (FENNEL_GAMMA - 1) / n**FENNEL_GAMMA
    penalty = alpha * FENNEL_GAMMA * np.arange(pack + 1) ** (FENNEL_GAMMA - 1)
    part = np.empty(n, np.int32)
    stream_into_packs(starts, others, stream(seed, "fennel").permutation(n), packs, pack, penalty, part)
    return part


def starling(starts: np.ndarray, others: np.ndarray, pack: int, iterations: int = STARLING_ITERATIONS) -> np.ndarray:
    """Packs by Starling's block shuffling, the best layout of all iterations: int32 (n,); parameters as ``fennel``."""
    n = len(starts) - 1
    part, shuffled = np.empty(n, np.int32), np.empty(n, np.int32)
    packs = fill_packs(starts, others, pack, part)
    best, best_inside = part.copy(), _edges_inside(starts, others, part)
    for _ in range(iterations):
        shuffle_packs(starts, others, packs, pack, part, shuffled)
        part, shuffled = shuffled, part
        inside = _edges_inside(starts, others, part)
        if inside > best_inside:
            best, best_inside = part.copy(), inside
    return best


def label_propagation(
    starts: np.ndarray, others: np.ndarray, pack: int, seed: int = 0, rounds: int = LABEL_ROUNDS
) -> np.ndarray:
    """Packs by label propagation whose labels have at most ``pack`` nodes, filled up with smaller ones: int32 (n,).

    Parameters as for ``fennel``; ``rounds`` at most, fewer if nothing changes.
    """
    n = len(starts) - 1
    label, sizes = np.arange(n, dtype=np.int32), np.ones(n, np.int64)
    generator = stream(seed, "label propagation")
    for _ in range(rounds):
        if not propagate_labels(starts, others, generator.permutation(n), pack, label, sizes):
            break
    pack_of = np.full(n, -1, np.int32)
    room: list[list[int]] = [[] for _ in range(pack + 1)]
    packs = 0
    for one in np.argsort(-sizes, kind="stable").tolist():
        size = int(sizes[one])
        if not size:
            break
        fitting = next((left for left in range(size, pack + 1) if room[left]), None)
        if fitting is None:
            fitting, number = pack, packs
            packs += 1
        else:
            number = room[fitting].pop()
        pack_of[one] = number
        room[fitting - size].append(number)
    return pack_of[label]


def in_order(n: int, pack: int, order: np.ndarray | None = None) -> np.ndarray:
    """Packs of consecutive nodes, of the data's own order or of another (integers (n,)): int32 (n,)."""
    part = np.empty(n, np.int32)
    part[np.arange(n) if order is None else order] = np.arange(n) // pack
    return part


_BY_EDGES: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "fennel": fennel,
    "fennel-without-price": partial(fennel, price=0.0),
    "starling": starling,
    "label-propagation": label_propagation,
}


def packs_of(graph: Graph, ordering: str, pack: int) -> np.ndarray:
    """Pack of each node by an ordering: int32 (n,).

    Parameters
    ----------
    graph : Graph
    ordering : str
        ``random``, ``data`` (its own order), ``fennel``, ``fennel-without-price``, ``starling``,
        ``label-propagation``.
    pack : int
        Most nodes of a pack.
    """
    n = len(graph.degrees)
    if ordering == "data":
        return in_order(n, pack)
    if ordering == "random":
        return in_order(n, pack, stream(0, "random packs").permutation(n))
    return _BY_EDGES[ordering](*both_ways(graph), pack)


def stored_packs(graph: Graph, *, ordering: str, pack: int, fingerprint: str, store: ArtifactStore) -> np.ndarray:
    """Load the packs of an ordering from the cache, or make and keep them.

    Parameters
    ----------
    fingerprint : str
        Content hash of the graph.
    store : ArtifactStore
    graph, ordering, pack
        As for ``packs_of``.
    """
    recipe = {"algorithm": ALGORITHM, "index": fingerprint, "ordering": ordering, "pack": pack}
    kept = store.get_or_make("packs", recipe, lambda: Artifact({"part": packs_of(graph, ordering, pack)}))
    return kept.arrays["part"]


def visit_hits(part: np.ndarray, sizes: np.ndarray, visited: np.ndarray) -> tuple[int, int]:
    """Nodes that came with one that a query visits and are visited too, and all that came with one.

    Parameters
    ----------
    part : int32 (n,)
        Pack of each node.
    sizes : int64 (packs,)
        Nodes of each pack.
    visited : integers (visits,)
        The nodes that the query visits, each once.
    """
    packs, counts = np.unique(part[visited], return_counts=True)
    return int((counts - 1).sum()), int((sizes[packs] - 1).sum())


def _edges_inside(starts: np.ndarray, others: np.ndarray, part: np.ndarray) -> int:
    """Edges whose two ends lie in one pack."""
    return int((np.repeat(part, np.diff(starts)) == part[others]).sum())
