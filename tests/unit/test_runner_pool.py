"""Tasks on processes: results, deaths, and the end of the workers."""

import multiprocessing
import os
import signal

import pytest

from riftsim.experiments.pool import WorkerDied, run_tasks


def square(value):
    """Square a number; die at -1 (exit code) and -2 (signal)."""
    if value == -1:
        os._exit(3)
    if value == -2:
        os.kill(os.getpid(), signal.SIGKILL)
    return value * value, os.getpid()


def test_one_job_stays_in_this_process():
    assert list(run_tasks(square, [2, 3], 1)) == [(0, (4, os.getpid())), (1, (9, os.getpid()))]


def test_all_tasks_are_done_whatever_dies():
    results = dict(run_tasks(square, [1, -1, 2, -2, 3], 2))
    assert results[1] == WorkerDied("the worker process ended with exit code 3")
    assert results[3] == WorkerDied("the worker process was ended by SIGKILL (out of memory?)")
    assert [results[position][0] for position in (0, 2, 4)] == [1, 4, 9]
    assert os.getpid() not in [results[position][1] for position in (0, 2, 4)]


def test_closing_early_ends_the_workers():
    before = set(multiprocessing.active_children())
    results = run_tasks(square, list(range(50)), 2)
    next(results)
    assert set(multiprocessing.active_children()) - before
    results.close()
    assert not set(multiprocessing.active_children()) - before


@pytest.mark.parametrize("jobs", [1, 4])
def test_no_tasks(jobs):
    assert list(run_tasks(square, [], jobs)) == []
