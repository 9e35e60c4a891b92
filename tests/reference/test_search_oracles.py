"""The searches against slow models in plain Python: ids, requests in order, counts and bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_checks import EagerPair
from search_oracles import search_in_rounds, search_sequentially
from search_worlds import random_worlds

from riftsim.computenode.drivers.local import run_local, step_through
from riftsim.kernels import query as q
from riftsim.kernels.gate import GATE_WAIT_ALL
from riftsim.search.eager import EagerRules, EagerSearch
from riftsim.search.rounds import RoundSearch

VERIFICATIONS = [(q.VERIFY_EXPANDED, 1.0), (q.VERIFY_CALIBRATED, 1.15), (q.VERIFY_CALIBRATED, 2.0), (q.VERIFY_ALL, 1.0)]
WORLDS = random_worlds(hidden=1)


def rounds_of(world, list_size, k, beam, verify, alpha, overlapped=False) -> RoundSearch:
    return RoundSearch(
        *world.search_arguments(),
        list_size=list_size,
        k=k,
        beam_width=beam,
        verify=verify,
        alpha=alpha,
        overlapped=overlapped,
    )


def assert_equals_oracle(world, query, list_size, k, beam, verify, alpha) -> None:
    books, chains = search_in_rounds(
        world, query, list_size=list_size, k=k, beam=beam, verify=verify, alpha=round(alpha * 1e6) / 1e6
    )
    program = rounds_of(world, list_size, k, beam, verify, alpha)
    step, said = program.start(query), []
    while not step.done:
        said.append([(read.node, read.kind) for read in step.chain])
        step = program.receive([read.tag for read in step.chain], [])
    assert said == chains
    stepped, whole = program.answer(), program.run(query)
    for answer in (stepped, whole):
        assert answer.ids.tolist() == books.results()
        assert answer.distances.tolist() == [
            books.exact[node] if node >= 0 else float("inf") for node in books.results()
        ]
        for name, value in books.all_counts().items():
            assert answer.counts[name] == value, name
        assert answer.counts["hops"] == sum(any(kind == q.READ_RECORD for _, kind in chain) for chain in chains)


@settings(deadline=None, max_examples=150)
@given(
    WORLDS, st.integers(0, 3), st.integers(1, 6), st.integers(0, 8), st.integers(1, 5), st.sampled_from(VERIFICATIONS)
)
def test_rounds_equal_the_oracle(world, query, k, longer, beam, verification):
    assert_equals_oracle(world, query, k + longer, k, beam, *verification)


@pytest.mark.parametrize("verification", VERIFICATIONS)
def test_rounds_on_real_vectors_equal_the_oracle(photos, verification):
    for query in range(3):
        assert_equals_oracle(photos, query, 20, 10, 4, *verification)


@settings(deadline=None, max_examples=80)
@given(WORLDS, st.integers(0, 3), st.integers(1, 6), st.integers(0, 8))
def test_wait_all_with_window_1_is_sequential_search(world, query, k, longer):
    books = search_sequentially(world, query, list_size=k + longer, k=k)
    rules = EagerRules(window=1, max_window=1, verify=q.VERIFY_EXPANDED, gate=GATE_WAIT_ALL)
    program = EagerSearch(*world.search_arguments(), list_size=k + longer, k=k, rules=rules)
    step, expanded = program.start(query), []
    while not step.done:
        expanded += [read.node for read in step.chain]
        step = program.receive([read.tag for read in step.chain], [task.number for task in step.tasks])
    answer = program.answer()
    assert expanded == books.taken
    assert answer.ids.tolist() == books.results()
    for name, value in (books.counts | {"bytes_read": len(books.taken) * world.region.layout.record_bytes}).items():
        assert answer.counts[name] == value, name
    assert answer.counts["hidden_updates"] == 0
    assert answer.ids.tolist() == rounds_of(world, k + longer, k, 1, q.VERIFY_EXPANDED, 1.0).run(query).ids.tolist()


def test_verify_all_is_exact_reranking_of_all_that_entered_the_list(photos):
    rules = EagerRules(window=1, max_window=1, verify=q.VERIFY_ALL, gate=GATE_WAIT_ALL)
    for query in range(5):
        pair = EagerPair(photos, query, list_size=20, k=10, rules=rules)
        while not pair.done:
            pair.receive(pair.reads, pair.tasks)
        pair.check_end()
        entered = sorted(pair.model.books.entered)
        assert pair.model.books.has_vector == set(entered)
        exact = photos.exact(query)
        best = sorted(entered, key=lambda node: (exact[node], node))[:10]
        assert pair.program.answer().ids.tolist() == best


def test_calibrated_lies_between_the_extremes(photos):
    """More alpha, more reads; results no worse; alpha without bound reads all that verify-all reads."""
    for query in range(5):
        reads, sums = [], []
        for verify, alpha in [
            (q.VERIFY_EXPANDED, 1.0),
            (q.VERIFY_CALIBRATED, 1.05),
            (q.VERIFY_CALIBRATED, 1.2),
            (q.VERIFY_CALIBRATED, 1000.0),
            (q.VERIFY_ALL, 1.0),
        ]:
            answer = rounds_of(photos, 20, 10, 4, verify, alpha).run(query)
            reads.append(answer.counts["exact_evaluations"])
            sums.append(float(answer.distances.sum()))
        assert reads == sorted(reads)
        assert reads[-1] == reads[-2]
        assert sums == sorted(sums, reverse=True)


def test_the_local_driver_is_stepping_through(photos):
    stepped = rounds_of(photos, 16, 8, 3, q.VERIFY_CALIBRATED, 1.2)
    answers = run_local(lambda: rounds_of(photos, 16, 8, 3, q.VERIFY_CALIBRATED, 1.2), range(10))
    for query, answer in enumerate(answers):
        other = step_through(stepped, query)
        assert np.array_equal(answer.ids, other.ids)
        assert answer.counts == other.counts
