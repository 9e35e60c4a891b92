"""The page of RiftANN's results says what the published tables say."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_made_of_the_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    import riftann_page

    written = (ROOT / "docs/results/riftann.md").read_text(encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(written, encoding="utf-8")
    riftann_page.fill(page, json.loads((ROOT / "results/published/riftann/tables.json").read_text(encoding="utf-8")))
    assert page.read_text(encoding="utf-8") == written, "run scripts/riftann_tables.py tables"
