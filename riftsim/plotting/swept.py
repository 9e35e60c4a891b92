"""Metrics over a swept number: READ latency by size, evaluation over fetching, queries in flight and workers.

These have the forms of RiftANN's figures 2b, 3 and 7.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, Point, series_of
from riftsim.results.metrics import METRICS
from riftsim.results.store import RunSet


@dataclasses.dataclass(frozen=True)
class Panel:
    """One set of axes.

    Attributes
    ----------
    key : str
        Dotted key of the number that varies along a line.
    metric : str
        On the y axis.
    label : str
        Of the x axis.
    x : str
        Metric to stand on the x axis in place of the swept number; empty for the number itself.
    """

    key: str
    metric: str
    label: str
    x: str = ""


READ_SIZE = (Panel("index.R", "wait_per_chain_us", "Size of a READ (bytes)", x="bytes_per_read"),)
EVALUATION_SHARE = (Panel("system.beam_width", "work_over_wait", "Beam width"),)
CONCURRENCY = (
    Panel("load.concurrency", "qps", "Queries in flight"),
    Panel("system.workers", "evaluation_whole_us", "Evaluation workers"),
    Panel("system.workers", "wait_per_read_us", "Evaluation workers"),
)


def drawer(kind: str, panels: Sequence[Panel]) -> Callable[[RunSet, Names | None], Drawing]:
    """Make what draws a kind of figure: a panel beside the other, in each a line per series that sweeps its number.

    Parameters
    ----------
    kind : str
    panels : sequence of Panel

    Returns
    -------
    callable
        ``(runs, names of series) -> Drawing``; rows hold panel, series, L, x and the metric with its 95 % interval.
        Series with one value of the number are left out.
    """

    def draw(runset: RunSet, names: Names | None = None) -> Drawing:
        found = [_rows(number, panel, runset, names) for number, panel in enumerate(panels)]
        rows = [row for rows, _ in found for row in rows]
        return Drawing(kind, lambda: _render(panels, rows), rows, [run for _, runs in found for run in runs])

    return draw


def _rows(number: int, panel: Panel, runset: RunSet, names: Names | None) -> tuple[list[dict[str, Any]], list]:
    rows, used = [], []
    for one in series_of(runset, names, apart_from=[panel.key]):
        lines = {point.L: _by_value(point, panel) for point in one.points}
        lines = {L: found for L, found in lines.items() if len(found) > 1}
        for L, found in lines.items():
            line = one.label if len(lines) == 1 else f"{one.label}, L={L}"
            for value, point in sorted(found.items()):
                low, high = point.interval(panel.metric)
                row = {"panel": number, "series": line, "L": L, "setting": panel.key, "setting_value": value}
                row |= {"x": point.value(panel.x) if panel.x else value, "metric": panel.metric}
                rows.append(row | {"value": point.value(panel.metric), "low": low, "high": high})
                used += point.runs
    return rows, used


def _by_value(point: Point, panel: Panel) -> dict[float, Point]:
    """Points of one list size by the swept number; those without the number or the metric are left out."""
    groups: dict[float, list] = {}
    for run in point.runs:
        value = run.parameters.get(panel.key)
        if isinstance(value, int | float) and math.isfinite(run.metrics([panel.metric])[panel.metric]):
            groups.setdefault(value, []).append(run)
    return {value: Point(point.L, tuple(runs)) for value, runs in groups.items()}


def _render(panels: Sequence[Panel], rows: list[dict[str, Any]]):
    labels = list(dict.fromkeys(row["series"] for row in rows))
    width = style.PAGE_IN if len(panels) > 1 else style.figure_width(labels)
    columns = style.legend_columns(labels, width) if len(labels) > 1 else 0
    legend_rows = math.ceil(len(labels) / columns) if columns else 0
    figure, axes = style.new_panels(1, len(panels), width, style.AXES_HEIGHT_IN, legend_rows, share_x=False)
    looks = {label: style.numbered_look(number) for number, label in enumerate(labels)}
    for number, (panel, place) in enumerate(zip(panels, axes, strict=True)):
        own = [row for row in rows if row["panel"] == number]
        if not own:
            style.say_nothing_to_draw(place, f"no runs sweep {panel.key}")
            continue
        factor, unit = _unit(panel.metric, max(row["value"] for row in own))
        for label in dict.fromkeys(row["series"] for row in own):
            _line(place, [row for row in own if row["series"] == label], looks[label], factor)
        place.set_xlabel(panel.label)
        place.set_ylabel(METRICS[panel.metric].label + (f" ({unit})" if unit else ""))
        style.choose_scale(place.xaxis, [row["x"] for row in own])
        style.choose_scale(place.yaxis, [factor * row["value"] for row in own])
        if place.get_yscale() == "linear":
            place.set_ylim(bottom=0)
    if columns:
        style.add_legend(figure, [style.handle(looks[label]) for label in labels], labels, columns)
    return figure


def _line(place, rows: list[dict[str, Any]], look: style.Look, factor: float) -> None:
    values = np.array([row["value"] for row in rows])
    bounds = np.array([[row["low"], row["high"]] for row in rows]).T
    place.errorbar(
        [row["x"] for row in rows],
        factor * values,
        yerr=factor * np.nan_to_num(np.abs(bounds - values)),
        color=look.colour,
        marker=look.marker,
        linestyle=look.line,
        elinewidth=0.8,
        mec="white",
        mew=0.4,
    )


def _unit(metric: str, largest: float) -> tuple[float, str]:
    unit = METRICS[metric].unit
    if metric == "qps":
        return style.throughput_unit(largest)
    return style.time_unit(largest) if unit == "µs" else (1.0, "" if unit == "1" else unit)
