"""The compiled engine's calendar: a heap of events in the total order of ``riftsim.calendar``.

The place of an event is (time, delta round, kind, compute node, query, tag), packed into three words. The heap has four
children per entry, which makes it half as deep as one of two. While an event runs its place stays free: most cause
another one soon, which takes the place and sinks little.
"""

from riftsim.kernels import engine_tables as t
from riftsim.kernels._jit import kernel

# The kinds, as ``riftsim.calendar.EventKind`` numbers them.
COMPLETION = 0
RESPONSE = 1
REQUEST = 2
NIC_START = 3
SEND = 4
DOORBELL = 5
EVALUATED = 6
FINISH = 7
RING = 8
HANDOVER = 9
ARRIVAL = 10
WORKER = 11
THREAD = 12
SAMPLE = 13
SERVICE = 14


@kernel
def schedule(handle, time_ps, kind, node, query, tag, about):
    """Put an event into the calendar; one for the present instant waits for the next delta round.

    Parameters
    ----------
    time_ps : int
        Not before now.
    kind, node, query, tag : int
        The rest of the order; below 2**8, 2**16, 2**31 and 2**32.
    about : int
        Row of the table that the kind refers to.
    """
    run = t.vector(handle, t.RUN)
    heap = t.table(handle, t.HEAP, t.EVENT_COLUMNS)
    order = (kind << 16) | node
    if time_ps == run[t.NOW]:
        order |= (run[t.ROUND] + 1) << 24
    place = (query << 32) | tag
    if run[t.GAP]:
        run[t.GAP] = 0
        _sink(heap, run[t.EVENTS], time_ps, order, place, about)
        return
    at = run[t.EVENTS]
    run[t.EVENTS] = at + 1
    while at > 0:
        parent = (at - 1) >> 2
        other = heap[parent, t.E_TIME]
        if other < time_ps:
            break
        if other == time_ps:
            other = heap[parent, t.E_ORDER]
            if other < order or (other == order and heap[parent, t.E_QUERY] <= place):
                break
        for word in range(t.EVENT_COLUMNS):
            heap[at, word] = heap[parent, word]
        at = parent
    heap[at, t.E_TIME] = time_ps
    heap[at, t.E_ORDER] = order
    heap[at, t.E_QUERY] = place
    heap[at, t.E_ABOUT] = about


@kernel(inline=True)
def _earlier(heap, a, b):
    """Whether event ``a`` comes before event ``b``; without branches, which here nothing could foresee."""
    time_a, time_b = heap[a, t.E_TIME], heap[b, t.E_TIME]
    order_a, order_b = heap[a, t.E_ORDER], heap[b, t.E_ORDER]
    same_time = time_a == time_b
    before = (order_a < order_b) | ((order_a == order_b) & (heap[a, t.E_QUERY] < heap[b, t.E_QUERY]))
    return (time_a < time_b) | (same_time & before)


@kernel
def close_gap(handle):
    """Fill the first place of the heap, whose event has run and caused no other, with the last event."""
    run = t.vector(handle, t.RUN)
    heap = t.table(handle, t.HEAP, t.EVENT_COLUMNS)
    run[t.GAP] = 0
    size = run[t.EVENTS] - 1
    run[t.EVENTS] = size
    if size > 0:
        last = heap[size]
        _sink(heap, size, last[t.E_TIME], last[t.E_ORDER], last[t.E_QUERY], last[t.E_ABOUT])


@kernel
def _sink(heap, size, time_ps, order, place, about):
    """Put an event into ``heap[:size]`` whose first place is free."""
    at = 0
    while True:
        child = 4 * at + 1
        if child >= size:
            break
        least = child
        for other in range(child + 1, min(child + 4, size)):
            if _earlier(heap, other, least):
                least = other
        first = heap[least, t.E_TIME]
        if first > time_ps:
            break
        if first == time_ps:
            first = heap[least, t.E_ORDER]
            if first > order or (first == order and heap[least, t.E_QUERY] >= place):
                break
        for word in range(t.EVENT_COLUMNS):
            heap[at, word] = heap[least, word]
        at = least
    heap[at, t.E_TIME] = time_ps
    heap[at, t.E_ORDER] = order
    heap[at, t.E_QUERY] = place
    heap[at, t.E_ABOUT] = about
