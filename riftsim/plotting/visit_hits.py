"""Visit hit rate of co-packed nodes by ordering (RiftANN, figure 2a)."""

import math
from typing import Any

from riftsim.plotting import style
from riftsim.plotting.output import Drawing, Published
from riftsim.plotting.series import Names, Point, series_of
from riftsim.results.store import RunSet

_SWEPT = ("system.ordering", "system.pack")
_NAMES = {
    "random": "random",
    "data": "data",
    "fennel": "Fennel",
    "fennel-without-price": "Fennel,\nno price",
    "starling": "Starling",
    "label-propagation": "LP",
}
_SHADES = ("#0B3C5D", "#0072B2", "#56B4E9", "#B5DCF3")
_MOST_IN_A_ROW = 4


def draw(runset: RunSet, names: Names | None = None, published: Published | None = None) -> Drawing:
    """Draw the share of co-packed nodes that the same query visits: bars per ordering and size of a pack.

    A panel per series and list size. ``published["at most"]`` is a bound that is drawn as a line.
    """
    rows: list[dict[str, Any]] = []
    runs = []
    for one in series_of(runset, names, apart_from=_SWEPT):
        for point in one.points:
            found = [_row(one.label, own) for own in _by_packing(point)]
            rows += sorted(found, key=lambda row: (list(_NAMES).index(row["ordering"]), row["pack"]))
            runs += point.runs if found else []
    bounds = (published or {}).get("at most", [])
    return Drawing("visit-hit-rate", lambda: _render(rows, bounds), rows, runs)


def _by_packing(point: Point) -> list[Point]:
    """Points of one list size by ordering and pack; runs that count no co-packed nodes are left out."""
    groups: dict[tuple, list] = {}
    for run in point.runs:
        if math.isfinite(run.metrics(["visit_hit_rate"])["visit_hit_rate"]):
            groups.setdefault(tuple(run.parameters[key] for key in _SWEPT), []).append(run)
    return [Point(point.L, tuple(runs)) for runs in groups.values()]


def _row(label: str, point: Point) -> dict[str, Any]:
    ordering, pack = (point.runs[0].parameters[key] for key in _SWEPT)
    low, high = point.interval("visit_hit_rate")
    row = {"series": label, "L": point.L, "visits": point.value("expansions"), "recall": point.value("recall")}
    row |= {"ordering": ordering, "pack": pack}
    return row | {"visit_hit_rate": point.value("visit_hit_rate"), "low": low, "high": high}


def _render(rows: list[dict[str, Any]], bounds: list[float]):
    from matplotlib.patches import Patch

    panels = _grid(list(dict.fromkeys((row["series"], row["L"]) for row in rows)))
    packs = sorted({row["pack"] for row in rows})
    columns = _columns(panels)
    lines = max(1, math.ceil(len(panels) / columns))
    width = style.PAGE_IN if columns > 1 else style.COLUMN_IN
    labels = [f"{pack} nodes per pack" for pack in packs]
    legend_columns = style.legend_columns(labels, width)
    legend_rows = math.ceil(len(labels) / legend_columns) if labels else 0
    figure, axes = style.new_panels(lines, columns, width, 1.7, legend_rows, share_x=False)
    if not rows:
        style.say_nothing_to_draw(axes[0], "no run counts co-packed nodes")
        return figure
    highest = max(row["high"] if math.isfinite(row["high"]) else row["visit_hit_rate"] for row in rows)
    top = 108 * max([highest, *bounds])
    several = len({row["series"] for row in rows}) > 1
    for number, (axis, panel) in enumerate(zip(axes, panels, strict=False)):
        if panel is None:
            axis.set_axis_off()
            continue
        own = [row for row in rows if (row["series"], row["L"]) == panel]
        _panel(axis, own, packs)
        visits = f"L = {panel[1]}, {own[0]['visits']:.0f} visits"
        axis.set_title(f"{panel[0]}\n{visits}" if several else visits)
        axis.set_ylim(0, top)
        if number % columns == 0:
            axis.set_ylabel("Visit hit rate (%)")
        for bound in bounds:
            axis.axhline(100 * bound, color="#D55E00", linestyle="--", linewidth=1.0)
            if number == 0:
                note = f"paper: at most {100 * bound:g} %"
                axis.annotate(
                    note, (0, 100 * bound), xycoords=("axes fraction", "data"), xytext=(3, 2),
                    textcoords="offset points", color="#B34700", fontsize=style.SMALL_PT,
                )  # fmt: skip
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    handles = [Patch(facecolor=_shade(packs, pack), edgecolor="#333333", linewidth=0.4) for pack in packs]
    style.add_legend(figure, handles, labels, legend_columns)
    return figure


def _grid(panels: list[tuple[str, int]]) -> list[tuple[str, int] | None]:
    """Give each series a row and each list size a column, None where a series lacks the size, if they fit."""
    sizes = sorted({size for _, size in panels})
    names = list(dict.fromkeys(name for name, _ in panels))
    if len(names) == 1 or not 1 < len(sizes) <= _MOST_IN_A_ROW:
        return list(panels)
    return [(name, size) if (name, size) in panels else None for name in names for size in sizes]


def _columns(panels: list[tuple[str, int] | None]) -> int:
    """Return as many panels in a row as there are list sizes, if they fit."""
    sizes = len({panel[1] for panel in panels if panel})
    return max(1, min(_MOST_IN_A_ROW, sizes if sizes > 1 else len(panels)))


def _shade(packs: list[int], pack: int) -> str:
    return _SHADES[packs.index(pack) % len(_SHADES)]


def _panel(axis, rows: list[dict[str, Any]], packs: list[int]) -> None:
    orderings = list(dict.fromkeys(row["ordering"] for row in rows))
    wide = 0.84 / len(packs)
    for row in rows:
        x = orderings.index(row["ordering"]) + (packs.index(row["pack"]) - (len(packs) - 1) / 2) * wide
        value = 100 * row["visit_hit_rate"]
        axis.bar(x, value, wide, color=_shade(packs, row["pack"]), edgecolor="#333333", linewidth=0.4)
        if math.isfinite(row["low"]):
            axis.plot([x, x], [100 * row["low"], 100 * row["high"]], color="#000000", linewidth=0.6)
    axis.set_xticks(range(len(orderings)), [_NAMES[name] for name in orderings])
    axis.set_xlim(-0.6, len(orderings) - 0.4)
    axis.grid(False, axis="x")
    axis.tick_params(axis="x", length=0)
