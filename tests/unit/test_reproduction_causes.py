"""The tested causes of misses: each changes something that is there; its verdict follows from the share it closes."""

import importlib.util
import sys
from pathlib import Path

import pytest

from riftsim.reproduction import variants
from riftsim.reproduction.claims import load_claims
from riftsim.reproduction.lab import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("reproduction_causes", ROOT / "scripts" / "reproduction_causes.py")
causes = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = causes  # dataclasses look their module up
SPEC.loader.exec_module(causes)

CLAIMS = {claim.id: claim for claim in load_claims()}


@pytest.mark.parametrize("test", causes.load_tests(), ids=lambda test: f"{test.claim}: {test.change}")
def test_what_is_changed_is_there(test):
    targets = CLAIMS[test.claim].targets
    is_range = len(targets) == 1 and not targets[0].is_number  # as many numbers as were measured
    assert is_range or test.part < max(1, len(targets))
    profile = variants.base_profile(None)
    for path, value in {**test.constants, **test.everywhere}.items():
        assert variants.constant_of(profile, path).value != value
    if test.edit:
        file, old, new = test.edit
        assert old in (EXPERIMENTS / file).read_text(encoding="utf-8")
        assert old != new
    assert test != causes.Test(claim=test.claim, part=test.part, cause=test.cause, change=test.change)
    assert not test.only or test.settings or test.constants


@pytest.mark.parametrize(
    ("ours", "changed", "low", "high", "share", "verdict"),
    [
        (1.0, 1.4, 1.5, 1.5, 0.8, "closes the gap"),
        (1.0, 1.2, 1.5, 1.5, 0.4, "closes part of the gap"),
        (1.0, 0.9, 1.5, 1.5, -0.2, "does not"),
        (1.0, 2.0, 1.5, 1.5, 2.0, "overshoots"),
        (10.0, 5.0, 2.0, 4.0, 5 / 6, "closes the gap"),
        (10.0, 2.5, 2.0, 4.0, 1.0, "closes the gap"),
        (10.0, 1.0, 2.0, 4.0, 1.5, "overshoots"),
    ],
)
def test_the_verdict_follows_from_the_share(ours, changed, low, high, share, verdict):
    assert causes.share_closed(ours, changed, low, high) == pytest.approx(share)
    assert causes.verdict_of(share) == verdict
