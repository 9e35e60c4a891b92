"""The compiled engine's calendar: a heap of events in the total order of ``riftsim.calendar``.

The place of an event is (time, delta round, kind, compute node, query, tag), packed into three words. The heap has four
children per entry, which makes it half as deep as one of two. While an event runs its place stays free: most cause
another one soon, which takes the place and sinks little.
"""

import numpy as np

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
    order = (kind << 16) | node
    if time_ps == run[t.NOW]:
        order |= (run[t.ROUND] + 1) << 24
    place = (query << 32) | tag
    if run[t.GAP]:
        run[t.GAP] = 0
        _sink(handle, run[t.EVENTS], time_ps, order, place, about)
        return
    heap = t.vector(handle, t.HEAP)
    at = run[t.EVENTS]
    run[t.EVENTS] = at + 1
    while at > 0:
        parent = (at - 1) >> 2
        if not _precedes(heap, time_ps, order, place, parent):
            break
        _move(heap, parent, at)
        at = parent
    _write(heap, at, time_ps, order, place, about)


@kernel
def close_gap(handle):
    """Fill the first place of the heap, whose event has run and caused no other, with the last event."""
    run = t.vector(handle, t.RUN)
    run[t.GAP] = 0
    size = run[t.EVENTS] - 1
    run[t.EVENTS] = size
    last = t.table(handle, t.HEAP, t.EVENT_COLUMNS)[size]
    time_ps = last[t.E_TIME]
    last[t.E_TIME] = t.FAR
    if size > 0:
        _sink(handle, size, time_ps, last[t.E_ORDER], last[t.E_QUERY], last[t.E_ABOUT])


@kernel(inline=True)
def _word(event, column):
    """Where a column of an event lies in the heap; unsigned, so that no test for a place from the end is made."""
    return np.uint64(event * t.EVENT_COLUMNS + column)


@kernel(inline=True)
def _precedes(heap, time_ps, order, place, other):
    """Whether a place in the order is before that of the event ``other``."""
    other_ps = heap[_word(other, t.E_TIME)]
    if time_ps != other_ps:
        return time_ps < other_ps
    other_order = heap[_word(other, t.E_ORDER)]
    return order < other_order or (order == other_order and place < heap[_word(other, t.E_QUERY)])


@kernel(inline=True)
def _move(heap, source, target):
    for word in range(t.EVENT_COLUMNS):
        heap[_word(target, word)] = heap[_word(source, word)]


@kernel(inline=True)
def _write(heap, at, time_ps, order, place, about):
    heap[_word(at, t.E_TIME)] = time_ps
    heap[_word(at, t.E_ORDER)] = order
    heap[_word(at, t.E_QUERY)] = place
    heap[_word(at, t.E_ABOUT)] = about


@kernel
def _sink(handle, size, time_ps, order, place, about):
    """Put an event among the first ``size``, of which the first place is free; the three behind them are FAR."""
    heap = t.vector(handle, t.HEAP)
    at = np.int64(0)
    while True:
        child = 4 * at + 1
        if child >= size:
            break
        a, b = heap[_word(child, t.E_TIME)], heap[_word(child + 1, t.E_TIME)]
        c, d = heap[_word(child + 2, t.E_TIME)], heap[_word(child + 3, t.E_TIME)]
        ab, cd = min(a, b), min(c, d)
        first = min(ab, cd)
        if first > time_ps:
            break
        # By arithmetic, not by branches, which here nothing could foresee.
        left, right = np.int64(b < a), 2 + np.int64(d < c)
        least = child + left + (right - left) * np.int64(cd < ab)
        if np.int64(a == first) + np.int64(b == first) + np.int64(c == first) + np.int64(d == first) > 1:
            for other in range(child, child + 4):
                other_ps, other_order = heap[_word(other, t.E_TIME)], heap[_word(other, t.E_ORDER)]
                if _precedes(heap, other_ps, other_order, heap[_word(other, t.E_QUERY)], least):
                    least = other
        if first == time_ps and _precedes(heap, time_ps, order, place, least):
            break
        _move(heap, least, at)
        at = least
    _write(heap, at, time_ps, order, place, about)
