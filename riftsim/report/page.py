"""The page: content laid out with a template, style and script inside, and nothing loaded from anywhere."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from riftsim.errors import ResultsError
from riftsim.files import atomic_write
from riftsim.report.content import Content, ExperimentPart, configuration_of, content_of, telling
from riftsim.results.metrics import METRICS

_TEMPLATES = Path(__file__).parent / "templates"
_METRICS = ("recall", "latency_mean_us", "latency_p50_us", "latency_p99_us", "qps", "reads", "kib_read")
_MOST_ROWS = 200
_AGREES = ("reproduced", "consistent")
_UNSETTLED = ("not run", "not comparable", "unresolved", "reference", "")


def write_report(folder: Path, out: Path | None = None, notes: Path | None = None) -> Path:
    """Write the report of a results folder.

    Parameters
    ----------
    folder : path
    out : path, optional
        The HTML file; ``report.html`` in the folder by default.
    notes : path, optional
        Folder of experiment folders with READMEs.

    Returns
    -------
    pathlib.Path
        The HTML file.

    Raises
    ------
    ResultsError
        Nothing to report, or the file cannot be written.
    """
    out = out or folder / "report.html"
    page = render(content_of(folder, notes))
    try:
        with atomic_write(out) as partial:
            partial.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ResultsError(f"{out}: the report cannot be written: {error.strerror or error}") from error
    return out


def render(content: Content) -> str:
    """Return the page as text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html").render(
        title=content.title,
        style=(_TEMPLATES / "style.css").read_text(encoding="utf-8"),
        script=(_TEMPLATES / "sort.js").read_text(encoding="utf-8"),
        scoreboards=[
            {"number": number, "place": place, **_scoreboard(record, content.experiments)}
            for number, (place, record) in enumerate(content.scoreboards.items(), 1)
        ],
        experiments=[_experiment(part) for part in content.experiments],
        provenance=_provenance(content.experiments),
    )


def cell(value: Any, text: str | None = None, link: str | None = None) -> dict[str, Any]:
    """Return a cell of a table: what is written, what it is sorted by, and where it leads."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    missing = value is None or (is_number and not math.isfinite(value))
    if text is None:
        text = "" if missing else _number(value) if is_number else str(value)
    return {"text": text, "sort": "" if missing else value, "numeric": is_number, "link": link}


def _number(value: float) -> str:
    if isinstance(value, int) or abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


# ---------------------------------------------------------------- scoreboard


def _scoreboard(record: dict[str, Any], experiments: list[ExperimentPart]) -> dict[str, Any]:
    anchors = {part.name for part in experiments if part.figures or len(part.runs)}
    counts = record["counts"]["predict"]
    verdicts = [verdict for verdict, found in counts["all"].items() if found]
    lines = [line for claim in record["claims"] for line in _lines(claim, anchors)]
    for position, line in enumerate(lines):
        line["cells"][0]["sort"] = position
    return {
        "paper": record["paper"],
        "facts": {
            "level": record["level"],
            "command": " ".join(record["command"]),
            "commit": record["versions"].get("commit"),
            "commits of the runs": ", ".join(record["run_commits"]),
            "finished": record["finished"],
            "hardware profile": record["hardware"],
            "data sets": sets_text(record["sets"]),
        },
        "count_head": ["predictions", *verdicts],
        "counts": [[cell(name), *(cell(row.get(verdict, 0)) for verdict in verdicts)] for name, row in counts.items()],
        "head": ["claim", "what", "paper", "ours", "ratio", "verdict", "matched on", "experiment"],
        "lines": lines,
        "differences": [line for line in lines if line["verdict"] not in (*_AGREES, *_UNSETTLED)],
        "readings": [(claim["id"], claim["what"], claim["reading"]) for claim in record["claims"] if claim["reading"]],
        "not_run": [
            (claim["id"], claim["what"], claim["reason"]) for claim in record["claims"] if claim["verdict"] == "not run"
        ],
    }


def sets_text(sets: dict[str, dict[str, Any]]) -> str:
    """Say which data sets stand for those of the paper, with the number of vectors where not all are taken."""
    return ", ".join(
        f"{name}: {chosen['dataset.name']}" + (f" ({chosen['dataset.n']:,} vectors)" if "dataset.n" in chosen else "")
        for name, chosen in sets.items()
    )


def _lines(claim: dict[str, Any], anchors: set[str]) -> Iterable[dict[str, Any]]:
    """One line per number of a claim, each complete in itself, so that lines can be sorted."""
    role = {"selects": " (decided a reading)", "calibrate": " (may calibrate)"}.get(claim["role"], "")
    experiment = claim["experiment"]
    link = f"#experiment-{experiment}" if experiment in anchors else None
    for part in claim["parts"] or [{}]:
        unit = part.get("unit", "")
        verdict = part.get("verdict", claim["verdict"])
        ours = part.get("ours")
        missing = ours is None or not math.isfinite(ours)
        interval = ""
        if not missing and part.get("low") is not None and part["low"] != part["high"]:
            interval = f" [{_number(part['low'])}, {_number(part['high'])}]"
        name = f": {part['name']}" if part.get("name") else ""
        paper = f"{part.get('paper', '')} {unit if unit != 'x' else ''}".strip()
        yield {
            "verdict": verdict,
            "cells": [
                cell(claim["id"]),
                cell(f"{claim['what']}{name}{role}"),
                cell(part.get("paper_low"), paper),
                cell(ours, "" if missing else f"{_number(ours)}{interval}"),
                cell(part.get("ratio")),
                cell(verdict),
                cell(part.get("on") or claim["reason"]),
                cell(experiment, link=link),
            ],
        }


# ---------------------------------------------------------------- experiments


def _experiment(part: ExperimentPart) -> dict[str, Any]:
    shared = configuration_of(part.runs) if len(part.runs) else {}
    return {
        "name": part.name,
        "description": shared.pop("description", ""),
        "notes": _markdown(part.notes) if part.notes else "",
        "figures": [
            {
                "name": figure.name,
                "title": figure.title,
                "picture": figure.picture,
                "head": figure.rows[0] if figure.rows else [],
                "rows": [[cell(_read(text)) for text in row] for row in figure.rows[1 : _MOST_ROWS + 1]],
                "left_out": max(0, len(figure.rows) - 1 - _MOST_ROWS),
                "runs": figure.runs,
            }
            for figure in part.figures
        ],
        **_runs(part),
        "configuration": [(key, str(value)) for key, value in shared.items() if key != "name"],
    }


def _runs(part: ExperimentPart) -> dict[str, Any]:
    if not len(part.runs):
        return {"run_head": [], "runs": [], "runs_left_out": 0}
    swept = telling(part.runs)
    k = part.runs.runs[0].k
    labels = [_heading(name, k) for name in _METRICS]
    table = part.runs.table(_METRICS).head(_MOST_ROWS)
    rows = [
        [*(cell(_plain(row[key])) for key in swept), *(cell(float(row[name])) for name in _METRICS)]
        for row in table.to_dict("records")
    ]
    return {"run_head": [*swept, *labels], "runs": rows, "runs_left_out": max(0, len(part.runs) - _MOST_ROWS)}


def _heading(metric: str, k: int) -> str:
    if metric == "recall":
        return f"recall@{k}"
    unit = METRICS[metric].unit
    return METRICS[metric].label + (f" ({unit})" if unit != "1" and unit not in METRICS[metric].label else "")


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else str(value)


def _read(text: str) -> Any:
    """A number of a CSV file as a number, for sorting."""
    try:
        return float(text) if "." in text or "e" in text or text in ("nan", "inf") else int(text)
    except ValueError:
        return text


def _markdown(text: str) -> str:
    """Turn notes into HTML; their links lead to files that the page does not have, so only their texts stay."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    for rule in ("link_open", "link_close"):
        parser.add_render_rule(rule, lambda *_: "")
    parser.add_render_rule("image", lambda self, tokens, at, *_: tokens[at].content)
    _, _, body = text.partition("\n")  # its heading is the name of the section
    return Markup(parser.render(body))


def _provenance(experiments: list[ExperimentPart]) -> list[tuple[str, str]]:
    """Facts of all runs: what differs between them is listed."""
    manifests = [run.manifest for part in experiments for run in part.runs]
    if not manifests:
        return []

    def each(*keys: str) -> str:
        found: dict[str, None] = {}
        for manifest in manifests:
            value: Any = manifest
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else None
            found[str(value)] = None
        return ", ".join(found)

    versions = dict.fromkeys(key for manifest in manifests for key in manifest.get("versions", {}))
    commands = dict.fromkeys(" ".join(manifest.get("command", [])) for manifest in manifests)
    return [
        ("runs", f"{len(manifests):,}"),
        ("queries measured", f"{sum(manifest['queries'] for manifest in manifests):,}"),
        ("first started", min(manifest["started"] for manifest in manifests)),
        ("last finished", max(manifest["finished"] for manifest in manifests)),
        *((f"version of {key}" if key not in ("commit", "dirty") else key, each("versions", key)) for key in versions),
        ("engine", each("engine")),
        ("processor", each("machine", "cpu")),
        ("usable cores", each("machine", "usable_cores")),
        ("kernel", each("machine", "kernel")),
        ("data set fingerprints", each("hashes", "dataset")),
        ("commands", "; ".join(commands)),
    ]
