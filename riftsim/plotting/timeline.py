"""One query over time: its main thread, reads in flight, workers, controller, and the critical path."""

import math
from typing import Any

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.results.critical_path import (
    ADMISSION,
    COMPUTE,
    CONTROLLER,
    CORE,
    GATE,
    MEMORY_NODE,
    NIC,
    PCIE,
    POLLING,
    POSTING,
    QUEUE_PAIR,
    READ_STAGES,
    TASKS,
    WIRE,
    WORKER_QUEUE,
    QueryPath,
    critical_path,
)
from riftsim.results.store import Run
from riftsim.results.timeline import lanes, main_thread
from riftsim.results.trace import READ_TIMES, Trace
from riftsim.units import PS_PER_US

LOOKS = {
    "start": ("set-up, tables", "#004D80", ""),
    "evaluation": ("computing", *style.PART_LOOKS["evaluation"]),
    COMPUTE: ("computing", *style.PART_LOOKS["evaluation"]),
    "posting": ("posting", *style.PART_LOOKS["posting"]),
    POSTING: ("posting", *style.PART_LOOKS["posting"]),
    "polling": ("polling", *style.PART_LOOKS["polling"]),
    POLLING: ("polling", *style.PART_LOOKS["polling"]),
    "control": ("controller", "#000000", ""),
    CONTROLLER: ("controller", "#000000", ""),
    "queue": ("admission queue", *style.PART_LOOKS["queue"]),
    ADMISSION: ("admission queue", *style.PART_LOOKS["queue"]),
    "wait": ("waits for reads", *style.PART_LOOKS["wait"]),
    "gate": ("gate closed", *style.PART_LOOKS["gate"]),
    GATE: ("gate closed", *style.PART_LOOKS["gate"]),
    "drain": ("drain", *style.PART_LOOKS["drain"]),
    CORE: ("waits for a core", "#FFFFFF", ""),
    QUEUE_PAIR: ("queue pair", "#882255", "...."),
    NIC: ("NIC processing", "#CC79A7", ""),
    PCIE: ("PCIe", "#E0B89A", ""),
    WIRE: ("wire", "#F0E442", ""),
    MEMORY_NODE: ("memory node", "#999933", "----"),
    WORKER_QUEUE: ("worker queue", "#DDDDDD", "xxxx"),
    TASKS: ("evaluation task", "#009E73", ""),
}
"""Label, colour and hatch of the kinds of intervals and of the resources of a critical path."""

_ROW_IN = 0.11
_EDGE = {"edgecolor": "#333333", "linewidth": 0.2}


def draw_timeline(run: Run, one: Trace) -> Drawing:
    """Draw what happened to one query.

    Parameters
    ----------
    run : Run
        Where it was measured.
    one : Trace
        Of the query (``Trace.of``).
    """
    origin = int(one.queries.iloc[0].arrival_ps)
    rows = [
        {
            "track": track,
            "lane": lane,
            "kind": kind,
            "from_us": (int(from_ps) - origin) / PS_PER_US,
            "until_us": (int(until_ps) - origin) / PS_PER_US,
        }
        for track, lane, kind, from_ps, until_ps in _bars(one)
    ]
    steps = [
        ((int(point.at_ps) - origin) / PS_PER_US, point.window, point.allowance) for point in one.control.itertuples()
    ]
    return Drawing("timeline", lambda: _render(rows, steps), rows, [run])


def _bars(one: Trace) -> list[tuple[str, int, str, int, int]]:
    bars = [("Main thread", 0, row.kind, row.from_ps, row.until_ps) for row in main_thread(one).itertuples()]
    bars += [("Critical path", 0, *piece) for piece in critical_path(QueryPath(one))]
    reads = one.reads.sort_values("rung_ps")
    for lane, times in zip(
        lanes(reads["rung_ps"].to_numpy(), reads["visible_ps"].to_numpy()),
        reads[list(READ_TIMES[:-1])].to_numpy(),
        strict=True,
    ):
        before = times[0]
        for resource, at_ps in zip(READ_STAGES, times[1:], strict=True):
            if at_ps > before:
                bars.append(("Reads in flight", int(lane), resource, before, at_ps))
                before = at_ps
    tasks = one.tasks[~one.tasks["by_main"].astype(bool)].sort_values("queued_ps")
    for lane, task in zip(
        lanes(tasks["queued_ps"].to_numpy(), tasks["ended_ps"].to_numpy()), tasks.itertuples(), strict=True
    ):
        bars.append(("Workers", int(lane), WORKER_QUEUE, task.queued_ps, task.started_ps))
        bars.append(("Workers", int(lane), TASKS, task.started_ps, task.ended_ps))
    return [bar for bar in bars if bar[4] > bar[3]]


def _render(rows: list[dict[str, Any]], steps: list[tuple[float, int, int]]):
    tracks = [track for track in ("Main thread", "Critical path", "Reads in flight", "Workers") if _of(rows, track)]
    heights = [
        3 if track in ("Main thread", "Critical path") else 1 + max(row["lane"] for row in _of(rows, track))
        for track in tracks
    ]
    if steps:
        heights.append(5)
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    looks = {LOOKS[kind][0]: LOOKS[kind][1:] for kind in kinds}
    columns = style.legend_columns(list(looks), style.PAGE_IN)
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    legend_rows = math.ceil(len(looks) / columns)
    figure = Figure(
        figsize=(style.PAGE_IN, _ROW_IN * sum(heights) + 0.12 * len(heights) + 0.5 + 0.15 * legend_rows),
        layout="constrained",
    )
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.02)
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights).ravel()
    for track, panel in zip(tracks, panels, strict=False):
        for kind in kinds:
            corners = [_corners(row) for row in _of(rows, track) if row["kind"] == kind]
            _, colour, hatch = LOOKS[kind]
            panel.add_collection(PolyCollection(corners, facecolor=colour, hatch=hatch, **_EDGE))
        panel.set_ylim(-0.5, max(row["lane"] for row in _of(rows, track)) + 0.5)
        panel.set_ylabel(track, rotation=0, ha="right", va="center", fontsize=style.SMALL_PT)
        panel.set_yticks([])
        panel.grid(False, axis="y")
    if steps:
        _controller(panels[-1], steps, max(row["until_us"] for row in rows))
    panels[-1].set_xlabel("Time since arrival (µs)")
    panels[-1].set_xlim(0, max(row["until_us"] for row in rows))
    handles = [Patch(facecolor=colour, hatch=hatch, **_EDGE) for colour, hatch in looks.values()]
    style.add_legend(figure, handles, list(looks), columns)
    return figure


def _controller(panel, steps: list[tuple[float, int, int]], end_us: float) -> None:
    """Draw the set-points as steps."""
    times = [time for time, _, _ in steps] + [end_us]
    for name, at, number in (("window $W_R$", 1, 0), ("allowance $T_q$", 2, 1)):
        values = [step[at] for step in steps]
        look = style.numbered_look(number)
        panel.step(times, [*values, values[-1]], where="post", color=look.colour, linestyle=look.line, label=name)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("Controller", rotation=0, ha="right", va="center", fontsize=style.SMALL_PT)
    panel.legend(loc="upper right", ncols=2, fontsize=style.SMALL_PT)
    style.choose_few_ticks(panel.yaxis)


def _corners(row: dict[str, Any]) -> list[tuple[float, float]]:
    left, right, low, high = row["from_us"], row["until_us"], row["lane"] - 0.45, row["lane"] + 0.45
    return [(left, low), (right, low), (right, high), (left, high)]


def _of(rows: list[dict[str, Any]], track: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["track"] == track]
