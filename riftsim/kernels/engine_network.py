"""The network of the compiled engine: the transitions of ``rdma.simulated``, event for event.

A queue pair's reads stay in posting order from doorbell to completion: one ring and six counters hold all its queues.
"""

import numpy as np

from riftsim.kernels import engine_events as events
from riftsim.kernels import engine_tables as t
from riftsim.kernels import engine_trace as trace
from riftsim.kernels import prices
from riftsim.kernels._jit import kernel
from riftsim.kernels.addresses import array_at
from riftsim.kernels.engine_cores import wake
from riftsim.kernels.engine_events import schedule
from riftsim.kernels.vector_ops import prefetch

_CACHE_LINE = 64


@kernel
def ring(handle, first):
    """Ring the doorbell for the chain that begins with a read."""
    now = t.vector(handle, t.RUN)[t.NOW]
    settings = t.vector(handle, t.SETTINGS)
    reads = t.table(handle, t.READS, t.READ_COLUMNS)
    number = reads[first, t.R_QP]
    qp = t.table(handle, t.QUEUE_PAIRS, t.QP_COLUMNS)[number]
    places = t.grid(handle, t.QP_RINGS)[number]
    node = _node_of(settings, number)
    nic = t.table(handle, t.NODES, t.NODE_COLUMNS)[node]
    query = reads[first, t.R_QUERY]
    mask = places.shape[0] - 1
    before = qp[t.Q_POSTED]
    at = first
    while at >= 0:
        places[qp[t.Q_POSTED] & mask] = at
        qp[t.Q_POSTED] += 1
        if settings[t.IS_FREE]:
            schedule(handle, now, events.COMPLETION, node, query, reads[at, t.R_TAG], number)
        at = reads[at, t.R_NEXT]
    count = qp[t.Q_POSTED] - before

    nic[t.DOORBELLS] += 1
    nic[t.IN_NIC_AREA] += nic[t.IN_NIC] * (now - nic[t.CHANGED])
    nic[t.CHANGED] = now
    nic[t.IN_NIC] += count
    nic[t.IN_NIC_MAX] = max(nic[t.IN_NIC_MAX], nic[t.IN_NIC])
    if settings[t.IS_FREE]:
        _note_rung(handle, first, now, now)
        qp[t.Q_FETCHED] = qp[t.Q_ADMITTED] = qp[t.Q_SENT] = qp[t.Q_POSTED]
        return
    due = now + settings[t.DOORBELL_PS]
    if count > 1:
        due += settings[t.WQE_FETCH_PS]
    due = max(due, qp[t.Q_DOORBELL])  # chains of one queue pair are fetched in order
    qp[t.Q_DOORBELL] = due
    schedule(handle, due, events.DOORBELL, node, query, reads[first, t.R_TAG], number)
    _note_rung(handle, first, now, due)


@kernel
def _note_rung(handle, first, now, due):
    reads = t.table(handle, t.READS, t.READ_COLUMNS)
    at = first
    while at >= 0 and trace.traced(handle, reads[first, t.R_QUERY]):
        trace.note(handle, trace.RUNG, reads[at, t.R_QUERY], reads[at, t.R_TAG], now, due)
        at = reads[at, t.R_NEXT]


@kernel(inline=True)
def _node_of(settings, number):
    return number // (settings[t.MEMORY_NODES] * settings[t.THREADS_PER_NODE])


@kernel
def doorbell(handle, number):
    """A chain is known to the NIC: the oldest of its queue pair whose doorbell is on its way."""
    qp = t.table(handle, t.QUEUE_PAIRS, t.QP_COLUMNS)[number]
    places = t.grid(handle, t.QP_RINGS)[number]
    reads = t.table(handle, t.READS, t.READ_COLUMNS)
    mask = places.shape[0] - 1
    while True:
        read = places[qp[t.Q_FETCHED] & mask]
        qp[t.Q_FETCHED] += 1
        if reads[read, t.R_NEXT] < 0:
            break
    _admit(handle, number)


@kernel
def _admit(handle, number):
    now = t.vector(handle, t.RUN)[t.NOW]
    settings = t.vector(handle, t.SETTINGS)
    qp = t.table(handle, t.QUEUE_PAIRS, t.QP_COLUMNS)[number]
    places = t.grid(handle, t.QP_RINGS)[number]
    reads = t.table(handle, t.READS, t.READ_COLUMNS)
    node = _node_of(settings, number)
    mask = places.shape[0] - 1
    while qp[t.Q_ADMITTED] < qp[t.Q_FETCHED] and qp[t.Q_FREE_SLOTS] > 0:
        read = places[qp[t.Q_ADMITTED] & mask]
        qp[t.Q_ADMITTED] += 1
        qp[t.Q_FREE_SLOTS] -= 1
        start = max(qp[t.Q_FREE], now)
        done = start + settings[t.QP_SERVICE_PS]
        qp[t.Q_FREE] = done
        trace.note(handle, trace.ADMITTED, reads[read, t.R_QUERY], reads[read, t.R_TAG], now, done)
        schedule(handle, done, events.SEND, node, reads[read, t.R_QUERY], reads[read, t.R_TAG], number)


@kernel
def send(handle, number):
    """A read leaves its queue pair's processing."""
    now = t.vector(handle, t.RUN)[t.NOW]
    settings = t.vector(handle, t.SETTINGS)
    qp = t.table(handle, t.QUEUE_PAIRS, t.QP_COLUMNS)[number]
    places = t.grid(handle, t.QP_RINGS)[number]
    read = places[qp[t.Q_SENT] & (places.shape[0] - 1)]
    qp[t.Q_SENT] += 1
    node = _node_of(settings, number)
    nic = t.table(handle, t.NODES, t.NODE_COLUMNS)[node]
    empty = nic[t.NIC_HEAD] == nic[t.NIC_TAIL]
    if empty and nic[t.PROCESSING_FREE] <= now:
        _serve(handle, node, read)
        return
    queue = t.grid(handle, t.NIC_QUEUES)[node]
    queue[nic[t.NIC_TAIL] & (queue.shape[0] - 1)] = read
    nic[t.NIC_TAIL] += 1
    if empty:
        _await_processing(handle, node, read)


@kernel
def _await_processing(handle, node, read):
    nic = t.table(handle, t.NODES, t.NODE_COLUMNS)[node]
    row = t.table(handle, t.READS, t.READ_COLUMNS)[read]
    schedule(handle, nic[t.PROCESSING_FREE], events.NIC_START, node, row[t.R_QUERY], row[t.R_TAG], node)


@kernel
def start_next(handle, node):
    """The NIC takes the next queued read into service."""
    nic = t.table(handle, t.NODES, t.NODE_COLUMNS)[node]
    queue = t.grid(handle, t.NIC_QUEUES)[node]
    mask = queue.shape[0] - 1
    read = queue[nic[t.NIC_HEAD] & mask]
    nic[t.NIC_HEAD] += 1
    _serve(handle, node, read)
    if nic[t.NIC_HEAD] < nic[t.NIC_TAIL]:
        _await_processing(handle, node, queue[nic[t.NIC_HEAD] & mask])


@kernel
def _serve(handle, node, read):
    now = t.vector(handle, t.RUN)[t.NOW]
    settings = t.vector(handle, t.SETTINGS)
    nic = t.table(handle, t.NODES, t.NODE_COLUMNS)[node]
    row = t.table(handle, t.READS, t.READ_COLUMNS)[read]
    service = prices.work_request_ps(
        settings[t.WR_SERVICE_PS], settings[t.WR_MISS_PS], settings[t.CACHED_REQUESTS], nic[t.IN_NIC]
    )
    done = now + service
    nic[t.PROCESSING_FREE] = done
    nic[t.PROCESSING_BUSY] += service
    nic[t.EGRESS_FREE] = max(nic[t.EGRESS_FREE], done) + settings[t.REQUEST_WIRE_PS]
    arrival = nic[t.EGRESS_FREE] + settings[t.TRANSIT_PS]
    trace.note(handle, trace.SERVED, row[t.R_QUERY], row[t.R_TAG], now, done, nic[t.EGRESS_FREE], arrival)
    _fetch(settings, row[t.R_START], t.table(handle, t.READ_PRICES, t.PRICE_COLUMNS)[row[t.R_KIND], t.PRICE_BYTES])
    if settings[t.COMPUTE_NODES] == 1:  # fed by one FIFO link: no event is needed to find out who comes first
        respond(handle, read, arrival)
    else:
        schedule(handle, arrival, events.REQUEST, node, row[t.R_QUERY], row[t.R_TAG], read)


@kernel
def _fetch(settings, start, length):
    """Ask the caches for the bytes of a read, which the search takes in a few events later."""
    region = array_at(settings[t.REGION], settings[t.REGION_BYTES], np.uint8)
    for at in range(start, start + length, _CACHE_LINE):
        prefetch(region, at)


@kernel
def respond(handle, read, arrival_ps):
    """A request reaches the memory node's NIC."""
    settings = t.vector(handle, t.SETTINGS)
    row = t.table(handle, t.READS, t.READ_COLUMNS)[read]
    price = t.table(handle, t.READ_PRICES, t.PRICE_COLUMNS)[row[t.R_KIND]]
    memory = t.table(handle, t.MEMORY, t.MEMORY_COLUMNS)[row[t.R_QP] % settings[t.MEMORY_NODES]]
    pcie_whole, wire_whole = price[t.PCIE_WHOLE], price[t.WIRE_WHOLE]
    memory[t.M_REQUESTS] += 1
    memory[t.M_BYTES] += price[t.PRICE_BYTES]
    memory[t.M_PCIE_BUSY] += pcie_whole
    memory[t.M_EGRESS_BUSY] += wire_whole

    start = max(memory[t.M_PROCESSING_FREE], arrival_ps) + settings[t.RESPONDER_SERVICE_PS]
    memory[t.M_PROCESSING_FREE] = start
    processed = start

    start = max(memory[t.M_PCIE_FREE], start)
    memory[t.M_PCIE_FREE] = start + pcie_whole
    fetching = start
    start += settings[t.PCIE_READ_PS]
    head = start + price[t.PCIE_FIRST]
    tail = start + pcie_whole

    start = max(memory[t.M_EGRESS_FREE], head)
    memory[t.M_EGRESS_FREE] = start + wire_whole
    trace.note(handle, trace.RESPONDED, row[t.R_QUERY], row[t.R_TAG], processed, fetching, head, start)
    transit = settings[t.TRANSIT_PS]
    row[t.R_TAIL] = prices.tail_ps(start, wire_whole, tail, price[t.WIRE_LAST]) + transit
    if settings[t.MEMORY_NODES] == 1:  # likewise
        take_response(handle, read, start + transit)
    else:
        node = _node_of(settings, row[t.R_QP])
        schedule(handle, start + transit, events.RESPONSE, node, row[t.R_QUERY], row[t.R_TAG], read)


@kernel
def take_response(handle, read, arrival_ps):
    """The first bit of a response reaches the compute node's link."""
    settings = t.vector(handle, t.SETTINGS)
    row = t.table(handle, t.READS, t.READ_COLUMNS)[read]
    number = row[t.R_QP]
    node = _node_of(settings, number)
    qp = t.table(handle, t.QUEUE_PAIRS, t.QP_COLUMNS)[number]
    nic = t.table(handle, t.NODES, t.NODE_COLUMNS)[node]
    price = t.table(handle, t.READ_PRICES, t.PRICE_COLUMNS)[row[t.R_KIND]]
    pcie_whole, wire_whole = price[t.PCIE_WHOLE], price[t.WIRE_WHOLE]
    nic[t.PCIE_BUSY] += pcie_whole
    nic[t.INGRESS_BUSY] += wire_whole

    start = max(nic[t.INGRESS_FREE], arrival_ps)
    taking = start
    nic[t.INGRESS_FREE] = start + wire_whole
    head = start + price[t.WIRE_FIRST]
    tail = max(start + wire_whole, row[t.R_TAIL])

    start = max(nic[t.PCIE_FREE], head)
    nic[t.PCIE_FREE] = start + pcie_whole
    done = prices.tail_ps(start, pcie_whole, tail, price[t.PCIE_LAST]) + settings[t.PCIE_WRITE_PS]
    if settings[t.TAILS]:
        tag = (row[t.R_QUERY] << 24) | row[t.R_TAG]
        uniform = prices.uniform20(settings[t.SEED], row[t.R_QUERY], tag)
        done += prices.tail_excess_ps(
            settings[t.TYPICAL_PS], settings[t.P99_PERMILLE], settings[t.P999_PERMILLE], uniform
        )
    written = done
    done = max(done, qp[t.Q_COMPLETION])  # a reliable connection completes in order
    qp[t.Q_COMPLETION] = done
    trace.note(handle, trace.TAKEN, row[t.R_QUERY], row[t.R_TAG], arrival_ps, taking, start, written, done)
    schedule(handle, done, events.COMPLETION, node, row[t.R_QUERY], row[t.R_TAG], number)


@kernel
def complete(handle, number):
    """The oldest read of a queue pair is done; if signalled, it and the unsignalled ones before it become visible."""
    now = t.vector(handle, t.RUN)[t.NOW]
    settings = t.vector(handle, t.SETTINGS)
    qp = t.table(handle, t.QUEUE_PAIRS, t.QP_COLUMNS)[number]
    places = t.grid(handle, t.QP_RINGS)[number]
    mask = places.shape[0] - 1
    row = t.table(handle, t.READS, t.READ_COLUMNS)[places[qp[t.Q_DONE] & mask]]
    qp[t.Q_DONE] += 1
    nic = t.table(handle, t.NODES, t.NODE_COLUMNS)[_node_of(settings, number)]
    nic[t.NIC_READS] += 1
    nic[t.NIC_BYTES] += t.table(handle, t.READ_PRICES, t.PRICE_COLUMNS)[row[t.R_KIND], t.PRICE_BYTES]
    nic[t.IN_NIC_AREA] += nic[t.IN_NIC] * (now - nic[t.CHANGED])
    nic[t.CHANGED] = now
    nic[t.IN_NIC] -= 1
    if row[t.R_SIGNALED]:
        number_of_thread = number // settings[t.MEMORY_NODES]
        thread = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[number_of_thread]
        visible = t.grid(handle, t.COMPLETIONS)[number_of_thread]
        while qp[t.Q_SHOWN] < qp[t.Q_DONE]:
            visible[thread[t.T_COMPLETIONS]] = places[qp[t.Q_SHOWN] & mask]
            thread[t.T_COMPLETIONS] += 1
            shown = t.table(handle, t.READS, t.READ_COLUMNS)[places[qp[t.Q_SHOWN] & mask]]
            if not shown[t.R_SIGNALED]:
                trace.note(handle, trace.COVERED, shown[t.R_QUERY], shown[t.R_TAG], now)
            qp[t.Q_SHOWN] += 1
        if not thread[t.T_BUSY]:
            wake(handle, number_of_thread)
    if not settings[t.IS_FREE]:
        qp[t.Q_FREE_SLOTS] += 1
        if qp[t.Q_ADMITTED] < qp[t.Q_FETCHED]:
            _admit(handle, number)
