"""What follows from a step of a search in the compiled engine: time is charged, reads posted, tasks handed over."""

import numpy as np

from riftsim.kernels import engine_events as events
from riftsim.kernels import engine_tables as t
from riftsim.kernels import engine_trace as trace
from riftsim.kernels import prices
from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.addresses import array_at
from riftsim.kernels.balance import BALANCE_DEFER_RATIO, defer_ratio_step
from riftsim.kernels.engine_cores import busy_cores, look
from riftsim.kernels.engine_events import schedule
from riftsim.kernels.handles import index_of, state_of
from riftsim.kernels.vector_ops import prefetch

_NO_READ = -1
_AHEAD = 4  # queries


@kernel
def carry_out(handle, index, slot, requests, tasks, blocked, done):
    """Charge a step, whose work is in SCRATCH, to the turn under way; ``computenode.engine.ComputeNode._carry_out``.

    Parameters
    ----------
    requests : int
        Rows of the query's outbox.
    tasks : int
        New evaluation tasks of the query.
    blocked : int
        What it waits for, as ``search.messages.Blocked``.
    done : int
        Whether the search has ended.
    """
    run = t.vector(handle, t.RUN)
    settings = t.vector(handle, t.SETTINGS)
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    number, ordinal = query[t.S_NODE], query[t.S_ORDINAL]
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    work = t.grid(handle, t.SCRATCH)[t.X_WORK]
    took = prices.contended_ps(
        prices.alone_ps(work, t.vector(handle, t.PRICES)), settings[t.CONTENTION_PERMILLE], busy_cores(node)
    )
    query[t.S_EVALUATION] += took
    at = run[t.TURN_AT] + took
    computed = at
    if requests > 0:
        posted = _post(handle, index, slot, requests, at)
        query[t.S_POSTING] += posted - at
        at = posted
    posted = at
    if tasks > 0:
        query[t.S_HANDED_FIRST] = query[t.S_NEXT_TASK]
        query[t.S_HANDED_COUNT] = tasks
        query[t.S_NEXT_TASK] += tasks
        schedule(handle, at, events.HANDOVER, number, ordinal, query[t.S_HANDED_FIRST], slot)
    if work[2] > 0:
        took = _count_lists(handle, slot, work[2])
        query[t.S_EVALUATION] += took
        at += took
    query[t.S_IDLE_FROM] = at
    query[t.S_BLOCKED] = blocked
    if done:
        schedule(handle, at, events.FINISH, number, ordinal, t.NOTHING, slot)
    if trace.traced(handle, ordinal):
        _note_step(handle, slot, run[t.TURN_AT], computed, posted, at, blocked + trace.DONE * done)
    run[t.TURN_AT] = at


@kernel
def _note_step(handle, slot, polled, computed, posted, until, how):
    run = t.vector(handle, t.RUN)
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    settings = t.vector(handle, t.SETTINGS)
    thread = query[t.S_THREAD] % settings[t.THREADS_PER_NODE]
    unfinished = polling = t.NOTHING
    if settings[t.SEARCH] == t.SEARCH_EAGER:
        unfinished = state_of(t.grid(handle, t.HANDLES)[slot]).numbers[q.UNFINISHED]
    if not run[t.TURN_STARTS]:
        polling = run[t.TURN_POLL] // run[t.TURN_ITEMS]
    opened = polled - polling
    trace.note(handle, trace.STEP, query[t.S_ORDINAL], thread, opened, polled, computed, posted, until, how, unfinished)


@kernel
def _post(handle, index, slot, requests, from_ps):
    """Build and ring one chain per memory node, one after the other; when that is done, ps."""
    settings = t.vector(handle, t.SETTINGS)
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    reads = t.table(handle, t.READS, t.READ_COLUMNS)
    outbox = state_of(t.grid(handle, t.HANDLES)[slot]).outbox
    bases = index_of(index).region_bases
    ordinal = query[t.S_ORDINAL]
    slot_reads = settings[t.SLOT_READS]
    at = from_ps
    for memory_node in range(settings[t.MEMORY_NODES]):
        first = last = _NO_READ
        count = t.NOTHING
        for row in range(requests):
            out = outbox[row]
            if out[q.OUT_MEMORY_NODE] != memory_node:
                continue
            number = slot * slot_reads + (out[q.OUT_TAG] & (slot_reads - 1))
            read = reads[number]
            read[t.R_QP] = query[t.S_THREAD] * settings[t.MEMORY_NODES] + memory_node
            read[t.R_QUERY] = ordinal
            read[t.R_TAG] = out[q.OUT_TAG]
            read[t.R_KIND] = out[q.OUT_KIND]
            read[t.R_SIGNALED] = 1 - settings[t.SIGNAL_LAST]
            read[t.R_NEXT] = -1
            read[t.R_START] = bases[memory_node] + out[q.OUT_OFFSET]
            if first < 0:
                first = number
            else:
                reads[last, t.R_NEXT] = number
            last = number
            count += 1
            trace.note(handle, trace.POSTED, ordinal, out[q.OUT_TAG], out[q.OUT_NODE], out[q.OUT_KIND], memory_node)
        if count > 0:
            reads[last, t.R_SIGNALED] = 1
            at += prices.post_ps(count, settings[t.BUILD_WR_PS], settings[t.RING_PS])
            schedule(handle, at, events.RING, query[t.S_NODE], ordinal, reads[first, t.R_TAG], np.int64(first))
    return at


@kernel
def _count_lists(handle, slot, lists):
    """Count completed expansions; at a control point let the controller act. The time that took, ps."""
    settings = t.vector(handle, t.SETTINGS)
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[query[t.S_NODE]]
    free = settings[t.WORKERS] - node[t.POOL_BUSY]
    if settings[t.PER_QUERY]:
        query[t.S_LISTS] += lists
        if query[t.S_LISTS] < settings[t.INTERVAL]:
            return 0
        query[t.S_LISTS] = 0
        return _control(handle, slot, free)[0]
    node[t.LISTS] += lists
    if node[t.LISTS] < settings[t.INTERVAL]:
        return 0
    node[t.LISTS] = 0
    active = t.grid(handle, t.ACTIVE)[query[t.S_NODE]]
    took = 0
    for i in range(node[t.ACTIVE_COUNT]):
        _fetch_controlled(handle, active, i, node[t.ACTIVE_COUNT])
        spent, granted = _control(handle, active[i], free)
        took += spent
        free -= granted
    return took


@kernel(inline=True)
def _fetch_controlled(handle, active, i, count):
    """Ask the caches for what the control of the next queries looks at; each is far from the one before."""
    handles = t.grid(handle, t.HANDLES)
    if i + 2 * _AHEAD < count:
        prefetch(handles[active[i + 2 * _AHEAD]], t.NOTHING)
    if i + _AHEAD < count:
        slot = active[i + _AHEAD]
        prefetch(array_at(handles[slot, 0], handles[slot, 1], np.int64), q.UNFINISHED)
        prefetch(t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot], t.S_DEFER_UNFINISHED)


@kernel
def _control(handle, slot, free):
    """Let the controller act on one query while ``free`` workers are free; round-synchronous searches have no
    controller.

    Returns
    -------
    took, granted : int
        Time that it took, ps, and workers that it granted.
    """
    settings = t.vector(handle, t.SETTINGS)
    if settings[t.SEARCH] != t.SEARCH_EAGER:
        return 0, 0
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    granted = 0
    numbers = state_of(t.grid(handle, t.HANDLES)[slot]).numbers
    allowances = t.vector(handle, t.ALLOWANCE)
    unfinished, generated = numbers[q.UNFINISHED], numbers[q.GENERATED]
    query[t.S_DEFER_UNFINISHED] = unfinished
    query[t.S_DEFER_GENERATED] = generated
    window_before, allowance_before = numbers[q.WINDOW], allowances[slot]
    if settings[t.BALANCE] == BALANCE_DEFER_RATIO:
        allowance, window = defer_ratio_step(
            unfinished,
            generated,
            allowances[slot],
            numbers[q.WINDOW],
            free,
            settings[t.BALANCE_SETTINGS],
            settings[t.BALANCE_SETTINGS + 1],
            settings[t.BALANCE_SETTINGS + 2],
            settings[t.BALANCE_SETTINGS + 3],
            settings[t.BALANCE_SETTINGS + 4],
            settings[t.BALANCE_SETTINGS + 5],
        )
        numbers[q.WINDOW] = window
        if allowance != allowances[slot]:
            granted = max(0, allowance - allowances[slot])
            allowances[slot] = allowance
            look(handle, query[t.S_NODE])
    numbers[q.GENERATED] = 0
    trace.note(
        handle,
        trace.CONTROL,
        query[t.S_ORDINAL],
        t.NOTHING,
        t.vector(handle, t.RUN)[t.NOW],
        unfinished,
        generated,
        allowance_before,
        allowances[slot],
        window_before,
        numbers[q.WINDOW],
    )
    return settings[t.CONTROL_PS], granted
