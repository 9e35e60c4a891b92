"""Round-synchronous search: reads are chosen at the start of a round, the next round starts after the last of them.

The results do not depend on the order in which the reads of a round complete.
"""

import numpy as np

from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import TAKEN, id_of
from riftsim.kernels.evaluation import evaluate_task, merge_task
from riftsim.kernels.query import node_slot
from riftsim.kernels.traversal import admit_expansion, post, receive, region_starts
from riftsim.kernels.verification import next_to_verify, next_untaken, offer_to_verification


@kernel(inline=True)
def _no_round_left(state):
    numbers = state.numbers
    rounds = numbers[q.ROUNDS] + (numbers[q.EMPTY_ROUNDS] if state.rules[q.RULE_COUNT_EMPTY] else 0)
    return numbers[q.ROUND_LIMIT] > 0 and rounds >= numbers[q.ROUND_LIMIT]


@kernel
def _drop_evaluations(state):
    """Forget evaluations that were done and are not merged."""
    numbers = state.numbers
    numbers[q.EVALUATIONS] += numbers[q.UNFINISHED]
    numbers[q.UNFINISHED] = 0
    numbers[q.TASK_HEAD] = numbers[q.TASK_TAIL]
    numbers[q.PENDING_HEAD] = numbers[q.PENDING_TAIL]


@kernel
def next_round(state, index):
    """Decide the next chain; commit it.

    A round starts when no read is in flight and nothing is unmerged. It expands the ``beam`` nearest candidates; when
    none is left, it verifies what the verification rule asks for. Where evaluations are held back (``RULE_HOLD``),
    those of the last round are not merged yet; a round in which they leave nothing to expand passes without a read.

    Returns
    -------
    int
        Number of requests, in ``state.outbox``. 0 while the round is open, and when the search has ended; GROW_TRAIL if
        nothing was changed.
    """
    numbers = state.numbers
    beam = state.rules[q.RULE_BEAM]
    hold = state.rules[q.RULE_HOLD]
    if numbers[q.IN_FLIGHT] > 0 or (numbers[q.UNFINISHED] > 0 and hold == q.HOLD_NOTHING):
        return 0
    if numbers[q.EXPANSIONS] + beam >= state.trail.shape[0]:
        return q.GROW_TRAIL
    if hold != q.HOLD_NOTHING:
        while numbers[q.UNFINISHED] > 0 and (_no_round_left(state) or next_untaken(state) < 0):
            if _no_round_left(state) and hold == q.HOLD_THEN_DROP:
                _drop_evaluations(state)
            else:
                for task in range(numbers[q.TASK_HEAD], numbers[q.TASK_TAIL]):
                    merge_task(state, task)
                numbers[q.EMPTY_ROUNDS] += not _no_round_left(state)
    if state.rules[q.RULE_VERIFY] != q.VERIFY_EXPANDED:
        # Between rounds, so that what "entered the list" does not depend on the order of completions within one.
        for at in range(numbers[q.LIST_SIZE]):
            offer_to_verification(state, state.candidates[at])
    count = np.int64(0)
    while count < beam and not _no_round_left(state):
        at = next_untaken(state)
        if at < 0:
            break
        node = id_of(state.candidates[at])
        state.candidates[at] |= TAKEN
        read = state.node_status[node_slot(state.node_ids, node)] & q.HAS_VECTOR
        post(state, index, count, node, q.READ_ADJACENCY if read else q.READ_RECORD, admit_expansion(state))
        count += 1
    if count > 0:
        numbers[q.ROUNDS] += 1
    else:
        while count < beam:
            node = next_to_verify(state)
            if node < 0:
                break
            post(state, index, count, node, q.READ_VECTOR, np.int64(-1))
            count += 1
    if count > 0:
        numbers[q.CHAINS] += 1
    return count


@kernel
def take_in(state, index, query, buffer, tags, starts, count):
    """Receive reads, then evaluate and merge all they brought, as a main thread does that evaluates itself.

    With ``RULE_HOLD`` it merges what earlier rounds brought, and only evaluates what this one does.

    Parameters and answer as for ``traversal.receive``.
    """
    answer = receive(state, index, query, buffer, tags, starts, count)
    for task in range(state.numbers[q.TASK_HEAD], state.numbers[q.TASK_TAIL]):
        evaluate_task(state, index, query, task)
        admitted = state.tasks[task & (state.tasks.shape[0] - 1), q.TASK_ADMITTED]
        if state.rules[q.RULE_HOLD] == q.HOLD_NOTHING or admitted < state.numbers[q.EXPANSIONS]:
            merge_task(state, task)
    return answer


@kernel(allocates=True)
def run_rounds(state, index, query):
    """Search to the end with every read completing at once, a chain at a time.

    Returns
    -------
    int
        0 at the end; GROW_NODES, GROW_PENDING or GROW_TRAIL if an array is too small: begin anew with a larger one.
    """
    tags = np.empty(state.outbox.shape[0], np.int64)
    starts = np.empty(state.outbox.shape[0], np.int64)
    while True:
        count = next_round(state, index)
        if count <= 0:
            return count
        region_starts(state, index, count, starts)
        for i in range(count):
            tags[i] = state.outbox[i, q.OUT_TAG]
        answer = take_in(state, index, query, index.region, tags, starts, count)
        if answer < 0:
            return answer
