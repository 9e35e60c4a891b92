"""How far constants can move: crossings with known answers, the hypercube, and the figure."""

import math

import pytest

from riftsim.plotting.output import write_figure
from riftsim.plotting.tornado import drawing_of
from riftsim.reproduction import sensitivity
from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.levels import SMOKE
from riftsim.reproduction.studies import block
from riftsim.reproduction.variants import GROUPS, base_profile

NAME = "one before two"


def rows(effects):
    """Effects of the group "queue pair" by factor; the other groups move nothing."""
    as_is = {"conclusion": NAME, "constants": "", "factor": 1.0, "effect": effects[1.0]}
    moved = [
        {
            "conclusion": NAME,
            "constants": group,
            "factor": factor,
            "effect": effects[factor if group == "queue pair" else 1.0],
        }
        for group in GROUPS
        for factor in (0.25, 0.5, 2.0, 4.0)
    ]
    return [as_is, *moved]


def test_a_conclusion_changes_where_its_effect_crosses_one():
    found = {
        row["constants"]: row for row in sensitivity.margins(rows({0.25: 1.4, 0.5: 1.3, 1.0: 1.2, 2.0: 1.1, 4.0: 0.9}))
    }
    assert found["queue pair"]["longer"] == pytest.approx(math.sqrt(8))  # halfway between 2 and 4, in logarithms
    assert found["queue pair"]["shorter"] == 0
    assert (found["queue pair"]["least"], found["queue pair"]["most"]) == (0.9, 1.4)
    assert (found["posting"]["shorter"], found["posting"]["longer"]) == (0, math.inf)


def test_the_nearest_crossing_counts():
    found = sensitivity.margins(rows({0.25: 1.1, 0.5: 0.9, 1.0: 1.1, 2.0: 1.2, 4.0: 1.3}))
    own = next(row for row in found if row["constants"] == "queue pair")
    assert own["shorter"] == pytest.approx(math.sqrt(0.5))
    assert own["longer"] == math.inf


def test_a_summary_names_what_ends_a_conclusion():
    margins = sensitivity.margins(rows({0.25: 1.4, 0.5: 1.3, 1.0: 1.2, 2.0: 1.1, 4.0: 0.9}))
    samples = [{"conclusion": NAME, "effect": effect} for effect in (1.3, 0.9, 1.1)]
    (found,) = sensitivity.summary(margins, samples)
    assert found == {"conclusion": NAME, "effect": 1.2, "holds": 2, "samples": 3, "changes": ["queue pair x 2.8"]}


def test_the_figure_has_a_panel_per_conclusion(tmp_path):
    drawn = rows({0.25: 1.4, 0.5: 1.3, 1.0: 1.2, 2.0: 1.1, 4.0: 0.9})
    more = [{**row, "conclusion": "two before three"} for row in drawn]
    written = write_figure(drawing_of(drawn + more), tmp_path / "tornado")
    assert {path.suffix for path in written} >= {".png", ".svg", ".pdf", ".csv"}
    assert "two before three" in (tmp_path / "tornado.csv").read_text(encoding="utf-8")


def test_profiles_are_moved_and_the_search_is_the_same(tmp_path):
    """One conclusion, with the smoke level's two samples: a longer queue pair can only hurt the remote system."""
    chosen = [one for one in sensitivity.CONCLUSIONS if one.name.startswith("in-memory")]
    lab = Lab(SMOKE, tmp_path)
    found = sensitivity.hypercube(lab, chosen)
    assert len(found) == SMOKE.samples
    assert all(0.5 <= row[group] <= 2 for row in found for group in GROUPS)
    assert all(row["effect"] > 1 for row in found)
    for group in GROUPS:  # a Latin hypercube: one sample in each quarter of every axis
        quarters = sorted(int((math.log2(row[group]) + 1) / 2 * SMOKE.samples) for row in found)
        assert quarters == list(range(SMOKE.samples))


def test_riftann_of_the_conclusions_has_all_its_parts(tmp_path):
    """The breakdown sweeps several systems of that kind, of which only the last is RiftANN as it is compared."""
    lab = Lab(SMOKE, tmp_path)
    profile = base_profile(None).name
    for conclusion in sensitivity.CONCLUSIONS:
        if "RiftANN before" in conclusion.name:
            run = conclusion.ahead(lab, profile)
            assert run.parameters["system.gate.kind"] == "impact-aware"
            assert run.parameters["system.balancing.kind"] == "adaptive"
            assert run.parameters["system.workers"] > 0
            assert conclusion.behind(lab, profile).parameters["system.kind"] == "remote_vamana"


def test_of_several_systems_of_a_kind_none_is_taken(tmp_path):
    with pytest.raises(NotMeasured, match="fig11_breakdown: found 3 systems of kind 'riftann', expected one"):
        block(Lab(SMOKE, tmp_path), "fig11_breakdown", "riftann")
