"""Searches that no system can run, as bounds: results a round late, and oracles of gate and verification."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_checks import make_tiny
from search_oracles import search_in_rounds
from search_runs import local_answers, simulate, system_of
from search_worlds import random_world, random_worlds

from riftsim.computenode.drivers.compiled import run_compiled
from riftsim.computenode.drivers.local import step_through
from riftsim.computenode.drivers.sim import run_simulated
from riftsim.errors import ConfigError
from riftsim.kernels import gate as gates
from riftsim.kernels import query as q
from riftsim.search.delayed import DelayedSearch
from riftsim.search.eager import EagerRules, EagerSearch
from riftsim.search.rounds import RoundSearch

WORLDS = random_worlds()


def delayed(world, *, limit=0, merge_rest=False, count_empty=False, **settings_of) -> DelayedSearch:
    return DelayedSearch(
        *world.search_arguments(),
        **settings_of,
        merge_rest=merge_rest,
        count_empty=count_empty,
        round_limit=(lambda query: limit) if limit else None,
        true_ids=world.true_neighbors(settings_of["k"]),
    )


@settings(max_examples=150)
@given(
    world=WORLDS,
    query=st.integers(0, 3),
    k=st.integers(1, 5),
    extra=st.integers(0, 8),
    beam=st.integers(1, 5),
    verify=st.sampled_from([q.VERIFY_EXPANDED, q.VERIFY_CALIBRATED, q.VERIFY_ALL, q.VERIFY_ORACLE]),
    limit=st.integers(0, 6),
    merge_rest=st.booleans(),
    count_empty=st.booleans(),
    tiny=st.booleans(),
)
def test_delayed_rounds_equal_the_model(world, query, k, extra, beam, verify, limit, merge_rest, count_empty, tiny):
    shared = {"list_size": k + extra, "k": k, "verify": verify, "alpha": 1.5}
    program = delayed(world, beam_width=beam, limit=limit, merge_rest=merge_rest, count_empty=count_empty, **shared)
    if tiny:
        make_tiny(program)
    held_back = "merged" if merge_rest else "dropped"
    books, chains = search_in_rounds(
        world, query, beam=beam, held_back=held_back, limit=limit, count_empty=count_empty, **shared
    )
    step, said = program.start(query), []
    while not step.done:
        said.append([(read.node, read.kind) for read in step.chain])
        step = program.receive([read.tag for read in step.chain], [])
    assert said == chains
    for answer in (program.answer(), program.run(query)):
        assert answer.ids.tolist() == books.results()
        for name, value in books.all_counts().items():
            assert answer.counts[name] == value, name
        assert limit == 0 or answer.counts["hops"] <= limit


@settings(max_examples=60)
@given(world=WORLDS, query=st.integers(0, 3), beam=st.integers(1, 5), merge_rest=st.booleans())
def test_a_delay_without_a_budget_loses_nothing_where_nothing_is_evicted(world, query, beam, merge_rest):
    """With room for every node, both searches end when all that can be reached is expanded."""
    shared = {"list_size": len(world.vectors) + 3, "k": min(4, len(world.vectors)), "beam_width": beam}
    undelayed = RoundSearch(*world.search_arguments(), **shared).run(query)
    late = delayed(world, merge_rest=merge_rest, **shared).run(query)
    assert late.ids.tolist() == undelayed.ids.tolist()
    for name in ("expansions", "evaluations", "bytes_read"):
        assert late.counts[name] == undelayed.counts[name]


@settings(max_examples=60)
@given(world=WORLDS, query=st.integers(0, 3), k=st.integers(1, 5), extra=st.integers(0, 8), beam=st.integers(1, 5))
def test_an_oracle_of_verification_finds_what_verify_all_finds(world, query, k, extra, beam):
    settings_of = {"list_size": k + extra, "k": k, "beam_width": beam}
    true_ids = world.true_neighbors(k)
    answers = {}
    for verify in (q.VERIFY_EXPANDED, q.VERIFY_ALL, q.VERIFY_ORACLE):
        program = RoundSearch(*world.search_arguments(), **settings_of, verify=verify, true_ids=true_ids)
        answers[verify] = step_through(program, query)
    true = set(true_ids[query].tolist()) - {-1}
    found = {verify: true & set(answer.ids.tolist()) for verify, answer in answers.items()}
    assert found[q.VERIFY_ORACLE] >= found[q.VERIFY_ALL]
    kth = [answers[verify].distances[-1] for verify in (q.VERIFY_ORACLE, q.VERIFY_ALL)]
    assert len(found[q.VERIFY_ORACLE]) == len(found[q.VERIFY_ALL]) or kth[0] >= kth[1]
    oracle, expanded = answers[q.VERIFY_ORACLE].counts, answers[q.VERIFY_EXPANDED].counts
    assert oracle["reads_record"] == expanded["reads_record"]
    assert oracle["reads_vector"] <= k


@pytest.mark.parametrize(
    "settings_of",
    [
        {"gate": {"kind": "oracle", "epsilon": 0}},
        {"gate": {"kind": "oracle", "epsilon": 3}, "window": 3, "workers": 0, "chunk": 2},
        {"verification": {"kind": "oracle"}},
        {"gate": {"kind": "oracle", "epsilon": 0}, "verification": {"kind": "oracle"}, "balancing": {"kind": "fixed"}},
    ],
)
def test_both_engines_run_oracles_alike(photos, settings_of):
    system = system_of("riftann", photos, **settings_of)
    runs = [simulate(system, queries=12, engine=engine) for engine in (run_simulated, run_compiled)]
    for simpy, compiled in zip(*(run.runs for run in runs), strict=True):
        assert (simpy.query, simpy.start_ps, simpy.end_ps) == (compiled.query, compiled.start_ps, compiled.end_ps)
        assert simpy.answer.counts == compiled.answer.counts
        assert np.array_equal(simpy.answer.ids, compiled.answer.ids)
    if settings_of.get("gate", {}).get("epsilon") == 0:
        assert all(run.answer.counts["hidden_updates"] == 0 for run in runs[0].runs)


def test_the_delay_as_a_system(photos):
    shared = {"beam_width": 4, "verification": "verify-all", "budget": "undelayed", "empty_rounds": "counted"}
    undelayed, dropped, merged = (
        local_answers(system_of("one_hop_delay", photos, **shared, delayed=late, rest=rest))
        for late, rest in ((False, "dropped"), (True, "dropped"), (True, "merged"))
    )
    for query, answer in undelayed.items():
        for late in (dropped[query], merged[query]):
            assert late.counts["hops"] + late.counts["empty_rounds"] <= answer.counts["hops"]
        assert dropped[query].counts["evaluations"] == merged[query].counts["evaluations"]
        assert dropped[query].counts["exact_evaluations"] <= merged[query].counts["exact_evaluations"]


def test_what_cannot_be_known_is_refused():
    world = random_world(0)
    arguments = {"list_size": 8, "k": 2}
    with pytest.raises(ConfigError, match="verification: found 'oracle', but the true neighbours"):
        EagerSearch(*world.search_arguments(), **arguments, rules=EagerRules(verify=q.VERIFY_ORACLE))
    with pytest.raises(ConfigError, match="record_reads: found 'full-record' under the gate 'oracle'"):
        EagerSearch(*world.search_arguments(), **arguments, rules=EagerRules(gate=gates.GATE_ORACLE, full_record=True))
