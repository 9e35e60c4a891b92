"""A read that meets nobody takes exactly the sum of its stages."""

from completion_times import CompletionTimes
from hypothesis import given, settings
from hypothesis import strategies as st

from riftsim.calendar import Calendar
from riftsim.rdma.profiles import load_profile
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.rdma.unloaded import read_stages, unloaded_read_ps
from riftsim.transport.wr import Chain, WorkRequest

PROFILES = {name: load_profile(name) for name in ("connectx5-100g", "connectx6-200g", "cxl-like", "ideal")}


@given(
    name=st.sampled_from(sorted(PROFILES)),
    length=st.one_of(st.integers(1, 5000), st.integers(1, 1 << 20)),
    nodes=st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2)]),
    chained=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_a_lone_read_takes_the_sum_of_its_stages(name, length, nodes, chained):
    profile = PROFILES[name]
    calendar = Calendar()
    network = SimulatedNetwork(calendar, profile, *nodes)
    log = CompletionTimes(calendar)
    queue_pair = network.create_qp(nodes[0] - 1, nodes[1] - 1, log)
    requests = [WorkRequest(tag, nodes[1] - 1, 0, length) for tag in range(1 + chained)]
    network.post(queue_pair, Chain(0, requests))
    calendar.run()
    assert log.entries[0] == (0, unloaded_read_ps(profile.network, length, chained))


def test_stages_of_128_bytes_by_hand():
    stages = dict(read_stages(PROFILES["connectx5-100g"].network, 128))
    assert stages["request on the wire"] == 98 * 80
    assert stages["response on the wire"] == (128 + 86) * 80
    pcie_ps_per_byte = 8000 / 115.8
    assert abs(stages["data over the memory node's PCIe"] - (128 + 24) * pcie_ps_per_byte) < 2
    assert stages["queue pair"] == 390_000
    assert stages["fetch of the chain"] == 0


def test_the_free_network_completes_within_the_instant_and_in_the_next_round():
    calendar = Calendar()
    network = SimulatedNetwork(calendar, PROFILES["ideal"], 1, 1)
    log = CompletionTimes(calendar)
    queue_pair = network.create_qp(0, 0, log)
    seen = []

    def act(_):
        network.post(queue_pair, Chain(0, [WorkRequest(tag, 0, 0, 4096, tag == 19) for tag in range(20)]))
        seen.append(len(log.entries))
        calendar.at(calendar.now, 12, 0, 0, 0, lambda _: seen.append(len(log.entries)), None)

    calendar.at(1000, 12, 0, 0, 0, act, None)
    calendar.run()
    assert seen == [0, 20]  # not at once, and before what the same round decides
    assert log.entries == [(tag, 1000) for tag in range(20)]
