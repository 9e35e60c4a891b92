"""95 % confidence intervals: bootstrap over queries, and batch means for rates.

Queries are what is drawn at random; a query that was measured several times is drawn with all its rows, since its rows
resemble each other. All draws are seeded.
"""

import math

import numpy as np

from riftsim.rng import stream

LEVEL = 0.95
RESAMPLES = 1000
BATCHES = 20
NO_INTERVAL = (math.nan, math.nan)

_STUDENT_T = 2.093024  # two-sided 95 % quantile of Student's t with BATCHES - 1 = 19 degrees of freedom
_NORMAL = 1.959964  # the same of the normal distribution
_MANY_QUERIES = 10_000  # above it, the bootstrap of a mean is normal to within its own resampling noise
_TAILS = ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
_DRAWS_AT_ONCE = 4_000_000


def mean_interval(values: np.ndarray, queries: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Return the percentile-bootstrap interval of a mean over rows, resampling queries.

    Parameters
    ----------
    values : ndarray, (n,)
        One value per row.
    queries : ndarray, (n,), integer
        Which query a row belongs to.
    seed : int

    Returns
    -------
    (float, float)
        Not a number for fewer than two queries.
    """
    return ratio_interval(values, np.ones(len(values)), queries, seed)


def ratio_interval(
    numerators: np.ndarray, denominators: np.ndarray, queries: np.ndarray, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile-bootstrap interval of ``sum(numerators) / sum(denominators)``, resampling queries.

    Parameters
    ----------
    numerators, denominators : ndarray, (n,)
        One value per row.
    queries : ndarray, (n,), integer
        Which query a row belongs to.
    seed : int

    Returns
    -------
    (float, float)
    """
    _, group = np.unique(queries, return_inverse=True)
    over, under = np.bincount(group, weights=numerators), np.bincount(group, weights=denominators)
    count = len(over)
    if count < 2:
        return NO_INTERVAL
    if count > _MANY_QUERIES:
        ratio = over.sum() / under.sum()
        half = _NORMAL * np.std(over - ratio * under, ddof=1) / (under.mean() * math.sqrt(count))
        return (float(ratio - half), float(ratio + half))
    rng = stream(seed, "bootstrap")
    drawn = np.empty(RESAMPLES)
    for rows in _batches(count):
        picked = rng.integers(0, count, size=(len(rows), count), dtype=np.int32)
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn[rows] = over[picked].sum(axis=1) / under[picked].sum(axis=1)
    return _tails(drawn)


def quantile_interval(
    values: np.ndarray, queries: np.ndarray, probability: float, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile-bootstrap interval of a nearest-rank quantile, resampling queries.

    Parameters
    ----------
    values : ndarray, (n,)
        One value per row.
    queries : ndarray, (n,), integer
        Which query a row belongs to.
    probability : float
        In (0, 1), e.g. 0.99.
    seed : int

    Returns
    -------
    (float, float)
    """
    order = np.argsort(values, kind="stable")
    ordered = np.asarray(values, dtype=np.float64)[order]
    count = len(ordered)
    distinct, group = np.unique(np.asarray(queries)[order], return_inverse=True)
    if len(distinct) < 2:
        return NO_INTERVAL
    rng = stream(seed, "bootstrap")
    if len(distinct) == count:
        # The r-th smallest of n draws out of n rows is row floor(n u), u the r-th smallest of n uniform numbers, and
        # that is Beta(r, n - r + 1): the exact bootstrap of an order statistic without drawing the samples.
        rank = nearest_rank(probability, count)
        position = (rng.beta(rank, count - rank + 1, size=RESAMPLES) * count).astype(np.int64)
        return _tails(ordered[np.minimum(position, count - 1)])
    drawn = np.empty(RESAMPLES)
    for rows in _batches(count):
        copies = rng.multinomial(len(distinct), np.full(len(distinct), 1.0 / len(distinct)), size=len(rows))
        below = np.cumsum(copies[:, group], axis=1)
        needed = np.ceil(probability * below[:, -1:] - 1e-9)
        drawn[rows] = ordered[np.argmax(below >= np.maximum(needed, 1), axis=1)]
    return _tails(drawn)


def rate_interval(rate: float, ends_s: np.ndarray) -> tuple[float, float]:
    """Return the batch-means interval of a rate of completions.

    Completion times are cut into ``BATCHES`` equal spans; the counts in them, nearly independent, give the spread
    (Law, Simulation Modeling and Analysis, chapter 9).

    Parameters
    ----------
    rate : float
        The rate, in 1/s; the centre of the interval.
    ends_s : ndarray, (n,)
        Completion times in seconds.

    Returns
    -------
    (float, float)
        Not a number for fewer than two completions per batch.
    """
    if len(ends_s) < 2 * BATCHES or not np.ptp(ends_s) > 0:
        return NO_INTERVAL
    counts, edges = np.histogram(ends_s, bins=BATCHES)
    spread = np.std(counts / np.diff(edges), ddof=1)
    half = _STUDENT_T * spread / math.sqrt(BATCHES)
    return (max(0.0, float(rate - half)), float(rate + half))


def nearest_rank(probability: float, count: int) -> int:
    """Return the 1-based rank of a nearest-rank quantile: the smallest r with r / count >= probability."""
    # The subtraction undoes rounding such as 0.95 * 20 = 19.000000000000004.
    return min(count, max(1, math.ceil(probability * count - 1e-9)))


def _batches(count: int) -> list[np.ndarray]:
    rows = max(1, _DRAWS_AT_ONCE // count)
    return [np.arange(first, min(first + rows, RESAMPLES)) for first in range(0, RESAMPLES, rows)]


def _tails(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(drawn, _TAILS)
    return float(low), float(high)
