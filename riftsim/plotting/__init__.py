"""Figures, made from recorded results only.

:func:`make_figures` draws what a list of plots asks for. Every figure is written as PNG, SVG and PDF beside the drawn
numbers (``<figure>.csv``) and the runs they come from (``<figure>.runs.json``). Matplotlib is imported when the first
figure is drawn.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from riftsim.config.schema import PlotConfig
from riftsim.errors import ConfigError
from riftsim.plotting import breakdown, latency_cdf, recall_latency, recall_qps
from riftsim.plotting.output import Drawing, write_figure
from riftsim.results.store import RunSet

KINDS: dict[str, Callable[[RunSet], Drawing]] = {
    "recall-latency": recall_latency.draw,
    "recall-qps": recall_qps.draw,
    "breakdown": breakdown.draw,
    "latency-cdf": latency_cdf.draw,
}
DEFAULT_PLOTS = tuple(PlotConfig(kind=kind) for kind in KINDS)


def make_figures(
    runset: RunSet, plots_config: Iterable[PlotConfig | Mapping[str, Any]], out_dir: str | os.PathLike
) -> list[Path]:
    """Draw figures of some runs.

    Parameters
    ----------
    runset : RunSet
        The runs; may be empty.
    plots_config : iterable of PlotConfig or mapping
        Which figures, e.g. ``DEFAULT_PLOTS`` or the ``plots`` of an experiment. A second figure of one kind gets a
        number in its name.
    out_dir : path-like
        Where to write; made if needed. Files of the same names are replaced.

    Returns
    -------
    list of pathlib.Path
        All written files, per figure: PNG, SVG, PDF, CSV, JSON.

    Raises
    ------
    ConfigError
        If a plot is not one that exists.
    ResultsError
        If a run is damaged or the folder cannot be written.
    """
    written: list[Path] = []
    used: dict[str, int] = {}
    for number, plot in enumerate(plots_config):
        try:
            plot = msgspec.convert(plot, PlotConfig, from_attributes=True)
        except msgspec.ValidationError as error:
            raise ConfigError(f"plots[{number}]: {error}; kinds are {', '.join(KINDS)}") from error
        used[plot.kind] = used.get(plot.kind, 0) + 1
        name = plot.kind if used[plot.kind] == 1 else f"{plot.kind}-{used[plot.kind]}"
        written += write_figure(KINDS[plot.kind](runset), Path(out_dir) / name, plot.title)
    return written
