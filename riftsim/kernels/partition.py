"""Loops that divide nodes into groups of bounded size: balanced clusters, and packs of nodes that lie together."""

import numpy as np

from riftsim.kernels._jit import kernel


@kernel
def assign_nearest_first(pairs, near, capacity, sizes, part):
    """Give points to centroids in the order of their distance, for as long as a centroid has room.

    Parameters
    ----------
    pairs : int64 (points * m,)
        Pairs in order of distance: ``point * m + rank``.
    near : int32 (points, m)
        The nearest centroids of each point.
    capacity : int
        Most points of a centroid.
    sizes : int64 (centroids,)
        Points of each so far; changed.
    part : int32 (points,)
        Centroid of each point, -1 where all its centroids were full; written.

    Returns
    -------
    int
        Points without a centroid.
    """
    part[:] = -1
    m = near.shape[1]
    left = part.shape[0]
    for i in range(pairs.shape[0]):
        point = pairs[i] // m
        if part[point] >= 0:
            continue
        centroid = near[point, pairs[i] - point * m]
        if sizes[centroid] < capacity:
            part[point] = centroid
            sizes[centroid] += 1
            left -= 1
    return left


@kernel
def count_both_ways(neighbors, degrees, counts):
    """Add to ``counts`` (int64 (n,)) the edges of each node of a graph in either direction."""
    for node in range(degrees.shape[0]):
        counts[node] += degrees[node]
        for slot in range(degrees[node]):
            counts[neighbors[node, slot]] += 1


@kernel
def gather_both_ways(neighbors, degrees, at, others):
    """Write the neighbours of each node along edges in either direction, those that it points to first.

    Parameters
    ----------
    neighbors, degrees : int32 (n, R), int32 (n,)
        The graph.
    at : int64 (n,)
        Where each node's neighbours begin in ``others``; moved on to their ends.
    others : int32 (edges,)
        Written.
    """
    for node in range(degrees.shape[0]):
        for slot in range(degrees[node]):
            others[at[node]] = neighbors[node, slot]
            at[node] += 1
    for node in range(degrees.shape[0]):
        for slot in range(degrees[node]):
            other = neighbors[node, slot]
            others[at[other]] = node
            at[other] += 1


@kernel(inline=True)
def _tally(starts, others, node, part, votes, seen):
    """Count the parts of a node's placed neighbours in ``votes``; the parts met are in ``seen[:answer]``."""
    met = 0
    for at in range(starts[node], starts[node + 1]):
        other = part[others[at]]
        if other < 0:
            continue
        if votes[other] == 0:
            seen[met] = other
            met += 1
        votes[other] += 1
    return met


@kernel(allocates=True)
def stream_into_packs(starts, others, order, packs, capacity, penalty, part):
    """Fennel's rule with a hard limit: most placed neighbours less a marginal price of the pack's size.

    Parameters
    ----------
    starts, others : int64 (n + 1,), int32 (edges,)
        Neighbours in both directions.
    order : int64 (n,)
        The stream.
    packs, capacity : int
        How many packs there are, and the most nodes of each; together at least n.
    penalty : float64 (capacity + 1,)
        Price of joining a pack of that size.
    part : int32 (n,)
        Pack of each node; written.
    """
    votes = np.zeros(packs, np.int64)
    sizes = np.zeros(packs, np.int64)
    seen = np.empty(others.shape[0] + 1, np.int32)
    part[:] = -1
    emptiest = 0
    level = 0
    for i in range(order.shape[0]):
        node = order[i]
        met = _tally(starts, others, node, part, votes, seen)
        while sizes[emptiest] > level:
            emptiest += 1
            if emptiest == packs:
                emptiest, level = 0, level + 1
        best, best_score = emptiest, -penalty[sizes[emptiest]]
        for j in range(met):
            pack = seen[j]
            if sizes[pack] < capacity:
                score = votes[pack] - penalty[sizes[pack]]
                if score > best_score or (score == best_score and pack < best):
                    best, best_score = pack, score
            votes[pack] = 0
        part[node] = best
        sizes[best] += 1


@kernel
def fill_packs(starts, others, capacity, part):
    """Starling's first layout: a pack is the next unplaced node and its unplaced neighbours, as many as fit."""
    part[:] = -1
    pack = 0
    size = 0
    for node in range(part.shape[0]):
        if part[node] >= 0:
            continue
        if size == capacity:
            pack, size = pack + 1, 0
        part[node] = pack
        size += 1
        for at in range(starts[node], starts[node + 1]):
            if size == capacity:
                break
            if part[others[at]] < 0:
                part[others[at]] = pack
                size += 1
    return pack + 1


@kernel(allocates=True)
def shuffle_packs(starts, others, packs, capacity, part, shuffled):
    """An iteration of Starling's block shuffling: each node goes where most of its neighbours were and room is left."""
    votes = np.zeros(packs, np.int64)
    sizes = np.zeros(packs, np.int64)
    seen = np.empty(others.shape[0] + 1, np.int32)
    shuffled[:] = -1
    for node in range(part.shape[0]):
        met = _tally(starts, others, node, part, votes, seen)
        best, most = -1, 0
        for j in range(met):
            pack = seen[j]
            if sizes[pack] < capacity and (votes[pack] > most or (votes[pack] == most and pack < best)):
                best, most = pack, votes[pack]
            votes[pack] = 0
        if best >= 0:
            shuffled[node] = best
            sizes[best] += 1
    pack = 0
    for node in range(part.shape[0]):
        if shuffled[node] < 0:
            while sizes[pack] == capacity:
                pack += 1
            shuffled[node] = pack
            sizes[pack] += 1


@kernel(allocates=True)
def propagate_labels(starts, others, order, capacity, label, sizes):
    """One round of size-constrained label propagation: each node takes the label of most neighbours that has room.

    Returns
    -------
    int
        How many labels changed.
    """
    votes = np.zeros(sizes.shape[0], np.int64)
    seen = np.empty(others.shape[0] + 1, np.int32)
    changed = 0
    for i in range(order.shape[0]):
        node = order[i]
        met = _tally(starts, others, node, label, votes, seen)
        own = label[node]
        best, most = own, votes[own]
        for j in range(met):
            other = seen[j]
            if other != own and sizes[other] < capacity and votes[other] > most:
                best, most = other, votes[other]
        for j in range(met):
            votes[seen[j]] = 0
        if best != own:
            label[node] = best
            sizes[own] -= 1
            sizes[best] += 1
            changed += 1
    return changed
