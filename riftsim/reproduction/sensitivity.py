"""Sensitivity: how far a latency constant can move before a conclusion changes.

A conclusion says which of two configurations is faster at one operating point. Constants are moved one group at a time
by fixed factors, and all together in a Latin hypercube (McKay et al., 1979), log-uniform between a half and twice
their value.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from riftsim.reproduction.lab import Lab
from riftsim.reproduction.studies import block, blocks, point_settings
from riftsim.reproduction.variants import GROUPS, base_profile, scaled, write
from riftsim.results.compare import compare
from riftsim.results.store import Run

SPAN = 2.0
"""Of the hypercube: each group between 1/2 and 2 times its value."""


@dataclass(frozen=True)
class Conclusion:
    """A claim of who is ahead.

    Attributes
    ----------
    name : str
    ahead, behind : callable
        ``(lab, hardware) -> Run``; the conclusion is that ``ahead`` has the lower mean latency.
    """

    name: str
    ahead: Callable[[Lab, str], Run]
    behind: Callable[[Lab, str], Run]


def _of_gate(**gate: Any) -> Callable[[Lab, str], Run]:
    return _at_work("admission_policies", system__gate=gate)


def _at_work(experiment: str, **settings: Any) -> Callable[[Lab, str], Run]:
    def run(lab: Lab, hardware: str) -> Run:
        point = point_settings(lab, "SIFT", "work")
        return lab.runs(experiment, "SIFT", hardware=hardware, dataset__split_seed=0, **point, **settings).runs[0]

    return run


def _system(experiment: str, kind: str, recall: float, **settings: Any) -> Callable[[Lab, str], Run]:
    """A system at the L that it needs with the constants as they are: what it searches hardly depends on them."""

    def run(lab: Lab, hardware: str) -> Run:
        return _at_recall(lab, hardware, experiment, block(lab, experiment, kind), recall, **settings)

    return run


def _step(position: int, recall: float) -> Callable[[Lab, str], Run]:
    """A step of the breakdown: the first is Remote-Vamana, the last RiftANN with all its parts."""

    def run(lab: Lab, hardware: str) -> Run:
        return _at_recall(lab, hardware, _BREAKDOWN, blocks(lab, _BREAKDOWN)[position], recall)

    return run


def _at_recall(lab: Lab, hardware: str, experiment: str, system: dict[str, Any], recall: float, **settings: Any) -> Run:
    own = {"system": system, "measured_queries": lab.level.queries, **settings}
    L = lab.matched(experiment, "SIFT", recall, dataset__split_seed=0, **own)
    return lab.runs(experiment, "SIFT", hardware=hardware, dataset__split_seed=0, search__L=L, **own).runs[0]


_BREAKDOWN = "fig11_breakdown"
_WINDOW = {"system__window_counts": "expansions"}
CONCLUSIONS = (
    Conclusion(
        "impact-aware before wait-all (405 expansions)",
        _of_gate(kind="impact-aware", epsilon=1.0),
        _of_gate(kind="wait-all"),
    ),
    Conclusion(
        "window 8 before window 1 (405 expansions)",
        _at_work("fig12b_window", system__window=8, **_WINDOW),
        _at_work("fig12b_window", system__window=1, **_WINDOW),
    ),
    Conclusion(
        "state-driven reads before whole records (405 expansions)",
        _at_work("full_record", system__record_reads="state-driven"),
        _at_work("full_record", system__record_reads="full-record"),
    ),
    Conclusion(
        "RiftANN before Remote-Vamana (recall 0.90)",
        _step(-1, 0.90),
        _step(0, 0.90),
    ),
    Conclusion(
        "in-memory Vamana before RiftANN (recall 0.90)",
        _system("fig08_fig09_systems", "in_memory_vamana", 0.90, load__concurrency=32),
        _system("fig08_fig09_systems", "riftann", 0.90, load__concurrency=22),
    ),
    Conclusion(
        "Async- before Remote-Vamana (recall 0.95)",
        _system("async_vamana", "async_vamana", 0.95),
        _system("async_vamana", "remote_vamana", 0.95),
    ),
)


def one_at_a_time(lab: Lab, conclusions: Sequence[Conclusion] = CONCLUSIONS) -> list[dict[str, Any]]:
    """Move each group of constants by the level's factors.

    Returns
    -------
    list of dict
        ``conclusion``, ``constants``, ``factor``, ``effect`` (latency of the one behind over the one ahead: the
        conclusion holds above 1) with its 95 % interval; the first rows, with factor 1, are the profile as it is.
    """
    rows = []
    for conclusion in conclusions:
        rows.append({"conclusion": conclusion.name, "constants": "", "factor": 1.0, **_effect(lab, conclusion, {})})
        for group in GROUPS:
            for factor in lab.level.perturbations:
                effect = _effect(lab, conclusion, {group: factor})
                rows.append({"conclusion": conclusion.name, "constants": group, "factor": factor, **effect})
    return rows


def hypercube(lab: Lab, conclusions: Sequence[Conclusion] = CONCLUSIONS, seed: int = 0) -> list[dict[str, Any]]:
    """Move all groups together, in a Latin hypercube of the level's number of samples.

    Returns
    -------
    list of dict
        ``conclusion``, ``sample``, the effect, and the factor of each group.
    """
    unit = qmc.LatinHypercube(d=len(GROUPS), rng=np.random.default_rng(seed)).random(lab.level.samples)
    rows = []
    for conclusion in conclusions:
        for sample, point in enumerate(SPAN ** (2 * unit - 1)):
            factors = {group: round(float(factor), 4) for group, factor in zip(GROUPS, point, strict=True)}
            effect = _effect(lab, conclusion, factors)
            rows.append({"conclusion": conclusion.name, "sample": sample, **effect, **factors})
    return rows


def _effect(lab: Lab, conclusion: Conclusion, factors: dict[str, float]) -> dict[str, float]:
    profile = base_profile(lab.hardware)
    hardware = str(write(scaled(profile, factors), lab.out / "profiles")) if factors else lab.hardware or profile.name
    found = compare([conclusion.behind(lab, hardware)], [conclusion.ahead(lab, hardware)], "latency_mean_us")
    return {"effect": found.ratio, "effect_low": found.ratio_low, "effect_high": found.ratio_high}


def margins(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how far each group can move before a conclusion changes.

    Parameters
    ----------
    rows : list of dict
        Of `one_at_a_time`.

    Returns
    -------
    list of dict
        ``conclusion``, ``constants``, ``effect`` as it is, ``least`` and ``most`` (effects over the factors), and
        ``shorter``, ``longer``: the factors at which the effect crosses 1, interpolated in the logarithm of the factor;
        0 and infinity if it does not within the factors that were tried.
    """
    found = []
    for name in dict.fromkeys(row["conclusion"] for row in rows):
        own = [row for row in rows if row["conclusion"] == name]
        as_is = next(row["effect"] for row in own if row["factor"] == 1.0)
        for group in GROUPS:
            effects = {row["factor"]: row["effect"] for row in own if row["constants"] == group} | {1.0: as_is}
            line = {"conclusion": name, "constants": group, "effect": as_is}
            line |= {"least": min(effects.values()), "most": max(effects.values())}
            line |= {"shorter": _crossing(effects, -1) or 0.0, "longer": _crossing(effects, 1) or math.inf}
            found.append(line)
    return found


def summary(margins: Sequence[dict[str, Any]], samples: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Say for each conclusion how much is behind it, and what ends it.

    Parameters
    ----------
    margins, samples : list of dict
        Of `margins` and `hypercube`.

    Returns
    -------
    list of dict
        ``conclusion``, ``effect``; ``holds`` of ``samples`` in the hypercube; ``changes``, a text for each group of
        constants and the factor at which the conclusion changes.
    """
    found = []
    for name in dict.fromkeys(row["conclusion"] for row in margins):
        own = [row for row in margins if row["conclusion"] == name]
        changes = [f"{row['constants']} x {row['shorter']:.2g}" for row in own if row["shorter"] > 0]
        changes += [f"{row['constants']} x {row['longer']:.2g}" for row in own if row["longer"] < math.inf]
        drawn = [row["effect"] for row in samples if row["conclusion"] == name]
        line = {"conclusion": name, "effect": own[0]["effect"], "holds": sum(effect > 1 for effect in drawn)}
        found.append({**line, "samples": len(drawn), "changes": changes})
    return found


def _crossing(effects: dict[float, float], direction: int) -> float | None:
    """Return the factor nearest to 1 on one side at which the effect crosses 1."""
    side = [factor for factor in effects if direction * math.log(factor) >= 0]
    factors = sorted(side, key=lambda factor: abs(math.log(factor)))
    for near, far in itertools.pairwise(factors):
        a, b = effects[near] - 1, effects[far] - 1
        if a * b < 0:
            return math.exp(math.log(near) + (math.log(far) - math.log(near)) * a / (a - b))
    return None
