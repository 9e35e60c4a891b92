"""The distribution of latency over queries, at matched recall."""

import math
from typing import Any

import numpy as np

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, Point, at_matched_recall, series_of
from riftsim.results.metrics import latency_us
from riftsim.results.store import RunSet

_MOST_STEPS = 2000
_MOST_BANDS = 6  # more of them hide each other


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw the share of queries that are done within a latency, one curve per series.

    Each series shows its smallest candidate list with the recall that all series reach (0.95 at most). With up to six
    series, bands are drawn: the simultaneous 95 % bands of Dvoretzky, Kiefer and Wolfowitz with Massart's constant
    (Annals of Probability, 1990).
    """
    curves = []
    for one, point in at_matched_recall(series_of(runset, names)):
        values = np.sort(np.concatenate([latency_us(run.queries) for run in point.runs]))
        if len(values):
            curves.append((one, point, *_steps(values), math.sqrt(math.log(2 / 0.05) / (2 * len(values)))))
    rows: list[dict[str, Any]] = [
        {"series": one.label, "system": one.system, "L": point.L, "latency_us": float(x), "share": float(y)}
        for one, point, xs, ys, _ in curves
        for x, y in zip(xs, ys, strict=True)
    ]
    return Drawing(
        "latency-cdf",
        lambda: _render(curves, len(runset) > 0),
        rows,
        [run for _, point, *_ in curves for run in point.runs],
    )


def _steps(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the empirical distribution; of very many queries, evenly picked ones with both ends and the tail."""
    shares = np.arange(1, len(values) + 1) / len(values)
    if len(values) <= _MOST_STEPS:
        return values, shares
    picked = np.unique(
        np.append(np.linspace(0, len(values) - 1, _MOST_STEPS).astype(int), range(-100, 0)) % len(values)
    )
    return values[picked], shares[picked]


def _render(curves: list, any_runs: bool):
    labels = [_label(one.label, point) for one, point, *_ in curves]
    width = style.figure_width(labels)
    columns = style.legend_columns(labels, width)
    figure, axes = style.new_figure(width, legend_rows=math.ceil(len(labels) / columns))
    factor, unit = style.time_unit(max((float(xs[-1]) for _, _, xs, _, _ in curves), default=0.0))
    axes.set_xlabel(f"Latency ({unit})")
    axes.set_ylabel("Share of queries")
    if not curves:
        style.say_nothing_to_draw(axes, "no run has a clock" if any_runs else "no runs")
        return figure
    style.choose_scale(axes.xaxis, [factor * float(x) for _, _, xs, _, _ in curves for x in (xs[0], xs[-1])])
    handles = []
    for one, _, xs, ys, half in curves:
        look = one.look
        xs = factor * xs
        if len(curves) <= _MOST_BANDS:
            low, high = np.maximum(ys - half, 0), np.minimum(ys + half, 1)
            axes.fill_between(xs, low, high, step="post", color=look.colour, alpha=0.12, linewidth=0)
        axes.step(np.append(xs[0], xs), np.append(0, ys), where="post", color=look.colour, linestyle=look.line)
        # Markers at the deciles tell curves apart without colour.
        at = np.searchsorted(ys, np.linspace(0.1, 0.9, 5))
        axes.plot(xs[at], ys[at], color=look.colour, marker=look.marker, linestyle="none", mec="white", mew=0.4)
        handles.append(style.handle(look))
    axes.set_ylim(0, 1.02)
    style.add_legend(figure, handles, labels, columns)
    return figure


def _label(name: str, point: Point) -> str:
    recall = point.value("recall")
    return f"{name}, L={point.L}" + (f" ({recall:.3f})" if math.isfinite(recall) else "")
