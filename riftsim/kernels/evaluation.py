"""Evaluation tasks: neighbours whose compact distances are computed together and merged into the candidate list."""

import numpy as np

from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import TAKEN, insert, pack
from riftsim.kernels.codes import code_distance
from riftsim.kernels.query import fetch_place
from riftsim.kernels.verification import offer_to_verification

_FARTHEST = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel(inline=True)
def open_task(state, start, stop, expansion):
    """Make a task of the pending neighbours ``start`` to ``stop``, which an expansion brought."""
    numbers = state.numbers
    task = state.tasks[numbers[q.TASK_TAIL] & (state.tasks.shape[0] - 1)]
    task[q.TASK_START] = start
    task[q.TASK_STOP] = stop
    task[q.TASK_ADMITTED] = numbers[q.EXPANSIONS]
    task[q.TASK_EXPANSION] = expansion
    task[q.TASK_MERGED] = 0
    numbers[q.TASK_TAIL] += 1
    numbers[q.UNFINISHED] += stop - start
    numbers[q.GENERATED] += stop - start


@kernel
def evaluate_task(state, index, query, number):
    """Compute the compact distances of a task; touches nothing that another task or the main thread writes."""
    task = state.tasks[number & (state.tasks.shape[0] - 1)]
    _evaluate(state, index, query, task[q.TASK_START], task[q.TASK_STOP])


@kernel
def evaluate_pending(state, index, query):
    """Compute the compact distances of all pending neighbours that lack them, where no worker does.

    Together, since a task would fetch the query's distance table into the first-level cache for itself alone.
    """
    numbers = state.numbers
    first = max(numbers[q.EVALUATED], numbers[q.PENDING_HEAD])
    _evaluate(state, index, query, first, numbers[q.PENDING_TAIL])
    numbers[q.EVALUATED] = numbers[q.PENDING_TAIL]


@kernel(inline=True)
def _evaluate(state, index, query, start, stop):
    mask = state.pending_ids.shape[0] - 1
    for at in range(start, stop):
        node = state.pending_ids[at & mask]
        state.pending_distances[at & mask] = code_distance(
            index.code_kind, index.metric, state.table, query, index.codes, index.code_bytes, node, index.dimension
        )


@kernel
def merge_task(state, number):
    """``merge_in`` as a call of its own."""
    return merge_in(state, number)


@kernel(inline=True)
def merge_in(state, number):
    """Insert the evaluated neighbours of a task into the candidate list.

    Returns
    -------
    int
        How many entered it; UNKNOWN_TAG if the task is not open, and nothing was changed.
    """
    numbers = state.numbers
    task_mask = state.tasks.shape[0] - 1
    is_known = numbers[q.TASK_HEAD] <= number < numbers[q.TASK_TAIL]
    if not is_known or state.tasks[number & task_mask, q.TASK_MERGED]:
        return q.UNKNOWN_TAG
    task = state.tasks[number & task_mask]
    mask = state.pending_ids.shape[0] - 1
    capacity = state.candidates.shape[0]
    verified_as_it_comes = state.rules[q.RULE_VERIFY] != q.VERIFY_EXPANDED and state.rules[q.RULE_BEAM] == 0
    verified_when_evicted = verified_as_it_comes and state.rules[q.RULE_VERIFY_EVICTED]
    entered = 0
    if verified_as_it_comes:
        _fetch_places_of_entrants(state, task[q.TASK_START], task[q.TASK_STOP])
    for pending in range(task[q.TASK_START], task[q.TASK_STOP]):
        key = pack(state.pending_distances[pending & mask], state.pending_ids[pending & mask])
        size = numbers[q.LIST_SIZE]
        evicted = state.candidates[capacity - 1] & ~TAKEN
        at = insert(state.candidates, size, capacity, key)
        _remember(state, at >= 0)
        if at < 0:
            continue
        entered += 1
        numbers[q.LIST_SIZE] = min(size + 1, capacity)
        numbers[q.CURSOR] = min(numbers[q.CURSOR], at)
        if verified_when_evicted:
            if size == capacity:
                offer_to_verification(state, evicted)
        elif verified_as_it_comes:
            offer_to_verification(state, key)

    count = task[q.TASK_STOP] - task[q.TASK_START]
    numbers[q.EVALUATIONS] += count
    numbers[q.UNFINISHED] -= count
    numbers[q.INSERTIONS] += entered
    state.trail[task[q.TASK_EXPANSION], q.TRAIL_INSERTED] += entered
    state.trail[task[q.TASK_ADMITTED], q.TRAIL_HIDDEN] += entered
    state.trail[numbers[q.EXPANSIONS], q.TRAIL_HIDDEN] -= entered

    task[q.TASK_MERGED] = 1
    head = numbers[q.TASK_HEAD]
    while head < numbers[q.TASK_TAIL] and state.tasks[head & task_mask, q.TASK_MERGED]:
        numbers[q.PENDING_HEAD] = state.tasks[head & task_mask, q.TASK_STOP]
        head += 1
    numbers[q.TASK_HEAD] = head
    return entered


@kernel(inline=True)
def _fetch_places_of_entrants(state, start, stop):
    """Ask the caches for the places of pending neighbours that are near enough for the candidate list as it is."""
    size = state.numbers[q.LIST_SIZE]
    bound = state.candidates[size - 1] if size == state.candidates.shape[0] else _FARTHEST
    mask = state.pending_ids.shape[0] - 1
    for pending in range(start, stop):
        node = state.pending_ids[pending & mask]
        # One place stands in for those that are not: a branch would be as hard to foresee as the insertion itself.
        fetch_place(state, node if pack(state.pending_distances[pending & mask], node) < bound else np.int32(0))


@kernel(inline=True)
def _remember(state, inserted):
    """Enter one completed evaluation into the rolling history."""
    numbers = state.numbers
    history = state.recent.shape[0]
    at = numbers[q.RECENT_AT]
    if numbers[q.RECENT] == history:
        numbers[q.RECENT_INSERTED] -= state.recent[at]
    else:
        numbers[q.RECENT] += 1
    state.recent[at] = 1 if inserted else 0
    numbers[q.RECENT_INSERTED] += state.recent[at]
    numbers[q.RECENT_AT] = at + 1 if at + 1 < history else 0
