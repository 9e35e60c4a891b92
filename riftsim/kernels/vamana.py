"""Batch insertion of Vamana: every step reads a graph that no other step of the same kind writes.

A batch is inserted in three steps (as in ParlayANN, PPoPP 2024): each new point searches the graph as it was before the
batch and chooses its neighbours; reverse edges are grouped by target; each target takes or prunes. A step writes only
rows of its own points, so its pieces can run on any number of threads with the same outcome.
"""

import numpy as np

from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import insert, pack
from riftsim.kernels.greedy import best_first, prefetch_row
from riftsim.kernels.prune import robust_prune
from riftsim.kernels.vector_ops import distance_at


@kernel(allocates=True)
def choose_neighbors(
    metric, vectors, d, neighbors, width, degrees, start, points, first, stop, limit, alpha, keys, capacity, marks,
    epoch, fresh, evicted, pool, resume, nearer,
):  # fmt: skip
    """Give points ``points[first:stop]``, not yet in the graph, their out-neighbours.

    Candidates are the nodes that the search for the point expanded.

    Parameters
    ----------
    points : ndarray of int32
        Insertion order.
    limit, alpha : int, float32
        See ``robust_prune``.
    pool : ndarray of uint64, at least ``capacity + evicted.size``
        Scratch, as are ``resume`` and ``nearer`` (int32, as long).

    Other parameters are those of ``best_first``; rows of the points in ``neighbors`` and ``degrees`` are written.
    """
    counts = np.empty(5, np.int64)
    for at in range(first, stop):
        point = np.int64(points[at])
        size = best_first(
            metric, vectors, d, neighbors, width, degrees, start, vectors, point * d, keys, capacity, marks, epoch,
            fresh, evicted, counts,
        )  # fmt: skip
        for entry in range(size):  # assigning a slice would compile numba's string formatting for its error
            pool[entry] = keys[entry]
        dropped = counts[4]
        for back in range(min(dropped, evicted.size)):
            pool[size] = evicted[(dropped - 1 - back) % evicted.size]
            size += 1
        row = neighbors[point * width : (point + 1) * width]
        degrees[point] = robust_prune(metric, vectors, d, pool, size, limit, alpha, row, resume, nearer)


@kernel
def group_reverse_edges(neighbors, width, degrees, points, first, stop, heads, targets, target_starts, sources):
    """Sort the edges of ``points[first:stop]`` by target: targets in order of first use, sources in insertion order.

    Parameters
    ----------
    heads : ndarray (n,) int32
        Scratch, all zero before and after.
    targets, sources : ndarray of int32, as long as there may be edges
        Receive the targets, and the points that link to each.
    target_starts : ndarray of int64, one longer than ``targets``
        Receives where each target's sources begin in ``sources``.

    Returns
    -------
    int
        Number of targets.
    """
    found = 0
    for at in range(first, stop):
        point = np.int64(points[at])
        for edge in range(point * width, point * width + degrees[point]):
            target = neighbors[edge]
            if heads[target] == 0:
                targets[found] = target
                target_starts[found + 1] = 0
                found += 1
                heads[target] = found
            target_starts[heads[target]] += 1
    target_starts[0] = 0
    for group in range(found):
        target_starts[group + 1] += target_starts[group]
    total = target_starts[found]
    for at in range(stop - 1, first - 1, -1):
        point = np.int64(points[at])
        for edge in range(point * width + degrees[point] - 1, point * width - 1, -1):
            group = heads[neighbors[edge]]
            target_starts[group] -= 1
            sources[target_starts[group]] = point
    for group in range(found):  # filling moved each group's end down to its start
        target_starts[group] = target_starts[group + 1]
        heads[targets[group]] = 0
    target_starts[found] = total
    return found


@kernel
def _prune_row(
    metric, vectors, d, neighbors, width, degrees, node, extra, first, stop, limit, alpha, pool, kept, resume, nearer
):
    """Prune the neighbours of ``node`` and ``extra[first:stop]`` to ``limit``; considers the ``pool.size`` nearest."""
    row = node * width
    own = degrees[node]
    for at in range(own):
        prefetch_row(vectors, np.int64(neighbors[row + at]) * d, d)
    for at in range(first, min(stop, first + pool.size)):
        prefetch_row(vectors, np.int64(extra[at]) * d, d)
    size = 0
    for at in range(own + stop - first):
        other = np.int64(neighbors[row + at]) if at < own else np.int64(extra[first + at - own])
        insert(pool, size, pool.size, pack(distance_at(metric, vectors, node * d, vectors, other * d, d), other))
        size = min(size + 1, pool.size)
    degree = robust_prune(metric, vectors, d, pool, size, limit, alpha, kept, resume, nearer)
    for at in range(degree):
        neighbors[row + at] = kept[at]
    degrees[node] = degree


@kernel
def add_reverse_edges(
    metric, vectors, d, neighbors, width, degrees, targets, target_starts, sources, first, stop, limit, alpha, pool,
    kept, resume, nearer,
):  # fmt: skip
    """Link targets ``first`` to ``stop`` of ``group_reverse_edges`` to their sources.

    A list grows up to ``width``; one that would be longer is pruned to ``limit``.

    Parameters
    ----------
    limit, alpha : int, float32
        See ``robust_prune``.
    pool : ndarray of uint64
        Scratch; its size bounds how many candidates a pruning considers. ``resume`` and ``nearer`` (int32) are as long.
    kept : ndarray of int32, at least ``limit``
        Scratch.

    Other parameters are those of ``best_first`` and ``group_reverse_edges``.
    """
    for group in range(first, stop):
        node = np.int64(targets[group])
        begin = target_starts[group]
        end = target_starts[group + 1]
        degree = np.int64(degrees[node])
        if degree + end - begin <= width:
            for at in range(begin, end):
                neighbors[node * width + degree + at - begin] = sources[at]
            degrees[node] = degree + end - begin
        else:
            _prune_row(
                metric, vectors, d, neighbors, width, degrees, node, sources, begin, end, limit, alpha, pool, kept,
                resume, nearer,
            )  # fmt: skip


@kernel
def prune_long_rows(
    metric, vectors, d, neighbors, width, degrees, first, stop, limit, alpha, pool, kept, resume, nearer
):
    """Prune those of the nodes ``first`` to ``stop`` that have more than ``limit`` neighbours; -1 fills free places.

    Parameters are those of ``add_reverse_edges``.
    """
    for node in range(first, stop):
        if degrees[node] > limit:
            _prune_row(
                metric, vectors, d, neighbors, width, degrees, np.int64(node), kept, 0, 0, limit, alpha, pool, kept,
                resume, nearer,
            )  # fmt: skip
        for at in range(np.int64(node) * width + degrees[node], np.int64(node + 1) * width):
            neighbors[at] = -1
