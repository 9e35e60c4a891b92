"""Growth laws on data whose law is known."""

import math

import numpy as np
import pytest

from riftsim.errors import ResultsError
from riftsim.plotting.growth import drawing_of
from riftsim.plotting.output import write_figure
from riftsim.reproduction.growth import fit, grow

SIZES = np.array([1e4, 2e4, 4e4, 7e4, 1e5])


def test_a_power_law_without_noise_is_found_exactly():
    growth = grow(SIZES, 3.0 * SIZES**0.3)
    assert growth.laws[0].name == "power"
    assert growth.laws[0].slope == pytest.approx(0.3)
    assert growth.laws[0].predict(1e8) == pytest.approx((3.0 * 1e8**0.3,) * 3)
    assert growth.laws[0].ratio(1e9, 1e8) == pytest.approx((10**0.3,) * 3)
    largest, measured, predicted, low, high = growth.held_out["power"]
    assert (largest, measured) == (1e5, pytest.approx(predicted))
    assert high - low < 1e-6
    # Beyond the data the other law is not excluded: the span of both is the interval.
    value, low, high = growth.predict(1e8)
    assert low < 0.6 * value
    assert high >= value


def test_a_logarithm_without_noise_is_found_exactly():
    growth = grow(SIZES, 5.0 + 2.0 * np.log(SIZES))
    assert growth.laws[0].name == "logarithm"
    assert growth.laws[0].predict(1e9)[0] == pytest.approx(5 + 2 * math.log(1e9))
    assert growth.is_checked or growth.held_out["logarithm"][1] == pytest.approx(growth.held_out["logarithm"][2])


def test_the_prediction_interval_covers_95_percent():
    rng = np.random.default_rng(0)
    truth = 2.0 * 1e6**0.25
    covered = 0
    for _ in range(400):
        values = 2.0 * SIZES**0.25 * np.exp(rng.normal(0, 0.05, len(SIZES)))
        observed = truth * math.exp(rng.normal(0, 0.05))
        _, low, high = fit("power", SIZES, values).predict(1e6)
        covered += low <= observed <= high
    assert 0.92 <= covered / 400 <= 0.98


@pytest.mark.parametrize("name", ["power", "logarithm"])
def test_the_interval_of_a_ratio_covers_95_percent_of_two_new_observations(name):
    rng = np.random.default_rng(1)

    def observed(sizes):
        if name == "power":
            return 2.0 * sizes**0.25 * np.exp(rng.normal(0, 0.05, len(sizes)))
        return 5.0 * np.log(sizes) + rng.normal(0, 2.0, len(sizes))

    covered = 0
    for _ in range(400):
        ratio, low, high = fit(name, SIZES, observed(SIZES)).ratio(1e7, 1e6)
        over, under = observed(np.array([1e7, 1e6]))
        assert low <= ratio <= high
        covered += low <= over / under <= high
    assert 0.92 <= covered / 400 <= 0.98


def test_a_ratio_to_what_may_be_nothing_has_no_ends():
    values = np.log(SIZES / 3e4) + np.array([0.4, -0.5, 0.3, -0.4, 0.5])
    ratio, low, high = fit("logarithm", SIZES, values).ratio(1e9, 3e4)
    assert math.isfinite(ratio)
    assert (low, high) == (-math.inf, math.inf)


def test_the_law_whose_interval_holds_the_largest_n_comes_before_the_nearer_one():
    # The smaller sizes lie on the logarithm to within little, so that its interval is narrow; the power law is further
    # from the largest, and its interval is wide.
    x = np.log(SIZES)
    values = 10.0 + 5.0 * (x - x[0]) + np.array([0.01, -0.01, -0.01, 0.01, 0.3])
    growth = grow(SIZES, values)
    near, wide = growth.held_out["logarithm"], growth.held_out["power"]
    assert abs(near.predicted - near.measured) < abs(wide.predicted - wide.measured)
    assert not near.holds
    assert wide.holds
    assert [law.name for law in growth.laws] == ["power", "logarithm"]


def test_quantities_that_belong_together_take_one_law():
    clear, faint = 3.0 * SIZES**0.5, 2.0 + 1e-3 * np.log(SIZES)
    assert grow(SIZES, clear).laws[0].name == "power"
    assert grow(SIZES, faint).laws[0].name == "logarithm"
    assert grow(SIZES, clear, [faint]).laws[0].name == grow(SIZES, faint, [clear]).laws[0].name == "power"
    # Each keeps its own numbers.
    assert grow(SIZES, clear, [faint]).laws[0] == fit("power", SIZES, clear)
    assert grow(SIZES, clear, [faint]).held_out == grow(SIZES, clear).held_out
    # One of them has no power law: none has.
    assert [law.name for law in grow(SIZES, clear, [clear - 400.0]).laws] == ["logarithm"]


def test_the_interval_is_that_of_simple_regression():
    # Textbook: half width = t s sqrt(1 + 1/m + (x - mean)^2 / Sxx), by numpy alone.
    values = np.array([10.0, 13.0, 14.5, 18.0, 19.0])
    x = np.log(SIZES)
    design = np.column_stack([np.ones(5), x])
    beta, residual, *_ = np.linalg.lstsq(design, values, rcond=None)
    s2 = residual[0] / 3
    at = np.array([1.0, math.log(1e6)])
    half = 3.182446 * math.sqrt(s2 * (1 + at @ np.linalg.inv(design.T @ design) @ at))
    value, low, high = fit("logarithm", SIZES, values).predict(1e6)
    assert value == pytest.approx(at @ beta)
    assert (low, high) == pytest.approx((value - half, value + half), rel=1e-5)


def test_a_change_of_law_at_the_largest_n_is_seen():
    values = SIZES**0.2
    values[-1] *= 1.5
    assert not grow(SIZES, values).is_checked


def test_the_order_of_sizes_does_not_matter():
    values = SIZES**0.2 * np.array([1.0, 1.02, 0.99, 1.01, 1.0])
    shuffled = [3, 0, 4, 2, 1]
    assert grow(SIZES[shuffled], values[shuffled]) == grow(SIZES, values)


@pytest.mark.parametrize(("count", "message"), [(3, "found 3 sizes"), (0, "found 0 sizes")])
def test_too_few_sizes(count, message):
    with pytest.raises(ResultsError, match=message):
        grow(SIZES[:count], SIZES[:count])


def test_a_quantity_that_is_not_positive_everywhere_has_the_logarithm_alone():
    growth = grow(SIZES, 0.5 * np.log(SIZES) - 5.0)
    assert [law.name for law in growth.laws] == ["logarithm"]
    assert growth.predict(1e9) == pytest.approx((0.5 * math.log(1e9) - 5.0,) * 3)


def test_values_without_logarithm():
    with pytest.raises(ResultsError, match="positive"):
        fit("power", SIZES, SIZES - 2e4)


def test_the_figure_shows_what_was_measured_and_the_law(tmp_path):
    law = grow(SIZES, 3.0 * SIZES**0.3).laws[0]
    rows = [{"quantity": "L", "n": n, "value": 3.0 * n**0.3, "low": None, "high": None} for n in SIZES]
    rows += [
        {"quantity": "L", "n": n, **dict(zip(("value", "low", "high"), law.predict(n), strict=True))}
        for n in (1e4, 1e9)
    ]
    written = write_figure(drawing_of(rows), tmp_path / "growth")
    assert {path.suffix for path in written} >= {".png", ".svg", ".pdf", ".csv"}
    assert len((tmp_path / "growth.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(rows)
