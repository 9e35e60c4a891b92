"""Recall against latency of gate policies over their settings (RiftANN, section 4.6)."""

import math
from typing import Any

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, Point, Series, parameter_name, recall_label, series_of
from riftsim.results.store import Run, RunSet

_GATE = "system.gate."
# Where the settings of each curve stand, in points, so that neighbouring curves keep theirs apart.
_OFFSETS = ((4, 3, "left"), (-4, -8, "right"), (4, -8, "left"), (2, 5, "left"), (-4, 3, "right"))
_POLICY_NAMES = {
    "wait-all": "WaitAll",
    "u-only": "U-only",
    "rho-only": "ρ-only",
    "impact-aware": "Impact-aware",
    "ungated": "Ungated",
    "oracle": "Oracle",
}


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw latency over recall, one mark per setting of a gate; settings of one policy are joined.

    A mark is hollow if another setting, of whichever policy, at the same candidate list is nowhere worse in mean recall
    and mean latency and somewhere better. The runs are paired, so that ``riftsim.results.compare`` says whether such a
    difference is resolved.
    """
    curves = _curves(series_of(runset, names, apart_from=(_GATE,)), bool(names))
    rows = [row for label, points in curves for row in _rows(label, points)]
    drawable = [row for row in rows if math.isfinite(row["recall"]) and math.isfinite(row["latency_mean_us"])]
    for row in rows:
        row["dominated"] = row in drawable and any(_betters(other, row) for other in drawable)
    runs = [run for _, points in curves for _, point in points for run in point.runs]
    return Drawing("policies", lambda: _render(rows, drawable, recall_label(runset)), rows, runs)


def _curves(series: list[Series], named: bool) -> list[tuple[str, list[tuple[str, Point]]]]:
    """Label of each curve, and its points in the order of the setting that varies, each with its label."""
    groups: dict[tuple, list[Run]] = {}
    for one in series:
        for point in one.points:
            for run in point.runs:
                kind = run.parameters.get(f"{_GATE}kind", run.parameters.get("system.gate", ""))
                if kind == "plugin":
                    kind = run.parameters.get(f"{_GATE}name", kind)
                groups.setdefault((one.label, kind, point.L), []).append(run)
    several_labels, several_sizes = (len({key[at] for key in groups}) > 1 for at in (0, 2))
    curves = []
    for (label, kind, L), runs in groups.items():
        keys = sorted({key for run in runs for key in run.parameters if key.startswith(_GATE)})
        varying = [key for key in keys if len({str(run.parameters.get(key)) for run in runs}) > 1]
        settings: dict[tuple, list[Run]] = {}
        for run in runs:
            settings.setdefault(tuple(run.parameters.get(key) for key in varying), []).append(run)
        name = label if named else _POLICY_NAMES.get(kind, kind)
        name += f" ({', '.join(map(parameter_name, varying))})" if varying else ""
        if several_labels and not named:
            name += f", {label}"
        if several_sizes:
            name += f", L={L}"
        ordered = sorted(settings.items(), key=lambda item: [(value is None, value) for value in item[0]])
        points = [(", ".join(f"{value:g}" for value in values), Point(L, tuple(own))) for values, own in ordered]
        curves.append((list(_POLICY_NAMES).index(kind) if kind in _POLICY_NAMES else len(_POLICY_NAMES), name, points))
    if not named:
        curves.sort(key=lambda curve: curve[0])
    return [(name, points) for _, name, points in curves]


def _rows(label: str, points: list[tuple[str, Point]]) -> list[dict[str, Any]]:
    rows = []
    for setting, point in points:
        row: dict[str, Any] = {"policy": label, "setting": setting, "L": point.L}
        for name in ("recall", "latency_mean_us"):
            low, high = point.interval(name)
            row |= {name: point.value(name), f"{name}_low": low, f"{name}_high": high}
        rows.append({**row, "qps": point.value("qps")})
    return rows


def _betters(other: dict[str, Any], row: dict[str, Any]) -> bool:
    """Pareto dominance at the same candidate list: nowhere worse and somewhere better."""
    ahead = (other["recall"] - row["recall"], row["latency_mean_us"] - other["latency_mean_us"])
    return other["L"] == row["L"] and min(ahead) >= 0 and max(ahead) > 0


def _render(rows: list[dict[str, Any]], drawable: list[dict[str, Any]], label: str):
    labels = list(dict.fromkeys(row["policy"] for row in drawable))
    width = style.figure_width(labels)
    columns = style.legend_columns(labels, width)
    figure, axes = style.new_figure(width, 1.2 * style.AXES_HEIGHT_IN, legend_rows=math.ceil(len(labels) / columns))
    factor, unit = style.time_unit(max((row["latency_mean_us"] for row in drawable), default=0.0))
    axes.set_xlabel(label)
    axes.set_ylabel(f"Mean latency ({unit})")
    if not drawable:
        style.say_nothing_to_draw(axes, "no run has both a recall and a clock" if rows else "no runs")
        return figure
    style.choose_scale(axes.xaxis, [])
    style.choose_scale(axes.yaxis, [factor * row["latency_mean_us"] for row in drawable])
    handles, notes = [], []
    for number, policy in enumerate(labels):
        look = style.numbered_look(number)
        own = [row for row in drawable if row["policy"] == policy]
        x, y = [row["recall"] for row in own], [factor * row["latency_mean_us"] for row in own]
        axes.plot(x, y, color=look.colour, linestyle=look.line, alpha=0.7)
        for row, px, py in zip(own, x, y, strict=True):
            fill = "white" if row["dominated"] else look.colour
            axes.plot(px, py, marker=look.marker, mfc=fill, mec=look.colour, linestyle="none")
            note = axes.annotate(
                row["setting"],
                (px, py),
                xytext=_OFFSETS[number % len(_OFFSETS)][:2],
                textcoords="offset points",
                ha=_OFFSETS[number % len(_OFFSETS)][2],
                fontsize=style.SMALL_PT - 1.5,
                color=look.colour,
            )
            notes.append(note)
        handles.append(style.handle(look))
    axes.margins(0.08)
    axes.set_xlim(right=min(axes.get_xlim()[1], 1.002))
    style.hide_overlapping(figure, notes)
    style.add_legend(figure, handles, labels, columns)
    return figure
