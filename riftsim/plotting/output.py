"""Writing a figure: the picture in three formats, the numbers in it, and the runs that they come from.

The same runs give the same bytes: no dates, fixed identifiers, fonts that come with matplotlib and are embedded.
"""

import csv
import dataclasses
import io
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from riftsim.errors import ResultsError
from riftsim.files import atomic_write
from riftsim.plotting.style import RC
from riftsim.results.store import Run

_DPI = 300
_METADATA = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None, "Producer": None}}


Published = Mapping[str, Sequence[float]]
"""Numbers of a publication to draw beside ours, as a kind of figure takes them (docs/figures.md)."""


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A figure before it is written.

    Attributes
    ----------
    kind : str
    render : callable
        Draws and returns a matplotlib figure; called under riftsim's style.
    rows : list of dict
        The drawn numbers, one dict per row of the CSV file, all with the same keys.
    runs : list of Run
        The runs used.
    """

    kind: str
    render: Callable[[], Any]
    rows: list[dict[str, Any]]
    runs: list[Run]


FORMATS = tuple(_METADATA)
"""Endings of the pictures that a figure is written as."""


def write_figure(
    drawing: Drawing, base: Path, title: str | None = None, formats: Iterable[str] = FORMATS
) -> list[Path]:
    """Write a figure and what belongs to it.

    Parameters
    ----------
    drawing : Drawing
    base : pathlib.Path
        Path without ending.
    title : str, optional
        Written above the figure.
    formats : iterable of str
        Of ``FORMATS``.

    Returns
    -------
    list of pathlib.Path
        One per format, ``.csv``, ``.runs.json``.

    Raises
    ------
    ResultsError
        If the folder cannot be written.
    """
    from matplotlib import rc_context

    written = []
    try:
        with rc_context(RC):
            figure = drawing.render()
            if title:
                # Of the axes: matplotlib lays a figure's title over a legend that stands outside.
                figure.axes[0].set_title("\n".join(textwrap.wrap(title, int(14 * figure.get_figwidth()))))
            for ending in formats:
                with _sibling(base, f".{ending}", written) as partial:
                    figure.savefig(partial, format=ending, dpi=_DPI, metadata=_METADATA[ending])
        with _sibling(base, ".csv", written) as partial:
            partial.write_text(_csv(drawing.rows), encoding="utf-8")
        with _sibling(base, ".runs.json", written) as partial:
            partial.write_text(_runs_json(drawing, base.name, title), encoding="utf-8")
    except OSError as error:
        reason = error.strerror or error
        raise ResultsError(f"{base.parent}: the figure {base.name} cannot be written: {reason}") from error
    return written


def _sibling(base: Path, ending: str, written: list[Path]):
    # Not with_suffix(): a figure's name may contain dots.
    path = base.with_name(base.name + ending)
    written.append(path)
    return atomic_write(path)


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def _runs_json(drawing: Drawing, name: str, title: str | None) -> str:
    record = {
        "figure": name,
        "kind": drawing.kind,
        "title": title,
        "data": f"{name}.csv",
        "runs": [_identity(run) for run in _once(drawing.runs)],
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def _identity(run: Run) -> dict[str, Any]:
    return {
        "experiment": run.experiment,
        "run": run.name,
        "config_hash": run.manifest["hashes"]["config"],
        "commit": run.manifest.get("versions", {}).get("commit"),
    }


def _once(runs: Iterable[Run]) -> list[Run]:
    return list({run.path: run for run in runs}.values())
