"""A main thread's turn in the compiled engine: the transitions of ``computenode.engine.ComputeNode``.

A turn works on one query (a start) or on all that a poll showed, one after the other, in stages. A search's kernel may
ask for a larger state at some stages; the turn then stops with that demand, and goes on there when it is called again.
"""

from riftsim.kernels import calls, prices
from riftsim.kernels import engine_tables as t
from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.engine_cores import busy_cores, core_released, next_turn, note_evaluated, remove_task, task_length
from riftsim.kernels.engine_outcome import carry_out
from riftsim.kernels.handles import state_of

_STAGE_NEW = 0
_STAGE_RECEIVE = 1
_STAGE_MERGE = 2
_STAGE_DECIDE = 3


@kernel
def begin_turn(handle, queries, index, thread):
    """What a main thread does next, once it is free.

    Returns
    -------
    int
        0, or what the state of the query at hand asks for (``GROW_...``).
    """
    run = t.vector(handle, t.RUN)
    settings = t.vector(handle, t.SETTINGS)
    row = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread]
    if row[t.T_STARTING] > 0:
        _start(handle, thread)
    elif row[t.T_COMPLETIONS] > 0 or row[t.T_EVALUATED] > 0:
        _poll(handle, thread)
    else:
        number = thread // settings[t.THREADS_PER_NODE]
        place = _own_task(handle, thread, number)
        if place >= 0:
            next_turn(handle, thread, _evaluate(handle, thread, number, place))
        else:
            row[t.T_BUSY] = 0
            t.table(handle, t.NODES, t.NODE_COLUMNS)[number, t.BUSY_THREADS] -= 1
            core_released(handle, number)
        return 0
    run[t.TURN_THREAD] = thread
    run[t.TURN_ITEM] = 0
    run[t.TURN_STAGE] = _STAGE_NEW
    return go_on(handle, queries, index)


@kernel
def _start(handle, thread):
    """Put the oldest admitted query of a thread into the slot that was prepared for it."""
    run = t.vector(handle, t.RUN)
    settings = t.vector(handle, t.SETTINGS)
    row = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread]
    starting = t.grid(handle, t.STARTING)[thread]
    number = thread // settings[t.THREADS_PER_NODE]
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    slot = run[t.PREPARED]
    run[t.PREPARED] = -1
    if run[t.FREE] > 0:
        run[t.FREE] -= 1
    else:
        run[t.USED_SLOTS] += 1
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    query[:] = 0
    query[t.S_ORDINAL] = starting[0]
    query[t.S_ARRIVAL] = starting[1]
    query[t.S_QUERY] = evaluated_query(settings, starting[0])
    query[t.S_NODE] = number
    query[t.S_THREAD] = thread
    query[t.S_START] = run[t.NOW]
    query[t.S_IDLE_FROM] = run[t.NOW]
    row[t.T_STARTING] -= 1
    for at in range(2 * row[t.T_STARTING]):
        starting[at] = starting[at + 2]
    t.vector(handle, t.RUNNING)[slot] = 0
    t.vector(handle, t.ALLOWANCE)[slot] = settings[t.FIRST_ALLOWANCE]
    t.grid(handle, t.ACTIVE)[number, node[t.ACTIVE_COUNT]] = slot
    node[t.ACTIVE_COUNT] += 1
    run[t.TURN_STARTS] = 1
    run[t.TURN_ITEMS] = 1
    run[t.TURN_AT] = run[t.NOW]
    t.grid(handle, t.SCRATCH)[t.X_SLOTS, 0] = slot


@kernel(inline=True)
def evaluated_query(settings, ordinal):
    """Which evaluated query an arrival is; warm-up takes the last ones."""
    return (ordinal - settings[t.WARMUP]) % settings[t.QUERIES]


@kernel
def _poll(handle, thread):
    """See what is visible now: its queries, in order of their first completion."""
    run = t.vector(handle, t.RUN)
    settings = t.vector(handle, t.SETTINGS)
    row = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread]
    visible = t.grid(handle, t.COMPLETIONS)[thread]
    done = t.grid(handle, t.EVALUATED)[thread]
    slots = t.grid(handle, t.SCRATCH)[t.X_SLOTS]
    items = 0
    for i in range(row[t.T_COMPLETIONS]):
        items = _add_once(slots, items, visible[i] // settings[t.SLOT_READS])
    for i in range(row[t.T_EVALUATED]):
        items = _add_once(slots, items, done[2 * i])
    run[t.TURN_STARTS] = 0
    run[t.TURN_ITEMS] = items
    run[t.TURN_POLL] = prices.poll_ps(row[t.T_COMPLETIONS], settings[t.POLL_ONCE_PS], settings[t.CQE_PS])
    run[t.TURN_AT] = run[t.NOW] + run[t.TURN_POLL]


@kernel(inline=True)
def _add_once(slots, items, slot):
    for i in range(items):
        if slots[i] == slot:
            return items
    slots[items] = slot
    return items + 1


@kernel
def _own_task(handle, thread, number):
    """Place in the pool's queue of the oldest task that the thread may evaluate itself, -1 if there is none."""
    settings = t.vector(handle, t.SETTINGS)
    node = t.table(handle, t.NODES, t.NODE_COLUMNS)[number]
    if not settings[t.HELP] or node[t.POOL_BUSY] < settings[t.WORKERS]:
        return -1
    queued = t.grid(handle, t.POOL_SLOTS)[number]
    slots = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)
    for place in range(node[t.POOL_HEAD], node[t.POOL_TAIL]):
        if slots[queued[place], t.S_THREAD] == thread:
            return place
    return -1


@kernel
def _evaluate(handle, thread, number, place):
    """Evaluate a task on the main thread; it is merged at the next poll. When the thread is done with it, ps."""
    settings = t.vector(handle, t.SETTINGS)
    now = t.vector(handle, t.RUN)[t.NOW]
    slot, task = remove_task(handle, number, place)
    took = prices.contended_ps(
        task_length(handle, slot, task) * settings[t.COMPACT_PS],
        settings[t.CONTENTION_PERMILLE],
        busy_cores(t.table(handle, t.NODES, t.NODE_COLUMNS)[number]),
    )
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    _leave_idle(query, now)
    query[t.S_EVALUATION] += took
    query[t.S_IDLE_FROM] = now + took
    note_evaluated(handle, thread, slot, task)
    return now + took


@kernel(inline=True)
def _leave_idle(query, at_ps):
    query[t.S_WAITED + query[t.S_BLOCKED]] += at_ps - query[t.S_IDLE_FROM]


@kernel
def go_on(handle, queries, index):
    """Go on with the turn under way; answer as for ``begin_turn``."""
    run = t.vector(handle, t.RUN)
    thread = run[t.TURN_THREAD]
    slots = t.grid(handle, t.SCRATCH)[t.X_SLOTS]
    while run[t.TURN_ITEM] < run[t.TURN_ITEMS]:
        demand = _work_on(handle, queries, index, thread, slots[run[t.TURN_ITEM]])
        if demand < 0:
            return demand
        run[t.TURN_ITEM] += 1
        run[t.TURN_STAGE] = _STAGE_NEW
    if not run[t.TURN_STARTS]:
        row = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread]
        row[t.T_COMPLETIONS] = 0
        row[t.T_EVALUATED] = 0
    run[t.TURN_THREAD] = -1
    next_turn(handle, thread, run[t.TURN_AT])
    return 0


@kernel
def _work_on(handle, queries, index, thread, slot):
    """One query of a turn, from the stage that was reached."""
    run = t.vector(handle, t.RUN)
    settings = t.vector(handle, t.SETTINGS)
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    search = settings[t.SEARCH]
    work = t.grid(handle, t.SCRATCH)[t.X_WORK]
    if run[t.TURN_STAGE] == _STAGE_NEW and not run[t.TURN_STARTS]:
        share = run[t.TURN_POLL] // run[t.TURN_ITEMS]
        query[t.S_POLLING] += share
        _leave_idle(query, run[t.TURN_AT] - share)
    if search == t.SEARCH_LOCAL:
        row = t.table(handle, t.LOCAL_WORK, t.WORK_COLUMNS)[query[t.S_QUERY]]
        for field in range(t.WORK_COLUMNS):
            work[field] = row[field]
        carry_out(handle, index, slot, 0, 0, 0, True)
        return 0

    state = t.grid(handle, t.HANDLES)[slot]
    numbers = state_of(state).numbers
    if run[t.TURN_STAGE] == _STAGE_NEW:
        for i in range(5):
            run[t.BEFORE + i] = numbers[q.LISTS + i]
        run[t.TURN_STAGE] = _STAGE_RECEIVE
        for field in range(t.WORK_COLUMNS):
            work[field] = 0
        if run[t.TURN_STARTS]:
            _begin_work(settings, work)
            query[t.S_NEXT_TASK] = numbers[q.TASK_TAIL]
            run[t.TURN_STAGE] = _STAGE_DECIDE
    if run[t.TURN_STAGE] == _STAGE_RECEIVE:
        demand = _receive(handle, queries, index, thread, slot)
        if demand < 0:
            return demand
        if demand > 0:  # a lock-step round whose reads are not all in
            carry_out(handle, index, slot, 0, 0, 0, False)
            return 0
        run[t.TURN_STAGE] = _STAGE_MERGE
        if search != t.SEARCH_EAGER:
            _count_work(run, numbers, work, 4)
            run[t.TURN_STAGE] = _STAGE_DECIDE
    if run[t.TURN_STAGE] == _STAGE_MERGE:
        _merge(handle, queries, index, thread, slot)
        run[t.TURN_STAGE] = _STAGE_DECIDE
    if search != t.SEARCH_EAGER:
        count = calls.next_round(state, index)
        if count < 0:
            return count
        carry_out(handle, index, slot, count, 0, 0, count == 0 and numbers[q.IN_FLIGHT] == 0)
        return 0
    closed = numbers[q.GATE_CLOSED]
    count = calls.next_chain(state, index)
    if count < 0:
        return count
    if not run[t.TURN_STARTS]:
        _count_work(run, numbers, work, 9)
    tasks = numbers[q.TASK_TAIL] - query[t.S_NEXT_TASK]
    work[8] = tasks
    blocked = 0
    if numbers[q.GATE_CLOSED] > closed:
        blocked = 1
    elif numbers[q.IN_FLIGHT] == 0:
        blocked = 2
    carry_out(handle, index, slot, count, tasks, blocked, numbers[q.IN_FLIGHT] == 0 and numbers[q.UNFINISHED] == 0)
    return 0


@kernel
def _begin_work(settings, work):
    """Work of setting a query up and entering the start node."""
    work[0] = 1
    work[1] = settings[t.TABLE_ENTRIES]
    work[4] = 1
    work[7] = 1


@kernel
def _count_work(run, numbers, work, compact):
    """Work since the item began; compact distances are this thread's (4) or taken over from workers (9)."""
    work[2] = numbers[q.LISTS] - run[t.BEFORE]
    work[3] = numbers[q.NEIGHBORS] - run[t.BEFORE + 1]
    work[compact] = numbers[q.EVALUATIONS] - run[t.BEFORE + 2]
    work[5] = numbers[q.EXACT_EVALUATIONS] - run[t.BEFORE + 3]
    work[7] = numbers[q.INSERTIONS] - run[t.BEFORE + 4]


@kernel
def _receive(handle, queries, index, thread, slot):
    """Take in the reads of a query that the poll showed.

    Returns
    -------
    int
        0; 1 if a lock-step round waits for more of its reads; below 0 what the state asks for: nothing was changed.
    """
    settings = t.vector(handle, t.SETTINGS)
    seen = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread, t.T_COMPLETIONS]
    visible = t.grid(handle, t.COMPLETIONS)[thread]
    reads = t.table(handle, t.READS, t.READ_COLUMNS)
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    state = t.grid(handle, t.HANDLES)[slot]
    scratch = t.grid(handle, t.SCRATCH)
    tags, starts = scratch[t.X_TAGS], scratch[t.X_STARTS]
    vector = queries[query[t.S_QUERY]]
    search = settings[t.SEARCH]
    count = 0
    if search == t.SEARCH_LOCK_STEP:
        arrived = t.grid(handle, t.ARRIVED)[slot]
        count = query[t.S_ARRIVED]
        in_flight = state_of(state).numbers[q.IN_FLIGHT]
        if count < in_flight:  # else this is the second try with a larger state
            for i in range(seen):
                if visible[i] // settings[t.SLOT_READS] == slot:
                    arrived[count] = visible[i]
                    count += 1
            query[t.S_ARRIVED] = count
        if count < in_flight:
            return 1
        for i in range(count):  # all are here: work in the order of posting
            read = arrived[i]
            at = i
            while at > 0 and tags[at - 1] > reads[read, t.R_TAG]:
                tags[at] = tags[at - 1]
                starts[at] = starts[at - 1]
                at -= 1
            tags[at] = reads[read, t.R_TAG]
            starts[at] = reads[read, t.R_START]
    else:
        for i in range(seen):
            read = visible[i]
            if read // settings[t.SLOT_READS] == slot:
                tags[count] = reads[read, t.R_TAG]
                starts[count] = reads[read, t.R_START]
                count += 1
    if count == 0:
        return 0
    if search == t.SEARCH_EAGER:
        return calls.receive(state, index, vector, tags, starts, count)
    demand = calls.take_in(state, index, vector, tags, starts, count)
    if demand == 0:
        query[t.S_ARRIVED] = 0
    return demand


@kernel
def _merge(handle, queries, index, thread, slot):
    """Merge the finished tasks of a query that the poll showed."""
    seen = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread, t.T_EVALUATED]
    done = t.grid(handle, t.EVALUATED)[thread]
    tasks = t.grid(handle, t.SCRATCH)[t.X_TASKS]
    count = 0
    for i in range(seen):
        if done[2 * i] == slot:
            tasks[count] = done[2 * i + 1]
            count += 1
    if count > 0:
        query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
        state = t.grid(handle, t.HANDLES)[slot]
        calls.merge_tasks(state, index, queries[query[t.S_QUERY]], tasks, count, True)
