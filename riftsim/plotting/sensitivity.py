"""How much throughput and P99 change with each setting around a default (RiftANN, figure 14a to 14c)."""

import collections
import math
from typing import Any

import numpy as np

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, parameter_name
from riftsim.results.intervals import runs_interval
from riftsim.results.store import SEED_KEYS, Run, RunSet

_MEASURES = {"qps": "QPS", "latency_p99_us": "1 / P99", "recall": "Recall"}


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw throughput and inverse P99 relative to the default, one panel per swept number, higher is better.

    The default of a setting is its most frequent value. A panel holds the runs in which every other setting has its
    default. Runs are compared with the default run of the same seeds; several seeds give the mean and its 95 % interval
    (Student's t).
    """
    runs = [run for run in runset if not names or any(run.matches(of) for of in names.values())]
    swept = [key for key in RunSet(runs).swept if key not in SEED_KEYS]
    defaults = {key: _default([run.parameters.get(key) for run in runs]) for key in swept}
    rows, used = [], {}
    for key in swept:
        numbers = {run.parameters.get(key) for run in runs}
        if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in numbers):
            continue
        panel = [run for run in runs if all(run.parameters.get(k) == v for k, v in defaults.items() if k != key)]
        found = _rows(key, panel, defaults[key])
        if len(found) > 1:
            rows += found
            used |= {run.path: run for run in panel}
    return Drawing("sensitivity", lambda: _render(rows, defaults), rows, list(used.values()))


def _default(values: list[Any]) -> Any:
    """The most frequent value; of equally frequent numbers the middle one."""
    counts = collections.Counter(map(repr, values))
    most = max(counts.values())
    frequent = list(dict.fromkeys(value for value in values if counts[repr(value)] == most))
    if all(isinstance(value, int | float) for value in frequent):
        frequent.sort()
    return frequent[(len(frequent) - 1) // 2]


def _rows(key: str, runs: list[Run], default: Any) -> list[dict[str, Any]]:
    of_seed: dict[tuple, dict[Any, Run]] = {}
    for run in runs:
        seeds = tuple(run.parameters.get(seed) for seed in SEED_KEYS)
        of_seed.setdefault(seeds, {})[run.parameters[key]] = run
    rows = []
    for value in sorted({run.parameters[key] for run in runs}):
        pairs = [(own[value], own[default]) for own in of_seed.values() if value in own and default in own]
        if not pairs:
            continue
        row: dict[str, Any] = {"setting": key, "value": value, "default": value == default, "seeds": len(pairs)}
        for name in _MEASURES:
            relative = np.array([_relative(name, run, reference) for run, reference in pairs])
            low, high = runs_interval(relative)
            row |= {f"{name}_relative": float(relative.mean()), f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    return rows


def _relative(name: str, run: Run, reference: Run) -> float:
    """Of a measure for which higher is better: latencies are turned over."""
    value, base = run.metrics([name])[name], reference.metrics([name])[name]
    over, under = (base, value) if name.startswith("latency") else (value, base)
    return over / under if under else math.nan


def _render(rows: list[dict[str, Any]], defaults: dict[str, Any]):
    keys = list(dict.fromkeys(row["setting"] for row in rows))
    columns = max(1, min(3, len(keys)))
    width = style.COLUMN_IN if columns == 1 else style.PAGE_IN
    lines = max(1, math.ceil(len(keys) / columns))
    figure, axes = style.new_panels(lines, columns, width, 1.6, legend_rows=1, share_x=False)
    if not keys:
        style.say_nothing_to_draw(axes[0], "no number is swept")
        return figure
    handles = []
    for position, (panel, key) in enumerate(zip(axes, keys, strict=False)):
        own = [row for row in rows if row["setting"] == key]
        handles = [_line(panel, own, name, number) for number, name in enumerate(("qps", "latency_p99_us"))]
        panel.axvline(defaults[key], color="#888888", linewidth=0.8, linestyle=":")
        panel.axhline(1.0, color="#888888", linewidth=0.6)
        panel.set_xlabel(parameter_name(key))
        if position % columns == 0:
            panel.set_ylabel("Relative to the default")
        style.choose_scale(panel.xaxis, [row["value"] for row in own])
        low, high = panel.get_ylim()
        panel.set_ylim(min(low, 0.95), max(high, 1.05))
    for panel in axes[len(keys) :]:
        panel.set_axis_off()
    labels = ["QPS", "1 / P99"]
    if all(row["seeds"] > 1 for row in rows):
        labels = [f"{label} (95 % interval over {rows[0]['seeds']} seeds)" for label in labels]
    style.add_legend(figure, handles, labels, style.legend_columns(labels, width))
    return figure


def _line(panel, rows: list[dict[str, Any]], name: str, number: int):
    look = style.numbered_look(number)
    x = [row["value"] for row in rows]
    y = np.array([row[f"{name}_relative"] for row in rows])
    bounds = np.array([[row[f"{name}_low"], row[f"{name}_high"]] for row in rows]).T
    spread = np.nan_to_num(np.abs(bounds - y))
    return panel.errorbar(
        x, y, yerr=spread, color=look.colour, marker=look.marker, linestyle=look.line, capsize=2, elinewidth=0.8
    )
