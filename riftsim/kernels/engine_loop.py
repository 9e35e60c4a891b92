"""The event loop of the compiled engine: event after event, until it is over or needs something from Python.

The loop stops *before* an event for which something is missing, or between two stages of a turn, so that calling it
again goes on exactly there.
"""

from riftsim.kernels import engine_events as events
from riftsim.kernels import engine_tables as t
from riftsim.kernels._jit import kernel
from riftsim.kernels.engine_admission import arrival, finish, is_complete
from riftsim.kernels.engine_cores import evaluated, hand_over, has_room_for_tasks, take
from riftsim.kernels.engine_events import close_gap, schedule
from riftsim.kernels.engine_network import complete, doorbell, respond, ring, send, start_next, take_response
from riftsim.kernels.engine_trace import has_room
from riftsim.kernels.engine_turn import begin_turn, evaluated_query, go_on

# What the loop answers; below 0 are the demands of a query's state (``GROW_...`` of ``kernels.query``).
OVER = 0
START = 1  # a query (ASKED_QUERY) is to be prepared in a slot (ASKED_SLOT)
ENDED = 2  # a measured query (row ASKED_ROW of RESULTS) has ended; its state (ASKED_SLOT) is still there
SAMPLE = 3  # a sample is to be taken
GROW_HEAP = 4
GROW_POOL = 5
GROW_EVALUATED = 6
LOG_FULL = 7
TRACE_FULL = 8
SAME_PLACE = 9  # two events have the same place in the order


@kernel
def run_events(handle, queries, index):
    """Run events.

    Parameters
    ----------
    handle : int64 (3 * TABLES,)
        The engine's state, from ``engine_tables.tables_handle``.
    queries : ndarray (q, d)
        Evaluated queries.
    index : int64
        Handle of the index.

    Returns
    -------
    int
        Why it stopped.
    """
    run = t.vector(handle, t.RUN)
    settings = t.vector(handle, t.SETTINGS)
    heap = t.table(handle, t.HEAP, t.EVENT_COLUMNS)
    log = t.table(handle, t.LOG, t.LOG_COLUMNS)
    threads = t.table(handle, t.THREADS, t.THREAD_COLUMNS)
    logs = log.shape[0] > 0
    traces = run[t.TRACE_STOP] > 0
    while True:
        if run[t.TURN_THREAD] >= 0:
            demand = go_on(handle, queries, index)
            if demand < 0:
                run[t.ASKED_SLOT] = t.grid(handle, t.SCRATCH)[t.X_SLOTS, run[t.TURN_ITEM]]
                return demand
        if run[t.GAP]:
            close_gap(handle)
        if run[t.EVENTS] == 0:
            return OVER
        order = heap[0, t.E_ORDER]
        about = heap[0, t.E_ABOUT]
        kind = (order >> 16) & 0xFF
        if run[t.EVENTS] + settings[t.MARGIN] > heap.shape[0]:
            return GROW_HEAP
        if logs and run[t.LOGGED] == log.shape[0]:
            return LOG_FULL
        if traces and not has_room(handle):
            return TRACE_FULL
        if kind == events.THREAD:
            if threads[about, t.T_STARTING] > 0 and run[t.PREPARED] < 0:
                _ask_for_start(handle, about)
                return START
            if not _has_room_for_evaluated(handle, about):
                return GROW_EVALUATED
        elif kind == events.EVALUATED:
            slots = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)
            if not _has_room_for_evaluated(handle, slots[about, t.S_THREAD]):
                return GROW_EVALUATED
        elif kind == events.HANDOVER and not has_room_for_tasks(handle, about):
            return GROW_POOL

        now, place = heap[0, t.E_TIME], heap[0, t.E_QUERY]
        if place == run[t.LAST_QUERY] and order == run[t.LAST_ORDER] and now == run[t.LAST_TIME]:
            return SAME_PLACE
        run[t.GAP] = 1
        run[t.LAST_TIME], run[t.LAST_ORDER], run[t.LAST_QUERY] = now, order, place
        run[t.NOW] = now
        run[t.ROUND] = order >> 24
        run[t.EXECUTED] += 1
        if logs:
            log[run[t.LOGGED], 0] = now
            log[run[t.LOGGED], 1] = order
            log[run[t.LOGGED], 2] = place
            run[t.LOGGED] += 1

        if kind == events.COMPLETION:
            complete(handle, about)
        elif kind == events.SEND:
            send(handle, about)
        elif kind == events.NIC_START:
            start_next(handle, about)
        elif kind == events.DOORBELL:
            doorbell(handle, about)
        elif kind == events.RING:
            ring(handle, about)
        elif kind == events.REQUEST:
            respond(handle, about, now)
        elif kind == events.RESPONSE:
            take_response(handle, about, now)
        elif kind == events.THREAD:
            begin_turn(handle, about)
        elif kind == events.EVALUATED:
            evaluated(handle, about, place & 0xFFFFFFFF)
        elif kind == events.WORKER:
            take(handle, about)
        elif kind == events.HANDOVER:
            hand_over(handle, about)
        elif kind == events.ARRIVAL:
            arrival(handle, about)
        elif kind == events.FINISH:
            row = finish(handle, about)
            if row >= 0:
                run[t.ASKED_SLOT] = about
                run[t.ASKED_ROW] = row
                return ENDED
        else:
            if not is_complete(handle):
                schedule(handle, now + settings[t.SAMPLE_PS], events.SAMPLE, t.NOTHING, t.NOTHING, t.NOTHING, t.NOTHING)
            return SAMPLE


@kernel
def _ask_for_start(handle, thread):
    """Say which query starts next, and in which slot."""
    run = t.vector(handle, t.RUN)
    free = run[t.FREE]
    run[t.ASKED_SLOT] = t.vector(handle, t.FREE_SLOTS)[free - 1] if free > 0 else run[t.USED_SLOTS]
    ordinal = t.grid(handle, t.STARTING)[thread, 0]
    run[t.ASKED_QUERY] = evaluated_query(t.vector(handle, t.SETTINGS), ordinal)


@kernel
def _has_room_for_evaluated(handle, thread):
    count = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread, t.T_EVALUATED]
    return 2 * (count + 1) <= t.grid(handle, t.EVALUATED).shape[1]
