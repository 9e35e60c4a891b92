"""Arrivals, admission and the end of queries in the compiled engine: ``computenode.load`` and half of ``.engine``."""

from riftsim.kernels import engine_events as events
from riftsim.kernels import engine_tables as t
from riftsim.kernels._jit import kernel
from riftsim.kernels.engine_cores import wake
from riftsim.kernels.engine_events import schedule


@kernel
def begin_load(handle, concurrency):
    """Schedule the first arrivals, and the first sample."""
    settings = t.vector(handle, t.SETTINGS)
    if settings[t.CLOSED]:
        for turn in range(concurrency):
            for node in range(settings[t.COMPUTE_NODES]):
                schedule(handle, t.NOTHING, events.ARRIVAL, node, turn, t.NOTHING, node)
    else:
        _schedule_arrival(handle, t.NOTHING)
    if settings[t.SAMPLE_PS] > 0:
        schedule(handle, settings[t.SAMPLE_PS], events.SAMPLE, t.NOTHING, t.NOTHING, t.NOTHING, t.NOTHING)


@kernel(inline=True)
def is_complete(handle):
    """Whether every measured query has ended."""
    return t.vector(handle, t.RUN)[t.ENDED] == t.vector(handle, t.SETTINGS)[t.MEASURED]


@kernel
def _schedule_arrival(handle, ordinal):
    times = t.vector(handle, t.TIMES)
    if ordinal < times.shape[0] and not is_complete(handle):
        node = ordinal % t.vector(handle, t.SETTINGS)[t.COMPUTE_NODES]
        schedule(handle, times[ordinal], events.ARRIVAL, node, ordinal, t.NOTHING, ordinal)


@kernel
def arrival(handle, about):
    """A query arrives: at a node (closed loop), or the next of the given times."""
    settings = t.vector(handle, t.SETTINGS)
    if settings[t.CLOSED]:
        _arrive(handle, about)
    else:
        _schedule_arrival(handle, about + 1)
        _arrive(handle, about % settings[t.COMPUTE_NODES])


@kernel
def _arrive(handle, number):
    run = t.vector(handle, t.RUN)
    settings = t.vector(handle, t.SETTINGS)
    ordinal = run[t.ARRIVALS]
    run[t.ARRIVALS] = ordinal + 1
    # To the least loaded main thread with room, else into the admission queue.
    threads = t.table(handle, t.THREADS, t.THREAD_COLUMNS)
    first = number * settings[t.THREADS_PER_NODE]
    least = first
    for thread in range(first + 1, first + settings[t.THREADS_PER_NODE]):
        if threads[thread, t.T_ACTIVE] < threads[least, t.T_ACTIVE]:
            least = thread
    if threads[least, t.T_ACTIVE] < settings[t.PER_THREAD]:
        _admit(handle, least, ordinal, run[t.NOW])
        return
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    waiting = t.grid(handle, t.WAITING)[number]
    at = 2 * (node[t.WAIT_TAIL] & (waiting.shape[0] // 2 - 1))
    waiting[at] = ordinal
    waiting[at + 1] = run[t.NOW]
    node[t.WAIT_TAIL] += 1


@kernel
def _admit(handle, thread, ordinal, arrival_ps):
    row = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread]
    starting = t.grid(handle, t.STARTING)[thread]
    row[t.T_ACTIVE] += 1
    starting[2 * row[t.T_STARTING]] = ordinal
    starting[2 * row[t.T_STARTING] + 1] = arrival_ps
    row[t.T_STARTING] += 1
    if not row[t.T_BUSY]:
        wake(handle, thread)


@kernel
def finish(handle, slot):
    """A query has ended.

    Returns
    -------
    int
        Its row among the measured queries, -1 if it is not one of them.
    """
    run = t.vector(handle, t.RUN)
    settings = t.vector(handle, t.SETTINGS)
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    number, thread = query[t.S_NODE], query[t.S_THREAD]
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    query[t.S_END] = run[t.NOW]

    t.vector(handle, t.FREE_SLOTS)[run[t.FREE]] = slot
    run[t.FREE] += 1
    active = t.grid(handle, t.ACTIVE)[number]
    at = 0
    while active[at] != slot:
        at += 1
    node[t.ACTIVE_COUNT] -= 1
    for later in range(at, node[t.ACTIVE_COUNT]):
        active[later] = active[later + 1]

    row = query[t.S_ORDINAL] - settings[t.WARMUP]
    if 0 <= row < settings[t.MEASURED]:
        results = t.table(handle, t.RESULTS, t.SLOT_COLUMNS)
        for column in range(t.SLOT_COLUMNS):
            results[row, column] = query[column]
    else:
        row = -1

    threads = t.table(handle, t.THREADS, t.THREAD_COLUMNS)
    threads[thread, t.T_ACTIVE] -= 1
    if node[t.WAIT_HEAD] < node[t.WAIT_TAIL] and threads[thread, t.T_ACTIVE] < settings[t.PER_THREAD]:
        waiting = t.grid(handle, t.WAITING)[number]
        place = 2 * (node[t.WAIT_HEAD] & (waiting.shape[0] // 2 - 1))
        node[t.WAIT_HEAD] += 1
        _admit(handle, thread, waiting[place], waiting[place + 1])
    if row >= 0:
        run[t.ENDED] += 1
    if settings[t.CLOSED] and not is_complete(handle):
        _arrive(handle, number)
    return row
