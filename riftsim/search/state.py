"""Allocation, growth and size of a query's state."""

import numpy as np

from riftsim.kernels import query as q
from riftsim.kernels.query import QueryState

CACHE_LINE_BYTES = 64


def _power_of_two(at_least: int) -> int:
    return 1 << max(0, at_least - 1).bit_length()


def new_state(
    *,
    list_size: int,
    k: int,
    window: int,
    degree: int,
    table_entries: int,
    rules: dict[int, int],
    history: int = 1,
    true_neighbors: int = 0,
) -> QueryState:
    """Allocate the state of one query.

    Parameters
    ----------
    list_size, k : int
        L and k of the search.
    window : int
        Most reads in flight at once.
    degree : int
        R of the graph: the longest adjacency list.
    table_entries : int
        float32 entries of the code's distance table.
    rules : dict
        Values for ``QueryState.rules`` by position.
    history : int
        H: evaluations in the rolling history.
    true_neighbors : int
        True neighbours of a query that its verification knows; 0 for all but the oracle.

    Returns
    -------
    QueryState
        Room for a search of usual length; ``grown`` gives more when a kernel asks for it.
    """
    rule_array = np.zeros(q.RULES, np.int64)
    for position, value in rules.items():
        rule_array[position] = value
    # About three in eight neighbours of a list were not seen before; a search expands about L nodes. No larger than
    # that needs: the tables of all queries in flight share the caches.
    nodes = _power_of_two(max(1024, list_size * degree // 2, 2 * window * degree))
    pending = _power_of_two(2 * window * degree)
    slots = _power_of_two(window)
    whole_records = bool(rule_array[q.RULE_FULL_RECORD])
    return QueryState(
        numbers=np.zeros(q.NUMBERS, np.int64),
        rules=rule_array,
        candidates=np.zeros(list_size, np.uint64),
        results=np.zeros(k, np.uint64),
        table=np.zeros(table_entries, np.float32),
        node_ids=np.full(nodes, -1, np.int32),
        node_status=np.zeros(nodes, np.uint8),
        unverified=np.zeros(
            nodes if rule_array[q.RULE_VERIFY] in (q.VERIFY_CALIBRATED, q.VERIFY_ALL) else 0, np.uint64
        ),
        pending_ids=np.zeros(pending, np.int32),
        pending_distances=np.zeros(pending, np.float32),
        tasks=np.zeros((_power_of_two(4 * window), q.TASK_COLUMNS), np.int64),
        recent=np.zeros(history, np.uint8),
        trail=np.zeros((max(256, 4 * list_size), q.TRAIL_COLUMNS), np.int32),
        flight_tags=np.full(slots, -1, np.int64),
        flight_nodes=np.zeros(slots, np.int32),
        flight_kinds=np.zeros(slots, np.uint8),
        flight_expansions=np.zeros(slots, np.int32),
        kept_nodes=np.zeros(list_size if whole_records else 0, np.int32),
        kept_lists=np.zeros((list_size if whole_records else 0, degree + 1), np.int32),
        outbox=np.zeros((window, q.OUT_COLUMNS), np.int64),
        true_ids=np.full(true_neighbors, -1, np.int32),
    )


def _moved_ring(old: np.ndarray, head: int, tail: int) -> np.ndarray:
    """A ring of twice the length with the same entries at the same (unwrapped) positions."""
    new = np.zeros((2 * len(old), *old.shape[1:]), old.dtype)
    positions = np.arange(head, tail)
    new[positions % len(new)] = old[positions % len(old)]
    return new


def _lengthened(old: np.ndarray) -> np.ndarray:
    return np.concatenate([old, np.zeros_like(old)])


def grown(state: QueryState, demand: int) -> QueryState:
    """Return the state with twice the room that a kernel asked for; contents are kept.

    Parameters
    ----------
    demand : int
        ``GROW_NODES``, ``GROW_PENDING``, ``GROW_TRAIL`` or ``GROW_KEPT``, as a kernel answered.
    """
    numbers = state.numbers
    if demand == q.GROW_NODES:
        capacity = 2 * len(state.node_ids)
        node_ids, node_status = np.empty(capacity, np.int32), np.empty(capacity, np.uint8)
        q.rehash(state.node_ids, state.node_status, node_ids, node_status)
        return state._replace(node_ids=node_ids, node_status=node_status, unverified=_lengthened(state.unverified))
    if demand == q.GROW_PENDING:
        neighbors = int(numbers[q.PENDING_HEAD]), int(numbers[q.PENDING_TAIL])
        return state._replace(
            pending_ids=_moved_ring(state.pending_ids, *neighbors),
            pending_distances=_moved_ring(state.pending_distances, *neighbors),
            tasks=_moved_ring(state.tasks, int(numbers[q.TASK_HEAD]), int(numbers[q.TASK_TAIL])),
        )
    if demand == q.GROW_TRAIL:
        return state._replace(trail=_lengthened(state.trail))
    if demand == q.GROW_KEPT:
        return state._replace(kept_nodes=_lengthened(state.kept_nodes), kept_lists=_lengthened(state.kept_lists))
    raise ValueError(f"{demand} asks for no growth")


def state_bytes(state: QueryState) -> int:
    """Bytes that one query's state takes at the compute node."""
    return sum(array.nbytes for array in state)


def laid_out_bytes(state: QueryState) -> int:
    """Bytes that ``laid_out`` needs."""
    return sum(_whole_lines(array.nbytes) for array in state)


def laid_out(state: QueryState, memory: np.ndarray) -> QueryState:
    """Move a state into one piece of memory, each array on cache lines of its own.

    Parameters
    ----------
    memory : uint8 (laid_out_bytes(state),)
        Begins at a cache line; the state keeps it alive.
    """
    arrays, at = [], 0
    for array in state:
        moved = memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
        moved[...] = array
        arrays.append(moved)
        at += _whole_lines(array.nbytes)
    return QueryState(*arrays)


def _whole_lines(size_bytes: int) -> int:
    return -(-size_bytes // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
