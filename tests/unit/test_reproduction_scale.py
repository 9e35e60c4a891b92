"""What the scale study makes of rows whose laws are known, without a run."""

import math

import pytest

from riftsim.reproduction import scale, scale_systems
from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.levels import LEVELS, SMOKE
from riftsim.reproduction.measuring import MEASURES
from riftsim.reproduction.scoring import Value
from riftsim.reproduction.sections import billion, gate

SIZES = (1e4, 4e4, 1e5, 3e5, 1e6)
FACTORS = {"distvs": 1.6, "pipeann": 8.0, "diskann": 12.0}


def power(n: float, exponent: float) -> float:
    return (n / 1e9) ** exponent


def system_rows(lab: Lab, recall: str) -> list[scale.Row]:
    """RiftANN takes 2 ms on 1 G vectors, others a multiple that falls with n."""
    rows = []
    for n in SIZES:
        row = {"n": n, "dataset": "made up", "target": recall, "riftann_us": 2000 * power(n, 0.3)}
        for kind, factor in FACTORS.items():
            over = factor * power(n, -0.1)
            row |= {f"{kind}_us": over * row["riftann_us"], f"{kind}_over_riftann": over}
        rows.append(row)
    return rows


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setattr(scale_systems, "study", system_rows)
    return Lab(SMOKE, tmp_path, may_run=False)


def values(name: str, lab: Lab) -> list[float]:
    return [one.value for one in MEASURES[name].function(lab)]


def test_latencies_and_their_ratios_follow_the_laws(lab):
    assert values("B02", lab) == pytest.approx([3.2, 16.0, 24.0])
    assert values("B03", lab) == pytest.approx(list(FACTORS.values()))
    assert values("B10", lab) == pytest.approx(list(FACTORS.values()))


def test_rates_are_queries_in_flight_over_latency(lab):
    assert values("B09", lab) == pytest.approx([1.6 * 30 / 45, 8.0 * 30 / 32, 12.0 * 30 / 32])
    assert values("B11", lab) == pytest.approx([8.0 * 30 / 32, 12.0 * 30 / 32])
    for found in MEASURES["B09"].function(lab):
        assert found.extrapolated
        assert found.low <= found.value <= found.high


def test_the_order_is_that_of_the_extrapolated_rates(lab, monkeypatch):
    (order,) = billion.ahead_of_all(lab)
    assert order.extrapolated
    assert order.holds is not False
    monkeypatch.setitem(FACTORS, "diskann", 1e-3)
    assert billion.ahead_of_all(lab)[0].holds is False


def test_gates_at_scale(lab, monkeypatch):
    """The gate cuts a quarter of the latency at every size, and recall is lost at some sizes and won at others."""
    rows = [
        {
            "n": n,
            "dataset": "made up",
            "target": "0.95",
            "latency_mean_us": 2500 * power(n, 0.2),
            "latency_30_us": 3000 * power(n, 0.2),
            "wait_all_30_us": 4000 * power(n, 0.2),
            "gate_over_wait_all": 0.75,
            "recall_lost": 0.0002 * math.log(n / 3e5),
        }
        for n in SIZES
    ]
    monkeypatch.setattr(gate, "study", lambda lab, recall: rows)
    assert values("G14", lab) == pytest.approx([4.0, 7.5, 3.0, 10.0])
    assert values("G18", lab) == pytest.approx([0.25, 1 / 3, 0.0002 * math.log(1e9 / 3e5)])


def test_growth_agrees_with_the_latencies_that_it_is_of(lab, monkeypatch):
    """22 in flight on 100 M vectors and 30 on 1 G, of which the small sizes alone would suggest two laws."""
    noise = dict(zip(SIZES, (1.01, 0.99, 1.02, 0.98, 0.95), strict=True))
    rows = [
        {
            "n": n,
            "dataset": "made up",
            "target": "0.90",
            "latency_mean_us": 1800 * power(n, 0.2) * noise[n],
            "latency_30_us": 2000 * power(n, 0.2) * noise[n] * (1 + 1e-3 * math.log(n)),
        }
        for n in SIZES
    ]
    monkeypatch.setattr(billion, "study", lambda lab, recall: rows)
    laws = [scale.law(rows, name) for name in scale.TOGETHER]
    assert laws[0].laws[0].name == laws[1].laws[0].name
    (grown,), (kept,) = (MEASURES[name].function(lab) for name in ("B05", "B08"))
    before, after = laws[0].predict(1e8)[0], laws[1].predict(1e9)[0]
    assert grown.value == pytest.approx(after / before, rel=0.02)
    factor = rows[-1]["latency_30_us"] / rows[-1]["latency_mean_us"]
    assert (grown.value, grown.low, grown.high) == pytest.approx(
        tuple(factor * number for number in laws[0].ratio(1e9, 1e8))
    )
    # 30 over 22 in flight, over the growth of the latency.
    assert (kept.value, kept.low, kept.high) == pytest.approx(
        tuple(30 / 22 / number for number in (grown.value, grown.high, grown.low))
    )
    assert grown.extrapolated
    assert kept.extrapolated
    assert kept.low <= (30 / after) / (22 / before) <= kept.high


def test_a_rate_whose_latency_may_be_nothing_has_no_upper_end():
    rate = scale.rate_at_scale(Value(2.0, -1.0, 5.0, extrapolated=True), 30)
    assert (rate.value, rate.low, rate.high) == (15.0, 6.0, math.inf)


def test_every_quantity_has_a_line_in_the_table():
    rows = system_rows(None, "0.90")
    lines = {line["quantity"]: line for line in scale.table(rows)}
    assert set(lines) == set(rows[0]) - {"n", "dataset", "target"}
    assert lines["pipeann_over_riftann"]["slope"] == pytest.approx(-0.1)
    assert lines["riftann_us"]["at_1B"] == pytest.approx(2000)


def test_fewer_than_four_sizes_are_no_study():
    def at(size: int) -> scale.Row:
        if size > 2:
            raise NotMeasured(f"{size}: not there")
        return {"n": size}

    with pytest.raises(NotMeasured, match=r"2 size\(s\), expected four or more: 3: not there"):
        scale.at_each([1, 2, 3, 4], at)
    with pytest.raises(NotMeasured, match=r"0 size\(s\), expected four or more$"):
        scale.at_each([], at)


def test_other_systems_are_run_at_sizes_of_the_study():
    for level in LEVELS.values():
        assert set(level.system_sizes) <= set(level.base_sizes)
        assert len(level.system_sizes) >= 4
