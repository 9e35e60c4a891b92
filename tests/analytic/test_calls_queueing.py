"""Calls to active memory nodes: the unloaded path, M/D/1 at one thread, full threads, and Little's law."""

import numpy as np
import pytest
from completion_times import CompletionTimes

from riftsim.calendar import Calendar, EventKind
from riftsim.constants import Constant
from riftsim.errors import ProtocolError
from riftsim.rdma.calls import OLDEST_FIRST, CallService, Intake
from riftsim.rdma.profiles import load_profile
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.reproduction.variants import with_constants
from riftsim.rng import stream
from riftsim.transport.call import Call

PROFILE = load_profile("connectx5-100g")
SERVICE_PS = 2_000_000


def replies_ps(
    arrivals_ps, threads, service_ps=SERVICE_PS, after_ps=0, *, permille=0, handling_ps=0, nodes=1,
    profile=PROFILE, intake=OLDEST_FIRST, connections=None,
):  # fmt: skip
    """Time from posting to reply of calls posted at given times, to each node.

    Each comes from a queue pair of its own, or from one of so many connections in turn.
    """
    calendar = Calendar()
    network = SimulatedNetwork(calendar, profile, 1, nodes)
    service = CallService(calendar, network, threads, permille, intake)
    log = CompletionTimes(calendar)

    shared = [network.create_qp(0, 0, log) for _ in range(connections or 0)]

    def post(number):
        node = number % nodes
        queue_pair = shared[number % connections] if connections else network.create_qp(0, node, log)
        service.post(queue_pair, [Call(number, number, node, 64, 256, service_ps, after_ps, handling_ps)])

    for number, time_ps in enumerate(arrivals_ps):
        calendar.at(int(time_ps), EventKind.ARRIVAL, 0, number, 0, post, number)
    calendar.run()
    done = dict(log.entries)
    taken = np.array([done[number] - int(time_ps) for number, time_ps in enumerate(arrivals_ps)])
    return taken, service.counters()[0], calendar.now


def test_an_unloaded_call_takes_two_messages_and_the_service():
    lone, counters, _ = replies_ps([0], 1)
    free, _, _ = replies_ps([0], 1, service_ps=0)
    assert lone[0] == free[0] + SERVICE_PS
    assert 1_500_000 < free[0] < 4_500_000, "two one-way messages take about what a read takes"
    assert counters["served"] == 1
    assert counters["busy_ps"] == SERVICE_PS
    assert counters["waiting_max"] == 0


def test_work_after_the_reply_delays_the_next_call_only():
    taken, counters, _ = replies_ps([0, 1000], 1, after_ps=3_000_000)
    lone, _, _ = replies_ps([0], 1)
    assert taken[0] == lone[0]
    assert taken[1] > lone[0] + SERVICE_PS + 2_900_000
    assert counters["busy_ps"] == 2 * (SERVICE_PS + 3_000_000)


@pytest.mark.parametrize("load", [0.4, 0.8])
def test_waiting_for_one_thread_is_that_of_m_d_1(load):
    gaps = stream(3, f"calls {load}").exponential(SERVICE_PS / load, 8000)
    arrivals = np.cumsum(np.rint(gaps).astype(np.int64))
    taken, counters, span_ps = replies_ps(arrivals, 1)
    lone, _, _ = replies_ps([0], 1)
    waited = (taken - lone[0]).mean()
    assert waited == pytest.approx(load * SERVICE_PS / (2 * (1 - load)), rel=0.15)
    # Little's law; the messages wait a little on the way too.
    assert counters["waiting_mean"] == pytest.approx(waited * len(arrivals) / span_ps, rel=0.06)


def test_threads_work_side_by_side_and_saturate_at_their_number():
    for threads in (1, 3, 6):
        _, counters, span_ps = replies_ps(np.arange(600) * 1000, threads)
        assert counters["busy_ps"] == 600 * SERVICE_PS
        assert span_ps == pytest.approx(600 / threads * SERVICE_PS, rel=0.03)


def test_busy_threads_of_a_memory_node_slow_one_another():
    """Each finds one more busy than the one before it; what comes after the reply is work of its own."""
    threads, permille = 4, 50
    lone, _, _ = replies_ps([0], threads, permille=permille)
    assert lone[0] == replies_ps([0], threads)[0][0]
    apart = np.arange(threads) * 100_000
    taken, counters, _ = replies_ps(apart, threads, permille=permille, handling_ps=70_000)
    assert (taken - lone[0] - 70_000).tolist() == [SERVICE_PS * permille * others // 1000 for others in range(threads)]
    assert counters["busy_ps"] == threads * 70_000 + SERVICE_PS * (4000 + 6 * permille) // 1000
    _, counters, _ = replies_ps([0, 100_000], 2, after_ps=SERVICE_PS, permille=permille)
    # Both replies and the first's rest: two are busy but for the first reply; the second's rest ends beside nobody new.
    assert counters["busy_ps"] == SERVICE_PS * (4000 + 3 * permille) // 1000


def test_threads_of_different_memory_nodes_do_not_slow_one_another():
    taken, counters, _ = replies_ps([0, 100_000], 2, permille=500, nodes=2)
    lone, _, _ = replies_ps([0], 2)
    assert taken.tolist() == [lone[0]] * 2
    assert counters["busy_ps"] == SERVICE_PS


@pytest.mark.parametrize(("threads", "permille"), [(3, 44), (6, 100)])
def test_full_threads_serve_at_the_rate_of_the_shared_memory(threads, permille):
    """Every call but the first and the last finds all threads busy."""
    _, _, span_ps = replies_ps(np.arange(600) * 1000, threads, permille=permille)
    slowed_ps = SERVICE_PS * (1000 + permille * (threads - 1)) / 1000
    assert span_ps == pytest.approx(600 / threads * slowed_ps, rel=0.03)


def test_a_call_pays_what_the_stages_leave_unexplained_once():
    """The remainder is that of a round trip, of a call as of a read."""
    constant = Constant(value=420, unit="ns", kind="fitted", source="a test")
    moved = with_constants(PROFILE, {"nic.remainder_ns": constant}, "moved")
    before, after = (replies_ps([0], 1, profile=profile)[0][0] for profile in (PROFILE, moved))
    assert after - before == 420_000


def test_a_call_for_another_memory_node_is_refused():
    calendar = Calendar()
    network = SimulatedNetwork(calendar, PROFILE, 1, 2)
    service = CallService(calendar, network, 1)
    queue_pair = network.create_qp(0, 0, CompletionTimes(calendar))
    with pytest.raises(ProtocolError, match="queue pair of memory node 0"):
        service.post(queue_pair, [Call(0, 0, 1, 64, 64, 0, 0)])
    with pytest.raises(ProtocolError, match="no call"):
        service.post(queue_pair, [])


def test_dealt_connections_wait_for_their_own_thread():
    """One connection on two threads uses one of them; two in turn use both, as a common queue does."""
    dealt = Intake(dealt=True)
    _, _, together = replies_ps([0] * 6, 2)
    _, counters, alone = replies_ps([0] * 6, 2, intake=dealt, connections=1)
    assert alone - together == pytest.approx(3 * SERVICE_PS, rel=0.01)
    assert counters["busy_ps"] == 6 * SERVICE_PS
    assert replies_ps([0] * 6, 2, intake=dealt, connections=2)[2] == replies_ps([0] * 6, 2, connections=2)[2]


def test_calls_taken_together_are_taken_in_once_and_answered_together():
    handling = 500_000
    arrivals = [0, 100_000, 200_000, 300_000]
    lone, _, _ = replies_ps([0], 1, handling_ps=handling)
    taken, counters, _ = replies_ps(arrivals, 1, handling_ps=handling, after_ps=1_000_000, intake=Intake(whole=True))
    assert taken[0] == lone[0]
    ends = taken + np.array(arrivals)
    second = lone[0] + 1_000_000 + handling + 3 * SERVICE_PS
    assert ends[1] == second
    assert np.ptp(ends[1:]) < 200_000, "only the messages follow one another"
    assert (counters["served"], counters["taken"]) == (4, 2)
    assert counters["busy_ps"] == 2 * handling + 4 * (SERVICE_PS + 1_000_000)


def test_a_thread_takes_its_share_of_a_common_queue():
    """Three calls wait for two threads: the first that is free takes two, the other one."""
    _, counters, _ = replies_ps([0, 0, 100_000, 100_000, 100_000], 2, intake=Intake(whole=True))
    assert (counters["served"], counters["taken"]) == (5, 4)
