"""The impact gate as a function of numbers: the examples of RiftANN, section 3.3, and what every policy keeps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riftsim.kernels import gate as gates

gate_open = gates.gate_open.py_func
EPSILON = gates.PER_UNIT  # 1.0


@pytest.mark.parametrize(
    ("inserted", "unfinished", "is_open"),
    [
        (16, 8, False),  # 0.25 * 8 = 2 > 1
        (16, 4, True),  # four have completed: 0.25 * 4 = 1
        (8, 8, True),  # near convergence: 0.125 * 8 = 1
        (0, 128, True),  # U_max itself is allowed
        (0, 129, False),
    ],
)
def test_the_papers_examples(inserted, unfinished, is_open):
    assert gate_open(gates.GATE_IMPACT, 128, EPSILON, inserted, 64, unfinished) == is_open


def test_the_compiled_gate_is_this_one():
    for kind in range(6):
        for unfinished in (0, 1, 8, 9):
            arguments = kind, 8, EPSILON, 16, 64, unfinished
            assert gates.gate_open(*arguments) == gate_open(*arguments)


policies = st.sampled_from(range(6))
counts = st.integers(0, 300)


@st.composite
def situations(draw):
    completed = draw(st.integers(1, 64))
    return {
        "kind": draw(policies),
        "bound": draw(counts),
        "limit_ppm": draw(st.integers(0, 3 * EPSILON)),
        "inserted": draw(st.integers(0, completed)),
        "completed": completed,
        "unfinished": draw(counts),
    }


@given(situations(), st.integers(0, 50))
def test_less_unfinished_work_never_closes_it(situation, fewer):
    calmer = situation | {"unfinished": max(0, situation["unfinished"] - fewer)}
    assert gate_open(**calmer) or not gate_open(**situation)


@given(situations(), st.integers(0, EPSILON))
def test_more_tolerance_never_closes_it(situation, more):
    looser = situation | {"limit_ppm": situation["limit_ppm"] + more, "bound": situation["bound"] + more // 1000}
    assert gate_open(**looser) or not gate_open(**situation)


@given(situations(), st.integers(0, 64))
def test_fewer_recent_insertions_never_close_it(situation, fewer):
    calmer = situation | {"inserted": max(0, situation["inserted"] - fewer)}
    assert gate_open(**calmer) or not gate_open(**situation)


@given(situations())
def test_nothing_unfinished_is_always_open(situation):
    assert gate_open(**(situation | {"unfinished": 0}))


@given(situations())
def test_policies_by_their_words(situation):
    kind, bound, unfinished = situation["kind"], situation["bound"], situation["unfinished"]
    said = gate_open(**situation)
    # Whole numbers on both sides, as rho and epsilon are fractions.
    ratio, limit = situation["inserted"] * EPSILON, situation["limit_ppm"] * situation["completed"]
    assert said == (
        unfinished == 0
        or {
            gates.GATE_WAIT_ALL: False,
            gates.GATE_BACKLOG: unfinished <= bound,
            gates.GATE_RATIO: ratio <= limit,
            gates.GATE_IMPACT: unfinished <= bound and ratio * unfinished <= limit,
            gates.GATE_UNGATED: True,
            gates.GATE_EXTERNAL: bound != 0,
        }[kind]
    )
