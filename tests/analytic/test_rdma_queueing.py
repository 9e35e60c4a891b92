"""The simulated network against queueing theory and against bounds that hold for any queue."""

import dataclasses
import functools
import math

import numpy as np
import pytest
from completion_times import CompletionTimes

from riftsim.calendar import Calendar, EventKind
from riftsim.rdma.probe import closed_loop
from riftsim.rdma.profiles import load_profile
from riftsim.rdma.published import SMART_DEPTH_ROWS, SMART_THROTTLED_MOPS
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.rdma.unloaded import unloaded_read_ps
from riftsim.rng import stream
from riftsim.transport.wr import Chain, WorkRequest

CONNECTX5 = load_profile("connectx5-100g")


def with_costs(**changes):
    return dataclasses.replace(CONNECTX5, network=dataclasses.replace(CONNECTX5.network, **changes))


def waits_ps(profile, gaps_ps, lengths):
    """Waiting times of reads that arrive one by one, each on a queue pair of its own."""
    calendar = Calendar()
    network = SimulatedNetwork(calendar, profile, 1, 1)
    logs = []

    def arrive(number):
        log = CompletionTimes(calendar)
        logs.append((calendar.now, log))
        queue_pair = network.create_qp(0, 0, log)
        network.post(queue_pair, Chain(number, [WorkRequest(0, 0, 0, lengths[number])]))

    for number, instant in enumerate(np.cumsum(gaps_ps).tolist()):
        calendar.at(instant, EventKind.ARRIVAL, 0, number, 0, arrive, number)
    calendar.run()
    unloaded = {length: unloaded_read_ps(profile.network, length) for length in set(lengths)}
    return np.array([log.entries[0][1] - posted for posted, log in logs]) - [unloaded[length] for length in lengths]


def mean_and_error(waits):
    """Mean and its standard error by regeneration: cycles that begin with a read that does not wait are independent."""
    starts = np.flatnonzero(waits == 0)
    sums = np.add.reduceat(waits.astype(float), starts)
    sizes = np.diff(np.append(starts, len(waits)))
    mean = sums.sum() / sizes.sum()
    return mean, math.sqrt(np.square(sums - mean * sizes).sum()) / sizes.sum()


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_waiting_at_the_responder_is_that_of_m_d_1(load):
    service = 100_000
    profile = with_costs(responder_service_ps=service, wr_service_ps=0, qp_service_ps=0, link_ps_per_kib=8)
    draw = stream(1, f"m/d/1 {load}")
    reads = 15_000
    gaps = np.rint(draw.exponential(service / load, reads)).astype(int)
    mean, error = mean_and_error(waits_ps(profile, gaps, [8] * reads))
    theory = load * service / (2 * (1 - load))
    assert error < 0.06 * theory
    assert abs(mean - theory) < 4 * error


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_waiting_for_the_link_with_random_lengths_follows_pollaczek_khinchine(load):
    """Geometric lengths: nearly exponential service, so nearly M/M/1; the formula takes the true moments."""
    profile = with_costs(
        pcie_ps_per_kib=0, responder_service_ps=0, wr_service_ps=0, qp_service_ps=0, mtu_bytes=1 << 30,
        response_header_bytes=0, link_ps_per_kib=80 << 10, request_wire_ps=1,
    )  # fmt: skip
    draw = stream(2, f"m/m/1 {load}")
    reads = 15_000
    lengths = draw.geometric(1 / 500, reads)
    service = lengths * 80.0
    gaps = np.rint(draw.exponential(service.mean() / load, reads)).astype(int)
    mean, error = mean_and_error(waits_ps(profile, gaps, lengths.tolist()))
    rate = 1 / gaps.mean()
    theory = rate * np.square(service).mean() / (2 * (1 - rate * service.mean()))
    assert error < 0.08 * theory
    assert abs(mean - theory) < 4 * error


def test_littles_law_holds_exactly():
    calendar = Calendar()
    network = SimulatedNetwork(calendar, CONNECTX5, 1, 2)
    draw = stream(3, "little")
    posted, logs = [], []
    for number in range(40):
        log = CompletionTimes(calendar)
        logs.append(log)
        queue_pair = network.create_qp(0, number % 2, log)

        def post(chain, queue_pair=queue_pair):
            posted.extend([calendar.now] * len(chain))
            network.post(queue_pair, chain)

        for instant in draw.integers(0, 50_000_000, 5).tolist():
            lengths = draw.integers(1, 3000, draw.integers(1, 30)).tolist()
            requests = [WorkRequest(instant * 100 + i, number % 2, 0, length) for i, length in enumerate(lengths)]
            calendar.at(instant, EventKind.RING, 0, number, instant, post, Chain(number, requests))
    calendar.run()
    done = [instant for log in logs for _, instant in log.entries]
    assert len(done) == len(posted)
    counted = network.counters()["compute"][0]
    assert network.compute[0].outstanding_area == sum(done) - sum(posted)
    rate_times_latency = len(done) / calendar.now * ((sum(done) - sum(posted)) / len(done))
    assert counted["outstanding_mean"] == pytest.approx(rate_times_latency, rel=1e-12)


def test_large_reads_fill_the_link():
    result = closed_loop(CONNECTX5, threads=8, depth=8, length_bytes=65536)
    assert result.payload_gbytes == pytest.approx(12.5 * 1024 / (1024 + 86), rel=0.01)


@pytest.mark.parametrize(("compute_nodes", "memory_nodes"), [(1, 3), (3, 1)])
def test_where_links_converge_one_link_is_the_bound_and_is_shared(compute_nodes, memory_nodes):
    calendar = Calendar()
    network = SimulatedNetwork(calendar, CONNECTX5, compute_nodes, memory_nodes)
    logs = []
    for node in range(compute_nodes):
        for other in range(memory_nodes):
            logs.append(CompletionTimes(calendar))
            queue_pair = network.create_qp(node, other, logs[-1])
            network.post(queue_pair, Chain(other, [WorkRequest(tag, other, 0, 65536) for tag in range(60)]))
    calendar.run()
    ends = [log.entries[-1][1] for log in logs]
    wire = 60 * 3 * 64 * (1024 + 86) * 80
    assert max(ends) == pytest.approx(wire, rel=0.03)
    assert min(ends) > 0.95 * max(ends)


def test_without_contention_links_are_independent():
    """Two pairs of nodes at once are as fast as one."""
    ends = []
    for nodes in (1, 2):
        calendar = Calendar()
        network = SimulatedNetwork(calendar, CONNECTX5, nodes, nodes)
        log = CompletionTimes(calendar)
        for node in range(nodes):
            queue_pair = network.create_qp(node, node, log)
            network.post(queue_pair, Chain(0, [WorkRequest(tag, node, 0, 4096) for tag in range(50)]))
        calendar.run()
        ends.append(calendar.now)
    assert ends[0] == ends[1]


def test_a_queue_pair_has_at_most_16_reads_on_the_wire():
    far = with_costs(transit_ps=50_000_000)
    calendar = Calendar()
    network = SimulatedNetwork(calendar, far, 1, 1)
    log = CompletionTimes(calendar)
    queue_pair = network.create_qp(0, 0, log)
    network.post(queue_pair, Chain(0, [WorkRequest(tag, 0, 0, 8) for tag in range(64)]))
    calendar.run()
    instants = [instant for _, instant in log.entries]
    waves = np.flatnonzero(np.diff(instants) > 50_000_000) + 1
    assert waves.tolist() == [16, 32, 48]
    assert network.memory[0].requests == 64


def test_one_queue_pair_is_bound_by_its_own_processing():
    result = closed_loop(with_costs(max_outstanding=10_000), threads=1, depth=2000, length_bytes=8)
    assert result.rate_mops == pytest.approx(1 / (0.39 + CONNECTX5.cpu.build_wr_ps / 1e6), rel=0.01)


def test_more_outstanding_reads_never_shorten_a_read():
    latencies = []
    for others in (0, 1, 2, 4, 8, 16, 40, 200, 2000):
        calendar = Calendar()
        network = SimulatedNetwork(calendar, CONNECTX5, 1, 1)
        log = CompletionTimes(calendar)
        for number in range(others):
            queue_pair = network.create_qp(0, 0, CompletionTimes(calendar))
            network.post(queue_pair, Chain(1 + number, [WorkRequest(0, 0, 0, 516)]))
        network.post(network.create_qp(0, 0, log), Chain(others + 1, [WorkRequest(0, 0, 0, 128)]))
        calendar.run()
        latencies.append(log.entries[0][1])
    assert latencies == sorted(latencies)
    assert latencies[0] < latencies[-1]


def test_reserving_links_together_changes_no_time():
    """With one node on each side REQUEST and RESPONSE need no events; idle further nodes bring them back."""
    times = []
    for nodes in ((1, 1), (1, 2), (2, 1), (2, 2)):
        calendar = Calendar()
        network = SimulatedNetwork(calendar, CONNECTX5, *nodes)
        draw = stream(4, "same")
        log = CompletionTimes(calendar)
        for number in range(20):
            queue_pair = network.create_qp(0, 0, log)
            for burst in range(4):
                requests = [
                    WorkRequest(number * 1000 + burst * 100 + i, 0, 0, length, bool(draw.integers(2)))
                    for i, length in enumerate(draw.integers(1, 4000, 12).tolist())
                ]
                requests[-1].signaled = True
                instant = int(draw.integers(0, 20_000_000))
                chain = Chain(number, requests)
                post = functools.partial(network.post, queue_pair)
                calendar.at(instant, EventKind.RING, 0, number, burst, post, chain)
        calendar.run()
        times.append((log.entries, calendar.executed))
    assert all(entries == times[0][0] for entries, _ in times)
    assert times[0][1] < times[1][1] < times[3][1]


def test_smart_depth_rows_are_met_within_the_stated_error():
    """Fitted: within 5 %, but for 96 threads with 1 (8 %) and 4 reads each (13 %). The throttled rate is predicted."""
    profile = load_profile("connectx6-200g")
    for row in SMART_DEPTH_ROWS:
        extra = 773_000 if row.threads == 96 else 0
        rate = closed_loop(profile, row.threads, row.depth, 8, 1, extra).rate_mops
        allowed = {(96, 1): 0.08, (96, 4): 0.13}.get((row.threads, row.depth), 0.05)
        assert rate == pytest.approx(row.rate_mops, rel=allowed), row
    throttled = closed_loop(profile, 96, 7, 8, 1, 773_000).rate_mops
    assert throttled == pytest.approx(SMART_THROTTLED_MOPS, rel=0.05)
