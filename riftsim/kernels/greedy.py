"""Best-first search in local memory over vectors and a graph of fixed width.

The rule is the sequential one: take the nearest candidate that is not taken, measure its neighbours that were not yet
visited in list order, insert each into the candidate list of L, until no candidate is left to take.
"""

import numpy as np

from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import TAKEN, distance_of, id_of, insert, is_taken, pack
from riftsim.kernels.vector_ops import distance_at, prefetch

_LINE_BYTES = 64


@kernel(inline=True)
def next_epoch(marks, epoch):
    """Begin a new visited set: ``marks[v] == epoch[0]`` means visited (both uint8); clears when the byte is used up."""
    if epoch[0] == 255:
        marks[:] = 0
        epoch[0] = 0
    epoch[0] += 1
    return epoch[0]


@kernel(inline=True)
def prefetch_row(vectors, offset, d):
    """Ask the caches for the ``d`` elements from ``vectors[offset]``."""
    step = _LINE_BYTES // vectors.itemsize
    for at in range(0, d, step):
        prefetch(vectors, offset + at)
    prefetch(vectors, offset + d - 1)


@kernel
def best_first(
    metric, vectors, d, neighbors, width, degrees, start, queries, query_offset, keys, capacity, marks, epoch, fresh,
    evicted, counts,
):  # fmt: skip
    """Search for the vector ``queries[query_offset:query_offset+d]``.

    Parameters
    ----------
    metric, vectors, d : int, ndarray (n*d,), int
        As for ``distance_at``.
    neighbors, width, degrees : ndarray (n*width,) int32, int, ndarray (n,) int32
        Flat adjacency lists of ``width`` places each.
    start : int
        First candidate.
    queries, query_offset : ndarray of the dtype of ``vectors``, int
        Flat queries and where this one begins.
    keys, capacity : ndarray of uint64, int
        Receives the candidate list; its size L.
    marks, epoch : ndarray (n,) uint8, ndarray (1,) uint8
        Visited set, see ``next_epoch``.
    fresh : ndarray of int32, at least ``width``
        Scratch.
    evicted : ndarray of uint64
        Ring that receives taken candidates which the list dropped; each is nearer than those before it. Empty: unused.
    counts : ndarray (5,) int64
        Receives expansions, distance evaluations, insertions, neighbours looked at, and candidates put into
        ``evicted``.

    Returns
    -------
    int
        Candidates in ``keys``.
    """
    visited = next_epoch(marks, epoch)
    keys[0] = pack(distance_at(metric, queries, query_offset, vectors, np.int64(start) * d, d), start)
    marks[start] = visited
    size = 1
    cursor = 0
    expansions = 0
    evaluations = 1
    insertions = 1
    scanned = 0
    dropped = 0
    while cursor < size:
        node = np.int64(id_of(keys[cursor]))
        keys[cursor] |= TAKEN
        expansions += 1
        cursor += 1
        while cursor < size and is_taken(keys[cursor]):
            cursor += 1
        row = node * width
        scanned += degrees[node]
        count = 0
        for at in range(row, row + degrees[node]):  # without branches; unsigned indices need no test for negative ones
            other = neighbors[np.uint64(at)]
            is_new = marks[np.uint32(other)] != visited
            marks[np.uint32(other)] = visited
            fresh[np.uint64(count)] = other
            count += np.int64(is_new)
        for at in range(count):
            prefetch_row(vectors, np.int64(fresh[at]) * d, d)
        if cursor < size:
            following = np.int64(id_of(keys[cursor])) * width
            for at in range(following, following + width, 16):
                prefetch(neighbors, at)
        evaluations += count
        for at in range(count):
            other = fresh[at]
            key = pack(distance_at(metric, queries, query_offset, vectors, np.int64(other) * d, d), other)
            if size == capacity:
                last = keys[size - 1]
                if key >= last:
                    continue
                if evicted.size > 0 and is_taken(last):
                    evicted[dropped % evicted.size] = last
                    dropped += 1
            position = insert(keys, size, capacity, key)
            insertions += 1
            if size < capacity:
                size += 1
            if position < cursor:
                cursor = position
    counts[0] = expansions
    counts[1] = evaluations
    counts[2] = insertions
    counts[3] = scanned
    counts[4] = dropped
    return size


@kernel(allocates=True)
def search_queries(
    metric, vectors, d, neighbors, width, degrees, start, queries, first, stop, capacity, hidden, keys, marks, epoch,
    fresh, ids, distances, counts,
):  # fmt: skip
    """Search for queries ``first`` to ``stop``; write each one's nearest candidates.

    Parameters
    ----------
    hidden : ndarray (n,) or (0,) uint8
        Non-zero for rows that route but are not returned.
    ids, distances : ndarray (q, k) int32, ndarray (q, k) float32
        Receive the results, ascending; -1 and infinity where there are fewer than k.
    counts : ndarray (q, 4) int64
        Receives expansions, distance evaluations, insertions and neighbours looked at.

    Other parameters are those of ``best_first``.
    """
    k = ids.shape[1]
    evicted = keys[:0]
    work = np.empty(5, np.int64)
    for query in range(first, stop):
        size = best_first(
            metric, vectors, d, neighbors, width, degrees, start, queries, np.int64(query) * d, keys, capacity, marks,
            epoch, fresh, evicted, work,
        )  # fmt: skip
        found = 0
        for at in range(size):
            if found == k:
                break
            node = id_of(keys[at])
            if hidden.size > 0 and hidden[node] != 0:
                continue
            ids[query, found] = node
            distances[query, found] = distance_of(keys[at])
            found += 1
        for at in range(found, k):
            ids[query, at] = -1
            distances[query, at] = np.inf
        for at in range(4):
            counts[query, at] = work[at]
