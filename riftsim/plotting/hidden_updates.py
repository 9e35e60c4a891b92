"""What unfinished evaluations hid from admitted expansions, by policy (RiftANN, figure 13b)."""

import math
from typing import Any

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, Point, Series, at_matched_recall, series_of
from riftsim.results.store import RunSet

_BAR_IN = 0.3
_WIDE_RANGE = 50  # largest bar over smallest mean from which on a linear axis hides the small bars
_KINDS = {"hidden_updates": ("Mean", "#0072B2", ""), "hidden_updates_p95": ("P95", "#E69F00", "////")}


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw mean and 95th percentile of the updates hidden per admitted expansion, one pair of bars per series.

    Each series shows its smallest candidate list with the recall that all series reach (0.95 at most).
    """
    chosen = [
        (one, point)
        for one, point in at_matched_recall(series_of(runset, names))
        if math.isfinite(point.value("hidden_updates")) and math.isfinite(point.value("hidden_updates_p95"))
    ]
    rows = [_row(one, point) for one, point in chosen]
    return Drawing("hidden-updates", lambda: _render(rows), rows, [run for _, point in chosen for run in point.runs])


def _row(series: Series, point: Point) -> dict[str, Any]:
    row: dict[str, Any] = {"series": series.label, "L": point.L, "recall": point.value("recall")}
    for name in _KINDS:
        low, high = point.interval(name)
        row |= {name: point.value(name), f"{name}_low": low, f"{name}_high": high}
    return row


def _render(rows: list[dict[str, Any]]):
    height = max(0.8, _BAR_IN * (len(rows) + 0.5))
    wide = any(len(row["series"]) > 20 for row in rows)
    figure, axes = style.new_figure(style.PAGE_IN if wide else style.COLUMN_IN, height, legend_rows=1)
    axes.set_xlabel("Updates hidden from an admitted expansion")
    if not rows:
        style.say_nothing_to_draw(axes, "no run counts hidden updates")
        return figure
    handles, most = [], max(row[name] for row in rows for name in _KINDS)
    for number, (name, (_, colour, hatch)) in enumerate(_KINDS.items()):
        places = [place + 0.4 * (number - 0.5) for place in range(len(rows))]
        values = [row[name] for row in rows]
        handles.append(axes.barh(places, values, height=0.38, color=colour, hatch=hatch, edgecolor="#333333", lw=0.4))
        for row, place, value in zip(rows, places, values, strict=True):
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            if math.isfinite(low):
                axes.plot([low, high], [place, place], color="#000000", linewidth=0.8)
            axes.annotate(
                f"{value:.2f}" if number == 0 else f"{value:.4g}",
                (max(value, high) if math.isfinite(high) else value, place),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=style.SMALL_PT - 1,
            )
    axes.set_yticks(range(len(rows)), [row["series"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    if most > _WIDE_RANGE * min(row["hidden_updates"] for row in rows) > 0:
        axes.set_xscale("symlog", linthresh=1.0)  # linear to 1: bars keep their zero
        axes.set_xlim(0, 6 * most)
    else:
        axes.set_xlim(0, 1.15 * most or 1)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    style.add_legend(figure, handles, [label for label, _, _ in _KINDS.values()], 2)
    return figure
