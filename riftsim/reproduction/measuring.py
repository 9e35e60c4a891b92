"""What measuring functions have in common: the table of them by claim, and numbers with intervals out of runs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from riftsim.errors import ResultsError
from riftsim.reproduction.groups import over_runs
from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.levels import SETS
from riftsim.reproduction.scoring import Missing, Order, Ours, Value
from riftsim.results.compare import compare
from riftsim.results.store import Run

Function = Callable[[Lab], Sequence[Ours]]


@dataclass(frozen=True)
class Measure:
    """How a claim is measured.

    Attributes
    ----------
    claim : str
        Its id.
    experiment : str
        Folder of the experiment whose runs it takes, empty if no search is run.
    figure : str
        Folder of the figure that the claim is read off, where that is another one.
    function : callable
        ``lab -> [Value | Order | Missing, ...]``, one per number of the claim; raises `NotMeasured` with the reason.
    """

    claim: str
    experiment: str
    figure: str
    function: Function


AT_090 = "recall 0.90, each at its smallest L"
"""What systems are compared at unless something else is said."""

MEASURES: dict[str, Measure] = {}
"""By claim id; filled when `riftsim.reproduction.sections` is imported."""


def measures(claim: str, experiment: str = "", figure: str = "") -> Callable[[Function], Function]:
    """Register a function as what measures a claim."""

    def register(function: Function) -> Function:
        if claim in MEASURES:
            raise ValueError(f"{claim} is measured twice")
        MEASURES[claim] = Measure(claim, experiment, figure, function)
        return function

    return register


def of_each_set(function: Callable[[Lab, str], Ours]) -> Function:
    """Make a measuring function of one number per data set out of that for one set."""

    def all_sets(lab: Lab) -> list[Ours]:
        found: list[Ours] = []
        for name in SETS:
            try:
                found.append(_of_set(lab, name, function(lab, name)))
            except NotMeasured as reason:
                found.append(Missing(str(reason)))
        return found

    return all_sets


def _of_set(lab: Lab, name: str, ours: Ours) -> Ours:
    """Say which set a number is of, and that it was matched by recall where the function says nothing."""
    if not isinstance(ours, Value):
        return ours
    return replace(ours, on=f"{lab.level.sets[name]['dataset.name']}, {ours.on or AT_090}")


# ---------------------------------------------------------------- numbers out of runs


def exactly(value: float, *, same_data: bool = False, on: str = "") -> Value:
    """Return a number in which nothing was drawn at random."""
    return Value(float(value), float(value), float(value), same_data, on=on)


def metric(runs: Sequence[Run], name: str, scale: float = 1.0) -> Value:
    """Return the mean of a metric over runs: interval over seeds, or over the queries of a single run."""
    if len(runs) == 1:
        value, (low, high) = runs[0].metrics([name])[name], runs[0].confidence([name])[name]
    else:
        value, low, high = over_runs(runs, lambda run: run.metrics([name])[name])
    return Value(scale * value, scale * low, scale * high)


def of_runs(runs: Sequence[Run], number: Callable[[Run], float], scale: float = 1.0) -> Value:
    """Return the mean over seeds of a number of each run."""
    value, low, high = over_runs(runs, number)
    return Value(scale * value, scale * low, scale * high)


def ratio(runs: Sequence[Run], references: Sequence[Run], measure: str = "latency_mean_us") -> Value:
    """Return a paired ratio over queries and seeds."""
    found = compare(list(runs), list(references), measure)
    return Value(found.ratio, found.ratio_low, found.ratio_high)


def difference(runs: Sequence[Run], references: Sequence[Run], measure: str = "recall") -> Value:
    """Return a paired difference over queries and seeds."""
    found = compare(list(runs), list(references), measure)
    return Value(found.difference, found.difference_low, found.difference_high)


def gain(of: Value) -> Value:
    """Return a ratio as a relative gain."""
    return replace(of, value=of.value - 1, low=of.low - 1, high=of.high - 1)


def cut(of: Value) -> Value:
    """Return a ratio as a relative cut."""
    return replace(of, value=1 - of.value, low=1 - of.high, high=1 - of.low)


def inverse(of: Value) -> Value:
    """Return one over a positive number, whose interval may reach below 0 where it is extrapolated."""
    return replace(of, value=1 / of.value, low=1 / of.high, high=1 / of.low if of.low > 0 else math.inf)


def negative(of: Value) -> Value:
    """Return a number with the other sign."""
    return replace(of, value=-of.value, low=-of.high, high=-of.low)


def rate_ratio(runs: Sequence[Run], references: Sequence[Run]) -> Value:
    """Return the ratio of two throughputs.

    With as many queries in flight on both sides, throughput is their number over the latency (Little's law), so that
    the interval is that of the paired latencies; else batch means of either side, as if independent.
    """
    one, other = (metric(side, "qps") for side in (runs, references))
    value = one.value / other.value
    flights = {_in_flight(run) for run in (*runs, *references)}
    if len(flights) == 1 and flights != {None}:
        try:
            paired = inverse(ratio(runs, references))
        except ResultsError:
            pass
        else:
            scale = value / paired.value
            return Value(value, scale * paired.low, scale * paired.high)
    half = math.hypot(*((side.high - side.low) / 2 / side.value for side in (one, other)))
    return Value(value, value * math.exp(-half), value * math.exp(half))


def _in_flight(run: Run) -> int | None:
    concurrency = run.parameters.get("load.concurrency")
    return concurrency and concurrency * run.parameters["cluster.compute_nodes"]


# ---------------------------------------------------------------- orders


def above(of: Value, bound: float = 0.0) -> bool | None:
    """Tell whether a number is above a bound; None where its interval has the bound inside, or there is none."""
    if of.low > bound:
        return True
    return False if of.high < bound else None


def every(answers: Sequence[bool | None], on: str = "") -> Order:
    """Join answers: one that is no decides, else one that is unknown."""
    if False in answers:
        return Order(False, on)
    return Order(None if None in answers else True, on)
