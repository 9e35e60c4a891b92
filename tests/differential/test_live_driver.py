"""The live driver on fake memory nodes: the results of the local driver, over every order of completions."""

import numpy as np
import pytest
from live_runs import memory_nodes_of, run_on_fake
from search_runs import answers_of, assert_same, local_answers, parts_ps, system_of
from search_worlds import make_world

from riftsim.memnode.shards import hashed


@pytest.mark.parametrize("name", ["remote", "async"])
@pytest.mark.parametrize("verification", ["expansion-only", "verify-all"])
@pytest.mark.parametrize("last_only", [False, True])
def test_round_synchronous_systems_equal_the_local_driver(photos, name, verification, last_only):
    system = system_of(name, photos, verification=verification)
    run = run_on_fake(system, photos, signal_last_only=last_only, port={"queue_pairs": 2})
    assert_same(answers_of(run), local_answers(system), but=("insertions",))


@pytest.mark.parametrize("settings", [{}, {"split_update": False}])
def test_reads_ahead_wait_in_their_landing_slots(photos, settings):
    system = system_of("cxl_ann", photos, **settings)
    run = run_on_fake(system, photos, port={"queue_pairs": 2})
    assert_same(answers_of(run), local_answers(system))


RIFTANN = [
    {},
    {"gate": {"kind": "ungated"}, "verification": {"kind": "verify-all"}},
    {"gate": {"kind": "wait-all"}, "record_reads": "full-record", "balancing": {"kind": "fixed"}},
    {"workers": 0},
    {"chunk": 3, "window_counts": "reads", "main_threads_help": False},
]


@pytest.mark.parametrize("settings", RIFTANN, ids=["-".join(each) or "default" for each in RIFTANN])
def test_eager_systems_find_what_the_local_driver_finds(photos, settings):
    system = system_of("riftann", photos, list_size=32, **settings)
    run = run_on_fake(system, photos, queries=40)
    local = local_answers(system, 40)
    overlap = [len(np.intersect1d(answer.ids, local[query].ids)) for query, answer in answers_of(run).items()]
    assert np.mean(overlap) > 9.8
    for each in run.runs:
        counts = each.answer.counts
        assert counts["evaluations"] >= counts["insertions"] > 0


def test_memory_nodes_event_loops_and_short_queues_change_no_result(photos):
    placement = hashed(2000, 3)
    world = make_world(photos.vectors, photos.queries, photos.graph, codec=photos.codec, placement=placement)
    expected = local_answers(system_of("async", photos), 60)
    ports = []
    run = run_on_fake(
        system_of("async", world), world, queries=60, event_loops=2, port={"depth": 2, "queue_pairs": 2}, ports=ports
    )
    assert_same(answers_of(run), expected, but=("insertions",))
    assert len(ports) == 2
    assert all(port.closed == 1 for port in ports)
    assert max(len(chain) for port in ports for _, chain in port.chains) <= 2
    assert {queue_pair for port in ports for queue_pair, _ in port.chains} == set(range(6))
    assert {each.thread for each in run.runs} <= {0, 1}


def test_growing_states_under_workers_lose_nothing(photos):
    """A long list from small beginnings: arrays are replaced while workers evaluate."""
    system = system_of("riftann", photos, list_size=200, gate={"kind": "ungated"}, chunk=2)
    run = run_on_fake(system, photos, queries=10, concurrency=3)
    local = local_answers(system, 10)
    overlap = [len(np.intersect1d(answer.ids, local[query].ids)) for query, answer in answers_of(run).items()]
    assert np.mean(overlap) > 9.8


@pytest.mark.parametrize("name", ["remote", "riftann"])
def test_every_part_of_a_query_s_time_is_accounted_for(photos, name):
    run = run_on_fake(system_of(name, photos), photos, concurrency=3, warmup=3)
    assert len(run.runs) == 20
    for each in run.runs:
        assert parts_ps(each) == each.end_ps - each.arrival_ps
        assert min(each.waited_ps) >= 0
    assert run.throughput_qps > 0
    assert run.facts["python"]["posting_ns_per_read"] > 0


def test_an_open_loop_waits_for_its_arrivals(photos):
    arrivals_ps = np.arange(30, dtype=np.int64) * 200_000_000  # 0.2 ms
    run = run_on_fake(system_of("async", photos), photos, concurrency=None, arrivals_ps=arrivals_ps, warmup=2)
    assert [each.arrival_ps for each in run.runs] == arrivals_ps[2:22].tolist()
    assert all(each.start_ps >= each.arrival_ps for each in run.runs)


def test_records_come_from_the_landing_buffer_alone(photos):
    nodes = memory_nodes_of(photos)
    nodes[0].region[:] = 0  # degree 0: a search that read them finds the start node and nothing else
    run = run_on_fake(system_of("remote", photos), photos, nodes, queries=3)
    assert all(each.answer.counts["expansions"] == 1 for each in run.runs)
