"""The parts of a query's state: table of nodes, heap, growth, verification rule, choice of tasks."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riftsim.computenode.drivers.state_blocks import StateBlocks
from riftsim.kernels import query as q
from riftsim.kernels.candidates import pack
from riftsim.kernels.pool import next_task
from riftsim.kernels.verification import may_matter
from riftsim.search.state import CACHE_LINE_BYTES, grown, laid_out, laid_out_bytes, new_state, state_bytes


def a_state(**changes):
    sizes = {"list_size": 8, "k": 1, "window": 2, "degree": 4, "table_entries": 16, "rules": {q.RULE_VERIFY: 1}}
    return new_state(**(sizes | changes))


# ---- table of nodes and heap: the compiled callers inline these; the sources are what is tested


@given(st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=24), st.integers(0, 2**31 - 1))
def test_the_table_of_nodes_is_a_dict(nodes, stranger):
    slot_of, ids = q.node_slot.py_func, np.full(32, -1, np.int32)
    home = q.home.py_func
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr(q, "home", home)
        places = {}
        for node in map(np.int32, nodes):
            places[node] = slot_of(ids, node)
            assert ids[places[node]] == -1
            ids[places[node]] = node
        assert {node: slot_of(ids, node) for node in places} == places
        if stranger not in nodes:
            assert ids[slot_of(ids, np.int32(stranger))] == -1


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=6), st.integers(1, 3))
def test_a_grown_table_holds_the_same(nodes, doublings):
    state = a_state()._replace(node_ids=np.full(8, -1, np.int32), node_status=np.zeros(8, np.uint8))
    with np.errstate(over="ignore"):
        for at, node in enumerate(map(np.int32, nodes)):
            slot = q.node_slot.py_func(state.node_ids, node)
            state.node_ids[slot], state.node_status[slot] = node, at + 1
        for _ in range(doublings):
            state = grown(state, q.GROW_NODES)
        assert len(state.node_ids) == 8 << doublings
        for at, node in enumerate(map(np.int32, nodes)):
            assert state.node_status[q.node_slot.py_func(state.node_ids, node)] == at + 1
    assert (state.node_ids >= 0).sum() == len(nodes)


@given(st.lists(st.one_of(st.integers(0, 40), st.none()), max_size=60))
def test_the_heap_is_heapq(actions):
    ours, theirs = np.zeros(64, np.uint64), []
    for action in actions:
        if action is not None:
            q.heap_push.py_func(ours, len(theirs), np.uint64(action))
            heapq.heappush(theirs, action)
        elif theirs:
            least = int(ours[0])
            q.heap_pop.py_func(ours, len(theirs))
            assert least == heapq.heappop(theirs)
        if theirs:
            assert ours[0] == theirs[0]
            assert sorted(ours[: len(theirs)].tolist()) == sorted(theirs)


# ---- memory


def test_states_lie_beside_each_other_and_keep_their_contents():
    blocks, rng = StateBlocks(), np.random.default_rng(0)
    before, after = [], []
    for _ in range(3):
        state = a_state()
        for array in state:
            array[...] = rng.integers(0, 100, array.shape)
        before.append([array.copy() for array in state])
        after.append(laid_out(state, blocks.take(laid_out_bytes(state))))
    for kept, state in zip(before, after, strict=True):
        for was, array in zip(kept, state, strict=True):
            assert array.dtype == was.dtype
            assert array.flags.c_contiguous
            assert array.ctypes.data % CACHE_LINE_BYTES == 0
            np.testing.assert_array_equal(array, was)
    first, second = after[0].numbers.ctypes.data, after[1].numbers.ctypes.data
    assert second - first == laid_out_bytes(after[0])


# ---- growth


@given(st.integers(0, 100), st.integers(0, 8), st.integers(0, 4))
def test_grown_rings_keep_their_entries(head, pending, tasks):
    state = a_state()._replace(
        pending_ids=np.zeros(8, np.int32),
        pending_distances=np.zeros(8, np.float32),
        tasks=np.zeros((4, q.TASK_COLUMNS), np.int64),
    )
    numbers = state.numbers
    numbers[[q.PENDING_HEAD, q.PENDING_TAIL]] = head, head + pending
    numbers[[q.TASK_HEAD, q.TASK_TAIL]] = head, head + tasks
    for at in range(head, head + pending):
        state.pending_ids[at % 8] = at
        state.pending_distances[at % 8] = at / 2
    for at in range(head, head + tasks):
        state.tasks[at % 4] = at
    larger = grown(state, q.GROW_PENDING)
    assert [larger.pending_ids[at % 16] for at in range(head, head + pending)] == list(range(head, head + pending))
    assert [larger.pending_distances[at % 16] * 2 for at in range(head, head + pending)] == list(
        range(head, head + pending)
    )
    assert [larger.tasks[at % 8, q.TASK_START] for at in range(head, head + tasks)] == list(range(head, head + tasks))


def test_growth_touches_what_was_asked_for_only():
    state = a_state(rules={q.RULE_VERIFY: q.VERIFY_ALL, q.RULE_FULL_RECORD: 1})
    changing = {
        q.GROW_NODES: {"node_ids", "node_status", "unverified"},
        q.GROW_PENDING: {"pending_ids", "pending_distances", "tasks"},
        q.GROW_TRAIL: {"trail"},
        q.GROW_KEPT: {"kept_nodes", "kept_lists"},
    }
    for demand, names in changing.items():
        larger = grown(state, demand)
        for name, before, after in zip(state._fields, state, larger, strict=True):
            assert len(after) == (2 * len(before) if name in names else len(before)), name
        assert state_bytes(larger) > state_bytes(state)
    with pytest.raises(ValueError, match="-9 asks for no growth"):
        grown(state, -9)


def test_expansion_only_keeps_no_heap_and_state_driven_no_lists():
    lean = a_state(rules={q.RULE_VERIFY: q.VERIFY_EXPANDED})
    assert len(lean.unverified) == len(lean.kept_nodes) == len(lean.kept_lists) == 0
    assert state_bytes(lean) < state_bytes(a_state())


# ---- the verification rule


@pytest.mark.parametrize(
    ("verify", "results", "compact", "matters"),
    [
        (q.VERIFY_CALIBRATED, 1, 105.0, True),  # the paper's example: alpha 1.08, tau 100 (section 3.2)
        (q.VERIFY_CALIBRATED, 1, 112.0, False),
        (q.VERIFY_CALIBRATED, 1, 108.0, True),  # the boundary itself
        (q.VERIFY_CALIBRATED, 1, 0.0, True),
        (q.VERIFY_CALIBRATED, 0, 0.0, False),  # no threshold before there are k results
        (q.VERIFY_EXPANDED, 1, 0.0, False),
        (q.VERIFY_ALL, 0, 1e9, True),
    ],
)
def test_distances_are_euclidean_while_those_inside_are_squared(verify, results, compact, matters):
    state = a_state(rules={q.RULE_VERIFY: verify, q.RULE_ALPHA_PPM: 1_080_000})
    state.results[0] = pack(np.float32(100.0**2), 3)
    state.numbers[q.RESULT_SIZE] = results
    assert may_matter(state, np.uint64(pack(np.float32(compact**2), 7))) == matters


# ---- the pool's choice


@given(st.lists(st.integers(0, 4), max_size=12), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=5))
def test_the_oldest_task_whose_query_may_have_one_more(queued, slots):
    running, allowance = [running for running, _ in slots], [allowed for _, allowed in slots]
    may = [at for at, slot in enumerate(queued) if running[slot] < allowance[slot]]
    assert next_task.py_func(queued, running, allowance) == (min(may) if may else -1)
    if queued:
        arrays = [np.array(each, np.int64) for each in (queued, running, allowance)]
        assert next_task(*arrays) == (min(may) if may else -1)
