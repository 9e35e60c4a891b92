"""The state of one query as flat arrays, and its table of nodes.

Everything that a query knows lies in the arrays of a ``QueryState``; every change is a kernel over them. The same
kernels run under each driver, and a copy of the arrays is a snapshot of the query.
"""

from typing import NamedTuple

import numpy as np

from riftsim.kernels._jit import kernel
from riftsim.kernels.vector_ops import prefetch

# ---- positions in QueryState.numbers: what the query has in its hands
LIST_SIZE = 0
CURSOR = 1  # no candidate before this position is untaken
RESULT_SIZE = 2
NODES = 3  # nodes in the table
IN_FLIGHT = 4  # reads posted and not yet received
AWAITED = 5  # of these, reads that bring an adjacency list
NEXT_TAG = 6
PENDING_HEAD = 7  # oldest neighbour that is not merged (ring position, counted without wrapping)
PENDING_TAIL = 8
TASK_HEAD = 9  # oldest task that is not merged (likewise)
TASK_TAIL = 10
EXPANSIONS = 11  # nodes whose neighbours were asked for
UNVERIFIED = 12  # size of the heap of candidates whose exact vector was not asked for
RECENT = 13  # completed evaluations in the rolling history, at most H
RECENT_INSERTED = 14  # how many of them inserted
RECENT_AT = 15  # next place in the history
WINDOW = 16  # W_R: most reads in flight, a set-point
GENERATED = 17  # neighbours handed to evaluation since the last control point
# ---- and what it has done; the first five are the work of a main thread
LISTS = 18  # adjacency lists taken in
NEIGHBORS = 19  # ids in them
EVALUATIONS = 20  # compact distances
EXACT_EVALUATIONS = 21
INSERTIONS = 22  # into the candidate list
UNFINISHED = 23  # U: neighbours of returned lists that are not merged; near what else a control point looks at
ROUNDS = 24
CHAINS = 25
BYTES_READ = 26
READS_RECORD = 27
READS_VECTOR = 28
READS_ADJACENCY = 29
REQUESTS_MERGED = 30  # expansions of nodes whose verification was wanted too: one read instead of two
REQUESTS_DROPPED = 31  # verifications once wanted that the tightened threshold made needless
GATE_CLOSED = 32  # decisions at which a candidate was there, a slot was free, and the gate was closed
GATE_ANSWER = 33  # of a policy in Python
RETRIED = 35  # reads asked for again after they failed
KEPT = 34  # rows of kept_lists in use
ROUND_LIMIT = 36  # most rounds that expand, 0: no limit
EMPTY_ROUNDS = 37  # rounds that passed without an expansion, because all that could be expanded was held back
# ---- of a pipelined search
LANDED = 38  # reads that have arrived and wait to be worked on; they are in flight as far as IN_FLIGHT goes
MARKER = 39  # farthest position that the nearest unread candidate has had
ARRIVED = 40  # reads that the control of the width has counted
USEFUL = 41  # of these, reads of nodes that were no farther than the last candidate when they arrived
EVALUATED = 42  # no pending neighbour before this position (counted like PENDING_TAIL) lacks its distance
NUMBERS = 44

# ---- positions in QueryState.rules: settings of the system, equal for all its queries
RULE_BEAM = 0  # expansions per round
RULE_VERIFY = 1
RULE_ALPHA_PPM = 2  # alpha of the verification rule, times 1e6
RULE_GATE = 3
RULE_GATE_BOUND = 4
RULE_GATE_LIMIT_PPM = 5
RULE_CHUNK = 6  # most neighbours per evaluation task, 0: a task per list
RULE_WINDOW_COUNTS = 7
RULE_VERIFY_CAP = 8  # most verification reads in flight where the window counts expansions
RULE_FULL_RECORD = 9  # every read brings the whole record
RULE_HOLD = 10  # whether evaluations are held back for a round, and what becomes of them at the end
RULE_COUNT_EMPTY = 11  # whether rounds without an expansion count against the limit
RULE_VERIFY_EVICTED = 12  # candidates may be verified once they left the list, not as soon as they enter it
RULE_MAX_WINDOW = 13  # of a pipelined search: largest width
RULE_MARKER = 14  # position of the nearest unread candidate from which on the width is controlled
RULE_WASTE_PPM = 15  # share of reads in vain up to which the width grows, times 1e6
RULES = 16

VERIFY_EXPANDED = 0  # exact vectors of expanded nodes only
VERIFY_CALIBRATED = 1  # and of nodes within alpha times the k-th exact distance
VERIFY_ALL = 2  # and of every node that ever entered the candidate list
VERIFY_ORACLE = 3  # and of the true neighbours among these that will not be expanded: no real system knows them

HOLD_NOTHING = 0  # evaluations are merged at the end of their round
HOLD_THEN_DROP = 1  # a round later; what is held back when no round is left is lost
HOLD_THEN_MERGE = 2  # likewise, but merged at the end

WINDOW_OF_READS = 0
WINDOW_OF_EXPANSIONS = 1

# ---- columns of QueryState.tasks: evaluations handed out together
TASK_START = 0  # positions in the ring of pending neighbours
TASK_STOP = 1
TASK_ADMITTED = 2  # expansions admitted when the task came into being
TASK_EXPANSION = 3  # the expansion that it comes from
TASK_MERGED = 4
TASK_COLUMNS = 5

# ---- columns of QueryState.trail: one row per expansion, in order of admission
TRAIL_BACKLOG = 0  # U when it was admitted
TRAIL_NEW = 1  # neighbours not seen before
TRAIL_INSERTED = 2  # of these, inserted into the candidate list
TRAIL_HIDDEN = 3  # as differences: add up the rows to get the updates hidden from each admission
TRAIL_COLUMNS = 4

# ---- what a node's status byte says; 0 for one that was seen only, so that most nodes never touch it
ENTERED = np.uint8(2)  # was inserted into the candidate list at some time
HAS_VECTOR = np.uint8(4)  # its exact vector was asked for
HAS_ADJACENCY = np.uint8(8)  # its adjacency list was asked for
WANTED = np.uint8(16)  # the verification rule held for it when it entered the list
ARRIVED_RECORD = np.uint8(32)  # its record has arrived and was not worked on

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
GROW_PENDING = -2  # the rings of pending neighbours and tasks are too small: likewise
GROW_TRAIL = -3  # the trail is too short: likewise
GROW_KEPT = -4  # there is no row left for a kept list: likewise
UNKNOWN_TAG = -5  # no read with this tag is in flight, or no task with this number is open

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
    unverified : uint64 (capacity,) or (0,)
        Min-heap over compact distance of nodes that entered the list and whose exact vector was not asked for.
    pending_ids, pending_distances : int32, float32 (ring,)
        Neighbours whose compact distance is to be computed or to be merged; the length is a power of two.
    tasks : int64 (task ring, TASK_COLUMNS)
        Evaluation tasks: pieces of the pending neighbours. The length is a power of two.
    recent : uint8 (H,)
        Rolling history of completed evaluations: 1 where one inserted.
    trail : int32 (expansions + 1, TRAIL_COLUMNS)
        What happened at each expansion.
    flight_tags : int64 (window,)
        Tag of the read in each slot, -1 when free; the window is a power of two.
    flight_nodes : int32 (window,)
        Its node.
    flight_kinds : uint8 (window,)
        Its kind.
    flight_expansions : int32 (window,)
        The expansion it serves, -1 for a verification.
    kept_nodes, kept_lists : int32 (rows,), int32 (rows, R + 1)
        Adjacency lists (degree, then ids) that came with whole records read for verification; no rows unless every read
        brings the whole record.
    outbox : int64 (window, OUT_COLUMNS)
        The requests of the chain just decided.
    true_ids : int32 (k,) or (0,)
        True neighbours of the query, -1 where there is none; only for ``VERIFY_ORACLE``.
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
    tasks: np.ndarray
    recent: np.ndarray
    trail: np.ndarray
    flight_tags: np.ndarray
    flight_nodes: np.ndarray
    flight_kinds: np.ndarray
    flight_expansions: np.ndarray
    kept_nodes: np.ndarray
    kept_lists: np.ndarray
    outbox: np.ndarray
    true_ids: np.ndarray


@kernel(inline=True)
def home(node, capacity):
    """Hash position of a node (Fibonacci hashing)."""
    mixed = np.uint64(np.uint32(node)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(32)) & (capacity - 1)


@kernel(inline=True)
def node_slot(node_ids, node):
    """Position of a node in the table, or of the empty slot where it belongs."""
    capacity = node_ids.shape[0]
    slot = home(node, capacity)
    while node_ids[slot] != node and node_ids[slot] != _EMPTY:
        slot = (slot + 1) & (capacity - 1)
    return slot


@kernel(inline=True)
def fetch_place(state, node):
    """Ask the caches for a node's place in the table, or near it."""
    place = home(node, state.node_ids.shape[0])
    prefetch(state.node_ids, place)
    prefetch(state.node_status, place)


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
