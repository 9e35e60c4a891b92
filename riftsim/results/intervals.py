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

# Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom, then the normal one.
_STUDENT_T = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)
_NORMAL = 1.959964
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
    half = _half_width(counts / np.diff(edges))
    return (max(0.0, float(rate - half)), float(rate + half))


def loops_interval(loops: int, latencies_s: np.ndarray) -> tuple[float, float]:
    """Return the batch-means interval of the rate of closed loops.

    As ``rate_interval``, with the batches cut between queries: successive ones, whose number over their mean latency is
    the rate of the loops while they were in flight.

    Parameters
    ----------
    loops : int
        Queries in flight.
    latencies_s : ndarray, (n,)
        Latencies in seconds, in order of arrival.

    Returns
    -------
    (float, float)
        Not a number for fewer than two queries per batch.
    """
    if len(latencies_s) < 2 * BATCHES or not latencies_s.min() > 0:
        return NO_INTERVAL
    rate = loops / float(np.mean(latencies_s))
    half = _half_width(np.array([loops / batch.mean() for batch in np.array_split(latencies_s, BATCHES)]))
    return (max(0.0, rate - half), rate + half)


def runs_interval(values: np.ndarray) -> tuple[float, float]:
    """Return Student's interval of the mean over independent runs, e.g. one per seed.

    Parameters
    ----------
    values : ndarray, (n,)
        One value per run.

    Returns
    -------
    (float, float)
        Not a number for fewer than two runs.
    """
    if len(values) < 2:
        return NO_INTERVAL
    centre, half = float(np.mean(values)), _half_width(values)
    return (centre - half, centre + half)


def nearest_rank(probability: float, count: int) -> int:
    """Return the 1-based rank of a nearest-rank quantile: the smallest r with r / count >= probability."""
    # The subtraction undoes rounding such as 0.95 * 20 = 19.000000000000004.
    return min(count, max(1, math.ceil(probability * count - 1e-9)))


def _half_width(values: np.ndarray) -> float:
    freedom = len(values) - 1
    factor = _STUDENT_T[freedom - 1] if freedom <= len(_STUDENT_T) else _NORMAL
    return float(factor * np.std(values, ddof=1) / math.sqrt(len(values)))


def _batches(count: int) -> list[np.ndarray]:
    rows = max(1, _DRAWS_AT_ONCE // count)
    return [np.arange(first, min(first + rows, RESAMPLES)) for first in range(0, RESAMPLES, rows)]


def _tails(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(drawn, _TAILS)
    return float(low), float(high)
