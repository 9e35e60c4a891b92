"""Verdicts: each of them, intervals, orders, parts, missing runs, and how claims are counted."""

import math

import pytest

from riftsim.errors import ResultsError
from riftsim.reproduction.claims import Claim, Target, load_claims
from riftsim.reproduction.scoring import VERDICTS, Missing, Order, Value, count, score

CLAIMS = {claim.id: claim for claim in load_claims()}


def claim(kind="ratio", low=2.0, high=None, unit="x", role="predict", **more):
    target = Target(
        "", unit, low, low if high is None else high, more.pop("strict", False), more.pop("reference", None)
    )
    return Claim("Z", "section", "1", "what", kind, role, "recall", (target,), **more)


def near(value, half=0.0, **more):
    return Value(value, value - half, value + half, **more)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (near(2.3), "reproduced"),
        (near(1.71), "reproduced"),
        (near(1.5), "near"),
        (near(2.59), "near"),
        (near(2.61), "missed"),
        (near(1.2), "missed"),
        (near(0.9), "missed"),
        (near(2.1, 0.49), "reproduced"),
        (near(2.1, 0.51), "unresolved"),  # the interval is wider than the claimed difference from 1
        (near(9.0, 2.0), "missed"),  # wide as well, and still far from the claim
        (Value(2.0), "unresolved"),  # no interval
        (Value(math.nan), "unresolved"),
    ],
)
def test_a_ratio(ours, verdict):
    found = score(claim(), [ours])
    assert found.verdict == verdict
    assert math.isnan(ours.value) or found.parts[0].ratio == ours.value / 2.0


def test_a_miss_whose_interval_holds_the_number_is_unresolved():
    """Its interval is narrower than the number itself; it still cannot tell ours from the paper's."""
    coverage = claim("share", low=0.0017)
    assert score(coverage, [Value(0.00117, 0.00046, 0.00187)]).verdict == "unresolved"
    assert score(coverage, [Value(0.00117, 0.00046, 0.00169)]).verdict == "missed"
    assert score(coverage, [Value(0.00120, 0.00046, 0.00187)]).verdict == "near"


def test_the_other_side_of_one_is_missed_however_near():
    assert score(claim(low=1.1), [near(0.97)]).verdict == "missed"
    assert score(claim("share", low=0.05), [near(-0.001)]).verdict == "missed"


@pytest.mark.parametrize(("value", "verdict"), [(1.9, "reproduced"), (2.6, "near"), (2.8, "missed"), (1.4, "near")])
def test_a_range(value, verdict):
    assert score(claim(low=1.9, high=2.1), [near(value)]).verdict == verdict


def test_every_value_has_to_lie_in_the_range():
    assert score(claim(low=1.8, high=6.1), [near(2.0), near(5.0)]).verdict == "reproduced"
    assert score(claim(low=1.8, high=6.1), [near(2.0), near(9.0)]).verdict == "missed"


@pytest.mark.parametrize(
    ("value", "strict", "verdict"),
    [(0.1, False, "reproduced"), (0.1, True, "near"), (0.12, False, "near"), (0.2, False, "missed")],
)
def test_a_bound(value, strict, verdict):
    assert score(claim("share", low=-math.inf, high=0.1, strict=strict), [near(value)]).verdict == verdict


@pytest.mark.parametrize(("holds", "verdict"), [(True, "reproduced"), (False, "missed"), (None, "unresolved")])
def test_an_order(holds, verdict):
    assert score(CLAIMS["M30"], [Order(holds)]).verdict == verdict


@pytest.mark.parametrize(("holds", "verdict"), [(True, "consistent"), (None, "consistent"), (False, "inconsistent")])
def test_an_extrapolated_order_is_never_reproduced(holds, verdict):
    assert score(CLAIMS["B12"], [Order(holds, extrapolated=True)]).verdict == verdict


def test_numbers_with_a_unit_need_the_papers_data():
    latency = claim("absolute", low=750.0, unit="us")
    assert score(latency, [near(90.0)]).verdict == "not comparable"
    assert score(latency, [near(760.0, same_data=True)]).verdict == "reproduced"
    assert score(CLAIMS["P08"], [near(1.15), near(1.13), near(1.17)]).verdict == "not comparable"


def test_recall_is_a_difference_from_the_reference_policy():
    found = score(CLAIMS["P06"], [near(-0.031), near(-0.0012, 0.0001), near(0.0)])
    assert found.verdict == "reproduced"
    assert [part.verdict for part in found.parts] == ["reproduced", "reproduced", None]
    assert all(math.isnan(part.ratio) for part in found.parts)
    # A recall that is equal to within 1 % is no reproduction of a claimed loss.
    assert score(CLAIMS["P06"], [near(-0.06), near(0.0), near(0.0)]).verdict == "missed"


def test_coverage_is_a_miss_rate():
    assert (
        score(CLAIMS["P09"], [near(0.0013, 0.0003), near(0.0014, 0.0003), near(0.0016, 0.0003)]).verdict == "reproduced"
    )
    assert score(CLAIMS["P09"], [near(0.0003), near(0.0014), near(0.0016)]).verdict == "missed"


def test_extrapolated_is_only_ever_consistent_or_inconsistent():
    latency = claim("absolute", low=750.0, unit="us")
    assert score(latency, [Value(750.0, 740.0, 760.0, extrapolated=True)]).verdict == "consistent"
    assert score(latency, [Value(400.0, 300.0, 500.0, extrapolated=True)]).verdict == "inconsistent"
    assert score(claim(), [Value(2.0, 1.0, 3.0, extrapolated=True)]).verdict == "consistent"


def test_the_worst_part_decides():
    steps = CLAIMS["D05"]
    assert score(steps, [near(0.25), near(0.24), near(0.05)]).verdict == "reproduced"
    assert score(steps, [near(0.25), near(0.24), near(0.038)]).verdict == "near"
    assert score(steps, [near(0.25), near(0.02), near(0.05, 0.04)]).verdict == "missed"


def test_parts_that_cannot_be_compared_do_not_decide():
    assert score(CLAIMS["P12"], [near(50.0), near(0.0011, 0.0001)]).verdict == "reproduced"


def test_what_is_not_run_says_why_and_never_counts_as_reproduced():
    missing = score(CLAIMS["M19"], Missing("no DistVS"))
    assert (missing.verdict, missing.reason) == ("not run", "no DistVS")
    found = score(CLAIMS["P10"], [near(0.8), Missing("no data"), Missing("no data")])
    assert (found.verdict, found.reason) == ("unresolved", "2 of 3 not run: no data")
    assert score(CLAIMS["P10"], [near(0.1), Missing("no data"), near(0.7)]).verdict == "missed"
    assert score(CLAIMS["P10"], [Missing("no data")] * 3).verdict == "not run"


@pytest.mark.parametrize(
    ("claim_id", "ours"),
    [("P10", [near(0.8)]), ("M30", [near(0.8)]), ("M14", [Order(True)]), ("M14", [near(1), near(1)])],
)
def test_what_does_not_fit_the_claim_is_refused(claim_id, ours):
    with pytest.raises(ResultsError, match=claim_id):
        score(CLAIMS[claim_id], ours)


def test_counting():
    ours = {
        "M28": [near(2.07)],
        "C03": [near(0.95), near(1.0)],
        "C08": [near(0.22)],
        "M01": [near(2.5, same_data=True)],
    }
    scores = [score(CLAIMS[name], values) for name, values in ours.items()]
    predictions, calibrations = count(scores), count(scores, "calibrate")
    assert predictions["all"]["reproduced"] == 1  # C08: M28 counts with C05 and C06, C03 decided a reading
    assert predictions["balancing"]["reproduced"] == 1
    assert calibrations["all"]["reproduced"] == 1
    assert set(predictions["all"]) == set(VERDICTS)
