"""Queues at a compute node against theory: Little's law, recursions of waiting times, M/D/1."""

import numpy as np
import pytest
from search_runs import parts_ps, simulate, system_of
from search_stubs import StubSearch

from riftsim.computenode.drivers.compiled import run_compiled
from riftsim.computenode.drivers.sim import run_simulated
from riftsim.computenode.engine import CpuBudget
from riftsim.systems.context import System
from riftsim.units import PS_PER_S
from riftsim.workload.arrivals import constant_arrivals_ps, poisson_arrivals_ps

QUICK = System("quick", StubSearch)
"""Every query takes the set-up price of the profile: deterministic service."""


@pytest.fixture(scope="module")
def service_ps():
    run = simulate(QUICK, concurrency=1, queries=1)
    return run.runs[0].end_ps - run.runs[0].arrival_ps


def waits_ps(arrivals_ps: np.ndarray, service_ps: int, threads: int) -> np.ndarray:
    """Times until service with ``threads`` servers, first come first served (Kiefer and Wolfowitz's recursion)."""
    free_ps = [0] * threads
    waits = []
    for arrival in arrivals_ps.tolist():
        free_ps.sort()
        start = max(arrival, free_ps[0])
        waits.append(start - arrival)
        free_ps[0] = start + service_ps
    return np.array(waits)


def counted_qps(run, in_flight: int) -> float:
    """Completions per second from the end of each loop's second round on, until the first loop has no more."""
    ends_ps = np.sort([each.end_ps for each in run.runs])[2 * in_flight : -in_flight]
    return (len(ends_ps) - 1) / (ends_ps[-1] - ends_ps[0]) * PS_PER_S


@pytest.mark.parametrize(("threads", "load"), [(1, 0.6), (3, 0.9)])
def test_admission_is_first_come_first_served_to_the_picosecond(service_ps, threads, load):
    rate_qps = load * threads * PS_PER_S / service_ps
    arrivals_ps = poisson_arrivals_ps(rate_qps, 3000, 7)
    run = simulate(QUICK, threads=threads, arrivals_ps=arrivals_ps, queries=10, measured=2900)
    waited = np.array([each.start_ps - each.arrival_ps for each in run.runs])
    assert np.array_equal(waited, waits_ps(arrivals_ps, service_ps, threads)[:2900])
    assert waited.max() > 0
    assert all(parts_ps(each) == each.end_ps - each.arrival_ps for each in run.runs)


def test_mean_wait_of_m_d_1(service_ps):
    """Pollaczek and Khinchine: W = rho S / (2 (1 - rho)); 5 % is three standard errors at 40,000 arrivals."""
    rho, count = 0.5, 40_000
    arrivals_ps = poisson_arrivals_ps(rho * PS_PER_S / service_ps, count, 3)
    run = simulate(QUICK, threads=1, arrivals_ps=arrivals_ps, queries=10, measured=count - 100)
    waited = np.mean([each.start_ps - each.arrival_ps for each in run.runs])
    assert waited == pytest.approx(rho * service_ps / (2 * (1 - rho)), rel=0.05)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("in_memory", {"threads": 4, "concurrency": 8}),
        ("in_memory", {"threads": 8, "concurrency": 4, "compute_nodes": 2}),
        ("quick", {"threads": 2, "concurrency": 5}),
    ],
)
def test_littles_law_in_a_closed_loop(photos, name, shape):
    """Loops / mean latency is what is counted of completions, within 1 % over 150 of each loop."""
    system = QUICK if name == "quick" else system_of(name, photos)
    in_flight = shape["concurrency"] * shape.get("compute_nodes", 1)
    run = simulate(system, queries=60, measured=150 * in_flight, **shape)
    assert run.throughput_qps == pytest.approx(counted_qps(run, in_flight), rel=0.01)


def test_littles_law_with_reads_and_workers(photos):
    """The same for searches that read and hand evaluations to workers."""
    system = system_of("riftann", photos, list_size=10, k=5)
    run = simulate(system, queries=60, measured=600, concurrency=6)
    assert run.throughput_qps == pytest.approx(counted_qps(run, 6), rel=0.01)


@pytest.mark.parametrize("measured", [7, 35, 39])
def test_the_throughput_of_equal_loops_is_exact(photos, service_ps, measured):
    """Loops that start together end together: a count of completions would be up to one per loop too high."""
    run = simulate(QUICK, threads=5, concurrency=5, queries=10, measured=measured)
    assert run.throughput_qps == pytest.approx(5 * PS_PER_S / service_ps, rel=1e-12)
    shape = {"threads": 4, "concurrency": 4, "compute_nodes": 2, "queries": 1, "measured": measured}
    for engine in (run_simulated, run_compiled):
        run = simulate(system_of("in_memory", photos), engine=engine, **shape)
        latency_ps = {each.end_ps - each.arrival_ps for each in run.runs}
        assert len(latency_ps) == 1
        assert run.throughput_qps == pytest.approx(8 * PS_PER_S / latency_ps.pop(), rel=1e-12)
        assert run.facts["closed_loops"] == 8


def test_the_throughput_of_an_open_loop_is_that_of_completions(service_ps):
    arrivals_ps = constant_arrivals_ps(0.5 * PS_PER_S / service_ps, 100)
    run = simulate(QUICK, threads=1, arrivals_ps=arrivals_ps, concurrency=None, queries=10, measured=50)
    span_ps = run.runs[-1].end_ps - run.runs[0].arrival_ps
    assert (run.throughput_qps, run.facts["closed_loops"]) == (50 / span_ps * PS_PER_S, None)


def test_a_saturated_thread_serves_one_query_per_service_time(service_ps):
    run = simulate(QUICK, threads=3, concurrency=9, queries=10, measured=300)
    assert run.throughput_qps == pytest.approx(3 * PS_PER_S / service_ps, rel=0.01)


@pytest.mark.parametrize("name", ["in_memory", "remote", "async", "riftann"])
def test_arrivals_far_apart_meet_an_empty_system(photos, name):
    """No queueing, and each query's latency is that of a query alone."""
    system = system_of(name, photos)
    alone = simulate(system, concurrency=1, warmup=0)
    apart = simulate(system, arrivals_ps=constant_arrivals_ps(200.0, 60), concurrency=None)
    for one, other in zip(alone.runs, apart.runs, strict=True):
        assert one.query == other.query
        assert other.start_ps == other.arrival_ps
        assert other.end_ps - other.arrival_ps == one.end_ps - one.arrival_ps


def test_work_is_conserved_by_workers():
    """With everything else equal, workers are busy for the same time however many there are."""
    system = System("tasks", lambda: StubSearch(reads=[0, 0], tasks=[6, 3]))
    busy = []
    for workers in (1, 2, 5):
        budget = CpuBudget(threads=workers + 4, workers=workers)
        run = simulate(system, profile="connectx5-100g", budget=budget, concurrency=1, measured=10, warmup=0)
        busy.append(run.facts["worker_busy_ps"][0])
    assert busy[0] == pytest.approx(busy[1], rel=0.1)
    assert busy[1] == pytest.approx(busy[2], rel=0.2)
