"""A main thread's turn in the compiled engine: the transitions of ``computenode.engine.ComputeNode``.

A turn works on one query (a start) or on all that a poll showed, one after the other, in stages. A search's kernel may
ask for a larger state at some stages; the turn then stops with that demand, and goes on there when it is called again.
"""

from riftsim.kernels import engine_tables as t
from riftsim.kernels import engine_trace as trace
from riftsim.kernels import prices
from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.calls import merge_tasks, next_chain, next_round, receive, take_in
from riftsim.kernels.engine_cores import busy_cores, core_released, next_turn, note_evaluated, remove_task
from riftsim.kernels.engine_outcome import carry_out
from riftsim.kernels.handles import state_of

_STAGE_NEW = 0
_STAGE_RECEIVE = 1
_STAGE_DECIDE = 2

# Fields of ``search.messages.Work``.
_QUERIES = 0
_TABLE_ENTRIES = 1
_LISTS = 2
_NEIGHBORS = 3
_OWN_COMPACT = 4
_EXACT = 5
_INSERTIONS = 7
_HANDED_OVER = 8
_MERGED = 9

_EVALUATE = True


@kernel
def begin_turn(handle, thread):
    """What a main thread does next, once it is free.

    If that is a start or a poll, the turn is then under way (TURN_THREAD) and ``go_on`` carries it on.
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
        return
    run[t.TURN_THREAD] = thread
    run[t.TURN_ITEM] = 0
    run[t.TURN_STAGE] = _STAGE_NEW


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
    t.vector(handle, t.OWNERS)[slot] = thread
    t.vector(handle, t.RUNNING)[slot] = 0
    t.vector(handle, t.ALLOWANCE)[slot] = settings[t.FIRST_ALLOWANCE]
    t.grid(handle, t.ACTIVE)[number, node[t.ACTIVE_COUNT]] = slot
    node[t.ACTIVE_COUNT] += 1
    run[t.TURN_STARTS] = 1
    run[t.TURN_ITEMS] = 1
    run[t.TURN_AT] = run[t.NOW]
    t.grid(handle, t.SCRATCH)[t.X_SLOTS, 0] = slot
    at = thread % settings[t.THREADS_PER_NODE]
    trace.note(handle, trace.START, query[t.S_ORDINAL], at, number, query[t.S_ARRIVAL], run[t.NOW])


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
    items = t.NOTHING
    entries = 0
    for i in range(row[t.T_COMPLETIONS]):
        items = _add_once(slots, items, visible[i] // settings[t.SLOT_READS])
        read = t.table(handle, t.READS, t.READ_COLUMNS)[visible[i]]
        entries += read[t.R_SIGNALED]
        trace.note(handle, trace.SEEN, read[t.R_QUERY], read[t.R_TAG], run[t.NOW])
    for i in range(row[t.T_EVALUATED]):
        items = _add_once(slots, items, done[2 * i])
        ordinal = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[done[2 * i], t.S_ORDINAL]
        trace.note(handle, trace.MERGED, ordinal, done[2 * i + 1], run[t.NOW])
    run[t.TURN_STARTS] = 0
    run[t.TURN_ITEMS] = items
    run[t.TURN_POLL] = prices.poll_ps(entries, settings[t.POLL_ONCE_PS], settings[t.CQE_PS])
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
    queued_tasks = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread, t.T_QUEUED]
    if not settings[t.HELP] or node[t.LOOK_DUE] or queued_tasks == 0:
        return -1
    queued = t.grid(handle, t.POOL_SLOTS)[number]
    owners = t.vector(handle, t.OWNERS)
    for place in range(node[t.POOL_HEAD], node[t.POOL_TAIL]):
        if owners[queued[place]] == thread:
            return place
    return -1


@kernel
def _evaluate(handle, thread, number, place):
    """Evaluate a task on the main thread; it is merged at the next poll. When the thread is done with it, ps."""
    settings = t.vector(handle, t.SETTINGS)
    now = t.vector(handle, t.RUN)[t.NOW]
    slot, task, length = remove_task(handle, number, place)
    took = prices.contended_ps(
        length * settings[t.COMPACT_PS],
        settings[t.CONTENTION_PERMILLE],
        busy_cores(t.table(handle, t.NODES, t.NODE_COLUMNS)[number]),
    )
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    _leave_idle(query, now)
    query[t.S_EVALUATION] += took
    query[t.S_IDLE_FROM] = now + took
    note_evaluated(handle, thread, slot, task)
    trace.note(handle, trace.RUN_BY_MAIN, query[t.S_ORDINAL], task, now, now + took, length)
    return now + took


@kernel(inline=True)
def _leave_idle(query, at_ps):
    query[t.S_WAITED + query[t.S_BLOCKED]] += at_ps - query[t.S_IDLE_FROM]


@kernel
def go_on(handle, queries, index):
    """Carry on the turn under way.

    Parameters
    ----------
    queries : ndarray (q, d)
        Evaluated queries.
    index : int64
        Handle of the index.

    Returns
    -------
    int
        0 at the end of the turn, or what the state of the query at hand asks for (``GROW_...``).
    """
    run = t.vector(handle, t.RUN)
    search = t.vector(handle, t.SETTINGS)[t.SEARCH]
    slots = t.grid(handle, t.SCRATCH)[t.X_SLOTS]
    while run[t.TURN_ITEM] < run[t.TURN_ITEMS]:
        slot = slots[run[t.TURN_ITEM]]
        query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
        if run[t.TURN_STAGE] == _STAGE_NEW:
            _open_item(handle, slot)
        requests = tasks = blocked = done = t.NOTHING
        if search == t.SEARCH_LOCAL:
            done = 1
        else:
            state = t.grid(handle, t.HANDLES)[slot]
            numbers = state_of(state).numbers
            vector = queries[query[t.S_QUERY]]
            scratch = t.grid(handle, t.SCRATCH)
            if run[t.TURN_STAGE] == _STAGE_RECEIVE:
                count = _visible_reads(handle, slot, numbers[q.IN_FLIGHT])
                if count > 0:
                    if search == t.SEARCH_EAGER:
                        demand = receive(state, index, vector, scratch[t.X_TAGS], scratch[t.X_STARTS], count)
                    else:
                        demand = take_in(state, index, vector, scratch[t.X_TAGS], scratch[t.X_STARTS], count)
                    if demand < 0:
                        return demand
                run[t.TURN_STAGE] = _STAGE_DECIDE if count >= 0 else _STAGE_NEW
                if search == t.SEARCH_EAGER:
                    count = _finished_tasks(handle, slot)
                    if count > 0:
                        merge_tasks(state, index, vector, scratch[t.X_TASKS], count, _EVALUATE)
                elif count >= 0:
                    query[t.S_ARRIVED] = 0
                    _count_work(run, numbers, scratch[t.X_WORK], _OWN_COMPACT)
            if run[t.TURN_STAGE] == _STAGE_DECIDE:
                closed = numbers[q.GATE_CLOSED]
                requests = next_chain(state, index) if search == t.SEARCH_EAGER else next_round(state, index)
                if requests < 0:
                    return requests
                done = 1 if numbers[q.IN_FLIGHT] == 0 and numbers[q.UNFINISHED] == 0 else 0
                if search == t.SEARCH_EAGER:
                    if not run[t.TURN_STARTS]:
                        _count_work(run, numbers, scratch[t.X_WORK], _MERGED)
                    tasks = numbers[q.TASK_TAIL] - query[t.S_NEXT_TASK]
                    scratch[t.X_WORK, _HANDED_OVER] = tasks
                    if numbers[q.GATE_CLOSED] > closed:
                        blocked = 1
                    elif numbers[q.IN_FLIGHT] == 0:
                        blocked = 2
        carry_out(handle, index, slot, requests, tasks, blocked, done)
        run[t.TURN_ITEM] += 1
        run[t.TURN_STAGE] = _STAGE_NEW
    _end_turn(handle)
    return 0


@kernel
def _open_item(handle, slot):
    """Begin with one query of the turn: charge what it waited, note what its search had done before."""
    run = t.vector(handle, t.RUN)
    settings = t.vector(handle, t.SETTINGS)
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    work = t.grid(handle, t.SCRATCH)[t.X_WORK]
    for field in range(t.WORK_COLUMNS):
        work[field] = 0
    if settings[t.SEARCH] == t.SEARCH_LOCAL:
        row = t.table(handle, t.LOCAL_WORK, t.WORK_COLUMNS)[query[t.S_QUERY]]
        for field in range(t.WORK_COLUMNS):
            work[field] = row[field]
        return
    numbers = state_of(t.grid(handle, t.HANDLES)[slot]).numbers
    if run[t.TURN_STARTS]:
        work[_QUERIES] = 1
        work[_TABLE_ENTRIES] = settings[t.TABLE_ENTRIES]
        work[_OWN_COMPACT] = 1
        work[_INSERTIONS] = 1
        query[t.S_NEXT_TASK] = numbers[q.TASK_TAIL]
        run[t.TURN_STAGE] = _STAGE_DECIDE
        return
    share = run[t.TURN_POLL] // run[t.TURN_ITEMS]
    query[t.S_POLLING] += share
    _leave_idle(query, run[t.TURN_AT] - share)
    for i in range(5):
        run[t.BEFORE + i] = numbers[q.LISTS + i]
    run[t.TURN_STAGE] = _STAGE_RECEIVE


@kernel
def _end_turn(handle):
    run = t.vector(handle, t.RUN)
    thread = run[t.TURN_THREAD]
    if not run[t.TURN_STARTS]:
        row = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread]
        row[t.T_COMPLETIONS] = 0
        row[t.T_EVALUATED] = 0
    run[t.TURN_THREAD] = -1
    next_turn(handle, thread, run[t.TURN_AT])


@kernel
def _count_work(run, numbers, work, compact):
    """Work since the item began; compact distances are this thread's or taken over from workers."""
    work[_LISTS] = numbers[q.LISTS] - run[t.BEFORE]
    work[_NEIGHBORS] = numbers[q.NEIGHBORS] - run[t.BEFORE + 1]
    work[compact] = numbers[q.EVALUATIONS] - run[t.BEFORE + 2]
    work[_EXACT] = numbers[q.EXACT_EVALUATIONS] - run[t.BEFORE + 3]
    work[_INSERTIONS] = numbers[q.INSERTIONS] - run[t.BEFORE + 4]


@kernel
def _visible_reads(handle, slot, in_flight):
    """Put tags and places of a query's reads that the poll showed into SCRATCH.

    Returns
    -------
    int
        How many; -1 if a lock-step round waits for more of its reads. The same again if it is called again.
    """
    settings = t.vector(handle, t.SETTINGS)
    query = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot]
    thread = query[t.S_THREAD]
    seen = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread, t.T_COMPLETIONS]
    visible = t.grid(handle, t.COMPLETIONS)[thread]
    reads = t.table(handle, t.READS, t.READ_COLUMNS)
    scratch = t.grid(handle, t.SCRATCH)
    tags, starts = scratch[t.X_TAGS], scratch[t.X_STARTS]
    lock_step = settings[t.SEARCH] == t.SEARCH_LOCK_STEP
    arrived = t.grid(handle, t.ARRIVED)[slot]
    count = query[t.S_ARRIVED] if lock_step else 0
    if not lock_step or count < in_flight:  # else this is the second try of a round, with a larger state
        for i in range(seen):
            if visible[i] // settings[t.SLOT_READS] == slot:
                arrived[count] = visible[i]
                count += 1
    if lock_step:
        query[t.S_ARRIVED] = count
        if count < in_flight:
            return -1
    for i in range(count):
        read = arrived[i]
        at = i
        while lock_step and at > 0 and tags[at - 1] > reads[read, t.R_TAG]:  # work in the order of posting
            tags[at] = tags[at - 1]
            starts[at] = starts[at - 1]
            at -= 1
        tags[at] = reads[read, t.R_TAG]
        starts[at] = reads[read, t.R_START]
    return count


@kernel
def _finished_tasks(handle, slot):
    """Put the numbers of a query's tasks that the poll showed into SCRATCH; how many."""
    thread = t.table(handle, t.SLOTS, t.SLOT_COLUMNS)[slot, t.S_THREAD]
    seen = t.table(handle, t.THREADS, t.THREAD_COLUMNS)[thread, t.T_EVALUATED]
    done = t.grid(handle, t.EVALUATED)[thread]
    tasks = t.grid(handle, t.SCRATCH)[t.X_TASKS]
    count = 0
    for i in range(seen):
        if done[2 * i] == slot:
            tasks[count] = done[2 * i + 1]
            count += 1
    return count
