"""The verdict on a claim: the paper's numbers against ours, with our intervals.

- ``reproduced``: within 15 %, within the range or bound of the claim, or the order holds; ``near``: within 30 %;
  ``missed``: further away, or on the other side of "no difference".
- ``unresolved``: our interval is wider than the difference that is claimed and reaches the claim (or there is none); or
  ours is further away than 30 %, but its interval holds the paper's number.
- ``not comparable``: a number with a unit, or a property of the vectors, measured on other data than the paper's.
- ``consistent``, ``inconsistent``: extrapolated, and the prediction interval holds the claim or does not; an order is
  inconsistent where the interval lies on the other side of it.
- ``not run``: with the reason.

Recall and coverage are compared in points, as differences from the reference policy of the same run or as miss rates; a
ratio of recalls says nothing.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from riftsim.errors import ResultsError
from riftsim.reproduction.claims import Claim, Target

REPRODUCED, NEAR = 0.15, 0.30
"""Largest relative deviation."""

Verdict = Literal[
    "reproduced", "near", "missed", "unresolved", "not comparable", "consistent", "inconsistent", "not run"
]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced", "near", "missed", "unresolved", "consistent", "inconsistent", "not comparable", "not run",
)  # fmt: skip
"""In the order of tables."""

_WORST_FIRST: tuple[Verdict, ...] = ("missed", "inconsistent", "unresolved", "near", "consistent", "reproduced")


@dataclass(frozen=True)
class Value:
    """What we measured for one number of a claim.

    Attributes
    ----------
    value, low, high : float
        With the 95 % interval (of a mean), or the prediction interval if it is extrapolated; equal where nothing is
        drawn at random, not a number where there is no interval. In the unit of the claim; recalls as differences
        from the reference, coverage as miss rate.
    same_data : bool
        Whether absolute numbers can be compared: the paper's vectors, or no vectors at all.
    extrapolated : bool
    on : str
        What it was matched and measured on.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    same_data: bool = False
    extrapolated: bool = False
    on: str = ""


@dataclass(frozen=True)
class Order:
    """Whether an order holds; None where our intervals do not tell."""

    holds: bool | None
    on: str = ""
    extrapolated: bool = False


@dataclass(frozen=True)
class Missing:
    """A number that was not measured, and why."""

    reason: str


Ours = Value | Order | Missing


@dataclass(frozen=True)
class PartScore:
    """One number of a claim with its verdict; `None` for the number of the reference policy itself.

    Attributes
    ----------
    target : Target or None
        None for an order.
    ours : Value, Order or Missing
    ratio : float
        Ours over the paper's; not a number for recalls, ranges, bounds and orders.
    verdict : str or None
    """

    target: Target | None
    ours: Ours
    ratio: float
    verdict: Verdict | None


@dataclass(frozen=True)
class ClaimScore:
    """A claim with the verdict on all of it: the worst of its parts; ``reason`` where it needs one."""

    claim: Claim
    parts: tuple[PartScore, ...]
    verdict: Verdict
    reason: str = ""


def score(claim: Claim, ours: Sequence[Ours] | Missing) -> ClaimScore:
    """Judge a claim.

    Parameters
    ----------
    claim : Claim
    ours : sequence of Value, Order or Missing, or Missing
        One per number of the claim, in order; for a claim of one range as many as were measured, each of which has to
        lie in it; one `Order` for an order. `Missing` if nothing was measured.

    Returns
    -------
    ClaimScore

    Raises
    ------
    ResultsError
        If ours are not as many as the claim has numbers, or of the wrong kind.
    """
    if isinstance(ours, Missing):
        return ClaimScore(claim, (), "not run", ours.reason)
    parts = tuple(_part(claim, target, one) for target, one in _pairs(claim, ours))
    judged = [part for part in parts if part.verdict is not None]
    found = [part.verdict for part in judged if part.verdict not in ("not comparable", "not run")]
    reasons = dict.fromkeys(part.ours.reason for part in judged if isinstance(part.ours, Missing))
    if not found:
        is_absent = all(part.verdict == "not run" for part in judged)
        return ClaimScore(claim, parts, "not run" if is_absent else "not comparable", "; ".join(reasons))
    worst = next(verdict for verdict in _WORST_FIRST if verdict in found)
    if reasons and worst not in ("missed", "inconsistent"):
        absent = sum(isinstance(part.ours, Missing) for part in judged)
        return ClaimScore(claim, parts, "unresolved", f"{absent} of {len(judged)} not run: {'; '.join(reasons)}")
    return ClaimScore(claim, parts, worst, "; ".join(reasons))


def _pairs(claim: Claim, ours: Sequence[Ours]) -> list[tuple[Target | None, Ours]]:
    if claim.kind == "order":
        if len(ours) != 1 or isinstance(ours[0], Value):
            raise ResultsError(f"{claim.id}: found {len(ours)} value(s) for an order, expected one Order")
        return [(None, ours[0])]
    if any(isinstance(one, Order) for one in ours):
        raise ResultsError(f"{claim.id}: found an Order, expected numbers: the claim states some")
    only = claim.targets[0]
    if len(claim.targets) == 1 and ours and (not only.is_number or len(ours) == 1):
        return [(only, one) for one in ours]
    if len(ours) != len(claim.targets):
        raise ResultsError(f"{claim.id}: found {len(ours)} value(s), expected {len(claim.targets)}, one per number")
    return list(zip(claim.targets, ours, strict=True))


def _part(claim: Claim, target: Target | None, ours: Ours) -> PartScore:
    if isinstance(ours, Missing):
        return PartScore(target, ours, math.nan, None if target and target.is_reference else "not run")
    if isinstance(ours, Order):
        measured: dict[bool | None, Verdict] = {True: "reproduced", False: "missed", None: "unresolved"}
        extrapolated: Verdict = "inconsistent" if ours.holds is False else "consistent"
        return PartScore(target, ours, math.nan, extrapolated if ours.extrapolated else measured[ours.holds])
    ratio = _ratio(target, ours.value)
    if target.is_reference:
        return PartScore(target, ours, ratio, None)
    return PartScore(target, ours, ratio, _verdict(claim, target, ours))


def _ratio(target: Target, value: float) -> float:
    is_plain = target.is_number and target.unit != "recall" and target.low != 0
    return value / target.low if is_plain else math.nan


def _verdict(claim: Claim, target: Target, ours: Value) -> Verdict:
    if ours.extrapolated:
        return "consistent" if ours.low <= target.high and ours.high >= target.low else "inconsistent"
    if not is_comparable(claim, target, ours.same_data):
        return "not comparable"
    low, high = _band(target, NEAR)
    if not math.isfinite(ours.value):
        return "unresolved"
    reaches = not (ours.high < low or ours.low > high)  # also where there is no interval
    if reaches and not ours.high - ours.low <= _effect(claim, target):
        return "unresolved"
    if _is_turned(claim, target, ours.value):
        return "missed"
    reproduced = _band(target, REPRODUCED) if target.is_number else (target.low, target.high)
    if reproduced[0] <= ours.value <= reproduced[1] and not (target.strict and ours.value == target.high):
        return "reproduced"
    if low <= ours.value <= high:
        return "near"
    return "unresolved" if ours.low <= target.high and ours.high >= target.low else "missed"


def is_comparable(claim: Claim, target: Target, same_data: bool) -> bool:
    """Whether a number may be held against the paper's: with a unit only on the paper's data, else always."""
    if same_data or claim.kind in ("ratio", "share"):
        return True
    return target.unit in ("x", "recall") and not claim.of_data


def _band(target: Target, share: float) -> tuple[float, float]:
    return target.low - share * abs(target.low), target.high + share * abs(target.high)


def _effect(claim: Claim, target: Target) -> float:
    """The difference that is claimed: from 1 for a ratio, else from 0."""
    neutral = 1.0 if claim.kind == "ratio" else 0.0
    bounds = [bound for bound in (target.low, target.high) if math.isfinite(bound)]
    return max(abs(bound - neutral) for bound in bounds)


def _is_turned(claim: Claim, target: Target, value: float) -> bool:
    """Whether ours says the opposite: the other system is ahead, a gain is a loss."""
    neutral = 1.0 if claim.kind == "ratio" else 0.0
    claimed = [bound - neutral for bound in (target.low, target.high)]
    return (min(claimed) > 0 and value < neutral) or (max(claimed) < 0 and value > neutral and not target.is_bound)


Counts = dict[str, dict[Verdict, int]]


def count(scores: Iterable[ClaimScore], role: Literal["predict", "calibrate"] = "predict") -> Counts:
    """Count verdicts by section, duplicates once and claims that decided a reading never.

    Returns
    -------
    dict of section to dict of verdict to int
        Sections in their order, then ``all``.
    """
    counts: Counts = {}
    for one in scores:
        row = counts.setdefault(one.claim.section, dict.fromkeys(VERDICTS, 0))
        if one.claim.counts and one.claim.role == role:
            row[one.verdict] += 1
    counts["all"] = {verdict: sum(row[verdict] for row in counts.values()) for verdict in VERDICTS}
    return counts
