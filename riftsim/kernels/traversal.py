"""What a query does, as transitions over its state: begin, post, receive records.

Best-first search on compact codes (RiftANN, sections 2.1 and 3.2). The candidate list is ordered by compact distance
alone; exact distances feed only the results, which are the k nearest by exact distance. When the next reads are
decided is the subject of ``rounds`` and ``eager``; both are made of the transitions here, in ``evaluation`` and in
``verification``. Drivers differ in when they call the kernels, never in what the kernels do.
"""

from typing import NamedTuple

import numpy as np

from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import id_of, insert, pack
from riftsim.kernels.codes import prefetch_code
from riftsim.kernels.evaluation import evaluate_pending, evaluate_task, merge_task, open_task
from riftsim.kernels.gate import GATE_ORACLE
from riftsim.kernels.placement import locate
from riftsim.kernels.query import fetch_place, home, node_slot
from riftsim.kernels.vector_ops import distance_bytes, load_i32, prefetch

_LOOK_AHEAD = 4


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
    placement, positions : int64, int32
        Parameters of the placement rule and its table, see ``kernels.placement``.
    hidden : uint8 (n,) or (0,)
        Rows that route but are not results (frozen and deleted ones of imported indices); empty if there are none.
    code_kind, code_bytes, metric, dimension, vector_bytes, degree, start : int
        Kind and size of the codes; 0 squared L2, 1 minus inner product; record layout (``degree`` is R); first node.
    """

    codes: np.ndarray
    region: np.ndarray
    region_bases: np.ndarray
    placement: np.ndarray
    positions: np.ndarray
    hidden: np.ndarray
    code_kind: int
    code_bytes: int
    metric: int
    dimension: int
    vector_bytes: int
    degree: int
    start: int


@kernel(inline=True)
def see(state, node):
    """Enter an unseen node into the table of nodes; False if it was seen before."""
    slot = node_slot(state.node_ids, node)
    if state.node_ids[slot] == node:
        return False
    state.node_ids[slot] = node
    state.numbers[q.NODES] += 1
    return True


@kernel(inline=True)
def clear(state, window):
    """Empty the state of a query."""
    state.numbers[:] = 0
    state.numbers[q.WINDOW] = window
    state.node_ids[:] = -1
    state.node_status[:] = 0
    state.flight_tags[:] = -1
    state.trail[0, :] = 0


@kernel
def begin(state, index, query, window):
    """Start a query whose distance table is filled: everything empty, the start node in the candidate list."""
    numbers = state.numbers
    clear(state, window)
    see(state, np.int32(index.start))
    state.pending_ids[0] = index.start
    numbers[q.PENDING_TAIL] = 1
    open_task(state, 0, 1, np.int64(0))
    evaluate_task(state, index, query, 0)
    merge_task(state, 0)
    # The start node is nobody's neighbour.
    numbers[q.GENERATED] = 0
    state.trail[0, :] = 0  # nor does it count as inserted by an expansion


# ---------------------------------------------------------------- asking


@kernel(inline=True)
def admit_expansion(state):
    """Count an expansion and open its row of the trail; the row's number."""
    numbers = state.numbers
    row = numbers[q.EXPANSIONS]
    numbers[q.EXPANSIONS] = row + 1
    state.trail[row, q.TRAIL_BACKLOG] = numbers[q.UNFINISHED]
    state.trail[row + 1, :] = 0
    return row


@kernel(inline=True)
def post(state, index, row, node, kind, expansion):
    """Write one request into row ``row`` of the outbox and mark the fields of its node as asked for."""
    numbers = state.numbers
    slots = state.flight_tags.shape[0]
    tag = numbers[q.NEXT_TAG]
    while state.flight_tags[tag & (slots - 1)] >= 0:
        tag += 1
    numbers[q.NEXT_TAG] = tag + 1
    slot = tag & (slots - 1)
    state.flight_tags[slot] = tag
    state.flight_nodes[slot] = node
    state.flight_kinds[slot] = kind
    state.flight_expansions[slot] = expansion
    numbers[q.IN_FLIGHT] += 1
    if expansion >= 0:
        numbers[q.AWAITED] += 1

    status = node_slot(state.node_ids, node)
    if kind != q.READ_ADJACENCY:
        state.node_status[status] |= q.HAS_VECTOR
    if kind != q.READ_VECTOR:
        state.node_status[status] |= q.HAS_ADJACENCY

    adjacency_bytes = 4 + 4 * index.degree
    record_bytes = index.vector_bytes + adjacency_bytes
    first, length = 0, record_bytes
    if kind == q.READ_VECTOR:
        length = index.vector_bytes
    elif kind == q.READ_ADJACENCY:
        first, length = index.vector_bytes, adjacency_bytes
    memory_node, place = locate(index.placement, index.positions, node)
    out = state.outbox[row]
    out[q.OUT_TAG] = tag
    out[q.OUT_NODE] = node
    out[q.OUT_KIND] = kind
    out[q.OUT_MEMORY_NODE] = memory_node
    out[q.OUT_OFFSET] = place * record_bytes + first
    out[q.OUT_LENGTH] = length
    numbers[q.READS_RECORD + kind] += 1
    numbers[q.BYTES_READ] += length


# ---------------------------------------------------------------- taking in what was read


@kernel(inline=True)
def room(state, lists, degree):
    """0 if ``lists`` more adjacency lists fit, else which array must grow first."""
    numbers = state.numbers
    chunk = state.rules[q.RULE_CHUNK]
    tasks = lists * (1 if chunk == 0 else (degree + chunk - 1) // chunk)
    if numbers[q.NODES] + lists * degree > (3 * state.node_ids.shape[0]) // 4:
        return q.GROW_NODES
    if numbers[q.PENDING_TAIL] - numbers[q.PENDING_HEAD] + lists * degree > state.pending_ids.shape[0]:
        return q.GROW_PENDING
    if numbers[q.TASK_TAIL] - numbers[q.TASK_HEAD] + tasks > state.tasks.shape[0]:
        return q.GROW_PENDING
    return 0


@kernel(inline=True)
def receive(state, index, query, buffer, tags, starts, count):
    """Take in completed reads: exact distances into the results, unseen neighbours into evaluation tasks.

    Parameters
    ----------
    buffer : uint8 (bytes,)
        Where the bytes of the reads lie: landing slots, or the memory nodes' own regions.
    tags, starts : int64 (count,)
        Tag of each read and where its first byte lies in ``buffer``.

    Returns
    -------
    int
        0, or GROW_NODES, GROW_PENDING, GROW_KEPT or UNKNOWN_TAG if nothing was changed.
    """
    numbers = state.numbers
    slots = state.flight_tags.shape[0]
    lists = np.int64(0)
    kept = 0
    _fetch_next_candidates(state)
    for i in range(count):
        slot = tags[i] & (slots - 1)
        if tags[i] < 0 or state.flight_tags[slot] != tags[i]:
            return q.UNKNOWN_TAG
        for j in range(i):
            if tags[j] == tags[i]:
                return q.UNKNOWN_TAG
        if state.flight_expansions[slot] >= 0:
            lists += 1
            _fetch_places(
                state, buffer, starts[i] + (0 if state.flight_kinds[slot] == q.READ_ADJACENCY else index.vector_bytes)
            )
        elif state.flight_kinds[slot] == q.READ_RECORD:
            kept += 1
    demand = room(state, lists, index.degree)
    if demand < 0:
        return demand
    if numbers[q.KEPT] + kept > state.kept_nodes.shape[0]:
        return q.GROW_KEPT

    for i in range(count):
        slot = tags[i] & (slots - 1)
        node = state.flight_nodes[slot]
        kind = state.flight_kinds[slot]
        expansion = state.flight_expansions[slot]
        state.flight_tags[slot] = -1
        numbers[q.IN_FLIGHT] -= 1
        at = starts[i]
        if kind != q.READ_ADJACENCY:
            exact = distance_bytes(index.metric, query, buffer, at, index.dimension)
            numbers[q.EXACT_EVALUATIONS] += 1
            size = numbers[q.RESULT_SIZE]
            is_result = index.hidden.shape[0] == 0 or index.hidden[node] == 0
            if is_result and insert(state.results, size, state.results.shape[0], pack(exact, node)) >= 0:
                numbers[q.RESULT_SIZE] = min(size + 1, state.results.shape[0])
            at += index.vector_bytes
        if expansion >= 0:
            numbers[q.AWAITED] -= 1
            take_list(state, index, buffer, at, np.int64(expansion))
        elif kind == q.READ_RECORD:
            _keep_list(state, index, buffer, at, node)
    if state.rules[q.RULE_GATE] == GATE_ORACLE:
        # Only to be looked at; they are counted when a worker has done them.
        evaluate_pending(state, index, query)
    return 0


@kernel(inline=True)
def _fetch_places(state, buffer, at):
    """Ask the caches for the places in the table of nodes of an adjacency list's neighbours.

    Which of them are new is hard to foresee, so a core would wait for one place after the other.
    """
    for j in range(load_i32(buffer, at)):
        prefetch(state.node_ids, home(load_i32(buffer, at + 4 + 4 * j), state.node_ids.shape[0]))


@kernel(inline=True)
def _fetch_next_candidates(state):
    """Ask the caches for the places of the candidates of which some will be expanded next."""
    cursor = state.numbers[q.CURSOR]
    for at in range(cursor, min(cursor + _LOOK_AHEAD, state.numbers[q.LIST_SIZE])):
        fetch_place(state, id_of(state.candidates[at]))


@kernel(inline=True)
def _keep_list(state, index, buffer, at, node):
    """Keep the adjacency list of a verified node for a later expansion."""
    row = state.numbers[q.KEPT]
    state.numbers[q.KEPT] = row + 1
    state.kept_nodes[row] = node
    for j in range(index.degree + 1):
        state.kept_lists[row, j] = load_i32(buffer, at + 4 * j)


@kernel(inline=True)
def take_list(state, index, buffer, at, expansion):
    """Make evaluation tasks of the unseen neighbours in the adjacency list at ``buffer[at:]``."""
    first = tail = state.numbers[q.PENDING_TAIL]
    degree = load_i32(buffer, at)
    for j in range(degree):
        tail = _await_neighbor(state, index, tail, load_i32(buffer, at + 4 + 4 * j))
    _close_list(state, first, tail, degree, expansion)


@kernel
def take_kept_list(state, index, node, expansion):
    """The same for the kept list of a node that was verified with its whole record."""
    first = tail = state.numbers[q.PENDING_TAIL]
    row = state.numbers[q.KEPT] - 1
    while state.kept_nodes[row] != node:
        row -= 1
    degree = state.kept_lists[row, 0]
    for j in range(degree):
        tail = _await_neighbor(state, index, tail, state.kept_lists[row, 1 + j])
    _close_list(state, first, tail, degree, expansion)


@kernel(inline=True)
def _await_neighbor(state, index, tail, neighbor):
    """Put a neighbour that was not seen before at the end of the pending ones; their new end.

    The counts are kept by the caller until the list ends: in memory each would wait for the one before.
    """
    slot = node_slot(state.node_ids, neighbor)
    if state.node_ids[slot] == neighbor:
        return tail
    state.node_ids[slot] = neighbor
    prefetch_code(index.codes, index.code_bytes, neighbor)
    state.pending_ids[tail & (state.pending_ids.shape[0] - 1)] = neighbor
    return tail + 1


@kernel(inline=True)
def _close_list(state, first, stop, degree, expansion):
    """Cut the neighbours that a list added into tasks, and count them and the list."""
    numbers = state.numbers
    numbers[q.NODES] += stop - first
    numbers[q.PENDING_TAIL] = stop
    chunk = state.rules[q.RULE_CHUNK]
    if chunk == 0:
        chunk = max(1, stop - first)
    for start in range(first, stop, chunk):
        open_task(state, start, min(stop, start + chunk), expansion)
    numbers[q.LISTS] += 1
    numbers[q.NEIGHBORS] += degree
    state.trail[expansion, q.TRAIL_NEW] = stop - first


# ---------------------------------------------------------------- looking


@kernel
def region_starts(state, index, count, starts):
    """Where the first ``count`` requests of the outbox lie in ``index.region``."""
    for i in range(count):
        out = state.outbox[i]
        starts[i] = index.region_bases[out[q.OUT_MEMORY_NODE]] + out[q.OUT_OFFSET]


@kernel
def statuses(state, nodes, out):
    """Status bits of ``nodes`` (int32 (m,)), 0 for those not seen, into ``out`` (uint8 (m,))."""
    for i in range(nodes.shape[0]):
        slot = node_slot(state.node_ids, nodes[i])
        out[i] = state.node_status[slot] if state.node_ids[slot] == nodes[i] else 0
