"""Where the latency of a query goes: one stacked bar per run."""

import math
from typing import Any

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, Point, Series, at_matched_recall, series_of
from riftsim.results.metrics import LATENCY_PARTS, METRICS
from riftsim.results.store import RunSet

_PARTS = (*LATENCY_PARTS, "idle")
_ROW_IN = 0.15
_MOST_BARS = 25


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw the mean latency of each series and candidate-list size, split into its parts.

    The figure grows with the number of bars, so that they stay legible. Where they would be more than 25, each series
    shows only its smallest candidate list with the recall that all series reach (0.95 at most).
    """
    series = series_of(runset, names)
    bars = [(one, point) for one in series for point in one.points]
    if len(bars) > _MOST_BARS:
        bars = at_matched_recall(series)
    rows = [_row(one, point) for one, point in bars]
    drawable = [row for row in rows if all(math.isfinite(row[f"{part}_us"]) for part in _PARTS)]
    return Drawing(
        "breakdown", lambda: _render(drawable, bool(rows)), rows, [run for _, point in bars for run in point.runs]
    )


def _row(series: Series, point: Point) -> dict[str, Any]:
    row = {"series": series.label, "system": series.system, "L": point.L, "recall": point.value("recall")}
    low, high = point.interval("latency_mean_us")
    row |= {"latency_mean_us": point.value("latency_mean_us"), "latency_low_us": low, "latency_high_us": high}
    return row | {f"{part}_us": point.value(f"{part}_us") for part in _PARTS}


def _render(rows: list[dict[str, Any]], any_runs: bool):
    factor, unit = style.time_unit(max((row["latency_mean_us"] for row in rows), default=0.0))
    parts = [part for part in _PARTS if any(row[f"{part}_us"] * factor > 1e-9 for row in rows)]
    labels = [METRICS[f"{part}_us"].label for part in parts]
    # Series have a line each here, so that only one that is wider than a column asks for a page.
    width = max((style.figure_width([row["series"]]) for row in rows), default=style.COLUMN_IN)
    columns = style.legend_columns(labels, width)
    places = _places(rows)
    height = max(0.8, _ROW_IN * (places[-1] + 2)) if rows else style.AXES_HEIGHT_IN
    figure, axes = style.new_figure(width, height, legend_rows=math.ceil(len(labels) / columns) if rows else 0)
    axes.set_xlabel(f"Mean latency ({unit})")
    if not rows:
        style.say_nothing_to_draw(axes, "no run has a clock" if any_runs else "no runs")
        return figure
    handles, ends = _stack(axes, rows, places, parts, factor)
    _say_totals(axes, rows, places, ends, factor)
    _say_series(axes, rows, places)
    axes.set_yticks(places, [f"L={row['L']}" for row in rows])
    axes.set_ylim(places[-1] + 0.7, -0.6)
    axes.set_xlim(0, 1.15 * max(*ends, 1e-12))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    style.choose_scale(axes.xaxis, [])
    style.add_legend(figure, handles, labels, columns)
    return figure


def _stack(axes, rows, places: list[float], parts: list[str], factor: float):
    handles, left = [], [0.0] * len(rows)
    for part in parts:
        colour, hatch = style.PART_LOOKS[part]
        widths = [max(0.0, factor * row[f"{part}_us"]) for row in rows]
        handles.append(
            axes.barh(
                places, widths, left=left, height=0.8, color=colour, hatch=hatch, edgecolor="#333333", linewidth=0.4
            )
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    return handles, left


def _say_totals(axes, rows: list[dict[str, Any]], places: list[float], ends: list[float], factor: float) -> None:
    """Write the mean at the end of each bar, behind its 95 % interval."""
    for row, place, end in zip(rows, places, ends, strict=True):
        low, high = factor * row["latency_low_us"], factor * row["latency_high_us"]
        if math.isfinite(low):
            axes.plot([low, high], [place, place], color="#000000", linewidth=0.8)
        axes.annotate(
            style.short_number(factor * row["latency_mean_us"]),
            (max(end, high) if math.isfinite(high) else end, place),
            xytext=(2, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.SMALL_PT - 1,
        )


def _say_series(axes, rows: list[dict[str, Any]], places: list[float]) -> None:
    """Write the name of each series above its first bar."""
    for number, (row, place) in enumerate(zip(rows, places, strict=True)):
        if number == 0 or rows[number - 1]["series"] != row["series"]:
            axes.text(
                0.01,
                place - 0.95,
                style.fitted(row["series"], axes.figure.get_figwidth() - 0.5),
                in_layout=False,
                transform=axes.get_yaxis_transform(),
                va="center",
                fontsize=style.SMALL_PT,
                fontweight="bold",
            )


def _places(rows: list[dict[str, Any]]) -> list[float]:
    """Place bars downwards, leaving a line for the name of each series above its first bar."""
    places: list[float] = []
    position, before = 0.0, None
    for row in rows:
        position += 1.0 if row["series"] != before else 0.0
        places.append(position)
        position, before = position + 1.0, row["series"]
    return places
