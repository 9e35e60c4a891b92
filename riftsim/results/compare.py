"""Paired differences between runs of one set: the same queries under two configurations.

The queries of two runs are the same ones, so that their differences vary far less than the runs do: intervals of single
runs must not be laid side by side. What is drawn at random are queries, and seeds where there are several.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from riftsim.errors import ResultsError
from riftsim.results.intervals import LEVEL, RESAMPLES
from riftsim.results.metric_rows import columns, latency_us
from riftsim.results.store import SEED_KEYS, Run, RunSet
from riftsim.rng import stream
from riftsim.units import KIB

MEASURES: dict[str, Callable[[pd.DataFrame], np.ndarray]] = {
    "latency_mean_us": latency_us,
    "recall": columns("recall"),
    "recall_ties": columns("recall_ties"),
    "reads": columns("reads_record", "reads_vector", "reads_adjacency"),
    "exact_reads": columns("reads_record", "reads_vector"),
    "kib_read": columns("bytes_read", per=KIB),
    "expansions": columns("expansions"),
    "evaluations": columns("evaluations"),
}
"""What can be compared, by the names of the metrics: means over queries."""

Verdict = Literal["higher", "lower", "equal", "unresolved"]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A configuration against a reference.

    Attributes
    ----------
    measure : str
    value, reference : float
        Means over queries and seeds.
    difference, difference_low, difference_high : float
        ``value - reference`` with its 95 % interval.
    ratio, ratio_low, ratio_high : float
        ``value / reference`` likewise; not a number if the reference is 0.
    verdict : {"higher", "lower", "equal", "unresolved"}
        Of value against reference; ``unresolved`` where the interval is wider than the difference that is claimed,
        ``equal`` where it is not and holds 0: a difference as large as the claim would have been seen.
    queries, seeds : int
        Paired queries of each seed (the least, if they differ), and pairs of runs.
    """

    measure: str
    value: float
    reference: float
    difference: float
    difference_low: float
    difference_high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    verdict: Verdict
    queries: int
    seeds: int


def compare(
    runs: Sequence[Run], references: Sequence[Run], measure: str, *, claimed: float | None = None, seed: int = 0
) -> Comparison:
    """Compare two configurations over the same queries.

    Each run is paired with the reference of the same seeds. Resampling draws pairs of runs and, within them, queries:
    the same queries for all pairs that share a split of the data set, since a query that is hard is hard under every
    seed. A query that was measured several times counts with its mean.

    Parameters
    ----------
    runs, references : sequence of Run
        One per combination of seeds.
    measure : str
        One of ``MEASURES``.
    claimed : float, optional
        The difference that somebody claims, whose size the interval is held against; the observed one by default.
    seed : int
        Of the bootstrap.

    Returns
    -------
    Comparison

    Raises
    ------
    ResultsError
        Runs without partner, two with the same seeds, other queries on one side, or a run without the measure.
    """
    if measure not in MEASURES:
        raise ResultsError(f"comparison: found measure {measure!r}, expected one of {', '.join(MEASURES)}")
    pairs = [_paired(run, reference, measure) for run, reference in _partners(runs, references)]
    means = np.array([(values.mean(), others.mean()) for _, values, others in pairs])
    value, reference = means.mean(axis=0)
    drawn = _resampled(pairs, seed)
    difference = value - reference
    low, high = _tails(drawn[:, 0] - drawn[:, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = drawn[:, 0] / drawn[:, 1]
    ratio_low, ratio_high = _tails(ratios) if np.isfinite(ratios).all() else (math.nan, math.nan)
    return Comparison(
        measure=measure,
        value=float(value),
        reference=float(reference),
        difference=float(difference),
        difference_low=low,
        difference_high=high,
        ratio=float(value / reference) if reference else math.nan,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        verdict=_verdict(difference, low, high, claimed),
        queries=min(len(values) for _, values, _ in pairs),
        seeds=len(pairs),
    )


def compare_all(
    runset: RunSet, reference: Mapping[str, Any], measures: Sequence[str] = ("latency_mean_us", "recall"), seed: int = 0
) -> pd.DataFrame:
    """Compare every configuration of a set, seeds put together, with one of them.

    Parameters
    ----------
    runset : RunSet
    reference : mapping of dotted key to value
        Which configuration is the reference; swept keys that it does not name are matched, so that
        ``{"system.gate": "wait-all"}`` compares each candidate-list size with its own reference.
    measures : sequence of str
    seed : int
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row per configuration and measure: the swept keys, then the fields of ``Comparison``.

    Raises
    ------
    ResultsError
        As ``compare``; also if there is no reference.
    """
    chosen = runset.where(reference)
    if not len(chosen):
        raise ResultsError(f"comparison: found no run with {dict(reference)}")
    keys = [key for key in runset.swept if key not in SEED_KEYS]
    of_reference = _grouped(chosen, keys)
    blocks = [name.removesuffix(".kind") for name in reference]
    own = {key for key in keys if not any(key == name or key.startswith(f"{name}.") for name in blocks)}
    rows = []
    for values, runs in _grouped(runset.runs, keys).items():
        partners = [
            group
            for other, group in of_reference.items()
            if all(a == b for key, a, b in zip(keys, values, other, strict=True) if key in own)
        ]
        if len(partners) != 1:
            found = dict(zip(keys, values, strict=True))
            raise ResultsError(f"comparison: found {len(partners)} references with {dict(reference)} for {found}")
        for measure in measures:
            compared = dataclasses.asdict(compare(runs, partners[0], measure, seed=seed))
            rows.append({**dict(zip(keys, values, strict=True)), **compared})
    return pd.DataFrame(rows)


def _grouped(runs, keys: list[str]) -> dict[tuple, list[Run]]:
    groups: dict[tuple, list[Run]] = {}
    for run in runs:
        groups.setdefault(tuple(run.parameters.get(key) for key in keys), []).append(run)
    return groups


def _seeds(run: Run) -> tuple:
    return tuple(run.parameters.get(key) for key in SEED_KEYS)


def _partners(runs: Sequence[Run], references: Sequence[Run]) -> list[tuple[Run, Run]]:
    sides = [{_seeds(run): run for run in side} for side in (runs, references)]
    for side, given in zip(sides, (runs, references), strict=True):
        if len(side) < len(given):
            raise ResultsError(f"comparison: several runs with the same seeds among {[run.name for run in given]}")
    if not sides[0] or set(sides[0]) != set(sides[1]):
        found = [sorted(map(str, side)) for side in sides]
        raise ResultsError(f"comparison: found runs with seeds {found[0]} against {found[1]}, expected the same")
    return [(run, sides[1][seeds]) for seeds, run in sides[0].items()]


def _paired(run: Run, reference: Run, measure: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Split of the data set, and the values of each query in both runs."""
    one, other = (_by_query(each, measure) for each in (run, reference))
    if not one.index.equals(other.index) or not len(one):
        raise ResultsError(
            f"comparison: {run.name} measured {len(one)} queries, {reference.name} {len(other)}, "
            f"{len(one.index.intersection(other.index))} of them the same; expected the same ones"
        )
    fingerprints = [each.manifest["hashes"].get("dataset") for each in (run, reference)]
    if fingerprints[0] != fingerprints[1]:
        raise ResultsError(f"comparison: {run.name} and {reference.name} are of different data sets")
    return run.parameters.get("dataset.split_seed"), one.to_numpy(), other.to_numpy()


def _by_query(run: Run, measure: str) -> pd.Series:
    values = MEASURES[measure](run.queries)
    if len(values) != len(run.queries):
        raise ResultsError(f"comparison: run {run.name} has no {measure}")
    return pd.Series(values).groupby(run.queries["query"].to_numpy()).mean()


def _resampled(pairs: list[tuple[Any, np.ndarray, np.ndarray]], seed: int) -> np.ndarray:
    """Means of both sides in each resample: float64 (RESAMPLES, 2)."""
    rng = stream(seed, "paired bootstrap")
    drawn = np.empty((RESAMPLES, 2))
    sizes = {(split, len(values)): None for split, values, _ in pairs}
    for row in range(RESAMPLES):
        queries = {key: rng.integers(0, key[1], key[1]) for key in sizes}
        picked = rng.integers(0, len(pairs), len(pairs)) if len(pairs) > 1 else [0]
        means = []
        for number in picked:
            split, values, others = pairs[number]
            at = queries[split, len(values)]
            means.append((values[at].mean(), others[at].mean()))
        drawn[row] = np.mean(means, axis=0)
    return drawn


def _tails(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(drawn, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return float(low), float(high)


def _verdict(difference: float, low: float, high: float, claimed: float | None) -> Verdict:
    if high - low > abs(difference if claimed is None else claimed):
        return "unresolved"
    if low <= 0 <= high:
        return "equal"
    return "higher" if difference > 0 else "lower"
