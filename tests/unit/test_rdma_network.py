"""Rules of a reliable connection in the simulated network: order, signalling, doorbells, refusals."""

import dataclasses
from itertools import pairwise

import pytest
from completion_times import CompletionTimes

from riftsim.calendar import Calendar
from riftsim.errors import ConfigError, ProtocolError
from riftsim.rdma.profiles import load_profile
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.rdma.unloaded import unloaded_read_ps
from riftsim.transport.wr import Chain, WorkRequest

PROFILE = load_profile("connectx5-100g")


@pytest.fixture
def network():
    return SimulatedNetwork(Calendar(), PROFILE, 1, 1)


def test_an_unsignalled_read_becomes_visible_with_the_next_signalled_one(network):
    log = CompletionTimes(network.calendar)
    queue_pair = network.create_qp(0, 0, log)
    network.post(queue_pair, Chain(0, [WorkRequest(9, 0, 0, 8, False), WorkRequest(5, 0, 0, 8, False)]))
    network.calendar.run()
    assert log.entries == []
    assert network.compute[0].outstanding == 0
    network.post(queue_pair, Chain(0, [WorkRequest(1, 0, 0, 8), WorkRequest(2, 0, 0, 8)]))
    network.calendar.run()
    assert log.tags == [9, 5, 1, 2]
    instants = [instant for _, instant in log.entries]
    assert instants[0] == instants[1] == instants[2] < instants[3]


def test_a_lone_work_request_does_not_overtake_a_chain_that_is_still_being_fetched(network):
    log = CompletionTimes(network.calendar)
    queue_pair = network.create_qp(0, 0, log)
    network.post(queue_pair, Chain(7, [WorkRequest(tag, 0, 0, 8) for tag in (30, 20)]))
    network.post(queue_pair, Chain(1, [WorkRequest(10, 0, 0, 8)]))
    network.calendar.run()
    assert log.tags == [30, 20, 10]


def test_completions_come_in_posting_order_whatever_the_tail():
    slow = dataclasses.replace(PROFILE.network, tails=True, p99_permille=3000, p999_permille=9000)
    profile = dataclasses.replace(PROFILE, network=slow)
    ends = {}
    for seed in (1, 1, 2):
        network = SimulatedNetwork(Calendar(), profile, 1, 1, seed)
        log = CompletionTimes(network.calendar)
        queue_pair = network.create_qp(0, 0, log)
        network.post(queue_pair, Chain(0, [WorkRequest(tag, 0, 0, 64 + tag) for tag in range(300)]))
        network.calendar.run()
        assert log.tags == list(range(300))
        assert ends.setdefault(seed, log.entries) == log.entries
    assert ends[1] != ends[2]


def test_the_price_of_congestion_is_that_at_the_start_of_service():
    """300 reads arrive at once: each is served at the price of those that are outstanding when its service begins."""
    profile = dataclasses.replace(
        PROFILE, network=dataclasses.replace(PROFILE.network, cached_requests=100, wr_miss_ps=400_000)
    )
    network = SimulatedNetwork(Calendar(), profile, 1, 1)
    log = CompletionTimes(network.calendar)
    for number in range(300):
        network.post(network.create_qp(0, 0, log), Chain(number, [WorkRequest(number, 0, 0, 8)]))
    network.calendar.run()
    instants = [instant for _, instant in log.entries]
    gaps = [later - earlier for earlier, later in pairwise(instants)]
    base, miss = PROFILE.network.wr_service_ps, 400_000
    assert gaps[0] == base + miss * 200 // 300
    assert gaps[-1] == base
    assert gaps == sorted(gaps, reverse=True)


def test_counters(network):
    log = CompletionTimes(network.calendar)
    queue_pair = network.create_qp(0, 0, log)
    network.post(queue_pair, Chain(0, [WorkRequest(tag, 0, 0, 100) for tag in range(3)]))
    network.calendar.run()
    counted = network.counters()
    (compute,), (memory,) = counted["compute"], counted["memory"]
    assert (compute["reads"], compute["payload_bytes"], compute["doorbells"]) == (3, 300, 1)
    assert (memory["requests"], memory["payload_bytes"]) == (3, 300)
    assert compute["outstanding_max"] == 3
    assert memory["busy_ps"]["egress"] == compute["busy_ps"]["ingress"] == 3 * 186 * 80
    assert compute["busy_ps"]["work_requests"] == 3 * PROFILE.network.wr_service_ps


def test_reads_of_two_queries_with_the_same_tag_are_kept_apart(network):
    log = CompletionTimes(network.calendar)
    for query in (0, 1):
        network.post(network.create_qp(0, 0, log), Chain(query, [WorkRequest(4, 0, 0, 8)]))
    network.calendar.run()
    first, second = (instant for _, instant in log.entries)
    assert (first, second - first) == (unloaded_read_ps(PROFILE.network, 8), PROFILE.network.wr_service_ps)


def test_what_cannot_be_posted_is_refused(network):
    queue_pair = network.create_qp(0, 0, CompletionTimes(network.calendar))
    with pytest.raises(ProtocolError, match="query 3 posted an empty chain"):
        network.post(queue_pair, Chain(3, []))
    with pytest.raises(ProtocolError, match=r"WorkRequest\(1, node 2, 64\+8\) was posted to .* memory node 0"):
        network.post(queue_pair, Chain(0, [WorkRequest(1, 2, 64, 8)]))
    with pytest.raises(ConfigError, match="a read of 0 bytes"):
        network.post(queue_pair, Chain(0, [WorkRequest(1, 0, 0, 0)]))
    assert network.compute[0].outstanding == 0
