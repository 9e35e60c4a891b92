"""A record cache changes where records are read from: never what a round-synchronous search finds, nor any total."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_runs import answers_of, simulate, system_of
from search_worlds import random_worlds

from riftsim.computenode.drivers.local import step_through
from riftsim.computenode.drivers.sim import run_simulated
from riftsim.index.graph import Graph
from riftsim.kernels import gate as gates
from riftsim.kernels import query as q
from riftsim.search.cached import CachedSearch
from riftsim.search.eager import EagerRules, EagerSearch
from riftsim.search.messages import Work
from riftsim.search.rounds import RoundSearch
from riftsim.storage.record_cache import ENTRY_BYTES, cache_order, fill_cache, hops_from, visits

WORLDS = random_worlds()
VERIFICATIONS = st.sampled_from([q.VERIFY_EXPANDED, q.VERIFY_CALIBRATED, q.VERIFY_ALL])


def stepped(program, query: int, cached: np.ndarray, order: np.random.Generator):
    """Run to the end in a random order of completions; the answer, all work, and the requests that came out."""
    step = program.start(query)
    requests, in_flight, tasks, work = [], [], [], Work()
    while True:
        work = Work(*(a + b for a, b in zip(work, step.work, strict=True)))
        requests += step.chain
        in_flight += [request.tag for request in step.chain]
        tasks += [task.number for task in step.tasks]
        if step.done:
            assert not in_flight
            assert not tasks
            assert not any(cached[request.node] for request in requests)
            return program.answer(), work, requests
        assert in_flight or tasks
        reads = order.permutation(in_flight)[: order.integers(0, len(in_flight) + 1)].tolist()
        evaluated = order.permutation(tasks)[: order.integers(0, len(tasks) + 1)].tolist()
        in_flight = [tag for tag in in_flight if tag not in reads]
        tasks = [number for number in tasks if number not in evaluated]
        step = program.receive(reads, evaluated)


def check_accounts(counts: dict, requests: list, layout) -> None:
    by_kind = [sum(request.kind == kind for request in requests) for kind in range(3)]
    assert [counts[name] for name in ("reads_record", "reads_vector", "reads_adjacency")] == by_kind
    assert counts["bytes_read"] == sum(request.length_bytes for request in requests)
    sizes = layout.record_bytes, layout.vector_bytes, layout.adjacency_bytes
    assert counts["bytes_read"] == sum(count * size for count, size in zip(by_kind, sizes, strict=True))


@settings(max_examples=120)
@given(
    world=WORLDS,
    query=st.integers(0, 3),
    k=st.integers(1, 5),
    extra=st.integers(0, 8),
    beam=st.integers(1, 5),
    verify=VERIFICATIONS,
    overlapped=st.booleans(),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 2**32),
)
def test_rounds_find_the_same(world, query, k, extra, beam, verify, overlapped, share, seed):
    def new() -> RoundSearch:
        return RoundSearch(
            *world.search_arguments(),
            list_size=k + extra,
            k=k,
            beam_width=beam,
            verify=verify,
            alpha=1.5,
            overlapped=overlapped,
        )

    order = np.random.default_rng(seed)
    cached = order.random(len(world.vectors)) < share
    expected = step_through(new(), query)
    found, work, requests = stepped(CachedSearch(new(), cached), query, cached, order)
    assert found.ids.tolist() == expected.ids.tolist()
    check_accounts(found.counts, requests, world.region.layout)
    names = ("reads_record", "reads_vector", "reads_adjacency")
    remote, total = (sum(answer.counts[name] for name in names) for answer in (found, expected))
    assert found.counts["reads_cached"] == total - remote
    for name in ("expansions", "evaluations", "exact_evaluations", "hops"):
        assert found.counts[name] == expected.counts[name]
    assert work.exact == found.counts["reads_record"] + found.counts["reads_vector"]
    assert work.exact + work.local_exact == found.counts["exact_evaluations"]
    if share == 0.0:
        assert found.counts["chains"] == expected.counts["chains"]


@settings(max_examples=120)
@given(
    world=WORLDS,
    query=st.integers(0, 3),
    k=st.integers(1, 5),
    extra=st.integers(0, 8),
    verify=VERIFICATIONS,
    gate=st.sampled_from([gates.GATE_WAIT_ALL, gates.GATE_IMPACT, gates.GATE_UNGATED]),
    full_record=st.booleans(),
    window=st.integers(1, 4),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 2**32),
)
def test_eager_searches_account_for_every_byte(world, query, k, extra, verify, gate, full_record, window, share, seed):
    rules = EagerRules(window=window, max_window=window, verify=verify, alpha=1.5, gate=gate, full_record=full_record)
    order = np.random.default_rng(seed)
    cached = order.random(len(world.vectors)) < share
    inner = EagerSearch(*world.search_arguments(), list_size=k + extra, k=k, rules=rules)
    found, work, requests = stepped(CachedSearch(inner, cached), query, cached, order)
    check_accounts(found.counts, requests, world.region.layout)
    assert work.exact + work.local_exact == found.counts["exact_evaluations"]
    assert work.exact == found.counts["reads_record"] + found.counts["reads_vector"]
    if share == 1.0:
        assert not requests
    if window == 1 and gate == gates.GATE_WAIT_ALL and verify == q.VERIFY_EXPANDED:
        assert found.ids.tolist() == step_through(inner, query).ids.tolist()


@pytest.mark.parametrize("name", ["remote", "async", "riftann"])
def test_a_cache_saves_time_and_reads(photos, name):
    from dataclasses import replace

    system = system_of(name, photos)
    cached = np.zeros(len(photos.vectors), bool)
    cached[np.argsort(hops_from(photos.graph.start, photos.graph.neighbors, photos.graph.degrees))[:600]] = True
    beside = replace(system, new_program=lambda: CachedSearch(system.new_program(), cached))
    plain, helped = (simulate(each, queries=12, engine=run_simulated) for each in (system, beside))
    if name != "riftann":
        for query, answer in answers_of(plain).items():
            assert answers_of(helped)[query].ids.tolist() == answer.ids.tolist()
    for total in (lambda run: run.answer.counts["bytes_read"], lambda run: run.end_ps - run.start_ps):
        assert sum(map(total, helped.runs)) < sum(map(total, plain.runs))


def test_which_records_are_cached():
    """A chain 0 - 1 - 2 with a side branch 3 and a node 4 that nothing leads to."""
    neighbors = np.array([[1, 3], [2, -1], [-1, -1], [0, -1], [0, -1]], np.int32)
    graph = Graph(neighbors, np.array([2, 1, 0, 1, 1], np.int32), 0)
    hops = hops_from(graph.start, graph.neighbors, graph.degrees)
    assert hops.tolist() == [0, 1, 2, 1, 5]
    assert cache_order(hops).tolist() == [0, 1, 3, 2, 4]
    order = cache_order(hops, np.array([3, 1, 7, 1, 0]))
    assert order.tolist() == [2, 0, 1, 3, 4]
    cache = fill_cache(order, 100, 2 * (100 + ENTRY_BYTES) + 115)
    assert np.flatnonzero(cache.cached).tolist() == [0, 2]
    assert cache.items == {"cached records": 200, "table of cached records": 2 * ENTRY_BYTES}
    assert fill_cache(order, 100, -5).records == 0


def test_visits_are_the_expansions_of_all_queries(photos):
    def new() -> RoundSearch:
        return RoundSearch(*photos.search_arguments(), list_size=12, k=4, beam_width=1)

    counts = visits(new(), 20, len(photos.vectors))
    assert counts.sum() == sum(new().run(query).counts["expansions"] for query in range(20))
    assert counts[photos.graph.start] == 20
