"""Whatever is posted, wherever and whenever: every read completes once, in order, and everything is given back."""

import dataclasses
import functools

from completion_times import CompletionTimes
from hypothesis import given, settings
from hypothesis import strategies as st

from riftsim.calendar import Calendar, EventKind
from riftsim.rdma.profiles import load_profile
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.transport.wr import Chain, WorkRequest

CONNECTX5 = load_profile("connectx5-100g")
TIGHT = dataclasses.replace(
    CONNECTX5,
    network=dataclasses.replace(CONNECTX5.network, max_outstanding=2, cached_requests=3, wr_miss_ps=90_000, tails=True),
)
PROFILES = (CONNECTX5, TIGHT, load_profile("cxl-like"), load_profile("ideal"))
NODES = 2

reads = st.lists(st.tuples(st.sampled_from([1, 8, 128, 516, 1024, 1025, 9000]), st.booleans()), min_size=1, max_size=20)
postings = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 1000, 400_000, 2_000_000]),  # picoseconds after the posting before
        st.integers(0, NODES - 1),
        st.integers(0, NODES - 1),
        st.integers(0, 1),  # which of the two queue pairs between these nodes
        reads,
    ),
    max_size=25,
)


def simulate(profile, plan, seed):
    calendar = Calendar()
    network = SimulatedNetwork(calendar, profile, NODES, NODES, seed)
    pairs, posted = {}, {}
    instant = 0
    for number, (gap, node, other, which, lengths) in enumerate(plan):
        instant += gap
        key = (node, other, which)
        if key not in pairs:
            log = CompletionTimes(calendar)
            pairs[key] = (network.create_qp(node, other, log), log)
        requests = [
            WorkRequest(number * 100 + 99 - i, other, 0, length, signaled)  # tags fall while posting goes on
            for i, (length, signaled) in enumerate(lengths)
        ]
        requests[-1].signaled = True
        posted.setdefault(key, []).extend((request, instant) for request in requests)
        post = functools.partial(network.post, pairs[key][0])
        calendar.at(instant, EventKind.RING, node, number, 0, post, Chain(number, requests))
    calendar.run()
    return network, pairs, posted


@given(profile=st.sampled_from(PROFILES), plan=postings, seed=st.integers(0, 3))
@settings(deadline=None, max_examples=120)
def test_every_read_completes_once_in_order_and_everything_is_given_back(profile, plan, seed):
    network, pairs, posted = simulate(profile, plan, seed)
    for key, (queue_pair, log) in pairs.items():
        requests = [request for request, _ in posted[key]]
        assert [tag for tag, _ in log.entries] == [request.tag for request in requests]
        instants = [instant for _, instant in log.entries]
        assert instants == sorted(instants)
        assert all(done >= start for (_, start), done in zip(posted[key], instants, strict=True))
        assert queue_pair.free_slots == profile.network.max_outstanding
        left = [queue_pair.rung, queue_pair.waiting, queue_pair.processing, queue_pair.in_flight, queue_pair.covered]
        assert not any(left)
    everything = [(key, request) for key, requests in posted.items() for request, _ in requests]
    counted = network.counters()
    assert all(nic.outstanding == 0 and not nic.queue for nic in network.compute)
    for node in range(NODES):
        assert counted["compute"][node]["reads"] == sum(key[0] == node for key, _ in everything)
        bytes_read = sum(request.length_bytes for key, request in everything if key[0] == node)
        assert counted["compute"][node]["payload_bytes"] == bytes_read
    again = simulate(profile, plan, seed)[1]
    assert {key: log.entries for key, (_, log) in pairs.items()} == {k: log.entries for k, (_, log) in again.items()}
