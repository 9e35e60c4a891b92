"""The page of performance says what was measured."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_made_of_the_measurements():
    spec = importlib.util.spec_from_file_location("page", ROOT / "scripts" / "update_performance_page.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    written = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert written == script.page(), "run scripts/update_performance_page.py"
