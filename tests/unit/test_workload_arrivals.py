"""Arrival times: integer, repeatable, of the asked rate."""

import numpy as np
import pytest

from riftsim.errors import ConfigError
from riftsim.workload.arrivals import constant_arrivals_ps, poisson_arrivals_ps


def test_poisson_gaps_are_exponential():
    times = poisson_arrivals_ps(50_000, 20_000, seed=1)
    assert times.dtype == np.int64
    gaps = np.diff(times, prepend=0) / 1e12
    # Mean and standard deviation of 20,000 exponential gaps: 5 standard errors of 1/sqrt(20,000) and sqrt(2/20,000).
    assert gaps.mean() == pytest.approx(2e-5, rel=0.036)
    assert gaps.std() == pytest.approx(2e-5, rel=0.06)
    assert (gaps > 2e-5).mean() == pytest.approx(np.exp(-1), abs=0.018)


def test_arrivals_are_a_function_of_the_seed_and_extend_each_other():
    some, more = poisson_arrivals_ps(1e6, 100, 7), poisson_arrivals_ps(1e6, 1000, 7)
    np.testing.assert_array_equal(some, more[:100])
    assert not np.array_equal(some, poisson_arrivals_ps(1e6, 100, 8))


def test_constant_arrivals_do_not_drift():
    times = constant_arrivals_ps(3.0, 3_000_001)
    assert times[0] == 0
    assert times[3] == 10**12
    assert times[-1] == 10**18
    assert set(np.diff(times[:1000])) <= {333_333_333_333, 333_333_333_334}


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_rates_that_are_none(rate):
    with pytest.raises(ConfigError, match="rate"):
        poisson_arrivals_ps(rate, 3, 0)
    with pytest.raises(ConfigError, match="rate"):
        constant_arrivals_ps(rate, 3)


def test_counts_and_spans_that_do_not_fit():
    assert len(poisson_arrivals_ps(1.0, 0, 0)) == 0
    with pytest.raises(ConfigError, match="-1"):
        constant_arrivals_ps(1.0, -1)
    with pytest.raises(ConfigError, match="2\\^62"):
        poisson_arrivals_ps(1e-6, 10, 0)
