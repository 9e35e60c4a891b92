"""Growth laws: a quantity against the number of vectors, with prediction intervals, and how far they can be trusted.

Two laws, straight lines against ln n: a power law (ln y) and a logarithm (y). Which of them holds beyond the data is
not known: an extrapolation takes the law that better predicts the largest n from the smaller ones, and its interval
spans the intervals of both. A quantity that is not positive at every n, such as a difference, has the logarithm alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
    slope, slope_error : float
        The exponent of a power law; the growth per e-fold of n of a logarithm. With its standard error.
    x_mean, y_mean, x_spread, residual, count
        Means and sum of squares of the abscissae, residual standard deviation, number of points.
    """

    name: LawName
    slope: float
    slope_error: float
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
        """Return the value at n over that at base, with the interval that the slope's 95 % interval gives."""
        half = self._student * self.slope_error

        def at(slope: float) -> float:
            over, under = (self.y_mean + slope * (math.log(size) - self.x_mean) for size in (n, base))
            return self._value(over) / self._value(under) if self._value(under) else math.nan

        return at(self.slope), at(self.slope - half), at(self.slope + half)

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
        slope_error=float(line.stderr),
        x_mean=float(x.mean()),
        y_mean=float(y.mean()),
        x_spread=float(((x - x.mean()) ** 2).sum()),
        residual=float(np.sqrt((residuals**2).sum() / (len(x) - 2))),
        count=len(x),
    )


@dataclass(frozen=True)
class Growth:
    """The laws of a quantity, and how each predicts the largest n from the smaller ones.

    Attributes
    ----------
    laws : tuple of Law
        The better one first.
    held_out : dict of str to tuple
        For each law: largest n, measured there, predicted, low, high.
    """

    laws: tuple[Law, ...]
    held_out: dict[str, tuple[float, float, float, float, float]]

    @property
    def is_checked(self) -> bool:
        """Whether the better law's interval holds the largest n that it did not see."""
        _, measured, _, low, high = self.held_out[self.laws[0].name]
        return low <= measured <= high

    def predict(self, n: float) -> tuple[float, float, float]:
        """Return the better law's value at n, with the interval that spans the laws' prediction intervals."""
        return _span([law.predict(n) for law in self.laws])

    def ratio(self, n: float, base: float) -> tuple[float, float, float]:
        """Return the value at n over that at base, likewise."""
        return _span([law.ratio(n, base) for law in self.laws])


def grow(sizes: Sequence[float], values: Sequence[float]) -> Growth:
    """Fit the laws and check them by leaving out the largest n.

    Parameters
    ----------
    sizes, values : sequence of float
        At least four. Where a value is not positive the logarithm is the only law.

    Raises
    ------
    ResultsError
        Too few points.
    """
    order = np.argsort(sizes)
    sizes, values = np.asarray(sizes, dtype=float)[order], np.asarray(values, dtype=float)[order]
    if len(sizes) < 4:
        raise ResultsError(
            f"growth law: found {len(sizes)} sizes, expected four or more: one is left out for the check"
        )
    held_out, errors = {}, {}
    possible: tuple[LawName, ...] = ("power", "logarithm") if (values > 0).all() else ("logarithm",)
    for name in possible:
        predicted = fit(name, sizes[:-1], values[:-1]).predict(sizes[-1])
        held_out[name] = (float(sizes[-1]), float(values[-1]), *predicted)
        errors[name] = abs(predicted[0] - values[-1])
    names = sorted(errors, key=errors.__getitem__)
    return Growth(tuple(fit(name, sizes, values) for name in names), held_out)


def _span(found: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    return found[0][0], min(low for _, low, _ in found), max(high for _, _, high in found)
