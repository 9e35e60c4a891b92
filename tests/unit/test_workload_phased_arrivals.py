"""Poisson arrivals whose rate changes: counts per phase, order, determinism, and one phase against the plain
process."""

import numpy as np
import pytest

from riftsim.errors import ConfigError
from riftsim.units import PS_PER_MS, PS_PER_S
from riftsim.workload.arrivals import phased_arrivals_ps


def test_counts_in_each_phase_are_poisson():
    lengths_ms, rates_qps = (400, 0, 300, 500), (10_000.0, 5.0, 40_000.0, 10_000.0)
    phases = [(length * PS_PER_MS, rate) for length, rate in zip(lengths_ms, rates_qps, strict=True)]
    times = phased_arrivals_ps(phases, seed=3)
    edges = np.concatenate([[0], np.cumsum([length for length, _ in phases])])
    counts, _ = np.histogram(times, bins=np.unique(edges))
    expected = np.array([4_000, 12_000, 5_000])
    assert np.all(np.abs(counts - expected) < 4 * np.sqrt(expected))
    assert np.all(np.diff(times) >= 0)
    assert times[0] >= 0
    assert times[-1] < edges[-1]


def test_gaps_within_a_phase_are_exponential():
    times = phased_arrivals_ps([(PS_PER_S, 20_000.0)], seed=1)
    gaps = np.diff(times) / (PS_PER_S / 20_000.0)
    # Mean 1 and variance 1, within four standard errors of an exponential sample (kurtosis 9).
    assert abs(gaps.mean() - 1) < 4 / np.sqrt(len(gaps))
    assert abs(gaps.var() - 1) < 4 * np.sqrt(8 / len(gaps))


def test_same_seed_same_times():
    phases = [(PS_PER_MS, 1e6), (PS_PER_MS, 3e6)]
    assert np.array_equal(phased_arrivals_ps(phases, 5), phased_arrivals_ps(phases, 5))
    assert not np.array_equal(phased_arrivals_ps(phases, 5)[:100], phased_arrivals_ps(phases, 6)[:100])


def test_a_rate_that_is_not_positive_is_refused():
    with pytest.raises(ConfigError, match="arrival rate is 0"):
        phased_arrivals_ps([(PS_PER_MS, 0.0)], seed=0)
