"""The drivers against each other, systems against systems, and the simulation against itself."""

from dataclasses import asdict

import numpy as np
import pytest
from search_checks import EagerPair
from search_runs import answers_of, assert_same, local_answers, parts_ps, simulate, system_of
from search_worlds import make_world

from riftsim.computenode.engine import Balancing, CpuBudget
from riftsim.controller.fixed import Fixed
from riftsim.kernels import gate as gates
from riftsim.kernels import query as q
from riftsim.memnode.shards import by_table, contiguous, hashed
from riftsim.search.eager import EagerRules

# Work in parallel enough that at zero cost all that a step asks for is there at once, as under the local driver.
AT_ONCE = {
    "budget": CpuBudget(threads=32, workers=16),
    "balancing": Balancing(Fixed(), allowance=16),
}
SYSTEMS = [
    ("in_memory", {}),
    ("remote", {"verification": "verify-all"}),
    ("remote", {"beam_width": 1}),
    ("async", {}),
    ("riftann", {"balancing": {"kind": "fixed"}}),
    ("riftann", {"balancing": {"kind": "fixed"}, "gate": {"kind": "ungated"}, "verification": {"kind": "verify-all"}}),
    ("riftann", {"balancing": {"kind": "fixed"}, "gate": {"kind": "wait-all"}, "record_reads": "full-record"}),
]


def named(systems):
    return [f"{name}-{'-'.join(map(str, settings))}" for name, settings in systems]


@pytest.mark.parametrize(("name", "settings"), SYSTEMS, ids=named(SYSTEMS))
def test_zero_cost_simulation_equals_the_local_driver(photos, name, settings):
    changes = AT_ONCE if name == "riftann" else {}
    system = system_of(name, photos, **settings)
    run = simulate(system, profile="ideal", concurrency=1, **changes)
    assert_same(answers_of(run), local_answers(system))
    assert all(each.end_ps == each.arrival_ps for each in run.runs)


def test_in_memory_equals_remote_with_exact_codes_one_at_a_time(exact_photos):
    in_memory = local_answers(system_of("in_memory", exact_photos), 60)
    remote = local_answers(system_of("remote", exact_photos, beam_width=1), 60)
    for query, answer in in_memory.items():
        assert np.array_equal(answer.ids, remote[query].ids)
        assert np.array_equal(answer.distances, remote[query].distances)
        for name in ("expansions", "evaluations", "insertions", "hops"):
            assert answer.counts[name] == remote[query].counts[name], name


@pytest.mark.parametrize("verification", ["expansion-only", "verify-all"])
def test_async_equals_remote_under_load(photos, verification):
    """How often a full list is entered depends on who comes first; nothing else does."""
    remote, overlapped = (
        answers_of(simulate(system_of(name, photos, verification=verification))) for name in ("remote", "async")
    )
    assert_same(overlapped, remote, but=("insertions",))
    assert_same(remote, local_answers(system_of("remote", photos, verification=verification)))


def test_placements_and_memory_nodes_change_no_result(photos):
    def dealt(ids, memory_nodes):
        return ids % memory_nodes

    expected = local_answers(system_of("remote", photos))
    for placement in (contiguous(2000, 3), hashed(2000, 2), hashed(2000, 5), by_table(2000, 4, dealt)):
        world = make_world(photos.vectors, photos.queries, photos.graph, codec=photos.codec, placement=placement)
        for name in ("remote", "async"):
            run = simulate(system_of(name, world), memory_nodes=placement.memory_nodes)
            assert_same(answers_of(run), expected, but=("insertions",))
            reads = [node["requests"] for node in run.facts["network"]["memory"]]
            assert len(reads) == placement.memory_nodes
            assert min(reads) > 0


@pytest.mark.parametrize("shape", [{"compute_nodes": 3}, {"queries_per_thread": 4, "threads": 2, "concurrency": 8}])
def test_compute_nodes_and_multiplexing_change_no_result(photos, shape):
    for name in ("in_memory", "remote", "async"):
        system = system_of(name, photos)
        run = simulate(system, measured=40, **shape)
        assert_same(answers_of(run), local_answers(system), but=("insertions",))
        assert {each.compute_node for each in run.runs} == set(range(shape.get("compute_nodes", 1)))


def test_calibrated_verification_reads_enough_under_any_clock(photos):
    """Results of the eager search may depend on time, but never on verification left undone: recall keeps close."""
    system = system_of("riftann", photos, list_size=32)
    run = simulate(system, queries=60, concurrency=8)
    local = local_answers(system, 60)
    overlap = [len(np.intersect1d(answer.ids, local[query].ids)) for query, answer in answers_of(run).items()]
    assert np.mean(overlap) > 9.8


@pytest.mark.parametrize("name", ["in_memory", "remote", "async", "riftann"])
def test_two_simulations_are_equal_in_every_column(photos, name):
    first, second = (simulate(system_of(name, photos), memory_nodes=1, measured=30) for _ in range(2))
    assert first.facts == second.facts
    assert first.throughput_qps == second.throughput_qps
    for one, other in zip(first.runs, second.runs, strict=True):
        one_columns, other_columns = asdict(one), asdict(other)
        one_answer, other_answer = one_columns.pop("answer"), other_columns.pop("answer")
        assert one_columns == other_columns
        assert one_answer.counts == other_answer.counts
        assert np.array_equal(one_answer.ids, other_answer.ids)


RIFTANN_LOADS = [
    {},
    {"split": "static", "main_threads_help": False},
    {"workers": 0},
    {"chunk": 3, "gate": {"kind": "wait-all"}},
    {"record_reads": "full-record", "verification": {"kind": "verify-all"}},
    {"window_counts": "reads", "balancing": {"kind": "fixed"}, "workers_per_query": 6},
]


@pytest.mark.parametrize("settings", RIFTANN_LOADS, ids=["-".join(each) or "default" for each in RIFTANN_LOADS])
def test_every_part_of_riftanns_time_is_accounted_for(photos, settings):
    run = simulate(system_of("riftann", photos, **settings), concurrency=10, measured=40)
    for each in run.runs:
        assert parts_ps(each) == each.end_ps - each.arrival_ps
        assert min(each.waited_ps) >= 0


@pytest.mark.parametrize("name", ["in_memory", "remote", "async"])
def test_every_part_of_a_baselines_time_is_accounted_for(photos, name):
    run = simulate(system_of(name, photos), concurrency=12, measured=40)
    assert any(each.start_ps > each.arrival_ps for each in run.runs), "12 queries for 8 threads: some must queue"
    for each in run.runs:
        assert parts_ps(each) == each.end_ps - each.arrival_ps


@pytest.mark.parametrize(
    ("gate", "bound", "limit"),
    [
        (gates.GATE_IMPACT, 128, 1.0),
        (gates.GATE_BACKLOG, 16, 0.0),
        (gates.GATE_RATIO, 0, 0.3),
        (gates.GATE_WAIT_ALL, 0, 0.0),
    ],
)
def test_schedules_that_close_the_gate(photos, gate, bound, limit):
    """Evaluations come back one at a time and last come first, and only when every read is in."""
    decisions = closed = 0
    rules = EagerRules(gate=gate, gate_bound=bound, gate_limit=limit, verify=q.VERIFY_CALIBRATED, alpha=1.1)
    for query in range(4):
        pair = EagerPair(photos, query, list_size=24, k=10, rules=rules)
        while not pair.done:
            if pair.reads:
                pair.receive(pair.reads[-1:], [])
            else:
                pair.receive([], pair.tasks[-1:])
        pair.check_end()
        decisions += pair.model.decisions
        closed += pair.model.closed
    assert closed >= decisions / 5
