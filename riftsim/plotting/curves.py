"""Curves of one metric against recall, with 95 % intervals; shared by the figures that have recall on the x axis."""

import math
from collections.abc import Callable
from typing import Any

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, Series, recall_label, series_of
from riftsim.results.store import RunSet


def draw_against_recall(
    kind: str,
    runset: RunSet,
    metric: str,
    label: str,
    unit: Callable[[float], tuple[float, str]],
    front: bool = False,
    names: Names | None = None,
) -> Drawing:
    """Draw a metric over recall, one curve per series.

    Parameters
    ----------
    kind : str
    runset : RunSet
    metric : str
        Name of the metric on the y axis.
    label : str
        Of the y axis, without unit.
    unit : callable
        Gives factor and unit from the largest value.
    front : bool
        Join only the points that no other point of their series betters in both recall and metric (higher is better);
        the others are drawn hollow and pale.
    names : mapping, optional
        As in ``series_of``.

    Returns
    -------
    Drawing
        Rows: series, system, L, recall and the metric with their intervals, and whether a point is on the front.
    """
    series = series_of(runset, names)
    rows = [row for one in series for row in _rows(one, metric)]
    drawable = [row for row in rows if math.isfinite(row["recall"]) and math.isfinite(row[metric])]
    if front:
        for row in rows:
            row["on_front"] = row in drawable and not any(_betters(other, row, metric) for other in drawable)

    def render():
        shown = [one for one in series if any(row["series"] == one.label for row in drawable)]
        labels = [one.label for one in shown]
        width = style.figure_width(labels)
        columns = style.legend_columns(labels, width)
        figure, axes = style.new_figure(width, legend_rows=math.ceil(len(labels) / columns))
        factor, unit_name = unit(max((row[metric] for row in drawable), default=0.0))
        axes.set_xlabel(recall_label(runset))
        axes.set_ylabel(f"{label} ({unit_name})")
        if not drawable:
            style.say_nothing_to_draw(axes, "no run has both a recall and a clock" if rows else "no runs")
            return figure
        style.choose_scale(axes.xaxis, [])
        style.choose_scale(axes.yaxis, [factor * row[metric] for row in drawable])
        handles = [
            _curve(axes, one, [row for row in drawable if row["series"] == one.label], metric, factor, front)
            for one in shown
        ]
        style.add_legend(figure, handles, labels, columns)
        return figure

    return Drawing(kind, render, rows, [run for one in series for run in one.runs])


def _rows(series: Series, metric: str) -> list[dict[str, Any]]:
    rows = []
    for point in series.points:
        row: dict[str, Any] = {"series": series.label, "system": series.system, "L": point.L}
        for name in ("recall", metric):
            low, high = point.interval(name)
            row |= {name: point.value(name), f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    return rows


def _betters(other: dict[str, Any], row: dict[str, Any], metric: str) -> bool:
    """Pareto dominance within a series: nowhere worse and somewhere better."""
    if other["series"] != row["series"]:
        return False
    ahead = (other["recall"] - row["recall"], other[metric] - row[metric])
    return min(ahead) >= 0 and max(ahead) > 0


def _curve(axes, series: Series, rows: list[dict[str, Any]], metric: str, factor: float, front: bool):
    look = series.look
    joined = [row for row in rows if row["on_front"]] if front else rows
    if front:
        joined.sort(key=lambda row: row["recall"])
        beaten = [row for row in rows if not row["on_front"]]
        axes.plot(
            [row["recall"] for row in beaten],
            [factor * row[metric] for row in beaten],
            linestyle="none",
            marker=look.marker,
            markerfacecolor="none",
            color=look.colour,
            alpha=0.5,
        )
    axes.errorbar(
        [row["recall"] for row in rows],
        [factor * row[metric] for row in rows],
        xerr=_errors(rows, "recall", 1.0),
        yerr=_errors(rows, metric, factor),
        fmt="none",
        ecolor=look.colour,
        elinewidth=0.6,
        alpha=0.6,
    )
    (line,) = axes.plot(
        [row["recall"] for row in joined],
        [factor * row[metric] for row in joined],
        color=look.colour,
        marker=look.marker,
        linestyle=look.line,
        markeredgecolor="white",
        markeredgewidth=0.4,
    )
    return line


def _errors(rows: list[dict[str, Any]], name: str, factor: float) -> list[list[float]]:
    """Lengths of error bars below and above; zero where there is no interval."""

    def length(value: float) -> float:
        return factor * value if value > 0 else 0.0

    return [
        [length(row[name] - row[f"{name}_low"]) for row in rows],
        [length(row[f"{name}_high"] - row[name]) for row in rows],
    ]
