"""Reads that fail and are asked for again, in any order and number of times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riftsim.errors import ProtocolError
from riftsim.kernels import query as q
from riftsim.search.eager import EagerRules, EagerSearch
from riftsim.search.rounds import RoundSearch


def finish(search, query, draw):
    """Run a search in which each completion may be a failure; return the answer and the failed reads."""
    step = search.start(query)
    flying, tasks = [], []
    failed = 0
    while True:
        flying += [request.tag for request in step.chain]
        tasks += [task.number for task in step.tasks]
        if step.done:
            return search.answer(), failed
        done = [tag for tag in flying if draw(st.booleans())] or flying[:1]
        flying = [tag for tag in flying if tag not in done]
        lost = [tag for tag in done if failed < 200 and draw(st.integers(0, 3)) == 0]
        if lost:
            failed += len(lost)
            step = search.retry(lost)
            flying += [request.tag for request in step.chain]
        arrived = [tag for tag in done if tag not in lost]
        evaluated, tasks = tasks, []
        step = search.receive(arrived, evaluated) if arrived or evaluated else step._replace(chain=(), tasks=())


@given(data=st.data(), query=st.integers(0, 59), overlapped=st.booleans())
def test_rounds_give_the_results_of_a_run_without_failures(photos, data, query, overlapped):
    search = RoundSearch(*photos.search_arguments(), list_size=12, k=5, beam_width=3, overlapped=overlapped)
    calm = search.run(query)
    answer, failed = finish(search, query, data.draw)
    assert np.array_equal(answer.ids, calm.ids)
    assert np.array_equal(answer.distances, calm.distances)
    assert answer.counts["retried"] == failed
    for count in ("expansions", "evaluations", "exact_evaluations", "hops"):
        assert answer.counts[count] == calm.counts[count]
    assert answer.counts["reads_record"] == calm.counts["reads_record"] + failed
    assert answer.counts["bytes_read"] == answer.counts["reads_record"] * photos.region.layout.record_bytes


@given(data=st.data(), query=st.integers(0, 59))
def test_eager_searches_end_clean(photos, data, query):
    search = EagerSearch(*photos.search_arguments(), list_size=12, k=5, rules=EagerRules())
    answer, failed = finish(search, query, data.draw)
    numbers = search.state.numbers
    assert answer.counts["retried"] == failed
    assert numbers[q.IN_FLIGHT] == numbers[q.AWAITED] == numbers[q.UNFINISHED] == 0
    taken_in = answer.counts["exact_evaluations"] + numbers[q.LISTS]
    fields = 2 * answer.counts["reads_record"] + answer.counts["reads_vector"] + answer.counts["reads_adjacency"]
    assert fields >= taken_in
    assert np.all(answer.ids >= 0)


def test_a_read_that_is_not_in_flight_cannot_fail(photos):
    search = RoundSearch(*photos.search_arguments(), list_size=8, k=3, beam_width=2)
    step = search.start(0)
    before = search.state.numbers.copy()
    for wrong in ([step.chain[0].tag + 999], [step.chain[0].tag] * 2):
        with pytest.raises(ProtocolError):
            search.retry(wrong)
        assert np.array_equal(search.state.numbers, before)
