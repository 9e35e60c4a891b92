"""A search whose list, table of nodes and exact distances lie at a memory node (DistVS, reconstructed).

The compute node keeps compact codes and prunes with them; the memory node's threads do the rest, one round per call.
"""

from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import TAKEN, distance_of, id_of, insert, pack
from riftsim.kernels.evaluation import evaluate_task, merge_task
from riftsim.kernels.placement import locate
from riftsim.kernels.query import node_slot
from riftsim.kernels.traversal import admit_expansion, room, take_list
from riftsim.kernels.vector_ops import distance_bytes
from riftsim.kernels.verification import next_untaken


@kernel(inline=True)
def _record_start(index, node):
    memory_node, place = locate(index.placement, index.positions, node)
    return index.region_bases[memory_node] + place * (index.vector_bytes + 4 + 4 * index.degree)


@kernel
def advance(state, index, query):
    """What one call does at the memory node: merge the survivors, expand the nearest, re-rank what entered the list.

    Returns
    -------
    int
        How many nodes were expanded; 0 at the end of the search; GROW_NODES, GROW_PENDING or GROW_TRAIL if nothing was
        changed.
    """
    numbers = state.numbers
    beam = state.rules[q.RULE_BEAM]
    demand = room(state, beam, index.degree)
    if demand < 0:
        return demand
    if numbers[q.EXPANSIONS] + beam >= state.trail.shape[0]:
        return q.GROW_TRAIL
    for task in range(numbers[q.TASK_HEAD], numbers[q.TASK_TAIL]):
        merge_task(state, task)
    _rerank(state, index, query)
    count = 0
    while count < beam:
        at = next_untaken(state)
        if at < 0:
            break
        node = id_of(state.candidates[at])
        state.candidates[at] |= TAKEN
        take_list(state, index, index.region, _record_start(index, node) + index.vector_bytes, admit_expansion(state))
        count += 1
    if count > 0:
        numbers[q.ROUNDS] += 1
    return count


@kernel(inline=True)
def _rerank(state, index, query):
    """Exact distances of the candidates that have none yet, into the results."""
    numbers = state.numbers
    for at in range(numbers[q.LIST_SIZE]):
        node = id_of(state.candidates[at])
        slot = node_slot(state.node_ids, node)
        if state.node_status[slot] & q.HAS_VECTOR:
            continue
        state.node_status[slot] |= q.HAS_VECTOR | q.ENTERED
        exact = distance_bytes(index.metric, query, index.region, _record_start(index, node), index.dimension)
        numbers[q.EXACT_EVALUATIONS] += 1
        size = numbers[q.RESULT_SIZE]
        is_result = index.hidden.shape[0] == 0 or index.hidden[node] == 0
        if is_result and insert(state.results, size, state.results.shape[0], pack(exact, node)) >= 0:
            numbers[q.RESULT_SIZE] = min(size + 1, state.results.shape[0])


@kernel
def prune(state, index, query):
    """What the compute node does with a reply: compact distances, and only those that can enter the list are kept.

    The list's worst distance comes with the reply. What it refuses would not have entered: the search is that of an
    unpruned list.

    Returns
    -------
    int
        How many neighbours survive.
    """
    numbers = state.numbers
    size = numbers[q.LIST_SIZE]
    is_full = size == state.candidates.shape[0]
    mask = state.pending_ids.shape[0] - 1
    survivors = 0
    for number in range(numbers[q.TASK_HEAD], numbers[q.TASK_TAIL]):
        evaluate_task(state, index, query, number)
        task = state.tasks[number & (state.tasks.shape[0] - 1)]
        kept = task[q.TASK_START]
        for at in range(task[q.TASK_START], task[q.TASK_STOP]):
            distance = state.pending_distances[at & mask]
            if is_full and distance > distance_of(state.candidates[size - 1]):
                continue
            state.pending_ids[kept & mask] = state.pending_ids[at & mask]
            state.pending_distances[kept & mask] = distance
            kept += 1
        dropped = task[q.TASK_STOP] - kept
        numbers[q.EVALUATIONS] += dropped
        numbers[q.UNFINISHED] -= dropped
        task[q.TASK_STOP] = kept
        survivors += kept - task[q.TASK_START]
    return survivors
