"""How the gate adapts while a search progresses: update ratio and backlog at admission (RiftANN, figure 13a)."""

import math
from typing import Any

import numpy as np

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, Point, Series, at_matched_recall, series_of
from riftsim.results.store import RunSet

_MOST_MEDIANS = 2  # more dashed lines hide the means


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw update ratio and backlog over the tenths of a search's expansions, one curve per series.

    Each series shows its smallest candidate list with the recall that all series reach (0.95 at most). Of several runs,
    sums of insertions and evaluations give the ratio, means over all admissions the backlog, and the mean over the runs
    their medians.
    """
    chosen = [(one, point) for one, point in at_matched_recall(series_of(runset, names)) if _has_progress(point)]
    rows = [row for one, point in chosen for row in _rows(one, point)]
    return Drawing("admission", lambda: _render(chosen, rows), rows, [run for _, point in chosen for run in point.runs])


def _has_progress(point: Point) -> bool:
    return all(sum((run.facts.get("progress") or {}).get("evaluated", ())) > 0 for run in point.runs)


def _rows(series: Series, point: Point) -> list[dict[str, Any]]:
    def of_runs(name: str) -> np.ndarray:
        return np.array([run.facts["progress"][name] for run in point.runs], np.float64)

    admissions, evaluated = of_runs("expansions"), of_runs("evaluated").sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = of_runs("inserted").sum(axis=0) / evaluated
        mean = (of_runs("backlog_mean") * admissions).sum(axis=0) / admissions.sum(axis=0)
    median = of_runs("backlog_median").mean(axis=0)
    return [
        {
            "series": series.label,
            "L": point.L,
            "progress_percent": 100 * (tenth + 0.5) / len(ratio),
            "update_ratio": float(ratio[tenth]),
            "backlog_mean": float(mean[tenth]),
            "backlog_median": float(median[tenth]),
        }
        for tenth in range(len(ratio))
    ]


def _render(chosen: list[tuple[Series, Point]], rows: list[dict[str, Any]]):
    labels = [f"{one.label}, L={point.L}" for one, point in chosen]
    width = style.figure_width(labels)
    columns = style.legend_columns(labels, width)
    figure, (above, below) = style.new_panels(2, 1, width, 1.25, legend_rows=math.ceil(len(labels) / columns))
    above.set_ylabel("Update ratio")
    below.set_ylabel("Backlog U")
    below.set_xlabel("Progress of the search (% of its expansions)")
    if not chosen:
        style.say_nothing_to_draw(above, "no run has recorded its progress")
        style.say_nothing_to_draw(below, "")
        return figure
    handles = []
    for one, _ in chosen:
        own = [row for row in rows if row["series"] == one.label]
        x = [row["progress_percent"] for row in own]
        look = one.look
        drawn = {"color": look.colour, "marker": look.marker, "linestyle": look.line, "mec": "white", "mew": 0.4}
        handles += above.plot(x, [row["update_ratio"] or math.nan for row in own], **drawn)
        below.plot(x, [row["backlog_mean"] for row in own], **drawn)
        if len(chosen) <= _MOST_MEDIANS:
            below.plot(x, [row["backlog_median"] for row in own], color=look.colour, linestyle=":")
            below.annotate(
                "dotted: median", (0.02, 0.88), xycoords="axes fraction", fontsize=style.SMALL_PT - 1, color="#555555"
            )
    style.choose_scale(above.yaxis, [row["update_ratio"] for row in rows if row["update_ratio"] > 0])
    style.choose_scale(below.yaxis, [])
    below.set_xlim(0, 100)
    below.set_ylim(bottom=0)
    style.add_legend(figure, handles, labels, columns)
    return figure
