"""The search that reads ahead (CXL-ANNS): it expands what a beam of one expands, and an oracle knows what it reads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_runs import answers_of, local_answers, parts_ps, simulate, system_of
from search_worlds import random_world

from riftsim.errors import ProtocolError
from riftsim.results.trace import trace_of
from riftsim.search.rounds import RoundSearch
from riftsim.search.speculative import SpeculativeSearch
from riftsim.testing import check_program


def searches(world, list_size, k, **settings):
    size = {"list_size": list_size, "k": k}
    return (
        SpeculativeSearch(*world.search_arguments(), **size, **settings),
        RoundSearch(*world.search_arguments(), **size, beam_width=1),
    )


def oracle(world, query, list_size, prefetch, cached):
    """Nodes expanded in order, guesses, right ones, reads ahead, those used, and remote reads in order: plain lists."""
    compact = world.compact(query)
    key = lambda node: (float(compact[node]), node)  # noqa: E731
    candidates, seen = [world.graph.start], {world.graph.start}
    expanded, ahead, used, guesses, right, remote = [], set(), 0, 0, 0, []
    guess = None
    while left := [node for node in candidates if node not in expanded]:
        node = left[0]
        right += node == guess
        used += node in ahead
        if node not in ahead and node not in cached:
            remote.append(node)
        expanded.append(node)
        guess = left[1] if prefetch and len(left) > 1 else None
        guesses += guess is not None
        if guess is not None and guess not in ahead and guess not in cached:
            ahead.add(guess)
            remote.append(guess)
        for other in world.neighbors(node):
            if other not in seen:
                seen.add(other)
                candidates.append(other)
        candidates = sorted(candidates, key=key)[:list_size]
    return expanded, guesses, right, len(ahead), used, remote


def read_in_turn(search, query, seed):
    """Nodes in the order in which they are read, where reads come one by one in some order."""
    rng = np.random.default_rng(seed)
    step, nodes, open_tags = search.start(query), [], []
    while True:
        reads = [read for part in step.parts() for read in part.chain]
        nodes += [read.node for read in reads]
        open_tags += [read.tag for read in reads]
        if step.parts()[-1].done:
            return nodes
        step = search.receive([open_tags.pop(rng.integers(len(open_tags)))], [])


@settings(max_examples=60)
@given(
    seed=st.integers(0, 30),
    query=st.integers(0, 3),
    list_size=st.integers(4, 20),
    prefetch=st.booleans(),
    share=st.sampled_from([0.0, 0.3]),
)
def test_it_reads_what_the_oracle_reads_and_finds_what_a_beam_of_one_finds(seed, query, list_size, prefetch, share):
    world = random_world(seed)
    cached = np.random.default_rng(seed).random(len(world.vectors)) < share
    search, plain = searches(world, list_size, 4, prefetch=prefetch, cached=cached if share else None)
    nodes = read_in_turn(search, query, seed)
    answer, expected = search.answer(), plain.run(query)
    assert np.array_equal(answer.ids, expected.ids)
    assert np.array_equal(answer.distances, expected.distances)
    expanded, guesses, right, ahead, used, remote = oracle(
        world, query, list_size, prefetch, set(np.flatnonzero(cached).tolist()) if share else set()
    )
    counts = answer.counts
    assert counts["expansions"] == len(expanded) == expected.counts["expansions"]
    assert (counts["guesses"], counts["guesses_right"]) == (guesses, right)
    assert (counts["reads_ahead"], counts["reads_ahead_used"]) == (ahead, used)
    assert nodes == remote
    assert counts["reads_record"] == len(remote)
    assert counts["reads_cached"] + len(remote) == len(expanded) + ahead - used
    layout = world.region.layout
    assert counts["bytes_read"] == len(remote) * layout.record_bytes


@pytest.mark.parametrize("settings", [{}, {"prefetch": False}, {"split_update": False}])
def test_it_keeps_the_contract(settings):
    system = system_of("cxl_ann", random_world(1, n=90, degree=7), list_size=12, k=4, **settings)
    check_program(system.new_program, range(4))


def test_a_failed_read_is_asked_for_again():
    world = random_world(3)
    search, plain = searches(world, 10, 4)
    step = search.start(0)
    tags = [read.tag for read in step.chain]
    again = search.retry(tags)
    assert [read.node for read in again.chain] == [read.node for read in step.chain]
    with pytest.raises(ProtocolError, match="expected every tag once"):
        search.receive(tags, [])
    while not step.done:
        step = search.receive([read.tag for read in again.chain], [])
        again = type(again)(step.work, tuple(read for part in step.parts() for read in part.chain))
        step = step.parts()[-1]
    assert np.array_equal(search.answer().ids, plain.run(0).ids)


def test_reading_ahead_and_splitting_the_update_save_time_and_change_nothing(photos):
    times = {}
    for name, given_settings in (
        ("both", {}),
        ("no prefetch", {"prefetch": False}),
        ("neither", {"prefetch": False, "split_update": False}),
    ):
        system = system_of("cxl_ann", photos, **given_settings)
        run = simulate(system, concurrency=1)
        for query, answer in answers_of(run).items():
            assert np.array_equal(answer.ids, local_answers(system)[query].ids)
        assert all(parts_ps(each) == each.end_ps - each.arrival_ps for each in run.runs)
        times[name] = np.mean([each.end_ps - each.start_ps for each in run.runs])
    assert times["both"] < 0.8 * times["no prefetch"]
    assert times["no prefetch"] < times["neither"]


def test_a_trace_holds_every_part_of_a_turn(photos):
    run = simulate(system_of("cxl_ann", photos), concurrency=2, warmup=2, load={"traced": range(2, 6)})
    trace = trace_of(run.trace, run.runs[0].ordinal)
    for row, each in enumerate(run.runs[:4]):
        steps = trace.of(row).steps
        assert steps["from_ps"].iloc[0] == each.start_ps
        assert steps["until_ps"].iloc[-1] == each.end_ps
        assert (steps["from_ps"].to_numpy()[1:] >= steps["until_ps"].to_numpy()[:-1]).all()
        assert steps["done"].tolist() == [False] * (len(steps) - 1) + [True]
        assert len(trace.of(row).reads) == each.answer.counts["reads_record"]
