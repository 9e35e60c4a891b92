"""Which exact vectors are asked for beside those of expanded nodes (RiftANN, section 3.2).

Candidates that entered the list wait in a heap by compact distance until the verification rule holds for them.
"""

import numpy as np

from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import distance_of, id_of, is_taken
from riftsim.kernels.query import heap_pop, heap_push, node_slot


@kernel(inline=True)
def next_untaken(state):
    """Position of the nearest candidate that is not taken, or -1."""
    numbers = state.numbers
    at = numbers[q.CURSOR]
    while at < numbers[q.LIST_SIZE] and is_taken(state.candidates[at]):
        at += 1
    numbers[q.CURSOR] = at
    return at if at < numbers[q.LIST_SIZE] else -1


@kernel(inline=True)
def threshold(state):
    """tau: the k-th best exact distance, infinite before there are k results."""
    size = state.results.shape[0]
    if state.numbers[q.RESULT_SIZE] < size:
        return np.float32(np.inf)
    return distance_of(state.results[size - 1])


@kernel(inline=True)
def may_matter(state, key):
    """The verification rule for a candidate: d^ <= alpha * tau, both Euclidean; never before there are k results.

    Internal distances are squared, so alpha is squared with them (section 3.2).
    """
    if state.rules[q.RULE_VERIFY] == q.VERIFY_ALL:
        return True
    if state.rules[q.RULE_VERIFY] == q.VERIFY_EXPANDED or state.numbers[q.RESULT_SIZE] < state.results.shape[0]:
        return False
    alpha = state.rules[q.RULE_ALPHA_PPM] / 1e6
    return np.float64(distance_of(key)) <= alpha * alpha * np.float64(threshold(state))


@kernel(inline=True)
def next_to_verify(state):
    """Take the nearest node that the verification rule asks for from the heap; -1 if there is none now."""
    numbers = state.numbers
    if state.rules[q.RULE_VERIFY] == q.VERIFY_ORACLE:
        return _next_true_neighbor(state)
    while numbers[q.UNVERIFIED] > 0:
        key = state.unverified[0]
        unread = not state.node_status[node_slot(state.node_ids, id_of(key))] & q.HAS_VECTOR
        if unread and not may_matter(state, key):
            break
        heap_pop(state.unverified, numbers[q.UNVERIFIED])
        numbers[q.UNVERIFIED] -= 1
        if unread:
            return id_of(key)
    return np.int32(-1)


@kernel
def _next_true_neighbor(state):
    """A true neighbour that entered the list, was not read, and will not be expanded as far as one can see; or -1."""
    more = next_untaken(state) >= 0
    for i in range(state.true_ids.shape[0]):
        node = state.true_ids[i]
        slot = node_slot(state.node_ids, node)
        status = state.node_status[slot]
        if node < 0 or state.node_ids[slot] != node or status & q.HAS_VECTOR or not status & q.ENTERED:
            continue
        listed = False
        for at in range(state.numbers[q.LIST_SIZE] if more else 0):
            listed = listed or id_of(state.candidates[at]) == node
        if not listed:
            return node
    return np.int32(-1)


@kernel(inline=True)
def offer_to_verification(state, key):
    """Note a candidate that entered the list or left it, unless its exact vector was asked for already."""
    slot = node_slot(state.node_ids, id_of(key))
    if state.node_status[slot] & (q.ENTERED | q.HAS_VECTOR):
        return
    state.node_status[slot] |= q.ENTERED
    if state.rules[q.RULE_VERIFY] == q.VERIFY_ORACLE:
        return
    if may_matter(state, key):
        state.node_status[slot] |= q.WANTED
    heap_push(state.unverified, state.numbers[q.UNVERIFIED], key)
    state.numbers[q.UNVERIFIED] += 1
