"""A compute node over time: defer ratio, busy workers, window, queue, and P99 in sliding windows (RiftANN, figure
14d to 14f)."""

import math
from typing import Any

import numpy as np

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names, Point, Series, at_matched_recall, series_of
from riftsim.results.metrics import latency_us, quantile
from riftsim.results.store import Run, RunSet
from riftsim.units import PS_PER_MS

_STEPS = 60
_LEAST_QUERIES = 100  # in a window whose 99th percentile is shown
_STATES = {
    "defer_ratio": "Defer ratio r",
    "busy_workers": "Busy workers",
    "window": "Window $W_R$",
    "queries_waiting": "Queue length",
}


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw the state of the compute nodes over time, one curve per series; a burst of load is shaded.

    Samples are means over active queries, averaged over compute nodes, runs and a sixtieth of the span. The latency
    percentile is over the queries that ended within a tenth of the span around a moment, and is left out where they are
    fewer than 100. Times count from the first measured arrival.
    """
    chosen = [
        (one, point)
        for one, point in at_matched_recall(series_of(runset, names))
        if all(run.windows is not None and len(latency_us(run.queries)) for run in point.runs)
    ]
    rows = [row for one, point in chosen for row in _rows(one, point)]
    runs = [run for _, point in chosen for run in point.runs]
    return Drawing("time-series", lambda: _render(chosen, rows, runs), rows, runs)


def _rows(series: Series, point: Point) -> list[dict[str, Any]]:
    span_ps = max(run.queries["end_ps"].max() - run.queries["arrival_ps"].min() for run in point.runs)
    edges = np.linspace(0, span_ps, _STEPS + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    states = {name: _binned(point.runs, name, edges) for name in _STATES}
    ends, latencies = (np.concatenate(values) for values in zip(*map(_ends, point.runs), strict=True))
    order = np.argsort(ends)
    ends, latencies = ends[order], latencies[order]
    p99 = []
    for centre in centres:
        first, last = np.searchsorted(ends, (centre - span_ps / 20, centre + span_ps / 20))
        p99.append(quantile(latencies[first:last], 0.99) if last - first >= _LEAST_QUERIES else math.nan)
    return [
        {
            "series": series.label,
            "L": point.L,
            "time_ms": float(centre / PS_PER_MS),
            **{name: float(values[step]) for name, values in states.items()},
            "latency_p99_us": p99[step],
        }
        for step, centre in enumerate(centres)
    ]


def _ends(run: Run) -> tuple[np.ndarray, np.ndarray]:
    return (run.queries["end_ps"] - run.queries["arrival_ps"].min()).to_numpy(), latency_us(run.queries)


def _binned(runs: tuple[Run, ...], name: str, edges: np.ndarray) -> np.ndarray:
    """Means of a sampled state between edges; nan where there is no sample."""
    total, count = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
    for run in runs:
        time_ps = (run.windows["time_ps"] - run.queries["arrival_ps"].min()).to_numpy()
        values = run.windows[name].to_numpy().astype(np.float64)
        known = np.isfinite(values)
        total += np.histogram(time_ps[known], edges, weights=values[known])[0]
        count += np.histogram(time_ps[known], edges)[0]
    with np.errstate(invalid="ignore"):
        return total / count


def _render(chosen: list[tuple[Series, Point]], rows: list[dict[str, Any]], runs: list[Run]):
    labels = [one.label for one, _ in chosen]
    columns = style.legend_columns(labels) if labels else 1
    panels = {**_STATES, "latency_p99_us": ""}
    figure, axes = style.new_panels(len(panels), 1, style.COLUMN_IN, 0.85, legend_rows=math.ceil(len(labels) / columns))
    known = [row["latency_p99_us"] for row in rows if math.isfinite(row["latency_p99_us"])]
    factor, unit = style.time_unit(max(known, default=0.0))
    panels["latency_p99_us"] = f"P99 ({unit})"
    axes[-1].set_xlabel("Time (ms)")
    if not chosen:
        for panel in axes:
            style.say_nothing_to_draw(panel, "")
        style.say_nothing_to_draw(axes[0], "no run has samples (driver.sample_us)")
        return figure
    burst = _burst(runs)
    handles = []
    for panel, (name, label) in zip(axes, panels.items(), strict=True):
        panel.set_ylabel(label, fontsize=style.SMALL_PT)
        if burst:
            panel.axvspan(*burst, color="#EEEEEE", linewidth=0)
        scale = factor if name == "latency_p99_us" else 1.0
        lines = []
        for one, _ in chosen:
            own = [row for row in rows if row["series"] == one.label]
            lines += panel.plot(
                [row["time_ms"] for row in own],
                [scale * row[name] for row in own],
                color=one.look.colour,
                linestyle=one.look.line,
            )
        handles = lines
        highest = max((scale * row[name] for row in rows if math.isfinite(row[name])), default=0.0)
        if name != "latency_p99_us":  # whose changes are small beside the latency itself
            panel.set_ylim(0, 1.12 * highest or 1)
        style.choose_few_ticks(panel.yaxis)
    axes[-1].set_xlim(0, max(row["time_ms"] for row in rows))
    figure.align_ylabels(axes)
    style.add_legend(figure, handles, labels, columns)
    return figure


def _burst(runs: list[Run]) -> tuple[float, float] | None:
    """When the burst of the first run that had one began and ended, in ms from its first measured arrival."""
    for run in runs:
        if "burst" in run.facts:
            begin_ps = run.queries["arrival_ps"].min()
            return tuple((run.facts["burst"][end] - begin_ps) / PS_PER_MS for end in ("start_ps", "end_ps"))
    return None
