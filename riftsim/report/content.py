"""What a results folder holds for a report: scoreboards, and per experiment its runs, figures and notes."""

import base64
import csv
import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from riftsim.errors import ResultsError
from riftsim.plotting.figures import make_figures
from riftsim.results.store import RunSet, load_runs

SCOREBOARD_FORMAT, SCOREBOARD_VERSION = "riftsim-scoreboard", 1
TRACES = "traces"
"""Folder of repetitions of runs for the sake of their traces: their figures are shown, they are no results."""
_PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
_LARGEST_SVG_BYTES = 400_000  # a drawing of very many parts is smaller, and shown sooner, as a bitmap


@dataclass(frozen=True)
class Figure:
    """A picture with the numbers drawn in it.

    Attributes
    ----------
    name : str
        Of its files, without ending.
    title : str
    experiment : str
    picture : str
        Data URI.
    rows : list of list of str
        Lines of its CSV file, the heading first; empty if there is none.
    runs : list of str
        Directories of the runs drawn.
    """

    name: str
    title: str
    experiment: str
    picture: str
    rows: list[list[str]]
    runs: list[str]


@dataclass
class ExperimentPart:
    """One experiment of a report.

    Attributes
    ----------
    name : str
    runs : RunSet
    figures : list of Figure
    notes : str or None
        Markdown: the README of its folder.
    """

    name: str
    runs: RunSet
    figures: list[Figure] = field(default_factory=list)
    notes: str | None = None


@dataclass(frozen=True)
class Content:
    """All that a report shows."""

    title: str
    scoreboards: dict[str, dict[str, Any]]
    """By the folder, below that of the results."""
    experiments: list[ExperimentPart]


def content_of(folder: Path, notes: Path | None = None) -> Content:
    """Read a results folder.

    Parameters
    ----------
    folder : path
        With runs, figures or scoreboards somewhere below; hidden folders are left out. An experiment without a figure
        gets those that its own configuration asks for.
    notes : path, optional
        Folder of experiment folders, whose READMEs become notes.

    Raises
    ------
    ResultsError
        No such folder, nothing in it, or a file that cannot be read.
    """
    runs = [run for run in load_runs(folder) if TRACES not in run.path.relative_to(folder).parts]
    scoreboards = {
        path.parent.relative_to(folder).as_posix(): _scoreboard(path) for path in _files(folder, "scoreboard.json")
    }
    figures = [_figure(base, endings) for base, endings in sorted(_pictures(folder).items())]
    if not (len(runs) or scoreboards or figures):
        raise ResultsError(f"{folder}: found no run, figure or scoreboard; expected a results folder")
    names = dict.fromkeys([*(run.experiment for run in runs), *(figure.experiment for figure in figures)])
    parts = []
    for name in names:
        own = RunSet([run for run in runs if run.experiment == name])
        part = ExperimentPart(name, own, [figure for figure in figures if figure.experiment == name])
        if len(own) and not part.figures:
            part.figures = _drawn(own, name)
        readme = notes / name / "README.md" if notes else None
        if readme and readme.is_file():
            part.notes = readme.read_text(encoding="utf-8")
        parts.append(part)
    return Content(folder.resolve().name, scoreboards, parts)


def _files(folder: Path, pattern: str) -> Iterator[Path]:
    for path in sorted(folder.rglob(pattern)):
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


def _scoreboard(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: the scoreboard cannot be read: {error}") from error
    found = (record.get("format"), record.get("schema_version")) if isinstance(record, dict) else (None, None)
    if found != (SCOREBOARD_FORMAT, SCOREBOARD_VERSION):
        raise ResultsError(
            f"{path}: found format and version {found}, expected {(SCOREBOARD_FORMAT, SCOREBOARD_VERSION)}"
        )
    return record


def _pictures(folder: Path) -> dict[Path, list[str]]:
    """Paths without ending, and the endings of the pictures there."""
    found: dict[Path, list[str]] = {}
    for ending in _PICTURES:
        for path in _files(folder, f"*{ending}"):
            found.setdefault(path.with_name(path.name.removesuffix(ending)), []).append(ending)
    return found


def _figure(base: Path, endings: Iterable[str], experiment: str | None = None) -> Figure:
    sizes = {ending: _beside(base, ending).stat().st_size for ending in endings}
    ending = ".svg" if sizes.get(".svg", _LARGEST_SVG_BYTES + 1) <= _LARGEST_SVG_BYTES else list(sizes)[-1]
    about = _beside(base, ".runs.json")
    record = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}
    table = _beside(base, ".csv")
    rows = list(csv.reader(table.read_text(encoding="utf-8").splitlines())) if table.is_file() else []
    runs = record.get("runs", [])
    folder = base.parent.parent if base.parent.name == "figures" else base.parent
    named = experiment or next((run["experiment"] for run in runs if "experiment" in run), None)
    if named is None:  # drawn from tables: a growth law, a tornado
        named = record.get("kind") or folder.name
    data = base64.b64encode(_beside(base, ending).read_bytes()).decode()
    return Figure(
        name=base.name,
        title=record.get("title") or base.name.replace("-", " ").replace("_", " "),
        experiment=named,
        picture=f"data:{_PICTURES[ending]};base64,{data}",
        rows=rows,
        runs=[run.get("run", "") for run in runs],
    )


def _beside(base: Path, ending: str) -> Path:
    # Not with_suffix(): a figure's name may contain dots.
    return base.with_name(base.name + ending)


def _drawn(runs: RunSet, name: str) -> list[Figure]:
    """Draw the figures that an experiment's configuration asks for."""
    plots = runs.runs[0].config.get("plots") or []
    with tempfile.TemporaryDirectory() as folder:
        written = [path for path in make_figures(runs, plots, folder, formats=["svg"]) if path.suffix == ".svg"]
        endings = [".svg"]
        if any(path.stat().st_size > _LARGEST_SVG_BYTES for path in written):
            make_figures(runs, plots, folder, formats=["png"])
            endings.append(".png")
        drawn = [_figure(path.with_name(path.name.removesuffix(".svg")), endings, name) for path in written]
    return [
        figure for figure in drawn if len(figure.rows) > 1
    ]  # one without numbers says that there is nothing to draw


def configuration_of(runs: RunSet) -> dict[str, Any]:
    """Return the settings that all runs of an experiment have that have them at all, by dotted key."""
    varying = set(telling(runs))
    settings: dict[str, Any] = {}
    for run in runs:
        settings = {**run.parameters, **settings}
    return {key: value for key, value in settings.items() if key not in varying and not key.startswith("plots")}


def telling(runs: RunSet) -> list[str]:
    """Return the swept keys that tell runs apart.

    A setting of one kind of system or policy, with one value wherever it is present, is left out: the kind says it.
    """
    swept = runs.swept

    def implied(key: str) -> bool:
        values = [run.parameters[key] for run in runs if key in run.parameters]
        parts = key.split(".")
        kinds = {".".join([*parts[:depth], "kind"]) for depth in range(1, len(parts))} - {key}
        return all(value == values[0] for value in values) and not kinds.isdisjoint(swept)

    return [key for key in swept if not implied(key)]
