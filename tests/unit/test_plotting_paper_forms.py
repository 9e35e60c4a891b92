"""The figures in the paper's forms: numbers with known answers, series by name, and nothing to draw."""

import numpy as np
import pytest
from plotted_runs import MS, QUERIES, record, rendered

from riftsim import plotting
from riftsim.plotting import (
    admission,
    hidden_updates,
    policies,
    scaling,
    sensitivity,
    series,
    swept,
    time_series,
)
from riftsim.plotting import verification as verification_figure
from riftsim.results.store import RunSet, load_runs


def test_verification_orders_policies_and_marks_the_calibrated(tmp_path):
    record(tmp_path, reads=30, recall=0.92, verification={"kind": "expansion-only"})
    record(tmp_path, reads=90, recall=0.96, verification={"kind": "verify-all"})
    for alpha, reads, recall in ((1.1, 40, 0.94), (1.2, 50, 0.955), (None, 45, 0.95)):
        facts = {"system": {"alpha": alpha or 1.15}}
        record(tmp_path, reads=reads, recall=recall, facts=facts, verification={"kind": "calibrated", "alpha": alpha})
    drawing = verification_figure.draw(load_runs(tmp_path))
    found = {(row["policy"], row["alpha"]): row for row in drawing.rows}
    assert {row["curve"] for row in drawing.rows} == {"RiftANN"}
    assert found["calibrated", 1.15]["chosen"]
    assert sum(row["chosen"] for row in drawing.rows) == 1
    assert found["calibrated", 1.2]["exact_reads"] == 50
    (axes,) = rendered(drawing).axes
    said = [text.get_text() for text in axes.texts]
    assert {"expansion-only", "verify-all", "calibrated α=1.150"} <= set(said)
    (line,) = [line for line in axes.lines if len(line.get_xdata()) == 5]
    assert list(line.get_xdata()) == [30, 40, 45, 50, 90]


PROGRESS = {
    "expansions": [100] * 10,
    "evaluated": [1000] * 10,
    "inserted": [500, 300, 100, 50, 20, 10, 5, 4, 2, 0],
    "backlog_mean": list(range(10)),
    "backlog_median": [0.0] * 10,
    "hidden_p95": 2.0,
}


def test_admission_weighs_runs_by_their_admissions(tmp_path):
    record(tmp_path, facts={"progress": PROGRESS}, seed=0)
    other = {**PROGRESS, "expansions": [300] * 10, "inserted": [100] * 10, "backlog_mean": [8.0] * 10}
    record(tmp_path, facts={"progress": other}, seed=1)
    drawing = admission.draw(load_runs(tmp_path))
    first, *_, last = drawing.rows
    assert (first["progress_percent"], last["progress_percent"]) == (5, 95)
    assert first["update_ratio"] == pytest.approx(600 / 2000)
    assert first["backlog_mean"] == pytest.approx((100 * 0 + 300 * 8) / 400)
    assert last["backlog_mean"] == pytest.approx((100 * 9 + 300 * 8) / 400)
    above, below = rendered(drawing).axes
    assert above.get_ylabel() == "Update ratio"
    assert list(below.lines[0].get_ydata()) == [row["backlog_mean"] for row in drawing.rows]


def test_hidden_updates_by_name_in_the_order_of_the_names(tmp_path):
    for kind in ("ungated", "impact-aware", "wait-all"):
        record(tmp_path, facts={"progress": PROGRESS}, gate={"kind": kind})
    names = {"Ours": {"system.gate": "impact-aware"}, "All": {"system.gate.kind": "ungated"}, "None": {"seed": 99}}
    drawing = hidden_updates.draw(load_runs(tmp_path), names)
    assert [row["series"] for row in drawing.rows] == ["Ours", "All"]
    assert [row["hidden_updates"] for row in drawing.rows] == [0.5, 0.5]
    assert [row["hidden_updates_p95"] for row in drawing.rows] == [2.0, 2.0]
    assert len(drawing.runs) == 2
    rendered(drawing)


def test_policies_join_settings_and_show_what_is_dominated(tmp_path):
    for epsilon, recall, latency_us in ((0.5, 0.96, 120.0), (2.0, 0.95, 100.0), (10.0, 0.94, 110.0)):
        record(tmp_path, recall=recall, latency_us=latency_us, gate={"kind": "impact-aware", "epsilon": epsilon})
    record(tmp_path, recall=0.955, latency_us=121.0, gate={"kind": "wait-all"})
    drawing = policies.draw(load_runs(tmp_path))
    found = {(row["policy"], row["setting"]): row["dominated"] for row in drawing.rows}
    assert found == {
        ("Impact-aware (ε)", "0.5"): False,
        ("Impact-aware (ε)", "2"): False,
        ("Impact-aware (ε)", "10"): True,
        ("WaitAll", ""): True,
    }
    (axes,) = rendered(drawing).axes
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert len(hollow) == 2


def test_time_series_bins_samples_and_shades_the_burst(tmp_path):
    time = np.arange(0, 40 * MS, MS // 10)
    inside = (time >= 17 * MS) & (time < 27 * MS)
    windows = {
        "time_ps": time,
        "compute_node": np.zeros(len(time), np.int64),
        "queries_waiting": np.zeros(len(time), np.int64),
        "busy_workers": np.where(inside, 6, 4),
        "window": np.where(inside, 5.0, 8.0),
        "defer_ratio": np.where(time < 8 * MS, np.nan, 0.5),
    }
    burst = {"start_ps": 17 * MS, "end_ps": 27 * MS}
    slow = np.where((np.arange(QUERIES) >= 134) & (np.arange(QUERIES) < 267), 300.0, 100.0)
    for kind in ("adaptive", "fixed"):
        record(tmp_path, latency_us=slow, facts={"burst": burst}, windows=windows, balancing={"kind": kind})
    drawing = time_series.draw(load_runs(tmp_path))
    assert {row["series"] for row in drawing.rows} == {"RiftANN, adaptive", "RiftANN, fixed"}
    rows = [row for row in drawing.rows if row["series"] == "RiftANN, fixed"]
    at = {round(row["time_ms"]): row for row in rows}
    assert (at[5]["busy_workers"], at[15]["busy_workers"]) == (4, 6)
    assert (at[5]["window"], at[15]["window"]) == (8, 5)
    assert np.isnan(rows[0]["defer_ratio"])
    # A tenth of the span holds 40 queries: too few for a percentile.
    assert all(np.isnan(row["latency_p99_us"]) for row in rows)
    panels = rendered(drawing).axes
    assert len(panels) == 5
    assert all(len(panel.patches) == 1 for panel in panels)
    begin, end = panels[0].patches[0].get_x(), panels[0].patches[0].get_x() + panels[0].patches[0].get_width()
    assert (begin, end) == pytest.approx((10, 20))


def test_sensitivity_takes_each_number_around_the_usual_one(tmp_path):
    def balancing(**changes):
        return {"kind": "adaptive", "theta_low": 0.3, "interval": 32, **changes}

    for seed in (0, 1):
        record(tmp_path, latency_us=100.0 + seed, seed=seed, balancing=balancing())
        record(tmp_path, latency_us=110.0 + 1.1 * seed, seed=seed, balancing=balancing(theta_low=0.1))
        record(tmp_path, latency_us=80.0 + 0.8 * seed, seed=seed, balancing=balancing(interval=64))
        record(tmp_path, latency_us=50.0, seed=seed, balancing=balancing(interval=128, theta_low=0.5))
    drawing = sensitivity.draw(load_runs(tmp_path))
    found = {(row["setting"].rpartition(".")[2], row["value"]): row for row in drawing.rows}
    assert set(found) == {("theta_low", 0.1), ("theta_low", 0.3), ("interval", 32), ("interval", 64)}
    assert found["theta_low", 0.1]["latency_p99_us_relative"] == pytest.approx(1 / 1.1)
    assert found["interval", 64]["qps_relative"] == pytest.approx(1.25)
    assert found["interval", 64]["seeds"] == 2
    assert found["interval", 32]["default"]
    assert len(drawing.runs) == 6
    assert len(rendered(drawing).axes) == 2


def test_scaling_holds_clusters_against_one_of_each(tmp_path):
    for latency_us, cluster in (
        (100.0, {}),
        (60.0, {"threads": 16}),
        (120.0, {"memory_nodes": 3}),
        (50.0, {"compute_nodes": 2}),
    ):
        record(tmp_path, latency_us=latency_us, cluster=cluster)
    drawing = scaling.draw(load_runs(tmp_path))
    ratios = {row["cluster"]: row["latency_mean_us_ratio"] for row in drawing.rows}
    assert ratios == pytest.approx({"1C1M, 16T": 0.6, "1C1M, 32T": 1.0, "1C3M, 32T": 1.2, "2C1M, 32T": 0.5})
    assert list(ratios) == ["1C1M, 16T", "1C1M, 32T", "1C3M, 32T", "2C1M, 32T"]
    assert len(rendered(drawing).axes) == 2


def test_swept_numbers_are_lines_of_their_own(tmp_path):
    """Sweeps of queries in flight and of workers lie in one folder; a panel takes what moves its number."""
    for concurrency, latency_us in ((1, 100.0), (8, 110.0), (32, 200.0)):
        record(tmp_path, concurrency=concurrency, latency_us=latency_us, workers=6)
    for workers, wait_us in ((1, 20.0), (2, 10.0)):
        record(tmp_path, concurrency=4, workers=workers, wait_us=wait_us, main_threads_help=False)
    drawing = plotting.KINDS["concurrency"](load_runs(tmp_path), None)
    found = {(row["panel"], row["x"]): row["value"] for row in drawing.rows}
    assert set(found) == {(0, 1), (0, 8), (0, 32), (1, 1), (1, 2), (2, 1), (2, 2)}
    assert (found[1, 1], found[2, 1], found[2, 2]) == pytest.approx((65, 0.5, 0.25))
    assert found[0, 8] == pytest.approx(8 / 110e-6)
    panels = rendered(drawing).axes
    assert [panel.get_xlabel() for panel in panels] == ["Queries in flight", *["Evaluation workers"] * 2]
    assert [len(panel.containers) for panel in panels] == [1, 1, 1]
    assert len(drawing.runs) == 7  # those of the workers stand in two panels


def test_a_swept_number_may_stand_for_a_metric(tmp_path):
    for beam_width, wait_us in ((1, 50.0), (4, 20.0)):
        record(tmp_path, beam_width=beam_width, wait_us=wait_us)
    record(tmp_path, beam_width=4, L=30)  # one value of the number is no line
    runs = load_runs(tmp_path)
    share = plotting.KINDS["evaluation-share"](runs, None)
    assert [(row["L"], row["x"], row["value"]) for row in share.rows] == [(20, 1, 1.0), (20, 4, 4.0)]
    panel = swept.Panel("system.beam_width", "wait_per_chain_us", "Reads", x="reads")
    found = swept.drawer("reads", [panel])(runs).rows
    assert [(row["setting_value"], row["x"], row["value"]) for row in found] == [(1, 40, 2.5), (4, 40, 1.0)]


def test_a_key_that_only_one_kind_has_is_told_by_the_kind(tmp_path):
    record(tmp_path, gate={"kind": "wait-all"})
    record(tmp_path, gate={"kind": "u-only", "bound": 32})
    record(tmp_path, gate={"kind": "rho-only", "theta": 0.1})
    record(tmp_path, gate={"kind": "rho-only", "theta": 0.2})
    labels = {one.label for one in series.series_of(load_runs(tmp_path))}
    assert labels == {
        "RiftANN, wait-all",
        "RiftANN, u-only",
        "RiftANN, rho-only, θ=0.1",
        "RiftANN, rho-only, θ=0.2",
    }
    assert len({one.look.colour for one in series.series_of(load_runs(tmp_path))}) == 4


@pytest.mark.parametrize("kind", plotting.KINDS)
def test_nothing_to_draw_and_names_that_fit_nothing(tmp_path, kind):
    runs = load_runs(record(tmp_path))
    for runset, names in ((RunSet([]), None), (runs, None), (runs, {"nothing": {"seed": 99}})):
        rendered(plotting.KINDS[kind](runset, names))
