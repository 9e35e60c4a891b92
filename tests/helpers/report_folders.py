"""Results folders for reports: of a real small experiment, with a scoreboard of two sections beside it."""

import json
from pathlib import Path
from typing import Any

from riftsim.experiments.api import run

SETTINGS = {
    "dataset.queries": 10,
    "sweep": {"system": [{"kind": "remote_vamana"}, {"kind": "async_vamana"}], "search.L": [12, 20]},
    "load": {"kind": "closed", "concurrency": 4},
    "plots": [{"kind": "recall-latency"}, {"kind": "breakdown", "title": "Where the time goes"}],
}
HOSTILE = "<script>console.error('not escaped')</script>"


def claim(identity: str, verdict: str, ours: float | None, ratio: float | None, **more: Any) -> dict[str, Any]:
    """A claim as a scoreboard records it, with one number."""
    part = {
        "name": "", "unit": "us", "paper": "100", "paper_low": 100.0, "paper_high": 100.0, "reference": None,
        "ours": ours, "low": ours and ours - 1, "high": ours and ours + 1, "ratio": ratio, "verdict": verdict,
        "extrapolated": False, "on": "recall 0.90",
    }  # fmt: skip
    return {
        "id": identity, "section": "motivation", "where": "2.3", "what": f"latency of {identity}", "kind": "number",
        "role": "predict", "match": "recall", "approximate": False, "reading": "", "counts": True,
        "experiment": "quickstart", "verdict": verdict, "reason": "", "parts": [part], **more,
    }  # fmt: skip


def scoreboard() -> dict[str, Any]:
    """A scoreboard with a claim of each kind."""
    claims = [
        claim("P01", "reproduced", 104.0, 1.04),
        claim("P02", "missed", 31.5, 0.315, reading=f"the mean, not the median {HOSTILE}"),
        claim("P10", "near", 1250.0, 1.25, role="selects"),
        claim(
            "P03", "not run", None, None, parts=[], reason="the set is not there", section="scale", experiment="fig10"
        ),
    ]
    counts = {"reproduced": 1, "near": 1, "missed": 1, "not run": 1}
    return {
        "format": "riftsim-scoreboard", "schema_version": 1, "paper": "riftann", "level": "quick",
        "hardware": "connectx5-100g", "sets": {"SIFT": {"dataset.name": "sift-photos-10k"}},
        "command": ["riftsim", "reproduce"],
        "versions": {"commit": "0" * 40}, "finished": "2026-01-01T00:00:00", "run_commits": ["0" * 40],
        "counts": {"predict": {"all": counts, "motivation": counts}, "calibrate": {"all": counts}},
        "claims": claims,
    }  # fmt: skip


def make_results(folder: Path) -> Path:
    """Run a small experiment and put a scoreboard and notes beside it; returns the results folder."""
    results = folder / "results"
    run("quickstart", set=SETTINGS, out=results)
    (results / "scoreboard").mkdir()
    (results / "scoreboard" / "scoreboard.json").write_text(json.dumps(scoreboard()))
    notes = folder / "notes" / "quickstart"
    notes.mkdir(parents=True)
    (notes / "README.md").write_text(
        f"# The quick start\n\n**What differs.** Ten queries; see [metrics](../../docs/metrics.md). {HOSTILE}\n"
    )
    return results
