"""What is published was made with the configuration, profiles and data that are in the tree."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from riftsim.config.sweep import load_experiment

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "results" / "published"
SHOWN = sorted(
    path.name
    for path in (ROOT / "experiments").iterdir()
    if path.name.startswith(("fig", "table")) or path.name in ("orderings", "async_vamana", "full_record", "scale")
)


def test_the_figures_of_the_quick_start_are_of_today():
    """Prices, data and settings are part of a configuration's hash; renew the figures when they change."""
    expected = {point.hash for point in load_experiment("quickstart").points}
    for listing in (PUBLISHED / "quickstart").glob("*.runs.json"):
        runs = json.loads(listing.read_text(encoding="utf-8"))["runs"]
        assert {run["config_hash"] for run in runs} == expected, listing.name


def test_the_page_of_the_score_is_made_of_what_is_published():
    script = _script("reproduction_page")
    written = script.PAGE.read_text(encoding="utf-8")
    assert script.page(written) == written, "run scripts/reproduction_page.py"


@pytest.mark.parametrize("experiment", SHOWN)
def test_the_readme_of_an_experiment_names_published_figures(experiment):
    folder = ROOT / "experiments" / experiment
    named = re.findall(r"\]\(([^)]*results/published/[^)]*)\.png\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert named
    for figure in named:
        for ending in (".png", ".csv", ".runs.json"):
            assert (folder / f"{figure}{ending}").is_file(), f"{figure}{ending}"


def test_the_figures_that_are_drawn_of_recorded_runs_are_published_with_their_commits():
    for name, figure in _script("published_figures").FIGURES.items():
        listing = json.loads((PUBLISHED / "reproduction" / f"{name}.runs.json").read_text(encoding="utf-8"))
        assert listing["kind"] == figure.kind, name
        assert listing["runs"], name
        assert all(run["experiment"] == figure.experiment and run["commit"] for run in listing["runs"]), name


def _script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    sys.modules[name] = script  # where dataclasses look their module up
    spec.loader.exec_module(script)
    return script
