"""Throughput and latency by size of the cluster (RiftANN, table 3)."""

import math
from typing import Any

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, Point, at_matched_recall, series_of
from riftsim.results.store import RunSet

_MEASURES = {"qps": "Throughput", "latency_mean_us": "Mean latency"}
_BAR_IN = 0.24


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw total throughput and mean latency, one bar per cluster, with the ratio to the smallest cluster of 1C1M.

    xCyM stands for x compute and y memory nodes, T for threads per compute node. Ratios are to the cluster of one
    compute and one memory node with the most frequent number of threads. Each cluster shows its smallest candidate list
    with the recall that all reach (0.95 at most).
    """
    chosen = [
        (one, point)
        for one, point in at_matched_recall(series_of(runset, names))
        if math.isfinite(point.value("latency_mean_us")) and "cluster.threads" in point.runs[0].parameters
    ]
    rows = sorted((_row(one.system, point) for one, point in chosen), key=_order)
    _add_ratios(rows)
    return Drawing("scaling", lambda: _render(rows), rows, [run for _, point in chosen for run in point.runs])


def _row(system: str, point: Point) -> dict[str, Any]:
    parameters = point.runs[0].parameters
    compute, memory, threads = (parameters[f"cluster.{name}"] for name in ("compute_nodes", "memory_nodes", "threads"))
    row: dict[str, Any] = {
        "cluster": f"{compute}C{memory}M, {threads}T",
        "system": system,
        "compute_nodes": compute,
        "memory_nodes": memory,
        "threads": threads,
        "L": point.L,
        "recall": point.value("recall"),
        "in_flight": point.value("in_flight"),
    }
    for name in _MEASURES:
        low, high = point.interval(name)
        row |= {name: point.value(name), f"{name}_low": low, f"{name}_high": high}
    return row


def _order(row: dict[str, Any]) -> tuple:
    return (
        row["system"],
        row["compute_nodes"] * row["memory_nodes"] > 1,
        row["compute_nodes"],
        row["memory_nodes"],
        row["threads"],
    )


def _add_ratios(rows: list[dict[str, Any]]) -> None:
    threads = [row["threads"] for row in rows]
    usual = max(sorted(set(threads)), key=threads.count, default=0)
    base = next(
        (row for row in rows if row["compute_nodes"] == row["memory_nodes"] == 1 and row["threads"] == usual), None
    )
    for row in rows:
        for name in _MEASURES:
            row[f"{name}_ratio"] = row[name] / base[name] if base else math.nan


def _render(rows: list[dict[str, Any]]):
    figure, axes = style.new_panels(1, 2, style.PAGE_IN, max(0.8, _BAR_IN * (len(rows) + 1)), share_x=False)
    if not rows:
        style.say_nothing_to_draw(axes[0], "no run has a clock")
        style.say_nothing_to_draw(axes[1], "")
        return figure
    units = {"qps": style.throughput_unit, "latency_mean_us": style.time_unit}
    for panel, (name, label), colour in zip(axes, _MEASURES.items(), ("#0072B2", "#E69F00"), strict=True):
        factor, unit = units[name](max(row[name] for row in rows))
        values = [factor * row[name] for row in rows]
        panel.barh(range(len(rows)), values, color=colour, height=0.7, edgecolor="#333333", linewidth=0.4)
        for place, (row, value) in enumerate(zip(rows, values, strict=True)):
            low, high = factor * row[f"{name}_low"], factor * row[f"{name}_high"]
            if math.isfinite(low):
                panel.plot([low, high], [place, place], color="#000000", linewidth=0.8)
            ratio = row[f"{name}_ratio"]
            text = style.short_number(value) + (f" ({ratio:.2f}x)" if math.isfinite(ratio) else "")
            end = max(value, high) if math.isfinite(high) else value
            panel.annotate(
                text, (end, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=style.SMALL_PT
            )
        panel.set_xlabel(f"{label} ({unit})")
        panel.set_yticks(range(len(rows)), [row["cluster"] for row in rows])
        panel.set_ylim(len(rows) - 0.4, -0.6)
        panel.set_xlim(0, 1.3 * max(values))
        panel.grid(False, axis="y")
        panel.tick_params(axis="y", length=0)
    return figure
