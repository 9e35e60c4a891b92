"""Indices that hardly hold a search: few results, duplicates, ties, lists of one, a start without neighbours."""

import numpy as np
import pytest
from search_checks import EagerPair
from search_oracles import search_in_rounds
from search_runs import local_answers, simulate, system_of
from search_worlds import World, graph_of, make_world, random_world

from riftsim.kernels import gate as gates
from riftsim.kernels import query as q
from riftsim.search.eager import EagerRules
from riftsim.search.rounds import RoundSearch

VERIFICATIONS = [q.VERIFY_EXPANDED, q.VERIFY_CALIBRATED, q.VERIFY_ALL]


def bytes_of(rows) -> np.ndarray:
    return np.array(rows, np.uint8)


def ids_of(world: World, list_size: int, k: int, verify: int = q.VERIFY_EXPANDED, beam: int = 2) -> list[list[int]]:
    """Ids of every query by rounds and by the eager search, checked against their models."""
    ids = []
    for query in range(len(world.queries)):
        settings = {"list_size": list_size, "k": k, "verify": verify, "alpha": 1.2}
        answer = RoundSearch(*world.search_arguments(), beam_width=beam, **settings).run(query)
        books, _ = search_in_rounds(world, query, beam=beam, **settings)
        assert answer.ids.tolist() == books.results()
        for full in (False, True):
            rules = EagerRules(
                window=2, max_window=2, verify=verify, alpha=1.2, gate=gates.GATE_UNGATED, full_record=full
            )
            pair = EagerPair(world, query, list_size=list_size, k=k, rules=rules)
            while not pair.done:
                pair.receive(pair.reads, pair.tasks)
            pair.check_end()
        ids.append(answer.ids.tolist())
    return ids


@pytest.mark.parametrize("verify", VERIFICATIONS)
def test_fewer_reachable_nodes_than_results(verify):
    """Nodes 3 and 4 cannot be reached: they are not found, and the search ends."""
    world = make_world(bytes_of([[i, 0] for i in range(5)]), bytes_of([[4, 0]]), graph_of([[1], [2], [0], [4], [3]]))
    assert ids_of(world, 6, 5, verify) == [[2, 1, 0, -1, -1]]


@pytest.mark.parametrize("verify", VERIFICATIONS)
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_nodes_for_three_results(n, verify):
    lists = [[1], [0]][:n] if n == 2 else [[]]
    world = make_world(bytes_of([[7, 7], [8, 8]][:n]), bytes_of([[8, 8]]), graph_of(lists))
    assert ids_of(world, 4, 3, verify) == [[[0, -1, -1], [1, 0, -1]][n - 1]]


@pytest.mark.parametrize("verify", VERIFICATIONS)
def test_a_start_node_without_neighbours(verify):
    world = make_world(bytes_of([[1, 1], [2, 2], [3, 3]]), bytes_of([[3, 3]]), graph_of([[], [0, 2], [0, 1]]))
    assert ids_of(world, 3, 2, verify) == [[0, -1]]


@pytest.mark.parametrize("verify", VERIFICATIONS)
def test_duplicates_by_the_hundred(verify):
    """300 times the same vector: all at distance 0 or all equally far, ties go to the smaller id."""
    n = 300
    lists = [[(node + step) % n for step in (1, 2, 3, 5, 8, 13)] for node in range(n)]
    world = make_world(np.full((n, 4), 9, np.uint8), bytes_of([[9] * 4, [0] * 4]), graph_of(lists))
    for found in ids_of(world, 20, 10, verify):
        assert len(set(found)) == 10
        assert found == sorted(found)
        assert found[0] == 0


@pytest.mark.parametrize("verify", VERIFICATIONS)
@pytest.mark.parametrize(("list_size", "k"), [(1, 1), (5, 5)])
def test_lists_as_short_as_the_results(list_size, k, verify):
    for seed in range(3):
        ids_of(random_world(seed, n=40, degree=4), list_size, k, verify)
        ids_of(random_world(seed, n=40, degree=4, values=2), list_size, k, verify)


@pytest.mark.parametrize("verify", VERIFICATIONS)
def test_hidden_rows_lead_the_way_and_are_not_returned(verify):
    world = make_world(
        bytes_of([[i, 0] for i in range(6)]),
        bytes_of([[5, 0]]),
        graph_of([[1], [2], [3], [4], [5], [0]]),
        hidden=np.array([0, 1, 0, 1, 0, 1], bool),
    )
    assert ids_of(world, 6, 3, verify, beam=1) == [[4, 2, 0]]
    assert local_answers(system_of("in_memory", world, list_size=6, k=3), 1)[0].ids.tolist() == [4, 2, 0]


def test_kept_lists_with_nothing_new_do_not_end_a_search():
    """With whole records, verified candidates are expanded without a read; one that adds nothing is not the last.

    Expanding 0 finds 1 and 2. While the evaluation of 2 is unfinished, the gate keeps 1 from being expanded, and it is
    verified with its whole record. Expanding it then adds nothing new, and 2 must still be expanded to reach 3.
    """
    vectors = bytes_of([[0], [10], [20], [30], [40]])
    world = make_world(vectors, bytes_of([[12]]), graph_of([[1, 2], [0, 2], [0, 1, 3], [2, 4], [3]]))
    rules = EagerRules(window=1, max_window=1, verify=q.VERIFY_ALL, gate=gates.GATE_WAIT_ALL, full_record=True, chunk=1)
    pair = EagerPair(world, 0, list_size=5, k=5, rules=rules)
    while not pair.done:
        pair.receive(pair.reads, []) if pair.reads else pair.receive([], pair.tasks[:1])
    pair.check_end()
    assert pair.program.answer().ids.tolist() == [1, 2, 0, 3, 4]


@pytest.mark.parametrize("name", ["in_memory", "remote", "async", "riftann"])
def test_a_lonely_node_in_simulation(name):
    world = make_world(bytes_of([[7, 7]]), bytes_of([[8, 8]]), graph_of([[]]))
    run = simulate(system_of(name, world, list_size=4, k=3), queries=1, measured=5, concurrency=2)
    assert [each.answer.ids.tolist() for each in run.runs] == [[0, -1, -1]] * 5
