"""Loops around the pieces of a search, to measure what each takes on this machine."""

import numpy as np

from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import insert, pack
from riftsim.kernels.codes import code_distance, prefetch_code
from riftsim.kernels.handles import index_of, state_of
from riftsim.kernels.query import NEIGHBORS, PENDING_HEAD, PENDING_TAIL, TASK_HEAD, TASK_TAIL, node_slot
from riftsim.kernels.traversal import begin, take_list
from riftsim.kernels.vector_ops import distance_bytes, prefetch

_AHEAD = 24


@kernel
def multiply_chain(count, seed):
    """``count`` steps of a multiplication and an exclusive or, each of which needs the one before.

    4 cycles a step on current x86 cores: 3 for the product, 1 for the other.
    """
    value = np.uint64(seed)
    for i in range(count):
        value = (value * np.uint64(6364136223846793005)) ^ np.uint64(i)
    return value


@kernel
def compact_distances(kind, metric, table, query, codes, code_bytes, d, ids):
    """Compact distances of ``ids`` in the rhythm of a search: a list's codes are prefetched, then evaluated."""
    total = np.float32(0.0)
    for first in range(0, ids.shape[0], _AHEAD):
        stop = min(ids.shape[0], first + _AHEAD)
        for i in range(first, stop):
            prefetch_code(codes, code_bytes, ids[i])
        for i in range(first, stop):
            total += code_distance(kind, metric, table, query, codes, code_bytes, ids[i], d)
    return total


@kernel
def exact_distances(metric, query, buffer, row_bytes, d, ids):
    """Exact distances of rows of a buffer, prefetched as the in-memory search does."""
    total = np.float32(0.0)
    for first in range(0, ids.shape[0], _AHEAD):
        stop = min(ids.shape[0], first + _AHEAD)
        for i in range(first, stop):
            for at in range(0, row_bytes, 64):
                prefetch(buffer, np.int64(ids[i]) * row_bytes + at)
        for i in range(first, stop):
            total += distance_bytes(metric, query, buffer, np.int64(ids[i]) * row_bytes, d)
    return total


@kernel
def insertions(keys, distances):
    """Insert candidates into a bounded list; returns how many entered it."""
    size = 0
    entered = 0
    for i in range(distances.shape[0]):
        at = insert(keys, size, keys.shape[0], pack(distances[i], i))
        if at >= 0:
            entered += 1
            size = min(size + 1, keys.shape[0])
    return entered


@kernel
def lookups(node_ids, ids):
    """Look ids up in a table of seen nodes, entering those that are new; returns how many were new."""
    new = 0
    for i in range(ids.shape[0]):
        slot = node_slot(node_ids, ids[i])
        if node_ids[slot] != ids[i]:
            node_ids[slot] = ids[i]
            new += 1
    return new


@kernel
def begin_queries(state_words, index_words, query, count):
    """Begin a query ``count`` times: what the set-up of its state takes, its distance table apart.

    Parameters
    ----------
    state_words, index_words : int64
        Handles.
    query : ndarray (d,)
    """
    state = state_of(state_words)
    index = index_of(index_words)
    for _ in range(count):
        begin(state, index, query, 8)


@kernel
def replay_lists(state_words, index_words, nodes, stops):
    """Take in the adjacency lists of whole searches again, without evaluating: cold records, unforeseen neighbours.

    Parameters
    ----------
    state_words, index_words : int64
        Handles; one memory node, contiguous placement.
    nodes : int64 (expansions,)
        Expanded nodes of all searches, in order.
    stops : int64 (searches,)
        Where each search ends in ``nodes``.

    Returns
    -------
    int
        Neighbours in the lists.
    """
    state = state_of(state_words)
    index = index_of(index_words)
    numbers = state.numbers
    record_bytes = index.vector_bytes + 4 + 4 * index.degree
    neighbors = 0
    first = 0
    for search in range(stops.shape[0]):
        numbers[:] = 0
        state.node_ids[:] = -1
        for at in range(first, stops[search]):
            take_list(state, index, index.region, nodes[at] * record_bytes + index.vector_bytes, 0)
            numbers[TASK_HEAD] = numbers[TASK_TAIL]
            numbers[PENDING_HEAD] = numbers[PENDING_TAIL]
        neighbors += numbers[NEIGHBORS]
        first = stops[search]
    return neighbors
