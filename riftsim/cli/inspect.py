"""Commands that look into single queries: trace, critical-path."""

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from riftsim.cli.experiment import add_data_dir, add_json, count, positive, print_figures
from riftsim.cli.terminal import Column, number, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from riftsim.results.store import Run

_TRACED_FOR_PATHS = 32
_PATH_COLUMNS = (
    ("critical_us", "critical us", 1, 2),
    ("share", "%", 100, 1),
    ("gate_closed_us", "gate closed us", 1, 2),
    ("if_free_us", "us if free", 1, 2),
    ("speed_up", "speed-up", 1, 3),
    ("rerun_us", "rerun us", 1, 2),
    ("rerun_speed_up", "speed-up", 1, 3),
    ("rerun_recall", "recall", 1, 4),
)
"""Column of the table, heading, factor and digits."""


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the commands of this module."""
    trace = commands.add_parser("trace", help="write the timeline of one query: for Perfetto, and as a figure")
    _add_source(trace)
    _add_query(trace)
    trace.set_defaults(command=_trace)

    paths = commands.add_parser("critical-path", help="say which resource each microsecond of a latency waited for")
    _add_source(paths)
    _add_query(paths)
    paths.add_argument(
        "--queries",
        metavar="N",
        type=positive,
        default=_TRACED_FOR_PATHS,
        help=f"take the first N queries together (default: {_TRACED_FOR_PATHS})",
    )
    paths.add_argument("--rerun", action="store_true", help="check the estimate: simulate with each resource free")
    add_json(paths)
    paths.set_defaults(command=_critical_path)


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="RUN|FILE", help="directory of a run, or an experiment file with one point")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="set a key of an experiment FILE; repeatable"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, default=None, help="folder of what is written")
    add_data_dir(parser)


def _add_query(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--query", metavar="N", type=count, default=None, help="the N-th measured query, from 0")
    chosen.add_argument("--slowest", action="store_true", help="the slowest query")


def _run_of(options: argparse.Namespace) -> "Run":
    from riftsim.experiments.progress import reporter_for
    from riftsim.experiments.retrace import run_of

    return run_of(options.source, options.set, data_dir=options.data_dir, reporter=reporter_for(sys.stderr))


def _traced(run: "Run", rows: "Sequence[int]", options: argparse.Namespace) -> "Run":
    from riftsim.experiments.progress import reporter_for
    from riftsim.experiments.retrace import traced

    return traced(run, rows, data_dir=options.data_dir, reporter=reporter_for(sys.stderr))


def _trace(options: argparse.Namespace) -> int:
    from riftsim.experiments.retrace import chosen_query
    from riftsim.plotting.output import write_figure
    from riftsim.plotting.timeline import draw_timeline
    from riftsim.results.chrome_trace import write_chrome_trace
    from riftsim.units import PS_PER_US

    run = _run_of(options)
    row = chosen_query(run, options.query, options.slowest)
    again = _traced(run, [row], options)
    one = again.trace.of(row)
    facts = run.queries.iloc[row]
    about = {"experiment": run.experiment, "run": run.name, "row": row, "evaluated query": int(facts["query"])}
    folder = options.out or again.path.parent / "figures"
    file = folder / f"{run.name}-query-{row}.json"
    write_chrome_trace(one, about, file)
    figures = write_figure(draw_timeline(again, one), folder / f"{run.name}-query-{row}")
    latency_us = (facts["end_ps"] - facts["arrival_ps"]) / PS_PER_US
    counts = f"{len(one.reads)} reads, {len(one.tasks)} tasks"
    print(f"query {row} of {run.experiment}/{run.name}: {number(latency_us)} us, {counts}")
    print(f"trace: {file} (open it in ui.perfetto.dev or chrome://tracing)")
    print_figures(figures)
    return 0


def _critical_path(options: argparse.Namespace) -> int:
    from riftsim.experiments.retrace import chosen_query
    from riftsim.plotting.critical_path import draw_critical_path
    from riftsim.plotting.output import write_figure
    from riftsim.results.critical_path import summary

    run = _run_of(options)
    if options.query is not None or options.slowest:
        rows = [chosen_query(run, options.query, options.slowest)]
        name = f"query {rows[0]}"
    else:
        rows = range(min(options.queries, len(run.queries)))
        name = f"mean of {len(rows)} queries"
    chosen_query(run, rows[-1])
    again = _traced(run, rows, options)
    table = summary(again.trace)
    if options.rerun:
        table = _with_reruns(run, table, list(rows), options.data_dir)
    if options.json:
        print_json(table.to_dict("records"))
        return 0
    shown = [(name, *layout) for name, *layout in _PATH_COLUMNS if name in table]
    cells = [
        [row["resource"], *(number(factor * row[name], digits) for name, _, factor, digits in shown)]
        for row in table.to_dict("records")
    ]
    columns = [Column("resource"), *(Column(title, numeric=True) for _, title, _, _ in shown)]
    print_table(columns, cells, title=f"critical path of {run.experiment}/{run.name}, {name}")
    folder = options.out or again.path.parent / "figures"
    print_figures(write_figure(draw_critical_path(again, table), folder / f"{run.name}-critical-path"))
    return 0


def _with_reruns(run: "Run", table: "pd.DataFrame", rows: list[int], data_dir: Path | None) -> "pd.DataFrame":
    """Add what the same queries take, and find, when each resource is really free."""
    from riftsim.config.sweep import load_experiment
    from riftsim.experiments.what_if import run_with_free
    from riftsim.results.recorder import CONFIG_FILE
    from riftsim.units import PS_PER_US

    config = load_experiment(run.path / CONFIG_FILE).points[0].config
    measured_us = (run.queries["end_ps"] - run.queries["arrival_ps"])[rows].mean() / PS_PER_US
    columns: dict[str, list[float]] = {"rerun_us": [], "rerun_speed_up": [], "rerun_recall": []}
    for resource in table["resource"]:
        print(f"running with {resource} free", file=sys.stderr)
        queries = run_with_free(config, resource, data_dir=data_dir).queries
        free_us = (queries["end_ps"] - queries["arrival_ps"])[rows].mean() / PS_PER_US
        columns["rerun_us"].append(free_us)
        columns["rerun_speed_up"].append(measured_us / free_us if free_us else math.inf)
        columns["rerun_recall"].append(queries["recall"][rows].mean())
    return table.assign(**columns)
