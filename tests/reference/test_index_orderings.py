"""Packs of nodes against plain loops, and the hit rate against counting by hand."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_runs import local_answers, system_of
from search_worlds import graph_of, random_world

from riftsim.artifacts import ArtifactStore
from riftsim.index import orderings
from riftsim.kernels.partition import fill_packs, propagate_labels, shuffle_packs, stream_into_packs
from riftsim.storage.record_cache import visited


def neighbors_of(graph):
    """Neighbours in both directions, with repetitions, of each node."""
    lists = [[] for _ in graph.degrees]
    for node, degree in enumerate(graph.degrees):
        for other in graph.neighbors[node, :degree].tolist():
            lists[node].append(other)
            lists[other].append(node)
    return lists


def world_graph(seed, n=60):
    graph = random_world(seed, n=n).graph
    return (*orderings.both_ways(graph), neighbors_of(graph))


@given(seed=st.integers(0, 30))
@settings(max_examples=10)
def test_edges_are_taken_both_ways(seed):
    starts, others, lists = world_graph(seed)
    for node, expected in enumerate(lists):
        assert sorted(others[starts[node] : starts[node + 1]].tolist()) == sorted(expected)


@settings(max_examples=25)
@given(seed=st.integers(0, 30), pack=st.integers(2, 8), price=st.sampled_from([0.0, 0.3, 1.0]))
def test_streaming_follows_fennels_rule(seed, pack, price):
    starts, others, lists = world_graph(seed)
    n, packs = len(lists), -(-len(lists) // pack)
    order = np.random.default_rng(seed).permutation(n)
    penalty = price * 5.0 * np.arange(pack + 1) ** 0.5
    part = np.empty(n, np.int32)
    stream_into_packs(starts, others, order, packs, pack, penalty, part)
    expected, sizes = {}, [0] * packs
    for node in order.tolist():
        votes = Counter(expected[other] for other in lists[node] if other in expected)
        emptiest = min(range(packs), key=lambda number: (sizes[number], number))
        open_packs = [number for number in votes if sizes[number] < pack]
        scores = {number: votes[number] - penalty[sizes[number]] for number in open_packs}
        best, score = emptiest, -penalty[sizes[emptiest]]
        for number in sorted(scores):
            if scores[number] > score or (scores[number] == score and number < best):
                best, score = number, scores[number]
        expected[node] = best
        sizes[best] += 1
    assert part.tolist() == [expected[node] for node in range(n)]


@settings(max_examples=25)
@given(seed=st.integers(0, 30), pack=st.integers(2, 8))
def test_shuffling_follows_starlings_rule(seed, pack):
    starts, others, lists = world_graph(seed)
    n = len(lists)
    part, shuffled = np.empty(n, np.int32), np.empty(n, np.int32)
    packs = fill_packs(starts, others, pack, part)
    assert sorted(np.bincount(part, minlength=packs).tolist())[1:] == [pack] * (packs - 1)
    shuffle_packs(starts, others, packs, pack, part, shuffled)
    sizes, expected = [0] * packs, [-1] * n
    for node in range(n):
        votes = Counter(int(part[other]) for other in lists[node])
        fitting = [number for number in votes if sizes[number] < pack]
        if fitting:
            expected[node] = min(fitting, key=lambda number: (-votes[number], number))
            sizes[expected[node]] += 1
    for node in range(n):
        if expected[node] < 0:
            expected[node] = next(number for number in range(packs) if sizes[number] < pack)
            sizes[expected[node]] += 1
    assert shuffled.tolist() == expected


@settings(max_examples=25)
@given(seed=st.integers(0, 30), pack=st.integers(2, 8))
def test_labels_move_to_where_most_neighbours_are_and_room_is(seed, pack):
    starts, others, lists = world_graph(seed)
    n = len(lists)
    label, sizes = np.arange(n, dtype=np.int32), np.ones(n, np.int64)
    order = np.random.default_rng(seed).permutation(n)
    expected, held = list(range(n)), [1] * n
    for _ in range(2):
        changed = propagate_labels(starts, others, order, pack, label, sizes)
        moves = 0
        for node in order.tolist():
            votes = Counter(expected[other] for other in lists[node])
            best, own = expected[node], expected[node]
            for other in dict.fromkeys(expected[neighbor] for neighbor in _in_order(starts, others, node)):
                if other != own and held[other] < pack and votes[other] > votes[best]:
                    best = other
            if best != own:
                expected[node] = best
                held[own] -= 1
                held[best] += 1
                moves += 1
        assert changed == moves
        assert label.tolist() == expected
        assert sizes.tolist() == held


def _in_order(starts, others, node):
    return others[starts[node] : starts[node + 1]].tolist()


@pytest.mark.parametrize("make", [orderings.fennel, orderings.starling, orderings.label_propagation])
@pytest.mark.parametrize("pack", [2, 7])
def test_packs_hold_every_node_and_no_more_than_they_may(make, pack):
    starts, others, lists = world_graph(4)
    sizes = np.bincount(make(starts, others, pack))
    assert sizes.sum() == len(lists)
    assert sizes.max() <= pack


@pytest.mark.parametrize("make", [orderings.starling, orderings.label_propagation])
def test_cliques_are_found(make):
    cliques = [[5 * (node // 5) + other for other in range(5) if other != node % 5] for node in range(40)]
    shuffle = np.random.default_rng(0).permutation(40)
    lists = [[] for _ in range(40)]
    for node, others in enumerate(cliques):
        lists[shuffle[node]] = [int(shuffle[other]) for other in others]
    part = make(*orderings.both_ways(graph_of(lists)), 5)
    for clique in range(8):
        assert len(set(part[shuffle[5 * clique : 5 * clique + 5]].tolist())) == 1


def test_hits_are_counted_once_per_pack_that_a_query_touches():
    part = np.array([0, 0, 0, 1, 1, 2], np.int32)
    sizes = np.bincount(part)
    assert orderings.visit_hits(part, sizes, np.array([0, 2, 3])) == (1, 2 + 1)
    assert orderings.visit_hits(part, sizes, np.array([0, 1, 2])) == (2, 2)
    assert orderings.visit_hits(part, sizes, np.array([5])) == (0, 0)
    assert orderings.in_order(6, 4).tolist() == [0, 0, 0, 0, 1, 1]
    assert orderings.in_order(3, 2, np.array([2, 0, 1])).tolist() == [0, 1, 0]


@settings(max_examples=10)
@given(seed=st.integers(0, 30), pack=st.integers(2, 9))
def test_a_system_counts_which_co_packed_nodes_its_search_visits(seed, pack):
    world = random_world(seed, n=120)
    part = orderings.packs_of(world.graph, "label-propagation", pack)
    context = {"packs": lambda **asked: part}
    system = system_of("co_packed", world, context=context, ordering="label-propagation", pack=pack)
    counted = local_answers(system, len(world.queries))
    plain = system_of("remote", world, beam_width=1, verification="expansion-only").new_program()
    for answer, nodes in zip(counted.values(), visited(plain, len(counted)), strict=True):
        mates = {other for node in nodes for other in np.flatnonzero(part == part[node]).tolist()}
        touched = len(set(part[nodes].tolist()))
        assert answer.counts["co_packed"] == len(mates) - touched
        assert answer.counts["co_visited"] == len(nodes) - touched


@pytest.mark.parametrize("ordering", ["random", "data", "fennel", "fennel-without-price", "starling"])
def test_packs_are_made_once(tmp_path, ordering):
    graph, store = random_world(4, n=60).graph, ArtifactStore(tmp_path)
    made = orderings.stored_packs(graph, ordering=ordering, pack=4, fingerprint="f", store=store)
    assert np.bincount(made).max() <= 4
    kept = orderings.stored_packs(None, ordering=ordering, pack=4, fingerprint="f", store=store)
    assert kept.tolist() == made.tolist() == orderings.packs_of(graph, ordering, 4).tolist()
