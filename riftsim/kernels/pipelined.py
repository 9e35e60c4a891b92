"""Pipelined best-first search: reads run ahead of the work on what has arrived (PipeANN, OSDI'25, section 4).

A read that has arrived keeps its slot in the table of reads in flight until it is worked on or its node has fallen off
the candidate list. Beside the state there are two arrays by slot: the candidate's entry when its read was posted, and
where the bytes lie.
"""

import numpy as np

from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import TAKEN, distance_of, id_of, insert, is_taken, pack
from riftsim.kernels.codes import code_distance
from riftsim.kernels.query import node_slot
from riftsim.kernels.traversal import admit_expansion, clear, post, see
from riftsim.kernels.verification import next_untaken


@kernel
def seed(state, nodes, distances, width):
    """Start a query from entry points and their distances (int32 (m,), float32 (m,)), before its table is filled."""
    clear(state, width)
    numbers = state.numbers
    capacity = state.candidates.shape[0]
    for i in range(nodes.shape[0]):
        if nodes[i] < 0 or not see(state, nodes[i]):
            continue
        size = numbers[q.LIST_SIZE]
        if insert(state.candidates, size, capacity, pack(distances[i], nodes[i])) >= 0:
            numbers[q.LIST_SIZE] = min(size + 1, capacity)


@kernel
def rescore(state, index, query, posted):
    """Give every candidate its compact distance, in place of the one that it was seeded with; returns how many."""
    size = state.numbers[q.LIST_SIZE]
    for at in range(size):
        old = state.candidates[at]
        node = id_of(old)
        distance = code_distance(
            index.code_kind, index.metric, state.table, query, index.codes, index.code_bytes, node, index.dimension
        )
        key = pack(distance, node)
        if is_taken(old):
            for slot in range(state.flight_tags.shape[0]):
                if state.flight_tags[slot] >= 0 and state.flight_nodes[slot] == node:
                    posted[slot] = key
            key |= TAKEN
        insert(state.candidates, at, state.candidates.shape[0], key)  # those before it are in order already
    state.numbers[q.CURSOR] = 0
    state.numbers[q.EVALUATIONS] = size
    return size


@kernel(inline=True)
def _is_listed(state, key):
    """Whether a node that was in the candidate list still is: entries leave it over its end alone."""
    size = state.numbers[q.LIST_SIZE]
    return size < state.candidates.shape[0] or key <= (state.candidates[size - 1] | TAKEN)


@kernel
def _drop_unlisted(state, posted):
    """Free the slots of reads that arrived for nodes which have fallen off the list: nothing will ask for them."""
    numbers = state.numbers
    for slot in range(state.flight_tags.shape[0]):
        if state.flight_tags[slot] < 0 or _is_listed(state, posted[slot]):
            continue
        status = node_slot(state.node_ids, state.flight_nodes[slot])
        if state.node_status[status] & q.ARRIVED_RECORD:
            state.node_status[status] &= ~q.ARRIVED_RECORD
            state.flight_tags[slot] = -1
            numbers[q.IN_FLIGHT] -= 1
            numbers[q.AWAITED] -= 1
            numbers[q.LANDED] -= 1


@kernel
def issue(state, index, posted, most):
    """Post reads of the nearest unread candidates: at most ``most``, and no more than the width allows.

    Returns
    -------
    int
        Number of requests, in ``state.outbox``; GROW_TRAIL if nothing was changed.
    """
    numbers = state.numbers
    if numbers[q.EXPANSIONS] + most + 1 >= state.trail.shape[0]:
        return q.GROW_TRAIL
    _drop_unlisted(state, posted)
    count = np.int64(0)
    while count < most and numbers[q.IN_FLIGHT] - numbers[q.LANDED] < numbers[q.WINDOW]:
        at = next_untaken(state)
        if at < 0:
            break
        key = state.candidates[at]
        state.candidates[at] |= TAKEN
        post(state, index, count, id_of(key), q.READ_RECORD, admit_expansion(state))
        posted[state.outbox[count, q.OUT_TAG] & (state.flight_tags.shape[0] - 1)] = key
        count += 1
    if count > 0:
        numbers[q.CHAINS] += 1
        numbers[q.ROUNDS] += 1
    return count


@kernel
def land(state, posted, starts, tags, places, count):
    """Note reads that arrived, and widen the pipeline if few of them came in vain.

    Parameters
    ----------
    posted, starts : uint64 (slots,), int64 (slots,)
        Entry of each read's candidate; where its bytes lie, which is set here.
    tags, places : int64 (count,)
        The reads, and where their bytes lie.

    Returns
    -------
    int
        0, or UNKNOWN_TAG at the first read that is not in flight.
    """
    numbers, rules = state.numbers, state.rules
    for i in range(count):
        slot = tags[i] & (state.flight_tags.shape[0] - 1)
        if state.flight_tags[slot] != tags[i]:
            return q.UNKNOWN_TAG
        starts[slot] = places[i]
        state.node_status[node_slot(state.node_ids, state.flight_nodes[slot])] |= q.ARRIVED_RECORD
        numbers[q.LANDED] += 1
        if numbers[q.MARKER] >= rules[q.RULE_MARKER]:
            last = state.candidates[numbers[q.LIST_SIZE] - 1]
            numbers[q.ARRIVED] += 1
            numbers[q.USEFUL] += distance_of(posted[slot]) <= distance_of(last)
    if count > 0 and numbers[q.MARKER] >= rules[q.RULE_MARKER]:
        wasted = numbers[q.ARRIVED] - numbers[q.USEFUL]
        if wasted * 1_000_000 <= rules[q.RULE_WASTE_PPM] * numbers[q.ARRIVED]:
            numbers[q.WINDOW] = min(numbers[q.WINDOW] + 1, rules[q.RULE_MAX_WINDOW])
    return 0


@kernel
def pick_arrived(state):
    """Take the nearest candidate whose record has arrived out of those that wait; its slot, or -1 if none waits."""
    if state.numbers[q.LANDED] == 0:
        return np.int64(-1)
    for at in range(state.numbers[q.LIST_SIZE]):
        node = id_of(state.candidates[at])
        status = node_slot(state.node_ids, node)
        if not state.node_status[status] & q.ARRIVED_RECORD:
            continue
        state.node_status[status] &= ~q.ARRIVED_RECORD
        state.numbers[q.LANDED] -= 1
        for slot in range(state.flight_tags.shape[0]):
            if state.flight_tags[slot] >= 0 and state.flight_nodes[slot] == node:
                return np.int64(slot)
    return np.int64(-1)


ENDED = 0  # every candidate was worked on
WAITS = 1  # only an arrival can change anything
GOES_ON = 2  # there is a read to post or a record to work on


@kernel
def outlook(state, posted):
    """Look at what is left after a turn: ENDED, WAITS or GOES_ON; notes how far the unread candidates have moved."""
    numbers = state.numbers
    unread = next_untaken(state)
    numbers[q.MARKER] = max(numbers[q.MARKER], unread if unread >= 0 else numbers[q.LIST_SIZE])
    if unread >= 0 and numbers[q.IN_FLIGHT] - numbers[q.LANDED] < numbers[q.WINDOW]:
        return GOES_ON
    listed = 0
    for slot in range(state.flight_tags.shape[0]):
        if state.flight_tags[slot] >= 0 and _is_listed(state, posted[slot]):
            listed += 1
            if state.node_status[node_slot(state.node_ids, state.flight_nodes[slot])] & q.ARRIVED_RECORD:
                return GOES_ON
    return WAITS if unread >= 0 or listed > 0 else ENDED
