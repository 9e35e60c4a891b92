"""Recall against exact-vector reads, from expansion-only to verify-all (RiftANN, figure 12a)."""

import math
from typing import Any

import numpy as np

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, Point, Series, recall_label, series_of
from riftsim.results.store import Run, RunSet

_KEYS = ("system.verification.",)
_MEASURES = ("exact_reads", "recall")


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw recall over exact reads, one curve per series and candidate-list size, one point per verification policy."""
    series = series_of(runset, names, apart_from=_KEYS)
    rows = [row for one in series for row in _rows(one)]
    return drawing_of(rows, recall_label(runset), [run for one in series for run in one.runs])


def drawing_of(rows: list[dict[str, Any]], label: str, runs: list[Run]) -> Drawing:
    """Make the figure of such rows, wherever they come from.

    Parameters
    ----------
    rows : list of dict
        ``curve`` (name), ``policy``, ``alpha`` (nan without one), ``chosen`` (whether calibration chose it),
        ``exact_reads`` and ``recall``, each also with ``_low`` and ``_high`` (95 %, nan where unknown).
    label : str
        Of the recall axis.
    runs : list of Run
    """
    return Drawing("verification", lambda: _render(rows, label), rows, runs)


def _rows(series: Series) -> list[dict[str, Any]]:
    rows = []
    for point in series.points:
        policies: dict[tuple[str, float | None], list[Run]] = {}
        for run in point.runs:
            kind = run.parameters.get("system.verification.kind", run.parameters.get("system.verification"))
            policies.setdefault((kind, run.parameters.get("system.verification.alpha")), []).append(run)
        curve = series.label if len(series.points) == 1 else f"{series.label}, L={point.L}"
        for (kind, alpha), runs in policies.items():
            chosen = kind == "calibrated" and alpha is None
            used = np.mean([run.facts["system"]["alpha"] for run in runs]) if kind == "calibrated" else math.nan
            row = {"curve": curve, "L": point.L, "policy": kind, "alpha": float(used), "chosen": chosen}
            for name in _MEASURES:
                low, high = Point(point.L, tuple(runs)).interval(name)
                value = Point(point.L, tuple(runs)).value(name)
                row |= {name: value, f"{name}_low": low, f"{name}_high": high}
            rows.append(row)
    return rows


def _render(rows: list[dict[str, Any]], label: str):
    drawable = [row for row in rows if math.isfinite(row["exact_reads"]) and math.isfinite(row["recall"])]
    curves = list(dict.fromkeys(row["curve"] for row in drawable))
    labels = [_label(curve, drawable) for curve in curves]
    width = style.figure_width(labels) if len(curves) > 1 else style.COLUMN_IN
    columns = style.legend_columns(labels, width) if len(curves) > 1 else 0
    figure, axes = style.new_figure(width, legend_rows=math.ceil(len(curves) / columns) if columns else 0)
    axes.set_xlabel("Exact-vector reads per query")
    axes.set_ylabel(label)
    if not drawable:
        style.say_nothing_to_draw(axes, "no run has a recall")
        return figure
    handles = []
    for number, curve in enumerate(curves):
        own = sorted((row for row in drawable if row["curve"] == curve), key=lambda row: row["exact_reads"])
        look = style.numbered_look(number)
        x, y = [row["exact_reads"] for row in own], [row["recall"] for row in own]
        spread = np.array([[row["recall"] - row["recall_low"], row["recall_high"] - row["recall"]] for row in own]).T
        axes.errorbar(
            x, y, yerr=np.maximum(np.nan_to_num(spread), 0), fmt="none", ecolor=look.colour, elinewidth=0.8, alpha=0.6
        )
        (line,) = axes.plot(x, y, color=look.colour, marker=look.marker, linestyle=look.line, mec="white", mew=0.4)
        handles.append(line)
        _annotate(axes, own, look, names_chosen=not columns)
    style.choose_scale(axes.xaxis, [row["exact_reads"] for row in drawable])
    axes.margins(x=0.12, y=0.12)
    if columns:
        style.add_legend(figure, handles, labels, columns)
    return figure


def _label(curve: str, rows: list[dict[str, Any]]) -> str:
    chosen = [f", calibrated α={row['alpha']:.3f}" for row in rows if row["curve"] == curve and row["chosen"]]
    return curve + "".join(chosen)


def _annotate(axes, rows: list[dict[str, Any]], look: style.Look, names_chosen: bool) -> None:
    """Name the ends and, where no legend does, the chosen alpha; others by their number unless they would overlap."""
    spans = [max(row[name] for row in rows) - min(row[name] for row in rows) or 1.0 for name in _MEASURES]
    named: list[dict[str, Any]] = [row for row in rows if row["policy"] != "calibrated"]
    for row in rows:
        if row["chosen"]:
            x, y = row["exact_reads"], row["recall"]
            axes.plot(x, y, marker="*", markersize=11, color=look.colour, mec="black", mew=0.6)
            if not names_chosen:
                continue
            text, place, align, weight = f"calibrated α={row['alpha']:.3f}", (4, -18), "left", "bold"
        elif row["policy"] == "calibrated":
            near = [
                sum(abs(row[name] - other[name]) / span for name, span in zip(_MEASURES, spans, strict=True))
                for other in named
            ]
            if min(near, default=1.0) < 0.07:
                continue
            named.append(row)
            text, place, align, weight = f"{row['alpha']:g}", (-1, 5), "right", "normal"
        elif row["policy"] == "expansion-only":
            text, place, align, weight = row["policy"], (4, -9), "left", "normal"
        else:
            text, place, align, weight = row["policy"], (4, 5), "right", "normal"
        axes.annotate(
            text,
            (row["exact_reads"], row["recall"]),
            xytext=place,
            textcoords="offset points",
            ha=align,
            fontsize=style.SMALL_PT - 1,
            fontweight=weight,
        )
