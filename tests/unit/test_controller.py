"""Pipeline balancing as a function of counters (RiftANN, section 3.4 and Algorithm 1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riftsim.controller.defer_ratio import DeferRatio
from riftsim.controller.fixed import Fixed
from riftsim.controller.protocol import ControlView, SetPoint
from riftsim.errors import ConfigError


def view(unfinished, generated, allowance=2, window=4, free_workers=0) -> ControlView:
    return ControlView(unfinished, generated, allowance, window, free_workers)


def test_the_papers_example():
    """20 tasks generated, 5 unfinished: r = 0.25, below the balanced zone by default, inside a zone from 0.25 on."""
    example = view(5, 20)
    assert DeferRatio().decide(example) == SetPoint(1, 4)
    assert DeferRatio(theta_low=0.25).decide(example) == SetPoint(2, 4)
    assert DeferRatio(theta_low=0.1, theta_high=0.25).decide(example) == SetPoint(2, 4)
    assert DeferRatio(theta_low=0.1, theta_high=0.24).decide(example) == SetPoint(2, 3)


@pytest.mark.parametrize(
    ("given_view", "expected"),
    [
        (view(70, 100, free_workers=1), SetPoint(3, 4)),  # above: a worker, if one is free
        (view(70, 100, free_workers=0), SetPoint(2, 3)),  # else a smaller window
        (view(70, 100, allowance=6, free_workers=3), SetPoint(6, 3)),  # T_q is at its bound
        (view(70, 100, window=1), SetPoint(2, 1)),
        (view(29, 100), SetPoint(1, 4)),  # below: a worker back
        (view(29, 100, allowance=1), SetPoint(1, 5)),  # else a larger window
        (view(29, 100, allowance=1, window=8), SetPoint(1, 8)),
        (view(30, 100, free_workers=1), SetPoint(2, 4)),  # the zone includes its ends
        (view(65, 100, free_workers=1), SetPoint(2, 4)),
        (view(0, 0, free_workers=1), SetPoint(2, 4)),  # nothing generated: nothing known
        (view(7, 0, free_workers=1), SetPoint(2, 4)),
    ],
)
def test_order_of_actions(given_view, expected):
    assert DeferRatio().decide(given_view) == expected


views = st.builds(
    ControlView,
    unfinished=st.integers(0, 10_000),
    generated=st.integers(0, 10_000),
    allowance=st.integers(1, 6),
    window=st.integers(1, 8),
    free_workers=st.integers(0, 6),
)


@given(views, st.floats(0, 1), st.floats(0, 1))
def test_one_step_within_bounds(seen, low, width):
    controller = DeferRatio(theta_low=low, theta_high=low + width)
    point = controller.decide(seen)
    assert 1 <= point.allowance <= 6
    assert 1 <= point.window <= 8
    steps = (point.allowance - seen.allowance, point.window - seen.window)
    assert sorted(map(abs, steps)) in ([0, 0], [0, 1])
    if seen.generated and not low <= seen.unfinished / seen.generated <= low + width:
        harder = seen.unfinished / seen.generated > low + width
        assert steps in (((0, 0), (1, 0), (0, -1)) if harder else ((0, 0), (-1, 0), (0, 1)))


@given(views)
def test_fixed_changes_nothing(seen):
    assert Fixed().decide(seen) == (seen.allowance, seen.window)


def test_thresholds_that_are_out_of_order():
    with pytest.raises(ConfigError, match=r"0 <= theta_low <= theta_high, found 0\.7 and 0\.6"):
        DeferRatio(theta_low=0.7, theta_high=0.6)
