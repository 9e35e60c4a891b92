"""What a latency was spent on along the critical path, and what a free resource would save: one bar per resource."""

import pandas as pd

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.timeline import LOOKS
from riftsim.results.critical_path import GATE
from riftsim.results.store import Run

_ROW_IN = 0.17


def draw_critical_path(run: Run, table: pd.DataFrame) -> Drawing:
    """Draw the table of ``results.critical_path.summary``.

    Bars are the mean time on the critical path; a dot is the time that would be saved if the resource took none, by
    replay. A dot below its bar's end says that something else would be waited for instead.
    """
    rows = table.to_dict("records")
    latency_us = sum(row["critical_us"] for row in rows if row["resource"] != GATE)
    for row in rows:
        row["saved_us"] = latency_us - row["if_free_us"]
    return Drawing("critical-path", lambda: _render(rows), rows, [run])


def _render(rows: list[dict]):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure, axes = style.new_figure(style.COLUMN_IN, max(0.8, _ROW_IN * (len(rows) + 1)), legend_rows=1)
    axes.set_xlabel("Mean time per query (µs)")
    if not rows:
        style.say_nothing_to_draw(axes, "no query was traced")
        return figure
    places = range(len(rows))
    for place, row in zip(places, rows, strict=True):
        _, colour, hatch = LOOKS[row["resource"]]
        axes.barh(place, row["critical_us"], height=0.75, color=colour, hatch=hatch, edgecolor="#333333", linewidth=0.4)
        label = f"{style.short_number(row['critical_us'])}, ×{row['speed_up']:.2f}"
        axes.annotate(
            label,
            (max(row["critical_us"], row["saved_us"]), place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.SMALL_PT - 1,
        )
    axes.plot([row["saved_us"] for row in rows], list(places), "o", color="#000000", markersize=3, linestyle="none")
    axes.set_yticks(list(places), [row["resource"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.35 * max(max(row["critical_us"], row["saved_us"]) for row in rows))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    style.choose_few_ticks(axes.xaxis)
    handles = [
        Patch(facecolor="#FFFFFF", edgecolor="#333333", linewidth=0.4),
        Line2D([], [], marker="o", color="#000000", markersize=3, linestyle="none"),
    ]
    style.add_legend(figure, handles, ["on the critical path", "saved if free"], 2)
    return figure
