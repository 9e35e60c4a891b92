"""What is published was made with the configuration, profiles and data that are in the tree."""

import importlib.util
import json
from pathlib import Path

from riftsim.config.sweep import load_experiment

PUBLISHED = Path(__file__).parents[2] / "results" / "published"


def test_the_figures_of_the_quick_start_are_of_today():
    """Prices, data and settings are part of a configuration's hash; renew the figures when they change."""
    expected = {point.hash for point in load_experiment("quickstart").points}
    for listing in (PUBLISHED / "quickstart").glob("*.runs.json"):
        runs = json.loads(listing.read_text(encoding="utf-8"))["runs"]
        assert {run["config_hash"] for run in runs} == expected, listing.name


def test_the_page_of_the_score_is_made_of_what_is_published():
    root = PUBLISHED.parents[1]
    spec = importlib.util.spec_from_file_location("reproduction_page", root / "scripts" / "reproduction_page.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    written = script.PAGE.read_text(encoding="utf-8")
    assert script.page(written) == written, "run scripts/reproduction_page.py"
