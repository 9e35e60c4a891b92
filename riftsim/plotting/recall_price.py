"""What recall costs in latency where one swept number buys it: d-HNSW's routed partitions (RiftANN, table 1)."""

import math
from typing import Any

import numpy as np

from riftsim.plotting import style
from riftsim.plotting.output import Drawing, Published
from riftsim.plotting.series import Names, Point, recall_label, series_of
from riftsim.results.store import Run, RunSet

_BOUGHT_WITH = "system.routed"
_PAPER = style.Look("#000000", "D", ":")


def draw(runset: RunSet, names: Names | None = None, published: Published | None = None) -> Drawing:
    """Draw mean latency over recall, in milliseconds and relative to that at one recall; a line per series.

    ``published`` has ``recall`` and ``latency_ms``, lists of one length. Latencies are relative to that at the first
    recall of it (of a series: by a line between its points), else to that of a series' lowest recall.
    """
    lines: dict[str, list[dict[str, Any]]] = {}
    runs = []
    for one in series_of(runset, names, apart_from=[_BOUGHT_WITH]):
        points = [own for point in one.points for own in _by_routed(point)]
        if points:
            lines[one.label] = sorted((_row(one.label, own) for own in points), key=lambda row: row["recall"])
            runs += [run for own in points for run in own.runs]
    stated = _published_rows(published or {})
    base = stated[0]["recall"] if stated else None
    for rows in (*lines.values(), stated):
        _add_relative(rows, base)
    rows = [row for own in lines.values() for row in own] + stated
    return Drawing("recall-price", lambda: _render(rows, base, recall_label(runset)), rows, runs)


def _by_routed(point: Point) -> list[Point]:
    groups: dict[int, list[Run]] = {}
    for run in point.runs:
        if _BOUGHT_WITH in run.parameters and math.isfinite(run.metrics(["latency_mean_us"])["latency_mean_us"]):
            groups.setdefault(run.parameters[_BOUGHT_WITH], []).append(run)
    return [Point(point.L, tuple(runs)) for runs in groups.values()]


def _row(label: str, point: Point) -> dict[str, Any]:
    low, high = point.interval("latency_mean_us")
    row: dict[str, Any] = {"series": label, "L": point.L, "routed": point.runs[0].parameters[_BOUGHT_WITH]}
    row |= {"recall": point.value("recall"), "qps": point.value("qps")}
    return row | {"latency_ms": point.value("latency_mean_us") / 1e3, "low": low / 1e3, "high": high / 1e3}


def _published_rows(published: Published) -> list[dict[str, Any]]:
    pairs = zip(published.get("recall", []), published.get("latency_ms", []), strict=True)
    empty = {"L": "", "routed": ""}
    return [
        {
            "series": "the paper",
            **empty,
            "recall": recall,
            "qps": math.nan,
            "latency_ms": ms,
            "low": math.nan,
            "high": math.nan,
        }
        for recall, ms in pairs
    ]


def _add_relative(rows: list[dict[str, Any]], base: float | None) -> None:
    if not rows:
        return
    recalls, latencies = (np.array([row[name] for row in rows]) for name in ("recall", "latency_ms"))
    at = recalls[0] if base is None else base
    inside = recalls[0] <= at <= recalls[-1]
    reference = float(np.interp(at, recalls, latencies)) if inside else math.nan
    for row in rows:
        row["relative"] = row["latency_ms"] / reference


def _render(rows: list[dict[str, Any]], base: float | None, label: str):
    labels = list(dict.fromkeys(row["series"] for row in rows))
    columns = style.legend_columns(labels, style.PAGE_IN) if labels else 0
    legend_rows = math.ceil(len(labels) / columns) if labels else 0
    figure, axes = style.new_panels(1, 2, style.PAGE_IN, style.AXES_HEIGHT_IN, legend_rows, share_x=False)
    if not rows:
        style.say_nothing_to_draw(axes[0], f"no run with a clock has {_BOUGHT_WITH}")
        style.say_nothing_to_draw(axes[1], "")
        return figure
    looks = {name: _PAPER if name == "the paper" else style.numbered_look(n) for n, name in enumerate(labels)}
    for name in labels:
        own = [row for row in rows if row["series"] == name]
        for axis, measure in zip(axes, ("latency_ms", "relative"), strict=True):
            look = looks[name]
            axis.plot(
                [row["recall"] for row in own], [row[measure] for row in own],
                color=look.colour, marker=look.marker, linestyle=look.line, mec="white", mew=0.4,
            )  # fmt: skip
    bought = {row["routed"]: row["recall"] for row in reversed(rows) if row["routed"]}
    notes = [
        axes[0].annotate(
            f"P={routed}", (recall, 0.02), xycoords=("data", "axes fraction"), ha="center", fontsize=style.SMALL_PT,
            color="#555555",
        )
        for routed, recall in sorted(bought.items())
    ]  # fmt: skip
    axes[0].set_ylabel("Mean latency (ms)")
    axes[1].set_ylabel(f"Mean latency / that at {base:g}" if base is not None else "Mean latency / the lowest")
    for axis, measure in zip(axes, ("latency_ms", "relative"), strict=True):
        axis.set_xlabel(label)
        style.choose_scale(axis.yaxis, [row[measure] for row in rows])
        lowest = min((row[measure] for row in rows if math.isfinite(row[measure])), default=0.0)
        axis.set_ylim(bottom=0 if axis.get_yscale() == "linear" else lowest / 2)
    style.add_legend(figure, [style.handle(looks[name]) for name in labels], labels, columns)
    style.hide_overlapping(figure, notes)
    return figure
