"""What both engines write down of a traced query: one row of integers for each thing that happens to it.

A row is its kind, the number of the query's arrival, a number (of a main thread, read or task) and up to seven values,
in picoseconds where they are times. Rows lie one behind the other, each as long as its kind asks for: a word with kind,
number and query, then the values. Where a traced query was dear, it was for memory that the system had to clear.
``results.trace`` makes tables of them.
"""

import numpy as np

from riftsim.kernels import engine_tables as t
from riftsim.kernels._jit import kernel

# ---- the main thread; the number is that of the thread within its node
START = 0  # node, arrival, start
STEP = 1  # from, polled (the query's share of a poll), computed, posted, until, blocked + DONE, unfinished evaluations
DONE = 4  # added to ``search.messages.Blocked`` in a STEP

# ---- a read; the number is its tag
POSTED = 2  # node of the graph, kind, memory node
RUNG = 3  # now, and when its work request is in the NIC
ADMITTED = 4  # now, end of the queue pair's processing
SERVED = 5  # now, end of the NIC-wide processing, end of the request's serialisation, arrival at the memory node
RESPONDED = 6  # end of processing, start of the PCIe read, first bytes there, start of the response
TAKEN = 7  # arrival, start of serialisation, start of the PCIe write, written, and in the order of the queue pair
COVERED = 8  # now: visible with the completion entry of a later read; the others are visible when they are done
SEEN = 9  # now: the main thread polled and saw it

# ---- an evaluation task; the number is its own
QUEUED = 10  # now
RUN_BY_WORKER = 11  # now, until, neighbours
RUN_BY_MAIN = 12  # likewise, on the query's main thread
MERGED = 13  # now: the main thread polled and saw that it was done

# ---- a control point; the number is 0
CONTROL = 14  # now, unfinished, generated, T_q before, T_q after, W_R before, W_R after

VALUES = (3, 7, 3, 2, 2, 4, 4, 5, 1, 1, 1, 3, 3, 1, 7)
"""How many a row of each kind has."""

WIDEST = 1 + max(VALUES)
"""Words of the longest row; each is written as if it were so long, and the next begins where it ends."""

KIND_BITS = 4
NUMBER_BITS = 28
QUERY_SHIFT = KIND_BITS + NUMBER_BITS
_KIND_MASK = (1 << KIND_BITS) - 1
_NUMBER_MASK = (1 << NUMBER_BITS) - 1
_LENGTHS = sum((1 + values) << KIND_BITS * kind for kind, values in enumerate(VALUES))


def packed(kind, query, number):
    """The first word of a row."""
    return query << QUERY_SHIFT | number << KIND_BITS | kind


@kernel(inline=True)
def _length(word):
    """Words of the row that begins with a word."""
    return (_LENGTHS >> (KIND_BITS * (word & _KIND_MASK))) & _KIND_MASK


@kernel(inline=True)
def traced(handle, query):
    """Whether a query, by the number of its arrival, is traced."""
    run = t.vector(handle, t.RUN)
    return query < run[t.TRACE_STOP] and query >= run[t.TRACE_FIRST]


@kernel(inline=True)
def note(handle, what, query, number, a, b=0, c=0, d=0, e=0, f=0, g=0):
    """Write down one row, if the query is traced."""
    if traced(handle, query):
        _write(handle, what, query, number, a, b, c, d, e, f, g)


@kernel
def _write(handle, what, query, number, a, b, c, d, e, f, g):
    run = t.vector(handle, t.RUN)
    words = t.vector(handle, t.TRACE)
    at = np.uint64(run[t.TRACED])
    first = (query << QUERY_SHIFT) | (number << KIND_BITS) | what
    words[at] = first
    words[at + np.uint64(1)] = a
    words[at + np.uint64(2)] = b
    words[at + np.uint64(3)] = c
    words[at + np.uint64(4)] = d
    words[at + np.uint64(5)] = e
    words[at + np.uint64(6)] = f
    words[at + np.uint64(7)] = g
    run[t.TRACED] += _length(first)


@kernel(inline=True)
def has_room(handle):
    """Whether the table of rows can take what one event may write."""
    run = t.vector(handle, t.RUN)
    return run[t.TRACED] + run[t.TRACE_MARGIN] <= t.vector(handle, t.TRACE).shape[0]


@kernel
def count_rows(words, counts):
    """Add the rows of each kind to their counts."""
    at = t.NOTHING
    while at < words.shape[0]:
        counts[words[at] & _KIND_MASK] += 1
        at += _length(words[at])


@kernel
def split_rows(words, counts, places, out):
    """Put rows into the columns of their kinds, which lie one behind the other in ``out`` from ``places`` on."""
    at = t.NOTHING
    while at < words.shape[0]:
        first = words[at]
        kind = first & _KIND_MASK
        place = places[kind]
        places[kind] += 1
        out[place] = first >> QUERY_SHIFT
        out[place + counts[kind]] = (first >> KIND_BITS) & _NUMBER_MASK
        for value in range(1, _length(first)):
            out[place + (value + 1) * counts[kind]] = words[at + value]
        at += _length(first)
