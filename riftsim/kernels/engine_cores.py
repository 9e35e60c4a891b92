"""Cores of the compiled engine: who gets one, and the shared workers; the transitions of ``computenode.workers``."""

from riftsim.kernels import engine_events as events
from riftsim.kernels import engine_tables as t
from riftsim.kernels import engine_trace as trace
from riftsim.kernels import prices
from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.engine_events import schedule
from riftsim.kernels.handles import state_of
from riftsim.kernels.pool import next_task


@kernel(inline=True)
def busy_cores(node):
    """Cores of a compute node (row of NODES) with work at this moment."""
    return node[t.BUSY_THREADS] + node[t.POOL_BUSY]


@kernel
def wake(handle, thread):
    """Give an idle main thread a turn at the present instant, or as soon as a core is free."""
    settings = t.vector(handle, t.SETTINGS)
    number = thread // settings[t.THREADS_PER_NODE]
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread, t.T_BUSY] = 1
    if settings[t.DYNAMIC] and busy_cores(node) >= settings[t.CORES]:
        waiting = t.grid(handle, t.CORELESS)[number]
        waiting[(node[t.CORELESS_HEAD] + node[t.CORELESS_COUNT]) % waiting.shape[0]] = thread
        node[t.CORELESS_COUNT] += 1
    else:
        node[t.BUSY_THREADS] += 1
        next_turn(handle, thread, t.vector(handle, t.RUN)[t.NOW])


@kernel
def next_turn(handle, thread, at_ps):
    """Let a main thread go on at a time."""
    per_node = t.vector(handle, t.SETTINGS)[t.THREADS_PER_NODE]
    schedule(handle, at_ps, events.THREAD, thread // per_node, thread % per_node, t.NOTHING, thread)


@kernel
def core_released(handle, number):
    """A core became free: a main thread that waits for one comes first, then the workers."""
    settings = t.vector(handle, t.SETTINGS)
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    if node[t.CORELESS_COUNT] > 0:
        waiting = t.grid(handle, t.CORELESS)[number]
        head = node[t.CORELESS_HEAD]
        node[t.CORELESS_HEAD] = (head + 1) % waiting.shape[0]
        node[t.CORELESS_COUNT] -= 1
        node[t.BUSY_THREADS] += 1
        next_turn(handle, waiting[head], t.vector(handle, t.RUN)[t.NOW])
    elif settings[t.DYNAMIC]:
        look(handle, number)


@kernel
def look(handle, number):
    """Let workers look for tasks once more at this instant, after its present events."""
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    workers = t.vector(handle, t.SETTINGS)[t.WORKERS]
    if not node[t.LOOK_DUE] and node[t.POOL_HEAD] < node[t.POOL_TAIL] and node[t.POOL_BUSY] < workers:
        node[t.LOOK_DUE] = 1
        schedule(handle, t.vector(handle, t.RUN)[t.NOW], events.WORKER, number, t.NOTHING, t.NOTHING, number)


@kernel
def hand_over(handle, slot):
    """Queue the tasks that a query's main thread has handed over."""
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    number = query[t.S_NODE]
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    slots = t.grid(handle, t.POOL_SLOTS)[number]
    numbers = t.grid(handle, t.POOL_NUMBERS)[number]
    tasks = state_of(t.grid(handle, t.HANDLES)[slot]).tasks
    tail = node[t.POOL_TAIL]
    for task in range(query[t.S_HANDED_FIRST], query[t.S_HANDED_FIRST] + query[t.S_HANDED_COUNT]):
        row = tasks[task & (tasks.shape[0] - 1)]
        slots[tail] = slot
        numbers[tail] = (row[q.TASK_STOP] - row[q.TASK_START]) << 32 | task
        trace.note(handle, trace.QUEUED, query[t.S_ORDINAL], task, t.vector(handle, t.RUN)[t.NOW])
        tail += 1
    node[t.POOL_TAIL] = tail
    t.table(handle, t.THREADS, t.THREAD_COLUMNS)[query[t.S_THREAD], t.T_QUEUED] += query[t.S_HANDED_COUNT]
    look(handle, number)


@kernel
def has_room_for_tasks(handle, slot):
    """Whether the pool's queue can take the tasks of ``hand_over``; moves it to the front of its row if that helps."""
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[query[t.S_NODE]]
    slots = t.grid(handle, t.POOL_SLOTS)[query[t.S_NODE]]
    numbers = t.grid(handle, t.POOL_NUMBERS)[query[t.S_NODE]]
    head, tail = node[t.POOL_HEAD], node[t.POOL_TAIL]
    if tail + query[t.S_HANDED_COUNT] <= slots.shape[0]:
        return True
    if 2 * (tail - head) + query[t.S_HANDED_COUNT] > slots.shape[0]:
        return False
    for at in range(head, tail):
        slots[at - head] = slots[at]
        numbers[at - head] = numbers[at]
    node[t.POOL_HEAD] = 0
    node[t.POOL_TAIL] = tail - head
    return True


@kernel
def remove_task(handle, number, place):
    """Take the task at a place of the pool's queue out of it; its slot, number and neighbours."""
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    slots = t.grid(handle, t.POOL_SLOTS)[number]
    numbers = t.grid(handle, t.POOL_NUMBERS)[number]
    head = node[t.POOL_HEAD]
    slot, task = slots[place], numbers[place]
    for at in range(place, head, -1):  # those before it move up: it is near the head
        slots[at] = slots[at - 1]
        numbers[at] = numbers[at - 1]
    node[t.POOL_HEAD] = head + 1
    thread = t.vector(handle, t.OWNERS)[slot]
    t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread, t.T_QUEUED] -= 1
    return slot, task & 0xFFFFFFFF, task >> 32


@kernel
def take(handle, number):
    """Free workers take tasks from the queue."""
    settings = t.vector(handle, t.SETTINGS)
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    node[t.LOOK_DUE] = 0
    _start_tasks(handle, number)
    if settings[t.HELP] and node[t.POOL_HEAD] < node[t.POOL_TAIL]:
        _wake_helpers(handle, number)


@kernel
def _wake_helpers(handle, number):
    """Wake idle main threads whose queries have tasks that no worker could take, in the order of these tasks.

    There are few, if any, but with many queries in flight thousands of tasks, so they are counted first.
    """
    per_node = t.vector(handle, t.SETTINGS)[t.THREADS_PER_NODE]
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    if node[t.BUSY_THREADS] + node[t.CORELESS_COUNT] == per_node:
        return
    threads = t.table(handle, t.THREADS, t.THREAD_COLUMNS)
    idle = 0
    for thread in range(number * per_node, (number + 1) * per_node):
        idle += (threads[thread, t.T_BUSY] == 0) & (threads[thread, t.T_QUEUED] > 0)
    owners = t.vector(handle, t.OWNERS)
    place = node[t.POOL_HEAD]
    while idle > 0:
        thread = owners[t.grid(handle, t.POOL_SLOTS)[number, place]]
        if not threads[thread, t.T_BUSY]:
            wake(handle, thread)
            idle -= 1
        place += 1


@kernel
def _start_tasks(handle, number):
    run = t.vector(handle, t.RUN)
    settings = t.vector(handle, t.SETTINGS)
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    queued = t.grid(handle, t.POOL_SLOTS)[number]
    running = t.vector(handle, t.RUNNING)
    allowance = t.vector(handle, t.ALLOWANCE)
    queries = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)
    while node[t.POOL_BUSY] < settings[t.WORKERS] and (not settings[t.DYNAMIC] or busy_cores(node) < settings[t.CORES]):
        at = next_task(queued[node[t.POOL_HEAD] : node[t.POOL_TAIL]], running, allowance)
        if at < 0:
            return
        slot, task, length = remove_task(handle, number, node[t.POOL_HEAD] + at)
        node[t.POOL_BUSY] += 1
        running[slot] += 1
        took = settings[t.HAND_BACK_PS] + prices.contended_ps(
            length * settings[t.COMPACT_PS],
            settings[t.CONTENTION_PERMILLE],
            busy_cores(node),
        )
        node[t.POOL_BUSY_PS] += took
        ordinal = queries[slot, t.S_ORDINAL]
        schedule(handle, run[t.NOW] + took, events.EVALUATED, number, ordinal, task, slot)
        trace.note(handle, trace.RUN_BY_WORKER, ordinal, task, run[t.NOW], run[t.NOW] + took, length)


@kernel
def evaluated(handle, slot, task):
    """A worker has finished a task."""
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    number = query[t.S_NODE]
    t.table(handle, t.NODES, t.NODE_COLUMNS)[number, t.POOL_BUSY] -= 1
    t.vector(handle, t.RUNNING)[slot] -= 1
    core_released(handle, number)
    note_evaluated(handle, query[t.S_THREAD], slot, task)
    if not t.table(handle, t.THREADS, t.THREAD_COLUMNS)[query[t.S_THREAD], t.T_BUSY]:
        wake(handle, query[t.S_THREAD])
    look(handle, number)


@kernel
def note_evaluated(handle, thread, slot, task):
    """Let a main thread find the task among those to be merged at its next poll."""
    row = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread]
    done = t.grid(handle, t.EVALUATED)[thread]
    done[2 * row[t.T_EVALUATED]] = slot
    done[2 * row[t.T_EVALUATED] + 1] = task
    row[t.T_EVALUATED] += 1
