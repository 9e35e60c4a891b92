"""The figures that show a publication's numbers beside ours: known answers, and numbers that a kind cannot show."""

import numpy as np
import pytest
from plotted_runs import record, rendered

from riftsim import plotting
from riftsim.errors import ConfigError
from riftsim.plotting import recall_price, thread_split, visit_hits
from riftsim.results.store import load_runs


def test_visit_hits_have_a_panel_per_list_and_bars_by_ordering_and_pack(tmp_path):
    for L, visited in ((20, 1), (390, 4)):
        for ordering in ("label-propagation", "random"):
            for pack in (2, 8):
                counts = {"co_packed": 20, "co_visited": visited * (ordering != "random")}
                record(tmp_path, L=L, counts=counts, kind="co_packed", ordering=ordering, pack=pack)
    record(tmp_path, L=20)
    drawing = visit_hits.draw(load_runs(tmp_path), published={"at most": [0.123]})
    assert [(row["L"], row["ordering"], row["pack"]) for row in drawing.rows] == [
        (L, ordering, pack) for L in (20, 390) for ordering in ("random", "label-propagation") for pack in (2, 8)
    ]
    assert [row["visit_hit_rate"] for row in drawing.rows] == pytest.approx([0, 0, 0.05, 0.05, 0, 0, 0.2, 0.2])
    assert len(drawing.runs) == 8
    panels = rendered(drawing).axes
    assert len(panels) == 2
    assert all(panel.lines[-1].get_ydata()[0] == 12.3 for panel in panels)
    assert [label.get_text() for label in panels[0].get_xticklabels()] == ["random", "LP"]


def test_visit_hits_of_several_sets_have_a_row_per_set_and_a_column_per_list(tmp_path):
    names = {}
    for number, sizes in enumerate(((20, 100, 390), (20, 390))):
        names[f"set {number}"] = {"system.seed_of_set": number}
        for L in sizes:
            counts = {"co_packed": 20, "co_visited": 1}
            record(tmp_path, L=L, counts=counts, kind="co_packed", ordering="random", pack=2, seed_of_set=number)
    panels = rendered(visit_hits.draw(load_runs(tmp_path), names)).axes
    titles = [panel.get_title().partition(",")[0] if panel.axison else "" for panel in panels]
    assert titles == [f"set 0\nL = {L}" for L in (20, 100, 390)] + ["set 1\nL = 20", "", "set 1\nL = 390"]


def test_thread_splits_stand_as_published_with_gains_over_the_first(tmp_path):
    for threads, memory, latency_us, busy in ((38, 12, 50.0, 600), (32, 6, 100.0, 590), (32, 12, 60.0, 500)):
        facts = {"memory_threads": [{"busy_ps": busy * memory, "threads": memory}], "network": {"span_ps": 1000}}
        cluster = {"threads": threads}
        record(tmp_path, latency_us=latency_us, facts=facts, cluster=cluster, kind="distvs", memory_threads=memory)
    published = {"26 + 6": [13800, 0.98], "32 + 6": [15200], "26 + 12": [22400]}
    drawing = thread_split.draw(load_runs(tmp_path), published=published)
    assert [row["split"] for row in drawing.rows] == ["26 + 6", "26 + 12", "20 + 12"]
    assert [row["gain"] for row in drawing.rows] == pytest.approx([1, 2, 100 / 60])
    assert [row["memory_utilisation"] for row in drawing.rows] == pytest.approx([0.59, 0.6, 0.5])
    assert drawing.rows[1]["published_gain"] == pytest.approx(22400 / 13800)
    assert np.isnan(drawing.rows[2]["published_qps"])
    rates, _ = rendered(drawing).axes
    assert sorted(text.get_text() for text in rates.texts) == ["x 1.00", "x 1.00", "x 1.62", "x 1.67", "x 2.00"]


def test_the_price_of_recall_is_relative_to_the_first_published_recall(tmp_path):
    for routed, recall, latency_us in ((4, 0.80, 1000.0), (6, 0.90, 2000.0), (8, 0.95, 4000.0)):
        record(tmp_path, recall=recall, latency_us=latency_us, kind="d_hnsw", routed=routed)
    published = {"recall": [0.85, 0.9], "latency_ms": [300, 600]}
    drawing = recall_price.draw(load_runs(tmp_path), published=published)
    assert [row["routed"] for row in drawing.rows] == [4, 6, 8, "", ""]
    assert [row["relative"] for row in drawing.rows] == pytest.approx([1 / 1.5, 2 / 1.5, 4 / 1.5, 1, 2])
    rendered(drawing)
    alone = recall_price.draw(load_runs(tmp_path))
    assert [row["relative"] for row in alone.rows] == pytest.approx([1, 2, 4])
    rendered(alone)


def test_a_series_that_does_not_reach_the_recall_has_no_relative_latency(tmp_path):
    record(tmp_path, recall=0.8, kind="d_hnsw", routed=4)
    drawing = recall_price.draw(load_runs(tmp_path), published={"recall": [0.84], "latency_ms": [350]})
    assert np.isnan(drawing.rows[0]["relative"])
    rendered(drawing)


def test_other_kinds_refuse_published_numbers(tmp_path):
    record(tmp_path)
    plot = {"kind": "recall-latency", "published": {"recall": [0.9]}}
    with pytest.raises(ConfigError, match="kinds that show them are visit-hit-rate, thread-split, recall-price"):
        plotting.make_figures(load_runs(tmp_path), [plot], tmp_path / "figures")
