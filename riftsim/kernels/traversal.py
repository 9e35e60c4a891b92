"""What a query does, as transitions over its state: begin, decide a chain, receive records, evaluate, merge.

Best-first search on compact codes (RiftANN, sections 2.1 and 3.2). The candidate list is ordered by compact distance alone;
exact distances feed only the results, which are the k nearest by exact distance. Drivers differ in when they call these
kernels, never in what the kernels do.
"""

from typing import NamedTuple

import numpy as np

from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import TAKEN, id_of, insert, is_taken, pack
from riftsim.kernels.codes import code_distance, prefetch_code
from riftsim.kernels.placement import locate
from riftsim.kernels.query import (
    BYTES_READ,
    CHAINS,
    CURSOR,
    ENTERED,
    EVALUATIONS,
    EXACT_EVALUATIONS,
    EXPANSIONS,
    GROW_NODES,
    GROW_PENDING,
    HAS_ADJACENCY,
    HAS_VECTOR,
    IN_FLIGHT,
    INSERTIONS,
    LIST_SIZE,
    LISTS,
    NEIGHBORS,
    NEXT_TAG,
    NODES,
    OUT_KIND,
    OUT_LENGTH,
    OUT_MEMORY_NODE,
    OUT_NODE,
    OUT_OFFSET,
    OUT_TAG,
    PENDING_HEAD,
    PENDING_TAIL,
    READ_ADJACENCY,
    READ_RECORD,
    READ_VECTOR,
    READS_RECORD,
    RESULT_SIZE,
    ROUNDS,
    RULE_BEAM,
    RULE_VERIFY,
    SEEN,
    UNKNOWN_TAG,
    UNVERIFIED,
    VERIFY_ALL,
    heap_pop,
    heap_push,
    node_slot,
)
from riftsim.kernels.vector_ops import distance_bytes, load_i32


class RemoteIndex(NamedTuple):
    """What every query reads and none changes.

    Attributes
    ----------
    codes : uint8 (n * code_bytes,)
        Compact codes at the compute node.
    region : uint8 (bytes,)
        Records of all memory nodes, one memory node's region after the other.
    region_bases : int64 (memory_nodes,)
        Where each memory node's region starts in ``region``.
    placement : int64
        Parameters of the placement rule, see ``kernels.placement``.
    code_kind, code_bytes, metric, dimension, vector_bytes, degree, start : int
        Kind and size of the codes; 0 squared L2, 1 minus inner product; record layout (``degree`` is R); first node.
    """

    codes: np.ndarray
    region: np.ndarray
    region_bases: np.ndarray
    placement: np.ndarray
    code_kind: int
    code_bytes: int
    metric: int
    dimension: int
    vector_bytes: int
    degree: int
    start: int


@kernel(inline=True)
def _adjacency_bytes(index):
    return 4 + 4 * index.degree


@kernel(inline=True)
def _see(state, node):
    """Enter an unseen node into the table of nodes; False if it was seen before."""
    slot = node_slot(state.node_ids, node)
    if state.node_ids[slot] == node:
        return False
    state.node_ids[slot] = node
    state.node_status[slot] = SEEN
    state.numbers[NODES] += 1
    return True


@kernel(inline=True)
def _compact_distance(state, index, query, node):
    return code_distance(
        index.code_kind, index.metric, state.table, query, index.codes, index.code_bytes, node, index.dimension
    )


@kernel
def begin(state, index, query):
    """Start a query whose distance table is filled: everything empty, the start node in the candidate list."""
    state.numbers[:] = 0
    state.node_ids[:] = -1
    state.flight_tags[:] = -1
    _see(state, np.int32(index.start))
    state.pending_ids[0] = index.start
    state.numbers[PENDING_TAIL] = 1
    evaluate(state, index, query)
    return merge(state)


# ---------------------------------------------------------------- deciding what to read


@kernel(inline=True)
def _post(state, index, row, node, kind):
    """Write one request into the outbox and mark its fields as asked for."""
    numbers = state.numbers
    window = state.flight_tags.shape[0]
    tag = numbers[NEXT_TAG]
    while state.flight_tags[tag & (window - 1)] >= 0:
        tag += 1
    numbers[NEXT_TAG] = tag + 1
    slot = tag & (window - 1)
    state.flight_tags[slot] = tag
    state.flight_nodes[slot] = node
    state.flight_kinds[slot] = kind
    numbers[IN_FLIGHT] += 1

    status = node_slot(state.node_ids, node)
    if kind != READ_ADJACENCY:
        state.node_status[status] |= HAS_VECTOR
    if kind != READ_VECTOR:
        state.node_status[status] |= HAS_ADJACENCY
        numbers[EXPANSIONS] += 1

    record_bytes = index.vector_bytes + _adjacency_bytes(index)
    first, length = 0, record_bytes
    if kind == READ_VECTOR:
        length = index.vector_bytes
    elif kind == READ_ADJACENCY:
        first, length = index.vector_bytes, _adjacency_bytes(index)
    memory_node, place = locate(index.placement, node)
    out = state.outbox[row]
    out[OUT_TAG] = tag
    out[OUT_NODE] = node
    out[OUT_KIND] = kind
    out[OUT_MEMORY_NODE] = memory_node
    out[OUT_OFFSET] = place * record_bytes + first
    out[OUT_LENGTH] = length
    numbers[READS_RECORD + kind] += 1
    numbers[BYTES_READ] += length


@kernel(inline=True)
def _next_untaken(state):
    """Position of the nearest candidate that is not taken, or -1."""
    numbers = state.numbers
    at = numbers[CURSOR]
    while at < numbers[LIST_SIZE] and is_taken(state.candidates[at]):
        at += 1
    numbers[CURSOR] = at
    return at if at < numbers[LIST_SIZE] else -1


@kernel(inline=True)
def _next_unverified(state):
    """Take the nearest node whose exact vector was not asked for from the heap; -1 if there is none."""
    numbers = state.numbers
    while numbers[UNVERIFIED] > 0:
        node = id_of(state.unverified[0])
        heap_pop(state.unverified, numbers[UNVERIFIED])
        numbers[UNVERIFIED] -= 1
        if not state.node_status[node_slot(state.node_ids, node)] & HAS_VECTOR:
            return node
    return np.int32(-1)


@kernel(inline=True)
def _note_entered(state):
    """Offer every candidate that is new in the list to verification.

    Done between rounds, so that what "entered the list" does not depend on the order of completions within one.
    """
    numbers = state.numbers
    for at in range(numbers[LIST_SIZE]):
        key = state.candidates[at]
        slot = node_slot(state.node_ids, id_of(key))
        if not state.node_status[slot] & ENTERED:
            state.node_status[slot] |= ENTERED
            heap_push(state.unverified, numbers[UNVERIFIED], key)
            numbers[UNVERIFIED] += 1


@kernel
def next_round(state, index):
    """Decide the next chain of a round-synchronous search; commit it.

    A round starts when no read is in flight and nothing is unmerged. It expands the ``beam`` nearest candidates; when none
    is left, it verifies what the verification rule asks for.

    Returns
    -------
    int
        Number of requests, in ``state.outbox``. 0 while the round is open, and when the search has ended.
    """
    numbers = state.numbers
    if numbers[IN_FLIGHT] > 0 or numbers[PENDING_HEAD] != numbers[PENDING_TAIL]:
        return 0
    if state.rules[RULE_VERIFY] == VERIFY_ALL:
        _note_entered(state)
    beam = state.rules[RULE_BEAM]
    count = 0
    while count < beam:
        at = _next_untaken(state)
        if at < 0:
            break
        node = id_of(state.candidates[at])
        state.candidates[at] |= TAKEN
        read = state.node_status[node_slot(state.node_ids, node)] & HAS_VECTOR
        _post(state, index, count, node, READ_ADJACENCY if read else READ_RECORD)
        count += 1
    if count > 0:
        numbers[ROUNDS] += 1
    elif state.rules[RULE_VERIFY] == VERIFY_ALL:
        while count < beam:
            node = _next_unverified(state)
            if node < 0:
                break
            _post(state, index, count, node, READ_VECTOR)
            count += 1
    if count > 0:
        numbers[CHAINS] += 1
    return count


# ---------------------------------------------------------------- taking in what was read


@kernel(inline=True)
def _room(state, lists, degree):
    """0 if ``lists`` more adjacency lists fit, else which array must grow first."""
    numbers = state.numbers
    if numbers[NODES] + lists * degree > (3 * state.node_ids.shape[0]) // 4:
        return GROW_NODES
    if numbers[PENDING_TAIL] - numbers[PENDING_HEAD] + lists * degree > state.pending_ids.shape[0]:
        return GROW_PENDING
    return 0


@kernel
def receive(state, index, query, buffer, tags, starts, count):
    """Take in completed reads: exact distances into the results, unseen neighbours into the pending evaluations.

    Parameters
    ----------
    buffer : uint8 (bytes,)
        Where the bytes of the reads lie: landing slots, or the memory nodes' own regions.
    tags, starts : int64 (count,)
        Tag of each read and where its first byte lies in ``buffer``.

    Returns
    -------
    int
        Neighbours added to the pending evaluations; GROW_NODES, GROW_PENDING or UNKNOWN_TAG if nothing was changed.
    """
    numbers = state.numbers
    window = state.flight_tags.shape[0]
    lists = 0
    for i in range(count):
        slot = tags[i] & (window - 1)
        if tags[i] < 0 or state.flight_tags[slot] != tags[i]:
            return UNKNOWN_TAG
        for j in range(i):
            if tags[j] == tags[i]:
                return UNKNOWN_TAG
        if state.flight_kinds[slot] != READ_VECTOR:
            lists += 1
    room = _room(state, lists, index.degree)
    if room < 0:
        return room

    added = 0
    for i in range(count):
        slot = tags[i] & (window - 1)
        node = state.flight_nodes[slot]
        kind = state.flight_kinds[slot]
        state.flight_tags[slot] = -1
        numbers[IN_FLIGHT] -= 1
        at = starts[i]
        if kind != READ_ADJACENCY:
            exact = distance_bytes(index.metric, query, buffer, at, index.dimension)
            numbers[EXACT_EVALUATIONS] += 1
            size = numbers[RESULT_SIZE]
            if insert(state.results, size, state.results.shape[0], pack(exact, node)) >= 0:
                numbers[RESULT_SIZE] = min(size + 1, state.results.shape[0])
            at += index.vector_bytes
        if kind != READ_VECTOR:
            added += _take_list(state, index, buffer, at)
    return added


@kernel(inline=True)
def _take_list(state, index, buffer, at):
    """Append the unseen neighbours of the adjacency list at ``buffer[at:]`` to the pending evaluations."""
    numbers = state.numbers
    mask = state.pending_ids.shape[0] - 1
    tail = numbers[PENDING_TAIL]
    degree = load_i32(buffer, at)
    for j in range(degree):
        neighbor = load_i32(buffer, at + 4 + 4 * j)
        if _see(state, neighbor):
            prefetch_code(index.codes, index.code_bytes, neighbor)
            state.pending_ids[tail & mask] = neighbor
            tail += 1
    added = tail - numbers[PENDING_TAIL]
    numbers[LISTS] += 1
    numbers[NEIGHBORS] += degree
    numbers[PENDING_TAIL] = tail
    return added


@kernel(inline=True)
def evaluate(state, index, query):
    """Compute the compact distance of every pending neighbour."""
    numbers = state.numbers
    mask = state.pending_ids.shape[0] - 1
    for at in range(numbers[PENDING_HEAD], numbers[PENDING_TAIL]):
        node = state.pending_ids[at & mask]
        state.pending_distances[at & mask] = _compact_distance(state, index, query, node)
    numbers[EVALUATIONS] += numbers[PENDING_TAIL] - numbers[PENDING_HEAD]


@kernel(inline=True)
def merge(state):
    """Insert every evaluated neighbour into the candidate list; return how many entered it."""
    numbers = state.numbers
    mask = state.pending_ids.shape[0] - 1
    capacity = state.candidates.shape[0]
    entered = 0
    for pending in range(numbers[PENDING_HEAD], numbers[PENDING_TAIL]):
        node = state.pending_ids[pending & mask]
        key = pack(state.pending_distances[pending & mask], node)
        size = numbers[LIST_SIZE]
        at = insert(state.candidates, size, capacity, key)
        if at < 0:
            continue
        entered += 1
        numbers[LIST_SIZE] = min(size + 1, capacity)
        numbers[CURSOR] = min(numbers[CURSOR], at)
    numbers[PENDING_HEAD] = numbers[PENDING_TAIL]
    numbers[INSERTIONS] += entered
    return entered


@kernel
def take_in(state, index, query, buffer, tags, starts, count):
    """Receive, evaluate and merge in one step, as a main thread does that evaluates itself.

    Returns
    -------
    int
        As ``receive``.
    """
    added = receive(state, index, query, buffer, tags, starts, count)
    if added > 0:
        evaluate(state, index, query)
        merge(state)
    return added


# ---------------------------------------------------------------- the whole search at once


@kernel
def region_starts(state, index, count, starts):
    """Where the first ``count`` requests of the outbox lie in ``index.region``."""
    for i in range(count):
        out = state.outbox[i]
        starts[i] = index.region_bases[out[OUT_MEMORY_NODE]] + out[OUT_OFFSET]


@kernel
def run_rounds(state, index, query):
    """Search to the end with every read completing at once, a chain at a time.

    Returns
    -------
    int
        0 at the end; GROW_NODES or GROW_PENDING if an array is too small, the search then starts anew.
    """
    tags = np.empty(state.outbox.shape[0], np.int64)
    starts = np.empty(state.outbox.shape[0], np.int64)
    while True:
        count = next_round(state, index)
        if count == 0:
            return 0
        region_starts(state, index, count, starts)
        for i in range(count):
            tags[i] = state.outbox[i, OUT_TAG]
        added = take_in(state, index, query, index.region, tags, starts, count)
        if added < 0:
            return added
