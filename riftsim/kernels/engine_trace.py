"""What both engines write down of a traced query: one row of integers for each thing that happens to it.

A row is its kind, the number of the query's arrival, a number (of a main thread, read or task) and up to seven values,
in picoseconds where they are times. ``results.trace`` makes tables of them.
"""

from riftsim.kernels import engine_tables as t
from riftsim.kernels._jit import kernel

# ---- the main thread; the number is that of the thread within its node
START = 0  # node, arrival, start
STEP = 1  # from, polled (the query's share of a poll), computed, posted, until, blocked + DONE, unfinished evaluations
DONE = 4  # added to ``search.messages.Blocked`` in a STEP

# ---- a read; the number is its tag
POSTED = 2  # node of the graph, kind, memory node
RUNG = 3  # now, and when its work request is in the NIC
ADMITTED = 4  # now, start, end of the queue pair's processing
SERVED = 5  # now, end of the NIC-wide processing, end of the request's serialisation, arrival at the memory node
RESPONDED = 6  # arrival, end of processing, start of the PCIe read, first bytes there, start of the response
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
    row = t.table(handle, t.TRACE, t.TRACE_COLUMNS)[run[t.TRACED]]
    run[t.TRACED] += 1
    row[0] = what
    row[1] = query
    row[2] = number
    row[3] = a
    row[4] = b
    row[5] = c
    row[6] = d
    row[7] = e
    row[8] = f
    row[9] = g


@kernel(inline=True)
def has_room(handle):
    """Whether the table of rows can take what one event may write."""
    run = t.vector(handle, t.RUN)
    return run[t.TRACED] + run[t.TRACE_MARGIN] <= t.table(handle, t.TRACE, t.TRACE_COLUMNS).shape[0]
