"""The figures there are, by kind, and drawing those that a list of plots asks for."""

import collections
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from riftsim.config.schema import PlotConfig
from riftsim.errors import ConfigError
from riftsim.plotting import (
    admission,
    breakdown,
    hidden_updates,
    latency_cdf,
    policies,
    recall_latency,
    recall_price,
    recall_qps,
    scaling,
    sensitivity,
    swept,
    thread_split,
    time_series,
    verification,
    visit_hits,
)
from riftsim.plotting.output import FORMATS, Drawing, Published, write_figure
from riftsim.plotting.series import Names
from riftsim.results.store import RunSet

BESIDE_PUBLISHED: dict[str, Callable[[RunSet, Names | None, Published | None], Drawing]] = {
    "visit-hit-rate": visit_hits.draw,
    "thread-split": thread_split.draw,
    "recall-price": recall_price.draw,
}
"""Figures that can show the numbers of a publication beside ours."""
KINDS: dict[str, Callable[[RunSet, Names | None], Drawing]] = {
    "recall-latency": recall_latency.draw,
    "recall-qps": recall_qps.draw,
    "breakdown": breakdown.draw,
    "latency-cdf": latency_cdf.draw,
    "verification": verification.draw,
    "admission": admission.draw,
    "hidden-updates": hidden_updates.draw,
    "policies": policies.draw,
    "time-series": time_series.draw,
    "sensitivity": sensitivity.draw,
    "scaling": scaling.draw,
    "read-size": swept.drawer("read-size", swept.READ_SIZE),
    "evaluation-share": swept.drawer("evaluation-share", swept.EVALUATION_SHARE),
    "concurrency": swept.drawer("concurrency", swept.CONCURRENCY),
    **BESIDE_PUBLISHED,
}
DEFAULT_PLOTS = tuple(PlotConfig(kind=kind) for kind in ("recall-latency", "recall-qps", "breakdown", "latency-cdf"))
"""Figures that any runs have; the others need certain settings to be swept."""


def make_figures(
    runset: RunSet,
    plots_config: Iterable[PlotConfig | Mapping[str, Any]],
    out_dir: str | os.PathLike,
    formats: Iterable[str] = FORMATS,
) -> list[Path]:
    """Draw figures of some runs.

    Parameters
    ----------
    runset : RunSet
        The runs; may be empty.
    plots_config : iterable of PlotConfig or mapping
        Which figures, e.g. ``DEFAULT_PLOTS`` or the ``plots`` of an experiment. A second figure of one kind gets a
        number in its name. One whose named series none of the runs belongs to is left out.
    out_dir : path-like
        Where to write; made if needed. Files of the same names are replaced.
    formats : iterable of str
        Of the pictures, of ``FORMATS``.

    Returns
    -------
    list of pathlib.Path
        All written files, per figure: the pictures, CSV, JSON.

    Raises
    ------
    ConfigError
        If a plot is not one that exists.
    ResultsError
        If a run is damaged or the folder cannot be written.
    """
    written: list[Path] = []
    used: collections.Counter[str] = collections.Counter()
    for number, plot in enumerate(plots_config):
        try:
            plot = msgspec.convert(plot, PlotConfig, from_attributes=True)
        except msgspec.ValidationError as error:
            raise ConfigError(f"plots[{number}]: {error}; kinds are {', '.join(KINDS)}") from error
        used[plot.kind] += 1
        if plot.series and len(runset) and not any(map(runset.where, plot.series.values())):
            continue
        name = plot.kind if used[plot.kind] == 1 else f"{plot.kind}-{used[plot.kind]}"
        more = {"title": plot.title, "names": plot.series, "published": plot.published}
        written += draw(plot.kind, runset, out_dir, name=name, formats=formats, **more)
    return written


def draw(
    kind: str,
    runset: RunSet,
    out_dir: str | os.PathLike,
    title: str | None = None,
    name: str | None = None,
    names: Names | None = None,
    published: Published | None = None,
    formats: Iterable[str] = FORMATS,
) -> list[Path]:
    """Draw one figure and write its files.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    runset : RunSet
    out_dir : path-like
    title : str, optional
    name : str, optional
        Of the files, without ending; the kind by default.
    names : mapping, optional
        Series with names, each with the dotted keys and values of its runs.
    published : mapping, optional
        Numbers of a publication, of a kind of ``BESIDE_PUBLISHED``.
    formats : iterable of str
        Of the picture, of ``FORMATS``.

    Returns
    -------
    list of pathlib.Path
        The pictures, CSV, JSON.

    Raises
    ------
    ConfigError, ResultsError
        As :func:`make_figures`.
    """
    if kind not in KINDS:
        raise ConfigError(f"plots: no figure is called {kind!r}; kinds are {', '.join(KINDS)}")
    if published and kind not in BESIDE_PUBLISHED:
        kinds = ", ".join(BESIDE_PUBLISHED)
        raise ConfigError(f"plots: found published numbers for {kind!r}; kinds that show them are {kinds}")
    if published:
        drawing = BESIDE_PUBLISHED[kind](runset, names or None, published)
    else:
        drawing = KINDS[kind](runset, names or None)
    return write_figure(drawing, Path(out_dir) / (name or kind), title, formats)
