"""Growth laws: a quantity against the number of vectors, with prediction intervals, and how far they can be trusted.

Two laws, straight lines against ln n: a power law (ln y) and a logarithm (y). Which of them holds beyond the data is
not known: an extrapolation takes the law that better predicts the largest n from the smaller ones, and its interval
spans the intervals of both, so that no verdict on a number hangs on the choice. Better is the law whose interval holds
the largest n where the other's does not, else the one with the smaller relative error. Quantities that are one thing
under two conditions take one law, by both checks and the sum of both errors. A quantity that is not positive at every
n, such as a difference, has the logarithm alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

from riftsim.errors import ResultsError
from riftsim.results.intervals import LEVEL

LawName = Literal["power", "logarithm"]


@dataclass(frozen=True)
class Law:
    """A straight line through (ln n, ln y) or (ln n, y), fitted by least squares.

    Attributes
    ----------
    name : {"power", "logarithm"}
    slope : float
        The exponent of a power law; the growth per e-fold of n of a logarithm.
    x_mean, y_mean, x_spread, residual, count
        Means and sum of squares of the abscissae, residual standard deviation, number of points.
    """

    name: LawName
    slope: float
    x_mean: float
    y_mean: float
    x_spread: float
    residual: float
    count: int

    @property
    def _student(self) -> float:
        return float(stats.t.ppf((1 + LEVEL) / 2, self.count - 2))

    def predict(self, n: float) -> tuple[float, float, float]:
        """Return the value at n with the 95 % prediction interval of a new observation."""
        x = math.log(n)
        centre = self.y_mean + self.slope * (x - self.x_mean)
        half = self._student * self.residual
        half *= math.sqrt(1 + 1 / self.count + (x - self.x_mean) ** 2 / self.x_spread)
        low, value, high = (self._value(y) for y in (centre - half, centre, centre + half))
        return value, low, high

    def ratio(self, n: float, base: float) -> tuple[float, float, float]:
        """Return the value at n over that at base, with the 95 % prediction interval of two new observations.

        Of a logarithm it is Fieller's, which has no ends where the value at base cannot be told from 0.
        """
        over, under = (math.log(size) - self.x_mean for size in (n, base))
        at_over, at_under = (self.y_mean + self.slope * x for x in (over, under))
        # Variances of two new observations and their covariance, by the line that they share.
        scale = (self._student * self.residual) ** 2
        of_over, of_under = (scale * (1 + 1 / self.count + x**2 / self.x_spread) for x in (over, under))
        shared = scale * (1 / self.count + over * under / self.x_spread)
        if self.name == "power":
            half = math.sqrt(of_over + of_under - 2 * shared)
            return tuple(math.exp(at_over - at_under + sign * half) for sign in (0, -1, 1))
        # Ratios r with (at_over - r at_under)^2 within the variance of over - r under: a quadratic in r.
        square, middle, rest = at_under**2 - of_under, at_over * at_under - shared, at_over**2 - of_over
        if square <= 0:
            return at_over / at_under if at_under else math.nan, -math.inf, math.inf
        root = math.sqrt(max(middle**2 - square * rest, 0.0))
        return at_over / at_under, (middle - root) / square, (middle + root) / square

    def _value(self, y: float) -> float:
        return math.exp(y) if self.name == "power" else y


def fit(name: LawName, sizes: Sequence[float], values: Sequence[float]) -> Law:
    """Fit a law.

    Parameters
    ----------
    name : {"power", "logarithm"}
    sizes, values : sequence of float
        Positive, at least three.

    Raises
    ------
    ResultsError
        Fewer than three points, or values that have no logarithm.
    """
    x, y = np.log(np.asarray(sizes, dtype=np.float64)), np.asarray(values, dtype=np.float64)
    if len(x) != len(y) or len(x) < 3:
        raise ResultsError(f"growth law: found {len(x)} sizes and {len(y)} values, expected three or more of both")
    if name == "power":
        if not (y > 0).all():
            raise ResultsError(f"growth law: found the value {y.min():g}, expected positive ones")
        y = np.log(y)
    line = stats.linregress(x, y)
    residuals = y - line.intercept - line.slope * x
    return Law(
        name=name,
        slope=float(line.slope),
        x_mean=float(x.mean()),
        y_mean=float(y.mean()),
        x_spread=float(((x - x.mean()) ** 2).sum()),
        residual=float(np.sqrt((residuals**2).sum() / (len(x) - 2))),
        count=len(x),
    )


class HeldOut(NamedTuple):
    """The largest n, what was measured there, and what the law of the smaller ones gives with its interval."""

    n: float
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the interval holds what was measured, to within rounding."""
        slack = 1e-9 * abs(self.measured)
        return self.low - slack <= self.measured <= self.high + slack


@dataclass(frozen=True)
class Growth:
    """The laws of a quantity, and how each predicts the largest n from the smaller ones.

    Attributes
    ----------
    laws : tuple of Law
        The better one first.
    held_out : dict of str to HeldOut
        For each law.
    """

    laws: tuple[Law, ...]
    held_out: dict[str, HeldOut]

    @property
    def is_checked(self) -> bool:
        """Whether the better law's interval holds the largest n that it did not see."""
        return self.held_out[self.laws[0].name].holds

    def predict(self, n: float) -> tuple[float, float, float]:
        """Return the better law's value at n, with the interval that spans the laws' prediction intervals."""
        return _span([law.predict(n) for law in self.laws])

    def ratio(self, n: float, base: float) -> tuple[float, float, float]:
        """Return the value at n over that at base, likewise."""
        return _span([law.ratio(n, base) for law in self.laws])


def grow(sizes: Sequence[float], values: Sequence[float], alike: Sequence[Sequence[float]] = ()) -> Growth:
    """Fit the laws and check them by leaving out the largest n.

    Parameters
    ----------
    sizes, values : sequence of float
        At least four. Where a value is not positive the logarithm is the only law.
    alike : sequence of sequence of float
        Values of other quantities at these sizes that have to take the same law; which one is decided over all.

    Raises
    ------
    ResultsError
        Too few points.
    """
    order = np.argsort(sizes)
    sizes = np.asarray(sizes, dtype=float)[order]
    values, *others = (np.asarray(each, dtype=float)[order] for each in (values, *alike))
    if len(sizes) < 4:
        raise ResultsError(
            f"growth law: found {len(sizes)} sizes, expected four or more: one is left out for the check"
        )
    all_positive = all((each > 0).all() for each in (values, *others))
    names: list[LawName] = ["power", "logarithm"] if all_positive else ["logarithm"]
    checks = {name: [_hold_out(name, sizes, each) for each in (values, *others)] for name in names}
    if all_positive:
        names.sort(key=lambda name: _badness(checks[name]))
    return Growth(tuple(fit(name, sizes, values) for name in names), {name: checks[name][0] for name in names})


def _hold_out(name: LawName, sizes: np.ndarray, values: np.ndarray) -> HeldOut:
    predicted = fit(name, sizes[:-1], values[:-1]).predict(sizes[-1])
    return HeldOut(float(sizes[-1]), float(values[-1]), *predicted)


def _badness(checks: Sequence[HeldOut]) -> tuple[int, float]:
    """In how many quantities the interval misses the largest n, then the sum of relative errors there."""
    return sum(not one.holds for one in checks), sum(abs(one.predicted / one.measured - 1) for one in checks)


def _span(found: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    return found[0][0], min(low for _, low, _ in found), max(high for _, _, high in found)
