"""The engine of a compute node: its cores are never oversubscribed, nothing is left behind, signalling only delays."""

import numpy as np
import pytest
from search_runs import simulate, system_of
from search_stubs import StubSearch

from riftsim.computenode import engine
from riftsim.computenode.engine import Balancing, CpuBudget
from riftsim.controller.defer_ratio import DeferRatio
from riftsim.controller.fixed import Fixed
from riftsim.controller.protocol import SetPoint
from riftsim.systems.context import System


@pytest.fixture
def watched(monkeypatch):
    """Record busy cores, busy workers and running tasks per query after every turn of a main thread or a worker."""
    seen = []

    def watch(owner, name):
        original = getattr(owner, name)

        def recorded(self, *arguments):
            result = original(self, *arguments)
            node = nodes[-1]
            seen.append((node.busy_cores, node.pool.busy, max(node.pool._running, default=0)))
            return result

        monkeypatch.setattr(owner, name, recorded)

    nodes = []
    made = engine.ComputeNode.__init__

    def remember(self, *arguments, **named):
        made(self, *arguments, **named)
        nodes.append(self)

    monkeypatch.setattr(engine.ComputeNode, "__init__", remember)
    watch(engine.ComputeNode, "_turn")
    watch(engine.ComputeNode, "_core_released")
    watch(engine.WorkerPool, "_take")
    return seen


@pytest.mark.parametrize("dynamic", [False, True])
def test_cores_workers_and_allowances_keep_their_limits(watched, dynamic):
    """For evaluations that take from next to nothing to far more than everything else."""
    budget = CpuBudget(threads=3, workers=2, dynamic=dynamic)
    balancing = Balancing(Fixed(), allowance=1)
    for size in (1, 30, 100, 300, 1000, 10_000, 100_000):
        system = System("tasks", lambda size=size: StubSearch(reads=[2, 0, 1], tasks=[3, 5, 2], task_size=size))
        run = simulate(system, budget=budget, balancing=balancing, concurrency=9, measured=60)
        assert len(run.runs) == 60
    cores, workers, running = np.array(watched).max(axis=0)
    assert cores <= 3
    assert workers <= 2
    assert running <= 1


def test_a_main_thread_helps_when_there_are_no_workers():
    system = System("tasks", lambda: StubSearch(reads=[1, 0], tasks=[4, 1]))
    budget = CpuBudget(threads=2, workers=0, main_threads_help=True)
    run = simulate(system, budget=budget, concurrency=3, measured=20)
    assert all(each.evaluation_ps > 0 for each in run.runs)
    assert run.facts["worker_busy_ps"] == [0]


def test_chains_signalled_at_their_last_read_lose_none(photos):
    system = system_of("remote", photos, beam_width=8)
    every = simulate(system, concurrency=2)
    last = simulate(system, concurrency=2, signal_last_only=True)
    for one, other in zip(every.runs, last.runs, strict=True):
        assert np.array_equal(one.answer.ids, other.answer.ids)
    polling = [sum(each.polling_ps for each in run.runs) for run in (every, last)]
    assert polling[1] < polling[0], "a chain is seen in one poll"


@pytest.mark.parametrize("per_query", [False, True])
def test_the_controller_is_asked_once_per_interval(photos, per_query):
    """With one query at a time and one awaited expansion, each completed expansion is a step of its own."""
    asked = []

    class Counting:
        def decide(self, view):
            asked.append(view)
            return SetPoint(view.allowance, view.window)

    balancing = Balancing(Counting(), interval=5, per_query=per_query)
    run = simulate(system_of("riftann", photos, window=1), balancing=balancing, concurrency=1, measured=30, warmup=0)
    expansions = [each.answer.counts["expansions"] for each in run.runs]
    assert len(asked) == (sum(count // 5 for count in expansions) if per_query else sum(expansions) // 5)
    assert all(view.window == 1 for view in asked)


def test_set_points_stay_within_their_bounds_and_move(photos):
    asked = []

    class Watching(DeferRatio):
        def decide(self, view):
            point = super().decide(view)
            asked.append((view, point))
            return point

    balancing = Balancing(Watching(), interval=5, allowance=2)
    simulate(system_of("riftann", photos), balancing=balancing, concurrency=4, measured=30, warmup=0)
    for view, point in asked:
        assert view.unfinished >= 0
        assert 0 <= view.free_workers <= 6
        assert 1 <= point.window <= 8
        assert 1 <= point.allowance <= 6
    assert any(point != (view.allowance, view.window) for view, point in asked)
