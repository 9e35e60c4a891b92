"""The state of the compiled engine: tables of int64, found through one array of addresses.

Every entity (compute node, main thread, queue pair, read, query slot) is a row of a table; a constant below names each
column. One handle, int64 (3 * tables,), holds address, rows and columns of each table, so that a kernel takes one
argument and Python can replace a table by a larger one between two calls. All state lies in the tables: the event loop
can stop before any event and go on later.
"""

import numpy as np

from riftsim.kernels.addresses import grid, table, vector

__all__ = ["grid", "table", "tables_handle", "vector"]

# ---- tables: position in the handle
RUN = 0  # (RUN_COLUMNS,): clock, sizes, the turn under way
SETTINGS = 1  # (SETTINGS_COLUMNS,): what does not change during a run
HEAP = 2  # (capacity, EVENT_COLUMNS); the times behind the scheduled events are FAR
NODES = 3  # (compute nodes, NODE_COLUMNS)
THREADS = 4  # (main threads of all nodes, THREAD_COLUMNS)
QUEUE_PAIRS = 5  # (threads * memory nodes, QP_COLUMNS)
QP_RINGS = 6  # (queue pairs, power of two): reads in posting order, from doorbell to completion
NIC_QUEUES = 7  # (compute nodes, power of two): reads that wait for the NIC-wide processing
MEMORY = 8  # (memory nodes, MEMORY_COLUMNS)
READS = 9  # (slots * reads per slot, READ_COLUMNS)
SLOTS = 10  # (slots, SLOT_COLUMNS): queries being searched
HANDLES = 11  # (slots, words): their states' handles
COMPLETIONS = 12  # (threads, most reads of a thread): reads whose completions were not polled yet
EVALUATED = 13  # (threads, 2 * most): slot and task number of finished tasks that were not merged yet
STARTING = 14  # (threads, 2 * queries per thread): number and arrival of queries that were admitted, oldest first
WAITING = 15  # (nodes, 2 * power of two): the same of the admission queue
CORELESS = 16  # (nodes, threads per node): main threads that wait for a core
ACTIVE = 17  # (nodes, slots per node): slots in the order in which their queries started
POOL_SLOTS = 18  # (nodes, capacity): slots of the tasks in the pool's queue, oldest first
POOL_NUMBERS = 19  # (nodes, capacity): neighbours << 32 | their numbers; a worker need not look at the query's state
RUNNING = 20  # (slots,): tasks of a slot that workers work on
ALLOWANCE = 21  # (slots,): T_q
FREE_SLOTS = 22  # (slots,): a stack
ARRIVED = 23  # (slots, reads per slot): reads of a lock-step round that are in
TIMES = 24  # (arrivals,): open loop
RESULTS = 25  # (measured queries, SLOT_COLUMNS)
LOCAL_WORK = 26  # (evaluated queries, WORK_COLUMNS): in-memory search
LOG = 27  # (capacity, 3): events as they ran; empty when off
PRICES = 28  # (WORK_COLUMNS,): of a unit of each kind of work
READ_PRICES = 29  # (3, PRICE_COLUMNS): by kind of read
SCRATCH = 30  # (SCRATCH_ROWS, most reads or tasks of a poll)
TRACE = 31  # (words,): rows of ``engine_trace``; empty when off
OWNERS = 32  # (slots,): S_THREAD of each, without the rest of its row
TABLES = 33

NOTHING = 0
"""Zero for arguments and first values: numba compiles a callee once more for a literal one."""

# ---- RUN
NOW = 0
ROUND = 1  # delta round of the event that runs
EVENTS = 2  # in the heap
EXECUTED = 3
LAST_TIME = 4  # place of the last event, to refuse another one with the same
LAST_ORDER = 5
LAST_QUERY = 6
ARRIVALS = 7
ENDED = 8  # measured queries that have ended
FREE = 9  # slots on the stack
USED_SLOTS = 10
LOGGED = 11
PREPARED = 12  # slot whose state is ready for the next start, -1 if none is
ASKED_SLOT = 13  # what the engine asks Python for or tells it
ASKED_QUERY = 14
ASKED_ROW = 15
TURN_THREAD = 16  # the main thread whose turn is under way, -1 if none is
TURN_ITEMS = 17  # queries that it works on
TURN_ITEM = 18
TURN_STAGE = 19
TURN_AT = 20  # until when the work done so far takes, ps
TURN_POLL = 21  # price of the poll, ps
TURN_STARTS = 22  # whether the turn starts a query
BEFORE = 23  # five counters of the query's work when its item began
GAP = 28  # whether the first place of the heap is free: its event runs, and the next to be scheduled takes it
TRACED = 29  # words of TRACE in use
TRACE_FIRST = 30  # arrivals that are traced: from this one
TRACE_STOP = 31  # to before this one
TRACE_MARGIN = 32  # words that one event may write
RUN_COLUMNS = 33

# ---- SETTINGS
SEARCH = 0  # which search the queries are
COMPUTE_NODES = 1
MEMORY_NODES = 2
THREADS_PER_NODE = 3  # main threads
CORES = 4
WORKERS = 5
DYNAMIC = 6
PER_THREAD = 7
HELP = 8
SIGNAL_LAST = 9
BALANCE = 10
INTERVAL = 11
PER_QUERY = 12
FIRST_ALLOWANCE = 13
BALANCE_SETTINGS = 14  # six: thresholds, bounds
WARMUP = 20
MEASURED = 21
QUERIES = 22
CLOSED = 23
SAMPLE_PS = 24
SLOT_READS = 25  # rows of READS per slot, a power of two
TABLE_ENTRIES = 26
SEED = 27
MARGIN = 28  # events that one event may cause
IS_FREE = 29
DOORBELL_PS = 30
WQE_FETCH_PS = 31
QP_SERVICE_PS = 32
WR_SERVICE_PS = 33
WR_MISS_PS = 34
CACHED_REQUESTS = 35
MAX_OUTSTANDING = 36
REQUEST_WIRE_PS = 37
TRANSIT_PS = 38
RESPONDER_SERVICE_PS = 39
PCIE_READ_PS = 40
PCIE_WRITE_PS = 41
TAILS = 42
TYPICAL_PS = 43
P99_PERMILLE = 44
P999_PERMILLE = 45
CONTENTION_PERMILLE = 46
COMPACT_PS = 47
HAND_BACK_PS = 48
CONTROL_PS = 49
BUILD_WR_PS = 50
RING_PS = 51
POLL_ONCE_PS = 52
CQE_PS = 53
REGION = 54  # address of the records
REGION_BYTES = 55
SETTINGS_COLUMNS = 56

SEARCH_LOCK_STEP = 0  # rounds, worked on when all their reads are in
SEARCH_OVERLAPPED = 1  # rounds, worked on as their reads come in
SEARCH_EAGER = 2
SEARCH_LOCAL = 3  # nothing is read; the work is known beforehand

# ---- HEAP: place in the order, and what the event is about
E_TIME = 0
E_ORDER = 1  # round << 24 | kind << 16 | compute node
E_QUERY = 2  # query << 32 | tag
E_ABOUT = 3
EVENT_COLUMNS = 4
FAR = (1 << 63) - 1  # later than every event
LOG_COLUMNS = 3

# ---- NODES
BUSY_THREADS = 0
POOL_BUSY = 1
POOL_BUSY_PS = 2
LOOK_DUE = 3
POOL_HEAD = 4
POOL_TAIL = 5
LISTS = 6
WAIT_HEAD = 7
WAIT_TAIL = 8
CORELESS_HEAD = 9
CORELESS_COUNT = 10
ACTIVE_COUNT = 11
PROCESSING_FREE = 12  # from here: the NIC, as ``rdma.servers.ComputeNic``
EGRESS_FREE = 13
INGRESS_FREE = 14
PCIE_FREE = 15
PROCESSING_BUSY = 16
INGRESS_BUSY = 17
PCIE_BUSY = 18
IN_NIC = 19
IN_NIC_MAX = 20
IN_NIC_AREA = 21
CHANGED = 22
NIC_READS = 23
NIC_BYTES = 24
DOORBELLS = 25
NIC_HEAD = 26
NIC_TAIL = 27
NODE_COLUMNS = 28

# ---- THREADS
T_BUSY = 0
T_ACTIVE = 1  # queries admitted to it
T_STARTING = 2
T_COMPLETIONS = 3
T_EVALUATED = 4
T_QUEUED = 5  # tasks of its queries in the pool's queue
THREAD_COLUMNS = 6

# ---- QUEUE_PAIRS: counts of reads that have passed a point; places in the ring
Q_POSTED = 0
Q_FETCHED = 1  # their doorbell has come
Q_ADMITTED = 2  # they have a slot on the wire
Q_SENT = 3  # they have left the queue pair's processing
Q_DONE = 4
Q_SHOWN = 5  # visible in the completion queue
Q_FREE_SLOTS = 6
Q_DOORBELL = 7
Q_FREE = 8
Q_COMPLETION = 9
QP_COLUMNS = 10

# ---- MEMORY
M_PROCESSING_FREE = 0
M_PCIE_FREE = 1
M_EGRESS_FREE = 2
M_PCIE_BUSY = 3
M_EGRESS_BUSY = 4
M_REQUESTS = 5
M_BYTES = 6
MEMORY_COLUMNS = 7

# ---- READS: one cache line each
R_QP = 0
R_QUERY = 1  # number of the query's arrival
R_TAG = 2  # within the query
R_KIND = 3
R_SIGNALED = 4
R_NEXT = 5  # the next read of its chain, -1 for the last
R_TAIL = 6
R_START = 7  # where its bytes lie in the region
READ_COLUMNS = 8

# ---- SLOTS; RESULTS has the same columns
S_ORDINAL = 0
S_QUERY = 1
S_NODE = 2
S_THREAD = 3  # among the main threads of all nodes
S_ARRIVAL = 4
S_START = 5
S_END = 6
S_EVALUATION = 7
S_POSTING = 8
S_POLLING = 9
S_WAITED = 10  # three: by what it waited for
S_IDLE_FROM = 13
S_BLOCKED = 14
S_LISTS = 15
S_DEFER_UNFINISHED = 16  # at the last control point
S_DEFER_GENERATED = 17
S_NEXT_TASK = 18
S_HANDED_FIRST = 19
S_HANDED_COUNT = 20
S_ARRIVED = 21
SLOT_COLUMNS = 22

# ---- READ_PRICES, as ``rdma.simulated.ReadPrices``
PRICE_BYTES = 0
PCIE_FIRST = 1
PCIE_WHOLE = 2
PCIE_LAST = 3
WIRE_FIRST = 4
WIRE_WHOLE = 5
WIRE_LAST = 6
PRICE_COLUMNS = 7

WORK_COLUMNS = 10  # the fields of ``search.messages.Work``, in their order

# ---- SCRATCH
X_SLOTS = 0  # queries of the turn
X_TAGS = 1
X_STARTS = 2
X_TASKS = 3
X_WORK = 4
SCRATCH_ROWS = 5


def tables_handle(tables):
    """Handle of the tables (contiguous int64 arrays in the order above); int64 (3 * TABLES,)."""
    words = []
    for array in tables:
        words += [array.ctypes.data, array.shape[0], array.shape[1] if array.ndim == 2 else 0]
    return np.array(words, np.int64)
