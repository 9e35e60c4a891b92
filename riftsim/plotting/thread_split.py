"""Throughput by the threads of compute and memory node, and how busy the latter's are (RiftANN, table 1)."""

import math
from collections.abc import Callable
from typing import Any

from riftsim.plotting import style
from riftsim.plotting.output import Drawing, Published
from riftsim.plotting.series import Names, Point, series_of
from riftsim.results.store import RunSet

_THREADS = ("cluster.threads", "system.memory_threads")
_MEASURES = ("qps", "memory_utilisation")


def draw(runset: RunSet, names: Names | None = None, published: Published | None = None) -> Drawing:
    """Draw throughput and the memory node's utilisation, bars per split of the threads and series.

    A split ``C + M`` has C threads at the compute and M at the memory node. ``published`` has queries per second and,
    where it is printed, the utilisation by split; they are drawn beside ours. Gains are over the first split.
    """
    rows: list[dict[str, Any]] = []
    runs = []
    published = published or {}
    for one in series_of(runset, names, apart_from=_THREADS):
        for point in one.points:
            found = sorted((_row(one.label, own) for own in _by_split(point)), key=lambda row: _place(row, published))
            for row in found:
                stated = [*published.get(row["split"], []), math.nan, math.nan]
                row |= {"gain": row["qps"] / found[0]["qps"]}
                row |= {"published_qps": stated[0], "published_memory_utilisation": stated[1]}
                row |= {"published_gain": stated[0] / found[0]["published_qps"]}
            rows += found
            runs += point.runs if found else []
    return Drawing("thread-split", lambda: _render(rows), rows, runs)


def _by_split(point: Point) -> list[Point]:
    """Points of one list size by their threads; runs without threads at a memory node are left out."""
    groups: dict[tuple, list] = {}
    for run in point.runs:
        if math.isfinite(run.metrics(["memory_utilisation"])["memory_utilisation"]):
            groups.setdefault(tuple(run.parameters[key] for key in _THREADS), []).append(run)
    return [Point(point.L, tuple(runs)) for runs in groups.values()]


def _row(label: str, point: Point) -> dict[str, Any]:
    threads, memory = (point.runs[0].parameters[key] for key in _THREADS)
    row: dict[str, Any] = {"series": label, "L": point.L, "split": f"{threads - memory} + {memory}"}
    row |= {"compute_threads": threads - memory, "memory_threads": memory}
    for name in _MEASURES:
        low, high = point.interval(name)
        row |= {name: point.value(name), f"{name}_low": low, f"{name}_high": high}
    return row


def _place(row: dict[str, Any], published: Published) -> tuple:
    """Return where bars stand: as published, then by threads."""
    stated = list(published)
    place = stated.index(row["split"]) if row["split"] in stated else len(stated)
    return place, row["memory_threads"], row["compute_threads"]


def _render(rows: list[dict[str, Any]]):
    bars = [_bars(rows, group) for group in dict.fromkeys((row["series"], row["L"]) for row in rows)]
    several = len({row["L"] for row in rows}) > 1
    labels = [f"{own[0]['series']}, L = {own[0]['L']}" if several else own[0]["series"] for own in bars]
    stated = [
        {name: row[f"published_{name}"] for name in ("gain", *_MEASURES)} | {"split": row["split"]} for row in rows
    ]
    stated = list({row["split"]: row for row in stated if math.isfinite(row["qps"])}.values())
    if stated:
        bars.append(stated)
        labels.append("the paper")
    columns = style.legend_columns(labels, style.PAGE_IN) if labels else 0
    legend_rows = math.ceil(len(labels) / columns) if labels else 0
    figure, axes = style.new_panels(1, 2, style.PAGE_IN, 1.9, legend_rows, share_x=False)
    if not rows:
        style.say_nothing_to_draw(axes[0], "no run has threads at a memory node")
        style.say_nothing_to_draw(axes[1], "")
        return figure
    largest = max(row["qps"] for own in bars for row in own)
    factor, unit = style.throughput_unit(largest)
    _panel(axes[0], bars, "qps", factor, lambda row: f"x {row['gain']:.2f}")
    axes[0].set_ylabel(f"Throughput ({unit})")
    axes[0].set_ylim(0, 1.12 * factor * largest)
    _panel(axes[1], bars, "memory_utilisation", 100.0, lambda row: f"{100 * row['memory_utilisation']:.1f}")
    axes[1].set_ylabel("Memory node's threads busy (%)")
    axes[1].set_ylim(0, 112)
    axes[1].set_yticks(range(0, 101, 20))
    handles = [_patch(number, len(bars) - bool(stated)) for number in range(len(bars))]
    style.add_legend(figure, handles, labels, columns)
    return figure


def _bars(rows: list[dict[str, Any]], group: tuple[str, int]) -> list[dict[str, Any]]:
    return [row for row in rows if (row["series"], row["L"]) == group]


def _face(number: int, ours: int) -> dict[str, Any]:
    """Return how a group of bars is filled: ours in blues, the paper's last and hatched."""
    blues = ("#0072B2", "#56B4E9", "#B5DCF3", "#0B3C5D")
    own = {"facecolor": blues[number % len(blues)]} if number < ours else {"facecolor": "#F5D7BF", "hatch": "////"}
    return {**own, "edgecolor": "#333333", "linewidth": 0.4}


def _patch(number: int, ours: int):
    from matplotlib.patches import Patch

    return Patch(**_face(number, ours))


def _panel(axis, bars: list[list[dict[str, Any]]], name: str, factor: float, text: Callable[[dict], str]) -> None:
    splits = list(dict.fromkeys(row["split"] for own in bars for row in own))
    ours = len(bars) - ("series" not in bars[-1][0])
    wide = 0.8 / len(bars)
    for number, own in enumerate(bars):
        for row in own:
            if not math.isfinite(row[name]):
                continue
            x = splits.index(row["split"]) + (number - (len(bars) - 1) / 2) * wide
            low, high = (factor * row.get(f"{name}_{end}", math.nan) for end in ("low", "high"))
            axis.bar(x, factor * row[name], wide, **_face(number, ours))
            if math.isfinite(low):
                axis.plot([x, x], [low, high], color="#000000", linewidth=0.8)
            place = (x, max(factor * row[name], high) if math.isfinite(high) else factor * row[name])
            axis.annotate(
                text(row), place, xytext=(0, 2), textcoords="offset points", ha="center", fontsize=style.SMALL_PT
            )  # fmt: skip
    axis.set_xticks(range(len(splits)), splits)
    axis.set_xlabel("Threads, compute + memory node")
    axis.set_xlim(-0.6, len(splits) - 0.4)
    axis.grid(False, axis="x")
    axis.tick_params(axis="x", length=0)
