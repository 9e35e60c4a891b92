"""The tables of the compiled engine for a cluster and a load, and its counters in the form of the SimPy engine's."""

import numpy as np

from riftsim.computenode.drivers.sim import SimulatedCluster
from riftsim.controller.defer_ratio import DeferRatio
from riftsim.kernels import engine_tables as t
from riftsim.kernels.balance import BALANCE_DEFER_RATIO, BALANCE_FIXED
from riftsim.kernels.engine_trace import WIDEST
from riftsim.kernels.traversal import RemoteIndex
from riftsim.rdma.profiles import NetworkCosts
from riftsim.rdma.servers import ComputeNic, MemoryNic
from riftsim.rdma.simulated import ReadPrices

LOG_ROWS = 1 << 16
TRACE_WORDS = 1 << 22
"""So much that numpy asks the system for huge pages; what is not touched takes no memory."""

_FIRST_EVENTS = 1024
_FIRST_TASKS = 64
_FIRST_POOL = 256


def power_of_two(at_least: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << max(0, at_least - 1).bit_length()


def settings_of(cluster: SimulatedCluster) -> np.ndarray:
    """SETTINGS of a cluster; those of search and load are left 0."""
    settings = np.zeros(t.SETTINGS_COLUMNS, np.int64)
    budget, balancing, cpu, costs = cluster.budget, cluster.balancing, cluster.cpu, cluster.profile.network
    values = {
        t.COMPUTE_NODES: cluster.compute_nodes,
        t.MEMORY_NODES: cluster.memory_nodes,
        t.THREADS_PER_NODE: budget.main_threads,
        t.CORES: budget.threads,
        t.WORKERS: budget.workers,
        t.DYNAMIC: budget.dynamic,
        t.PER_THREAD: budget.queries_per_thread,
        t.HELP: budget.main_threads_help,
        t.SIGNAL_LAST: cluster.signal_last_only,
        t.INTERVAL: balancing.interval,
        t.PER_QUERY: balancing.per_query,
        t.FIRST_ALLOWANCE: balancing.allowance,
        t.IS_FREE: costs.is_free,
        t.DOORBELL_PS: costs.doorbell_ps,
        t.WQE_FETCH_PS: costs.wqe_fetch_ps,
        t.QP_SERVICE_PS: costs.qp_service_ps,
        t.WR_SERVICE_PS: costs.wr_service_ps,
        t.WR_MISS_PS: costs.wr_miss_ps,
        t.CACHED_REQUESTS: costs.cached_requests,
        t.MAX_OUTSTANDING: costs.max_outstanding,
        t.REQUEST_WIRE_PS: costs.request_wire_ps,
        t.TRANSIT_PS: costs.transit_ps,
        t.RESPONDER_SERVICE_PS: costs.responder_service_ps,
        t.PCIE_READ_PS: costs.pcie_read_ps,
        t.PCIE_WRITE_PS: costs.pcie_write_ps,
        t.TAILS: costs.tails,
        t.TYPICAL_PS: costs.typical_ps,
        t.P99_PERMILLE: costs.p99_permille,
        t.P999_PERMILLE: costs.p999_permille,
        t.CONTENTION_PERMILLE: cpu.contention_permille,
        t.COMPACT_PS: cpu.compact_ps,
        t.HAND_BACK_PS: cpu.hand_back_ps,
        t.CONTROL_PS: cpu.control_ps,
        t.BUILD_WR_PS: cpu.build_wr_ps,
        t.RING_PS: cpu.doorbell_ps,
        t.POLL_ONCE_PS: cpu.poll_once_ps,
        t.CQE_PS: cpu.cqe_ps,
    }
    for at, value in values.items():
        settings[at] = value
    controller = balancing.controller
    settings[t.BALANCE] = BALANCE_FIXED
    if isinstance(controller, DeferRatio):
        settings[t.BALANCE] = BALANCE_DEFER_RATIO
        settings[t.BALANCE_SETTINGS : t.BALANCE_SETTINGS + 6] = controller.integer_settings()
    return settings


def read_prices(costs: NetworkCosts, index: RemoteIndex | None) -> np.ndarray:
    """READ_PRICES of an index's records, vectors and adjacency lists, in the order of ``kernels.query.READ_...``."""
    prices = np.zeros((3, t.PRICE_COLUMNS), np.int64)
    if index is None:
        return prices
    adjacency_bytes = 4 + 4 * index.degree
    lengths = (index.vector_bytes + adjacency_bytes, index.vector_bytes, adjacency_bytes)
    for row, length_bytes in zip(prices, lengths, strict=True):
        price = ReadPrices(costs, length_bytes)
        row[t.PRICE_BYTES] = length_bytes
        row[t.PCIE_FIRST], row[t.PCIE_WHOLE], row[t.PCIE_LAST] = price.pcie_first, price.pcie_whole, price.pcie_last
        row[t.WIRE_FIRST], row[t.WIRE_WHOLE], row[t.WIRE_LAST] = price.wire_first, price.wire_whole, price.wire_last
    return prices


def new_tables(
    settings: np.ndarray,
    *,
    work_prices: tuple[int, ...],
    prices: np.ndarray,
    concurrency: int,
    times: np.ndarray,
    local_work: np.ndarray,
    handle_words: int,
    logged: bool,
    traced: range | None,
) -> list[np.ndarray]:
    """Allocate the tables, in the order of ``kernels.engine_tables``, and fill in where everything starts."""
    nodes, memory_nodes = int(settings[t.COMPUTE_NODES]), int(settings[t.MEMORY_NODES])
    per_node, per_thread = int(settings[t.THREADS_PER_NODE]), int(settings[t.PER_THREAD])
    slot_reads = int(settings[t.SLOT_READS])
    threads = nodes * per_node
    slots = threads * per_thread
    thread_reads = per_thread * slot_reads
    waiting = power_of_two(max(concurrency, len(times) // nodes + 1) + 1)
    settings[t.MARGIN] = per_thread * (memory_nodes + 2 + slot_reads) + int(settings[t.WORKERS]) + 8
    events = int(settings[t.MARGIN]) + concurrency * nodes + 2 + _FIRST_EVENTS

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.int64)

    tables = [zeros(0) for _ in range(t.TABLES)]
    tables[t.RUN] = zeros(t.RUN_COLUMNS)
    tables[t.RUN][[t.PREPARED, t.TURN_THREAD, t.LAST_TIME]] = -1
    tables[t.SETTINGS] = settings
    tables[t.HEAP] = empty_heap(events)
    tables[t.NODES] = zeros(nodes, t.NODE_COLUMNS)
    tables[t.THREADS] = zeros(threads, t.THREAD_COLUMNS)
    tables[t.QUEUE_PAIRS] = zeros(threads * memory_nodes, t.QP_COLUMNS)
    tables[t.QUEUE_PAIRS][:, t.Q_FREE_SLOTS] = settings[t.MAX_OUTSTANDING]
    tables[t.QP_RINGS] = zeros(threads * memory_nodes, power_of_two(thread_reads))
    tables[t.NIC_QUEUES] = zeros(nodes, power_of_two(per_node * thread_reads))
    tables[t.MEMORY] = zeros(memory_nodes, t.MEMORY_COLUMNS)
    tables[t.READS] = zeros(slots * slot_reads, t.READ_COLUMNS)
    tables[t.SLOTS] = zeros(slots, t.SLOT_COLUMNS)
    tables[t.HANDLES] = zeros(slots, handle_words)
    tables[t.COMPLETIONS] = zeros(threads, thread_reads)
    tables[t.EVALUATED] = zeros(threads, 2 * _FIRST_TASKS)
    tables[t.STARTING] = zeros(threads, 2 * per_thread)
    tables[t.WAITING] = zeros(nodes, 2 * waiting)
    tables[t.CORELESS] = zeros(nodes, per_node)
    tables[t.ACTIVE] = zeros(nodes, per_node * per_thread)
    tables[t.POOL_SLOTS] = zeros(nodes, _FIRST_POOL)
    tables[t.POOL_NUMBERS] = zeros(nodes, _FIRST_POOL)
    tables[t.RUNNING] = zeros(slots)
    tables[t.OWNERS] = zeros(slots)
    tables[t.ALLOWANCE] = zeros(slots)
    tables[t.FREE_SLOTS] = zeros(slots)
    tables[t.ARRIVED] = zeros(slots, slot_reads)
    tables[t.TIMES] = times
    tables[t.RESULTS] = zeros(int(settings[t.MEASURED]), t.SLOT_COLUMNS)
    tables[t.LOCAL_WORK] = local_work
    tables[t.LOG] = zeros(LOG_ROWS if logged else 0, 3)
    if traced:
        tables[t.RUN][[t.TRACE_FIRST, t.TRACE_STOP]] = traced.start, traced.stop
    tables[t.PRICES] = np.array(work_prices, np.int64)
    tables[t.READ_PRICES] = prices
    tables[t.SCRATCH] = zeros(t.SCRATCH_ROWS, max(thread_reads, per_thread, _FIRST_TASKS, t.WORK_COLUMNS))
    return tables


def empty_heap(events: int) -> np.ndarray:
    """HEAP with room for so many scheduled events."""
    heap = np.zeros((events, t.EVENT_COLUMNS), np.int64)
    heap[:, t.E_TIME] = t.FAR
    return heap


def fit_trace(tables: list[np.ndarray]) -> None:
    """Note how many words of a trace one event may write now; if need be the loop asks for room at its next one."""
    settings, reads = tables[t.SETTINGS], tables[t.COMPLETIONS].shape[1]
    per_thread, active = int(settings[t.PER_THREAD]), tables[t.ACTIVE].shape[1]
    of_a_turn = per_thread * (3 + int(settings[t.SLOT_READS]) + active) + reads + tables[t.EVALUATED].shape[1]
    of_others = 2 * reads + int(settings[t.WORKERS]) + tables[t.POOL_SLOTS].shape[1]
    tables[t.RUN][t.TRACE_MARGIN] = WIDEST * (1 + max(of_a_turn, of_others))


def room_for_trace(tables: list[np.ndarray]) -> np.ndarray:
    """A new table for rows of a trace."""
    return np.empty(max(TRACE_WORDS, int(tables[t.RUN][t.TRACE_MARGIN])), np.int64)


def widened(table: np.ndarray) -> np.ndarray:
    """A table with twice the columns and the same contents."""
    return np.ascontiguousarray(np.concatenate([table, np.zeros_like(table)], axis=1))


def network_counters(tables: list[np.ndarray]) -> dict:
    """Counters of the network, as ``SimulatedNetwork.counters`` gives them."""
    now_ps = int(tables[t.RUN][t.NOW])
    compute, memory = [], []
    for node, row in enumerate(tables[t.NODES].tolist()):
        nic = ComputeNic(node)
        nic.reads, nic.payload_bytes, nic.doorbells = row[t.NIC_READS], row[t.NIC_BYTES], row[t.DOORBELLS]
        nic.outstanding, nic.outstanding_max = row[t.IN_NIC], row[t.IN_NIC_MAX]
        nic.outstanding_area, nic.changed_ps = row[t.IN_NIC_AREA], row[t.CHANGED]
        nic.processing_busy_ps, nic.ingress_busy_ps = row[t.PROCESSING_BUSY], row[t.INGRESS_BUSY]
        nic.pcie_busy_ps = row[t.PCIE_BUSY]
        compute.append(nic.counters(now_ps))
    for node, row in enumerate(tables[t.MEMORY].tolist()):
        nic = MemoryNic(node)
        nic.requests, nic.payload_bytes = row[t.M_REQUESTS], row[t.M_BYTES]
        nic.pcie_busy_ps, nic.egress_busy_ps = row[t.M_PCIE_BUSY], row[t.M_EGRESS_BUSY]
        memory.append(nic.counters())
    return {"span_ps": now_ps, "compute": compute, "memory": memory}
