"""Allocation, growth and size of a query's state."""

import numpy as np

from riftsim.kernels.query import (
    GROW_NODES,
    GROW_PENDING,
    NODES,
    NUMBERS,
    OUT_COLUMNS,
    PENDING_HEAD,
    PENDING_TAIL,
    RULE_VERIFY,
    RULES,
    VERIFY_EXPANDED,
    QueryState,
    rehash,
)


def _power_of_two(at_least: int) -> int:
    return 1 << max(0, at_least - 1).bit_length()


def new_state(*, list_size: int, k: int, window: int, degree: int, table_entries: int, rules: dict[int, int]) -> QueryState:
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

    Returns
    -------
    QueryState
        Room for a search of usual length; ``grown`` gives more when a kernel asks for it.
    """
    # About three in eight neighbours of a list were not seen before; a search expands about L nodes.
    nodes = _power_of_two(max(1024, list_size * degree * 3 // 4, 2 * window * degree))
    rule_array = np.zeros(RULES, np.int64)
    for position, value in rules.items():
        rule_array[position] = value
    return QueryState(
        numbers=np.zeros(NUMBERS, np.int64),
        rules=rule_array,
        candidates=np.zeros(list_size, np.uint64),
        results=np.zeros(k, np.uint64),
        table=np.zeros(table_entries, np.float32),
        node_ids=np.full(nodes, -1, np.int32),
        node_status=np.zeros(nodes, np.uint8),
        unverified=np.zeros(0 if rule_array[RULE_VERIFY] == VERIFY_EXPANDED else nodes, np.uint64),
        pending_ids=np.zeros(_power_of_two(window * degree + 1), np.int32),
        pending_distances=np.zeros(_power_of_two(window * degree + 1), np.float32),
        flight_tags=np.full(_power_of_two(window), -1, np.int64),
        flight_nodes=np.zeros(_power_of_two(window), np.int32),
        flight_kinds=np.zeros(_power_of_two(window), np.uint8),
        outbox=np.zeros((window, OUT_COLUMNS), np.int64),
    )


def grown(state: QueryState, demand: int) -> QueryState:
    """Return the state with twice the room that a kernel asked for; contents are kept.

    Parameters
    ----------
    demand : int
        ``GROW_NODES`` or ``GROW_PENDING``, as a kernel answered.
    """
    if demand == GROW_NODES:
        capacity = 2 * state.node_ids.shape[0]
        node_ids, node_status = np.empty(capacity, np.int32), np.empty(capacity, np.uint8)
        rehash(state.node_ids, state.node_status, node_ids, node_status)
        unverified = np.zeros(2 * state.unverified.shape[0], np.uint64)
        unverified[: state.unverified.shape[0]] = state.unverified
        return state._replace(node_ids=node_ids, node_status=node_status, unverified=unverified)
    if demand == GROW_PENDING:
        old = state.pending_ids.shape[0]
        waiting = np.arange(state.numbers[PENDING_HEAD], state.numbers[PENDING_TAIL])
        pending_ids, pending_distances = np.zeros(2 * old, np.int32), np.zeros(2 * old, np.float32)
        pending_ids[waiting % (2 * old)] = state.pending_ids[waiting % old]
        pending_distances[waiting % (2 * old)] = state.pending_distances[waiting % old]
        return state._replace(pending_ids=pending_ids, pending_distances=pending_distances)
    raise ValueError(f"{demand} asks for no growth")


def state_bytes(state: QueryState) -> int:
    """Bytes that one query's state takes at the compute node."""
    return sum(array.nbytes for array in state)


def table_load(state: QueryState) -> float:
    """Share of the table of nodes that is filled."""
    return float(state.numbers[NODES]) / state.node_ids.shape[0]
