"""The state of one query as flat arrays, and its table of nodes.

Everything that a query knows lies in the arrays of a ``QueryState``; every change is a kernel over them. The same kernels
run under each driver, and a copy of the arrays is a snapshot of the query.
"""

from typing import NamedTuple

import numpy as np

from riftsim.kernels._jit import kernel

# ---- positions in QueryState.numbers: what the query has in its hands
LIST_SIZE = 0
CURSOR = 1  # no candidate before this position is untaken
RESULT_SIZE = 2
NODES = 3  # nodes in the table
IN_FLIGHT = 4  # reads posted and not yet received
NEXT_TAG = 5
PENDING_HEAD = 6  # first pending evaluation that is not merged (ring position, counted without wrapping)
PENDING_TAIL = 7
UNVERIFIED = 8  # size of the heap of candidates whose exact vector was not asked for
# ---- and what it has done; the first five are the work of a main thread
LISTS = 10  # adjacency lists taken in
NEIGHBORS = 11  # ids in them
EVALUATIONS = 12  # compact distances
EXACT_EVALUATIONS = 13
INSERTIONS = 14  # into the candidate list
EXPANSIONS = 15  # nodes whose adjacency list was asked for
ROUNDS = 16
CHAINS = 17
BYTES_READ = 18
READS_RECORD = 19
READS_VECTOR = 20
READS_ADJACENCY = 21
NUMBERS = 24

# ---- positions in QueryState.rules: settings of the system, equal for all its queries
RULE_BEAM = 0  # expansions per round
RULE_VERIFY = 1
RULES = 8

VERIFY_EXPANDED = 0  # exact vectors of expanded nodes only
VERIFY_ALL = 1  # of every node that ever entered the candidate list

# ---- what a node's status byte says
SEEN = np.uint8(1)
ENTERED = np.uint8(2)  # was inserted into the candidate list at some time
HAS_VECTOR = np.uint8(4)  # its exact vector was asked for
HAS_ADJACENCY = np.uint8(8)  # its adjacency list was asked for

# ---- which part of a record a read brings
READ_RECORD = 0
READ_VECTOR = 1
READ_ADJACENCY = 2

# ---- columns of QueryState.outbox: one row per request
OUT_TAG = 0
OUT_NODE = 1
OUT_KIND = 2
OUT_MEMORY_NODE = 3
OUT_OFFSET = 4  # in the memory node's region, bytes
OUT_LENGTH = 5  # bytes
OUT_COLUMNS = 6

# ---- what a transition may answer instead of a count
GROW_NODES = -1  # the table of nodes is too full: nothing was changed, enlarge it and call again
GROW_PENDING = -2  # the ring of pending evaluations is too small: likewise
UNKNOWN_TAG = -3  # no read with this tag is in flight

_EMPTY = np.int32(-1)


class QueryState(NamedTuple):
    """All arrays of one query.

    Attributes
    ----------
    numbers : int64 (NUMBERS,)
        Sizes, cursors and counters.
    rules : int64 (RULES,)
        Settings that all queries of a system share.
    candidates : uint64 (L,)
        The candidate list, ordered by compact distance.
    results : uint64 (k,)
        The nearest nodes by exact distance.
    table : float32 (t,)
        Distance table of the compact codes.
    node_ids : int32 (capacity,)
        Hash table of the nodes seen (-1 is empty); the capacity is a power of two.
    node_status : uint8 (capacity,)
        Status bits of these nodes.
    unverified : uint64 (capacity // 2,)
        Min-heap over compact distance of nodes that entered the list and whose exact vector was not asked for.
    pending_ids, pending_distances : int32, float32 (ring,)
        Neighbours whose compact distance is to be computed or to be merged; the length is a power of two.
    flight_tags : int64 (window,)
        Tag of the read in each slot, -1 when free; the window is a power of two.
    flight_nodes : int32 (window,)
        Its node.
    flight_kinds : uint8 (window,)
        Its kind.
    outbox : int64 (window, OUT_COLUMNS)
        The requests of the chain just decided.
    """

    numbers: np.ndarray
    rules: np.ndarray
    candidates: np.ndarray
    results: np.ndarray
    table: np.ndarray
    node_ids: np.ndarray
    node_status: np.ndarray
    unverified: np.ndarray
    pending_ids: np.ndarray
    pending_distances: np.ndarray
    flight_tags: np.ndarray
    flight_nodes: np.ndarray
    flight_kinds: np.ndarray
    outbox: np.ndarray


@kernel(inline=True)
def _home(node, capacity):
    """Hash position of a node (Fibonacci hashing)."""
    mixed = np.uint64(np.uint32(node)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(32)) & (capacity - 1)


@kernel(inline=True)
def node_slot(node_ids, node):
    """Position of a node in the table, or of the empty slot where it belongs."""
    capacity = node_ids.shape[0]
    slot = _home(node, capacity)
    while node_ids[slot] != node and node_ids[slot] != _EMPTY:
        slot = (slot + 1) & (capacity - 1)
    return slot


@kernel
def rehash(old_ids, old_status, new_ids, new_status):
    """Move a table of nodes into a larger one."""
    new_ids[:] = _EMPTY
    new_status[:] = 0
    for old in range(old_ids.shape[0]):
        if old_ids[old] != _EMPTY:
            slot = node_slot(new_ids, old_ids[old])
            new_ids[slot] = old_ids[old]
            new_status[slot] = old_status[old]


@kernel(inline=True)
def heap_push(heap, size, key):
    """Push onto the min-heap ``heap[:size]``; the caller adds 1 to its size."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent] <= key:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = key


@kernel(inline=True)
def heap_pop(heap, size):
    """Remove the least key of ``heap[:size]``; the caller subtracts 1 from its size."""
    size -= 1
    key = heap[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if key <= heap[child]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = key
