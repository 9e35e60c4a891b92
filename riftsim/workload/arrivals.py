"""Arrival times of an open loop, in integer picoseconds.

Gaps are rounded to picoseconds one by one and then added as integers, so that times are the same on every machine and
engine. The numbers come from a counter-based generator: the first 100 arrivals do not depend on how many follow.
"""

import math

import numpy as np

from riftsim.errors import ConfigError
from riftsim.rng import stream
from riftsim.units import MAX_PS, PS_PER_S

_MAX_ARRIVALS = 2**31 - 1


def poisson_arrivals_ps(rate_qps: float, count: int, seed: int) -> np.ndarray:
    """Draw the arrival times of a Poisson process that starts at time 0.

    Parameters
    ----------
    rate_qps : float
        Mean arrivals per second.
    count : int
        How many.
    seed : int
        Seed of the run.

    Returns
    -------
    ndarray, shape (count,), int64
        Picoseconds, not decreasing.

    Raises
    ------
    ConfigError
        If the rate is not positive and finite, the count is negative, or the last time exceeds 2^62 ps (53 days).
    """
    mean_gap_ps = _mean_gap_ps(rate_qps, count)
    # Inverse transform: one uniform number per arrival, whatever numpy's exponential sampler does. 1 - u is never 0.
    uniform = stream(seed, "arrivals").random(count)
    gaps_ps = np.rint(-np.log1p(-uniform) * mean_gap_ps)
    if gaps_ps.sum() > MAX_PS:
        raise ConfigError(f"{count} arrivals at {rate_qps} per second last longer than 2^62 ps (53 days)")
    return np.cumsum(gaps_ps.astype(np.int64))


def constant_arrivals_ps(rate_qps: float, count: int) -> np.ndarray:
    """Return arrival times with equal gaps, the first at time 0.

    Parameters
    ----------
    rate_qps : float
        Arrivals per second.
    count : int
        How many.

    Returns
    -------
    ndarray, shape (count,), int64
        Picoseconds; each rounded on its own, so that the rate does not drift.

    Raises
    ------
    ConfigError
        As `poisson_arrivals_ps`.
    """
    mean_gap_ps = _mean_gap_ps(rate_qps, count)
    return np.rint(np.arange(count) * mean_gap_ps).astype(np.int64)


def phased_arrivals_ps(phases: list[tuple[int, float]], seed: int) -> np.ndarray:
    """Draw the arrival times of a Poisson process whose rate changes from phase to phase.

    Parameters
    ----------
    phases : list of (int, float)
        Length of each phase in ps and its arrivals per second; the first begins at time 0.
    seed : int
        Seed of the run.

    Returns
    -------
    ndarray, shape (count,), int64
        Picoseconds, not decreasing, all within the phases.

    Raises
    ------
    ConfigError
        As `poisson_arrivals_ps`.
    """
    lengths_ps = np.array([length for length, _ in phases], np.float64)
    expected = np.array([length / _mean_gap_ps(rate, 1) for length, rate in phases])
    ends = np.concatenate([[0.0], np.cumsum(expected)])
    if lengths_ps.sum() > MAX_PS or ends[-1] > _MAX_ARRIVALS:
        raise ConfigError(
            f"phases of the load: found {lengths_ps.sum():.3g} ps with {ends[-1]:.3g} arrivals, expected at most "
            f"{MAX_PS:.3g} ps (53 days) and {_MAX_ARRIVALS:.3g} arrivals"
        )
    # A process of unit rate, stretched: its time is the expected number of arrivals so far.
    generator = stream(seed, "arrivals")
    unit = np.zeros(0)
    while not len(unit) or unit[-1] < ends[-1]:
        gaps = -np.log1p(-generator.random(max(64, int(ends[-1]) // 8)))
        unit = np.concatenate([unit, (unit[-1] if len(unit) else 0.0) + np.cumsum(gaps)])
    unit = unit[unit < ends[-1]]
    starts_ps = np.concatenate([[0.0], np.cumsum(lengths_ps)])
    phase = np.searchsorted(ends, unit, side="right") - 1
    within = (unit - ends[phase]) / expected[phase]
    return np.rint(starts_ps[phase] + within * lengths_ps[phase]).astype(np.int64)


def _mean_gap_ps(rate_qps: float, count: int) -> float:
    if not (math.isfinite(rate_qps) and rate_qps > 0):
        raise ConfigError(f"arrival rate is {rate_qps}, expected a positive number of queries per second")
    if count < 0:
        raise ConfigError(f"number of arrivals is {count}, expected at least 0")
    mean_gap_ps = PS_PER_S / rate_qps
    if mean_gap_ps * count > MAX_PS:
        raise ConfigError(f"{count} arrivals at {rate_qps} per second last longer than 2^62 ps (53 days)")
    return mean_gap_ps
