"""The queue that evaluation threads share: a mutex, two conditions, and loops that hold no interpreter lock.

A thread that evaluates stays in ``work`` until the pool is stopped; it never returns to Python for a task. Which task
is next is ``pool.next_task``, as under simulation. All tables are int64, found through the array ``pool``, and are
touched only under the mutex.
"""

import numpy as np
from numba import types

from riftsim.kernels._jit import kernel
from riftsim.kernels.addresses import array_at, matrix_at
from riftsim.kernels.evaluation import evaluate_task
from riftsim.kernels.handles import index_of, state_of
from riftsim.kernels.pool import next_task

# ---- positions in ``pool``
MUTEX = 0  # addresses: pthread_mutex_t, and two pthread_cond_t
WORK = 1  # there may be a task that may start
REST = 2  # a task has ended
INDEX = 3  # address and length of the index's handle
INDEX_WORDS = 4
QUEUE = 5  # address of the queue: CAPACITY rows of QUEUE_COLUMNS, oldest first
DONE = 6  # likewise, tasks that are evaluated and were not collected
CAPACITY = 7
QUEUED = 8
EVALUATED = 9
SLOTS = 10  # address and rows of the table of queries
SLOT_ROWS = 11
BUSY = 12  # tasks that are being evaluated by workers
HELPING = 13  # and by event loops
STOP = 14
POOL_WORDS = 15

# ---- columns of the queue and of what is done
TASK_SLOT = 0
TASK_NUMBER = 1
QUEUE_COLUMNS = 2

# ---- columns of the table of queries, one row per slot
SLOT_STATE = 0  # address and length of the state's handle
SLOT_WORDS = 1
SLOT_QUERY = 2  # row among the queries
SLOT_RUNNING = 3
SLOT_ALLOWANCE = 4  # tasks of the query that may run at once, 0 while it is held
SLOT_WANTED = 5  # T_q: what the allowance is when it is not held
SLOT_OWNER = 6  # the event loop that drives the query
SLOT_HELD = 7
SLOT_COLUMNS = 8

_lock = types.ExternalFunction("pthread_mutex_lock", types.int32(types.int64))
_unlock = types.ExternalFunction("pthread_mutex_unlock", types.int32(types.int64))
_wait = types.ExternalFunction("pthread_cond_wait", types.int32(types.int64, types.int64))
_signal = types.ExternalFunction("pthread_cond_signal", types.int32(types.int64))
_broadcast = types.ExternalFunction("pthread_cond_broadcast", types.int32(types.int64))


@kernel(inline=True)
def _tables(pool):
    """Queue, done tasks and queries."""
    return (
        matrix_at(pool[QUEUE], pool[CAPACITY], QUEUE_COLUMNS, np.int64),
        matrix_at(pool[DONE], pool[CAPACITY], QUEUE_COLUMNS, np.int64),
        matrix_at(pool[SLOTS], pool[SLOT_ROWS], SLOT_COLUMNS, np.int64),
    )


@kernel(inline=True)
def _remove(table, at, count):
    """Close the gap that a row leaves."""
    for row in range(at, count - 1):
        table[row, TASK_SLOT] = table[row + 1, TASK_SLOT]
        table[row, TASK_NUMBER] = table[row + 1, TASK_NUMBER]


@kernel(inline=True)
def _copy(old, new, count):
    for row in range(count):
        new[row, TASK_SLOT] = old[row, TASK_SLOT]
        new[row, TASK_NUMBER] = old[row, TASK_NUMBER]


@kernel(inline=True)
def _evaluate(pool, queries, slots, slot, number):
    """Evaluate a task that was taken out of the queue; the mutex is free meanwhile and held at the end."""
    state = array_at(slots[slot, SLOT_STATE], slots[slot, SLOT_WORDS], np.int64)
    query = queries[slots[slot, SLOT_QUERY]]
    slots[slot, SLOT_RUNNING] += 1
    _unlock(pool[MUTEX])
    evaluate_task(state_of(state), index_of(array_at(pool[INDEX], pool[INDEX_WORDS], np.int64)), query, number)
    _lock(pool[MUTEX])
    slots[slot, SLOT_RUNNING] -= 1
    done = matrix_at(pool[DONE], pool[CAPACITY], QUEUE_COLUMNS, np.int64)  # it may have been enlarged
    done[pool[EVALUATED], TASK_SLOT] = slot
    done[pool[EVALUATED], TASK_NUMBER] = number
    pool[EVALUATED] += 1
    _broadcast(pool[REST])


@kernel
def work(pool, queries):
    """Evaluate tasks until the pool is stopped: the whole life of a worker.

    Parameters
    ----------
    pool : int64 (POOL_WORDS,)
    queries : (q, d)
        The evaluated queries.
    """
    _lock(pool[MUTEX])
    while pool[STOP] == 0:
        queue, _, slots = _tables(pool)
        queued = pool[QUEUED]
        at = next_task(queue[:queued, TASK_SLOT], slots[:, SLOT_RUNNING], slots[:, SLOT_ALLOWANCE])
        if at < 0:
            _wait(pool[WORK], pool[MUTEX])
            continue
        slot, number = queue[at, TASK_SLOT], queue[at, TASK_NUMBER]
        _remove(queue, at, queued)
        pool[QUEUED] = queued - 1
        pool[BUSY] += 1
        _evaluate(pool, queries, slots, slot, number)
        pool[BUSY] -= 1
    _unlock(pool[MUTEX])


@kernel
def evaluate_own(pool, queries, owner):
    """Evaluate the oldest queued task of an event loop's queries on the calling thread; False if there is none."""
    _lock(pool[MUTEX])
    queue, _, slots = _tables(pool)
    queued = pool[QUEUED]
    at = 0
    while at < queued and slots[queue[at, TASK_SLOT], SLOT_OWNER] != owner:
        at += 1
    if at < queued:
        slot, number = queue[at, TASK_SLOT], queue[at, TASK_NUMBER]
        _remove(queue, at, queued)
        pool[QUEUED] = queued - 1
        pool[HELPING] += 1
        _evaluate(pool, queries, slots, slot, number)
        pool[HELPING] -= 1
    _unlock(pool[MUTEX])
    return at < queued


@kernel
def submit(pool, slot, numbers):
    """Queue tasks of one query.

    Returns
    -------
    bool
        False if the tables are too small for the tasks that are open and these; nothing was changed.
    """
    _lock(pool[MUTEX])
    queue, _, _ = _tables(pool)
    queued = pool[QUEUED]
    open_tasks = queued + pool[BUSY] + pool[HELPING] + pool[EVALUATED]
    fits = open_tasks + numbers.shape[0] <= pool[CAPACITY]
    if fits:
        for i in range(numbers.shape[0]):
            queue[queued + i, TASK_SLOT] = slot
            queue[queued + i, TASK_NUMBER] = numbers[i]
            _signal(pool[WORK])
        pool[QUEUED] = queued + numbers.shape[0]
    _unlock(pool[MUTEX])
    return fits


@kernel
def collect(pool, owner, out):
    """Take evaluated tasks of an event loop's queries, in the order in which they ended.

    Parameters
    ----------
    out : int64 (rows, QUEUE_COLUMNS)
        Receives slots and numbers.

    Returns
    -------
    int
        How many.
    """
    if pool[EVALUATED] == 0:  # a glance without the mutex: what is missed is seen at the next poll
        return 0
    _lock(pool[MUTEX])
    _, done, slots = _tables(pool)
    count = 0
    kept = 0
    for row in range(pool[EVALUATED]):
        slot, number = done[row, TASK_SLOT], done[row, TASK_NUMBER]
        if slots[slot, SLOT_OWNER] == owner and count < out.shape[0]:
            out[count, TASK_SLOT], out[count, TASK_NUMBER] = slot, number
            count += 1
        else:
            done[kept, TASK_SLOT], done[kept, TASK_NUMBER] = slot, number
            kept += 1
    pool[EVALUATED] = kept
    _unlock(pool[MUTEX])
    return count


@kernel
def open_slot(pool, slot, owner, state, words, query, allowance):
    """Begin a query in a slot: address and length of its state's handle, its row, and its T_q."""
    _lock(pool[MUTEX])
    _, _, slots = _tables(pool)
    slots[slot, :] = 0
    slots[slot, SLOT_STATE] = state
    slots[slot, SLOT_WORDS] = words
    slots[slot, SLOT_QUERY] = query
    slots[slot, SLOT_ALLOWANCE] = allowance
    slots[slot, SLOT_WANTED] = allowance
    slots[slot, SLOT_OWNER] = owner
    _unlock(pool[MUTEX])


@kernel
def allow(pool, slot, allowance):
    """Set T_q of a query."""
    _lock(pool[MUTEX])
    _, _, slots = _tables(pool)
    slots[slot, SLOT_WANTED] = allowance
    if slots[slot, SLOT_HELD] == 0:
        slots[slot, SLOT_ALLOWANCE] = allowance
    _broadcast(pool[WORK])
    _unlock(pool[MUTEX])


@kernel
def hold(pool, slot):
    """Start no more tasks of a query, and return when none is running."""
    _lock(pool[MUTEX])
    _, _, slots = _tables(pool)
    slots[slot, SLOT_HELD] = 1
    slots[slot, SLOT_ALLOWANCE] = 0
    while slots[slot, SLOT_RUNNING] > 0:
        _wait(pool[REST], pool[MUTEX])
    _unlock(pool[MUTEX])


@kernel
def go_on(pool, slot, state, words):
    """Let tasks of a held query start again, on the state that it has now."""
    _lock(pool[MUTEX])
    _, _, slots = _tables(pool)
    slots[slot, SLOT_STATE] = state
    slots[slot, SLOT_WORDS] = words
    slots[slot, SLOT_HELD] = 0
    slots[slot, SLOT_ALLOWANCE] = slots[slot, SLOT_WANTED]
    _broadcast(pool[WORK])
    _unlock(pool[MUTEX])


@kernel
def enlarge(pool, queue, done, capacity):
    """Move queue and done tasks to larger tables, given by their addresses."""
    _lock(pool[MUTEX])
    old_queue, old_done, _ = _tables(pool)
    new_queue = matrix_at(queue, capacity, QUEUE_COLUMNS, np.int64)
    new_done = matrix_at(done, capacity, QUEUE_COLUMNS, np.int64)
    _copy(old_queue, new_queue, pool[QUEUED])
    _copy(old_done, new_done, pool[EVALUATED])
    pool[QUEUE] = queue
    pool[DONE] = done
    pool[CAPACITY] = capacity
    _unlock(pool[MUTEX])


@kernel
def stop(pool):
    """Let every worker return."""
    _lock(pool[MUTEX])
    pool[STOP] = 1
    _broadcast(pool[WORK])
    _unlock(pool[MUTEX])
