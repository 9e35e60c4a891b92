"""The eager search under any completion order, any batching and a controller that moves its window.

Every step is compared with a plain model (``helpers/search_oracles``), and so is the state between steps.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from search_checks import EagerPair, state_copy
from search_worlds import random_world, random_worlds

from riftsim.errors import ConfigError, ProtocolError
from riftsim.kernels import gate as gates
from riftsim.kernels import query as q
from riftsim.search.eager import EagerRules, EagerSearch

WORLDS = random_worlds()


@st.composite
def rules_of_search(draw) -> EagerRules:
    window = draw(st.integers(1, 5))
    gate = draw(st.sampled_from([*range(gates.GATE_EXTERNAL), gates.GATE_ORACLE]))
    return EagerRules(
        window=draw(st.integers(1, window)),
        max_window=window,
        window_counts=draw(st.sampled_from([q.WINDOW_OF_READS, q.WINDOW_OF_EXPANSIONS])),
        verify_cap=draw(st.integers(1, 4)),
        verify=draw(st.sampled_from([q.VERIFY_EXPANDED, q.VERIFY_CALIBRATED, q.VERIFY_ALL, q.VERIFY_ORACLE])),
        alpha=draw(st.sampled_from([1.0, 1.15, 2.0])),
        verify_evicted=draw(st.booleans()),
        full_record=gate != gates.GATE_ORACLE and draw(st.booleans()),
        gate=gate,
        gate_bound=draw(st.integers(0, 12)),
        gate_limit=draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])),
        history=draw(st.sampled_from([1, 7, 64])),
        chunk=draw(st.integers(0, 3)),
    )


@st.composite
def searches(draw) -> EagerPair:
    k = draw(st.integers(1, 6))
    return EagerPair(
        draw(WORLDS),
        draw(st.integers(0, 3)),
        list_size=draw(st.integers(k, 14)),
        k=k,
        rules=draw(rules_of_search()),
        tiny=draw(st.booleans()),
    )


class EagerMachine(RuleBasedStateMachine):
    """Reads and tasks complete in any order and in any company."""

    @initialize(pair=searches())
    def begin(self, pair):
        self.pair = pair

    @precondition(lambda self: self.pair.reads)
    @rule(data=st.data())
    def complete_reads(self, data):
        self.pair.receive(data.draw(st.lists(st.sampled_from(self.pair.reads), unique=True, min_size=1)), [])

    @precondition(lambda self: self.pair.tasks)
    @rule(data=st.data())
    def complete_tasks(self, data):
        self.pair.receive([], data.draw(st.lists(st.sampled_from(self.pair.tasks), unique=True, min_size=1)))

    @precondition(lambda self: self.pair.reads and self.pair.tasks)
    @rule(data=st.data())
    def complete_both(self, data):
        reads = data.draw(st.lists(st.sampled_from(self.pair.reads), unique=True, min_size=1))
        self.pair.receive(reads, data.draw(st.lists(st.sampled_from(self.pair.tasks), unique=True, min_size=1)))

    @precondition(lambda self: not self.pair.done)
    @rule()
    def look_in_vain(self):
        self.pair.receive([], [])

    @precondition(lambda self: not self.pair.done)
    @rule(data=st.data())
    def control(self, data):
        self.pair.set_window(data.draw(st.integers(1, self.pair.rules.max_window)))

    @rule(data=st.data())
    def break_the_contract(self, data):
        """A duplicate, a stranger, or one twice in a batch: refused, whatever comes with it, and nothing changes."""
        pair = self.pair
        reads, tasks = list(pair.reads), list(pair.tasks)
        where = data.draw(st.sampled_from(["reads", "tasks"]))
        batch, finished = (reads, pair.finished_reads) if where == "reads" else (tasks, pair.finished_tasks)
        wrong = data.draw(st.sampled_from([*batch[:1], *finished[-1:], -1, 10**6]))
        batch.insert(data.draw(st.integers(0, len(batch))), wrong)
        before = state_copy(pair.program)
        with pytest.raises(ProtocolError, match=str(wrong)):
            pair.program.receive(reads, tasks)
        assert all(map(np.array_equal, before, pair.program._state))

    @invariant()
    def ends_right(self):
        if self.pair.done:
            self.pair.check_end()

    def teardown(self):
        if not hasattr(self, "pair"):
            return
        while not self.pair.done:
            self.pair.receive(self.pair.reads, self.pair.tasks)
        self.pair.check_end()


EagerMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestEagerMachine = EagerMachine.TestCase


def _run(pair: EagerPair, order: np.random.Generator) -> EagerPair:
    """Complete a few things at a time, in a random order."""
    while not pair.done:
        open_now = [("read", tag) for tag in pair.reads] + [("task", number) for number in pair.tasks]
        chosen = order.permutation(len(open_now))[: order.integers(1, len(open_now) + 1)]
        some = [open_now[at] for at in chosen]
        pair.receive([tag for kind, tag in some if kind == "read"], [number for kind, number in some if kind == "task"])
    pair.check_end()
    return pair


@settings(deadline=None, max_examples=120)
@given(searches(), st.integers(0, 2**32))
def test_whole_searches_in_random_order(pair, seed):
    _run(pair, np.random.default_rng(seed))


@settings(deadline=None, max_examples=25)
@given(WORLDS, rules_of_search(), st.integers(0, 2**32))
def test_a_program_is_as_new_for_its_next_query(world, rules, seed):
    """Its arrays have grown by then; the results are those of large ones."""
    pair = EagerPair(world, 0, list_size=9, k=3, rules=rules, tiny=True)
    _run(pair, np.random.default_rng(seed))
    grown = _run(
        EagerPair(world, 1, list_size=9, k=3, rules=rules, program=pair.program), np.random.default_rng(seed + 1)
    )
    large = _run(EagerPair(world, 1, list_size=9, k=3, rules=rules), np.random.default_rng(seed + 1))
    assert grown.program.answer().counts == large.program.answer().counts


def test_every_array_grows():
    """A search from the smallest arrays asks for each kind of growth (the property tests rely on it)."""
    world = random_world(1, n=90, degree=7)
    rules = EagerRules(window=4, max_window=4, verify=q.VERIFY_ALL, full_record=True, gate=gates.GATE_UNGATED)
    pair = EagerPair(world, 0, list_size=14, k=4, rules=rules, tiny=True)
    before = pair.program._state
    _run(pair, np.random.default_rng(0))
    after = pair.program._state
    for name in ("node_ids", "unverified", "pending_ids", "tasks", "trail", "kept_lists"):
        assert len(getattr(after, name)) > len(getattr(before, name)), name


def test_full_records_are_read_as_often_as_vectors():
    """Whole records need as many requests as there are vectors; which nodes are expanded stays the same.

    With wait-all and one read at a time, verifications cannot overtake: the traversal is that of the state-driven mode.
    """
    world = random_world(3, n=90, degree=7)
    settings_of = {"window": 1, "max_window": 1, "verify": q.VERIFY_ALL, "gate": gates.GATE_WAIT_ALL}
    answers = []
    for full in (False, True):
        pair = EagerPair(world, 2, list_size=10, k=4, rules=EagerRules(**settings_of, full_record=full))
        while not pair.done:
            pair.receive(pair.reads, pair.tasks)
        pair.check_end()
        answers.append((pair.model.books.taken, pair.program.answer()))
    (driven_taken, driven), (full_taken, full) = answers
    assert set(driven_taken) == set(full_taken)
    assert driven.ids.tolist() == full.ids.tolist()
    assert full.counts["reads_vector"] == full.counts["reads_adjacency"] == 0
    assert full.counts["reads_record"] == full.counts["exact_evaluations"] == driven.counts["exact_evaluations"]


@pytest.mark.parametrize("window_counts", [q.WINDOW_OF_READS, q.WINDOW_OF_EXPANSIONS])
def test_what_left_the_list_is_verified_and_never_expanded(window_counts):
    """Verifying only evicted candidates reads every node that ever entered the list, each of them once."""
    world = random_world(3, n=90, degree=7)
    rules = EagerRules(window=4, max_window=4, window_counts=window_counts, verify=q.VERIFY_ALL, verify_evicted=True)
    pair = _run(EagerPair(world, 2, list_size=10, k=4, rules=rules), np.random.default_rng(0))
    counts = pair.program.answer().counts
    assert counts["reads_vector"] > 0
    assert counts["reads_adjacency"] == counts["requests_merged"] == 0
    assert counts["reads_record"] == counts["expansions"]
    assert counts["exact_evaluations"] == counts["insertions"]


@pytest.mark.parametrize("window", [0, 9])
def test_a_window_out_of_bounds(window):
    world = random_world(0)
    with pytest.raises(ConfigError, match=f"window: found {window}, expected 1 to max_window = 8"):
        EagerSearch(*world.search_arguments(), list_size=8, k=2, rules=EagerRules(window=window))
    program = EagerSearch(*world.search_arguments(), list_size=8, k=2, rules=EagerRules())
    program.start(0)
    with pytest.raises(ProtocolError, match=f"window of {window} reads, expected 1 to 8"):
        program.apply(window)
