"""The pool of evaluation threads: every task once, allowances, room, and quiet while a state is replaced."""

import threading
import time

import numpy as np
import pytest

from riftsim.computenode.worker_threads import WorkerThreads
from riftsim.kernels import worker_pool as p
from riftsim.search.eager import EagerRules, EagerSearch
from riftsim.search.messages import EvaluationTask


@pytest.fixture
def search(photos):
    """A search with tasks of one neighbour each, in a state of its own."""
    found = EagerSearch(*photos.search_arguments(), list_size=12, k=5, rules=EagerRules(chunk=1, window=8))
    step = found.start(0)
    step = found.receive([read.tag for read in step.chain], [])
    assert len(step.tasks) > 4
    return found, step.tasks


def pool_of(search, workers, slots=4):
    pool = WorkerThreads(search.index_handle, search.queries, slots, workers)
    pool.open_slot(0, 0, search.handle, 0, 2)
    return pool


def collect(pool, count, owner=0):
    out = np.zeros((64, p.QUEUE_COLUMNS), np.int64)
    found, until = [], time.monotonic() + 30
    while len(found) < count and time.monotonic() < until:
        found += pool.collect(owner, out)
    return found


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_evaluate_every_task_once(search, workers):
    search, tasks = search
    pool = pool_of(search, workers)
    try:
        pool.submit(0, tasks)
        assert sorted(collect(pool, len(tasks))) == [[0, task.number] for task in tasks]
        assert pool.free == workers
    finally:
        pool.close()
        pool.close()


def test_more_tasks_than_room_enlarge_the_queue(search):
    search, tasks = search
    pool = pool_of(search, 0)
    numbers = [tasks[0].number] * 1000
    pool.submit(0, tuple(EvaluationTask(number, 1) for number in numbers))
    while pool.evaluate_own(0):
        pass
    assert collect(pool, 1000) == [[0, number] for number in numbers]
    pool.close()


def test_an_event_loop_sees_its_own_tasks_alone(search):
    search, tasks = search
    pool = pool_of(search, 0)
    pool.open_slot(1, 7, search.handle, 0, 1)
    pool.submit(0, tasks[:1])
    pool.submit(1, tasks[1:2])
    assert pool.evaluate_own(7)
    assert not pool.evaluate_own(7)
    assert collect(pool, 1, owner=7) == [[1, tasks[1].number]]
    assert pool.evaluate_own(0)
    pool.close()


def test_no_task_starts_while_a_state_is_held(search):
    search, tasks = search
    pool = pool_of(search, 2)
    try:
        with pool.held(0, search):
            pool.allow(0, 5)
            pool.submit(0, tasks[:2])
            assert collect_nothing(pool)
        assert len(collect(pool, 2)) == 2
    finally:
        pool.close()


def collect_nothing(pool):
    out = np.zeros((4, p.QUEUE_COLUMNS), np.int64)
    return all(not pool.collect(0, out) for _ in range(2000))


def test_closing_ends_the_threads(search):
    search, _ = search
    before = threading.active_count()
    pool = pool_of(search, 3)
    assert threading.active_count() == before + 3
    pool.close()
    assert threading.active_count() == before
