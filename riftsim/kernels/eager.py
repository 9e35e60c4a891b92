"""Impact-aware asynchronous search: read on while evaluations are unfinished (RiftANN, sections 3.2 and 3.3).

Each time the main thread decides, it fills the request window: with expansions as long as the gate is open, then with
verifications. What is selected is posted in the same call, so no request grows stale between decision and posting.
"""

import numpy as np

from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import TAKEN, id_of, pack
from riftsim.kernels.evaluation import evaluate_pending, merge_in
from riftsim.kernels.gate import GATE_ORACLE, gate_open
from riftsim.kernels.query import node_slot
from riftsim.kernels.traversal import admit_expansion, post, room, take_kept_list
from riftsim.kernels.verification import next_to_verify, next_untaken


@kernel
def would_insert(state, enough):
    """Unfinished evaluations that would enter the present candidate list, counted up to ``enough``.

    Each is looked at by itself. A list only gets nearer, so what would not enter now never will.
    """
    numbers = state.numbers
    capacity = state.candidates.shape[0]
    if numbers[q.LIST_SIZE] < capacity:
        return min(numbers[q.UNFINISHED], enough)
    farthest = state.candidates[capacity - 1]
    mask = state.pending_ids.shape[0] - 1
    count = np.int64(0)
    for number in range(numbers[q.TASK_HEAD], numbers[q.TASK_TAIL]):
        task = state.tasks[number & (state.tasks.shape[0] - 1)]
        if task[q.TASK_MERGED]:
            continue
        for at in range(task[q.TASK_START], task[q.TASK_STOP]):
            count += pack(state.pending_distances[at & mask], state.pending_ids[at & mask]) < farthest
            if count >= enough:
                return count
    return count


@kernel(inline=True)
def _gate(state):
    numbers = state.numbers
    rules = state.rules
    kind = rules[q.RULE_GATE]
    if kind == GATE_ORACLE:
        return would_insert(state, rules[q.RULE_GATE_BOUND] + 1) <= rules[q.RULE_GATE_BOUND]
    bound = rules[q.RULE_GATE_BOUND] if numbers[q.GATE_ANSWER] < 0 else numbers[q.GATE_ANSWER]
    return gate_open(
        kind,
        bound,
        rules[q.RULE_GATE_LIMIT_PPM],
        numbers[q.RECENT_INSERTED],
        numbers[q.RECENT],
        numbers[q.UNFINISHED],
    )


@kernel(inline=True)
def _free_for_expansion(state):
    numbers = state.numbers
    if state.rules[q.RULE_WINDOW_COUNTS] == q.WINDOW_OF_READS:
        return numbers[q.WINDOW] - numbers[q.IN_FLIGHT]
    return numbers[q.WINDOW] - numbers[q.AWAITED]


@kernel(inline=True)
def _free_for_verification(state):
    numbers = state.numbers
    if state.rules[q.RULE_WINDOW_COUNTS] == q.WINDOW_OF_READS:
        return numbers[q.WINDOW] - numbers[q.IN_FLIGHT]
    # Behind expansions: only slots that they leave free let verifications ride along.
    if numbers[q.WINDOW] <= numbers[q.AWAITED]:
        return 0
    return state.rules[q.RULE_VERIFY_CAP] - (numbers[q.IN_FLIGHT] - numbers[q.AWAITED])


@kernel(inline=True)
def _join_read(state, node, expansion):
    """Let the read of a whole record that is in flight for a verification serve an expansion too."""
    for slot in range(state.flight_tags.shape[0]):
        if state.flight_tags[slot] >= 0 and state.flight_nodes[slot] == node:
            state.flight_expansions[slot] = expansion
            state.numbers[q.AWAITED] += 1
            return True
    return False


@kernel(inline=True)
def next_chain(state, index):
    """Decide and commit the next chain: expansions first, then verifications.

    A verified candidate is expanded by its adjacency list alone; an expansion of a candidate whose verification is
    wanted too is one read of the whole record. With whole-record reads a verified candidate's list is at hand already
    and its expansion needs no read at all.

    Returns
    -------
    int
        Number of requests, in ``state.outbox``; GROW_TRAIL, GROW_NODES or GROW_PENDING if the state must grow before
        the decision can go on (what was posted before stays in the outbox only if the answer is a count: nothing is
        lost, since room is tested before the first request).
    """
    numbers = state.numbers
    most = state.outbox.shape[0]
    if numbers[q.EXPANSIONS] + numbers[q.LIST_SIZE] + 1 >= state.trail.shape[0]:
        return q.GROW_TRAIL
    if state.rules[q.RULE_FULL_RECORD]:
        demand = room(state, most, index.degree)
        if demand < 0:
            return demand
    count = np.int64(0)
    kept = 0
    while count < most and kept < most and _free_for_expansion(state) > 0:
        at = next_untaken(state)
        if at < 0:
            break
        if not _gate(state):
            numbers[q.GATE_CLOSED] += 1
            break
        node = id_of(state.candidates[at])
        state.candidates[at] |= TAKEN
        slot = node_slot(state.node_ids, node)
        status = state.node_status[slot]
        expansion = admit_expansion(state)
        if status & q.HAS_ADJACENCY:
            if not _join_read(state, node, expansion):
                pending = numbers[q.PENDING_TAIL]
                take_kept_list(state, index, node, expansion)
                if numbers[q.PENDING_TAIL] > pending:  # else it took no room, and nothing would call for a new decision
                    kept += 1
            continue
        if status & q.WANTED and not status & q.HAS_VECTOR:
            numbers[q.REQUESTS_MERGED] += 1
        post(state, index, count, node, q.READ_ADJACENCY if status & q.HAS_VECTOR else q.READ_RECORD, expansion)
        count += 1
    if count > 0:
        numbers[q.ROUNDS] += 1
    verification = q.READ_RECORD if state.rules[q.RULE_FULL_RECORD] else q.READ_VECTOR
    while count < most and _free_for_verification(state) > 0:
        node = next_to_verify(state)
        if node < 0:
            break
        post(state, index, count, node, verification, np.int64(-1))
        count += 1
    if count > 0:
        numbers[q.CHAINS] += 1
    return count


@kernel(inline=True)
def merge_tasks(state, index, query, tasks, count, evaluate):
    """Merge completed tasks, in the order in which they were seen.

    Parameters
    ----------
    tasks : int64 (count,)
        Task numbers.
    evaluate : bool
        Whether their distances are computed here (simulation) or were computed by the workers (live).

    Returns
    -------
    int
        0, or UNKNOWN_TAG at the first task that is not open.
    """
    for i in range(count):
        if evaluate and state.tasks[tasks[i] & (state.tasks.shape[0] - 1), q.TASK_STOP] > state.numbers[q.EVALUATED]:
            evaluate_pending(state, index, query)
        if merge_in(state, tasks[i]) < 0:
            return q.UNKNOWN_TAG
    return 0


@kernel
def count_dropped(state):
    """At the end of a search: verifications that were wanted once and never needed (REQUESTS_DROPPED)."""
    dropped = 0
    for at in range(state.numbers[q.UNVERIFIED]):
        status = state.node_status[node_slot(state.node_ids, id_of(state.unverified[at]))]
        if status & q.WANTED and not status & q.HAS_VECTOR:
            dropped += 1
    state.numbers[q.REQUESTS_DROPPED] = dropped
