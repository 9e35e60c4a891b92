"""Gate, verification and controller as pure functions."""

import pytest
from riftsim_example.controller import Aimd
from riftsim_example.gate import RuleOfSuccession
from riftsim_example.verification import Cooling

from riftsim.controller.protocol import ControlView, SetPoint
from riftsim.search.eager import GateView, VerificationView
from riftsim.testing import check_installed


@pytest.mark.parametrize(
    ("inserted", "completed", "unfinished", "open_"),
    [(0, 0, 2, True), (0, 0, 3, False), (0, 64, 66, True), (0, 64, 67, False), (32, 64, 2, True)],
)
def test_the_gate_expects_updates_that_it_has_not_seen(inserted, completed, unfinished, open_):
    view = GateView(unfinished=unfinished, inserted=inserted, completed=completed, expansions=1)
    assert RuleOfSuccession(epsilon=1.0)(view) is open_


@pytest.mark.parametrize(
    ("unfinished", "generated", "window", "expected"),
    [(60, 100, 8, 4), (60, 100, 1, 1), (50, 100, 8, 9), (0, 100, 16, 16), (60, 0, 8, 8)],
)
def test_the_controller_halves_and_widens(unfinished, generated, window, expected):
    view = ControlView(unfinished=unfinished, generated=generated, allowance=2, window=window, free_workers=0)
    assert Aimd(target=0.5, max_window=16).decide(view) == SetPoint(2, expected)


def test_the_verification_cools_down():
    rule = Cooling(first=1.3, last=1.1)
    views = [VerificationView(tau=1.0, exact=9, expansions=9, inserted=n, completed=64) for n in (64, 32, 0)]
    assert [round(rule(view), 6) for view in views] == [1.3, 1.2, 1.1]
    assert rule(VerificationView(tau=float("inf"), exact=0, expansions=0, inserted=0, completed=0)) == 1.3


def test_they_are_announced():
    check_installed("verification", "cooling")
    check_installed("gate", "succession")
    check_installed("controller", "aimd")
