"""Commands that look into single queries: trace, critical-path, compare."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from riftsim.cli.experiment import add_data_dir, add_json, print_figures
from riftsim.cli.terminal import Column, number, print_json, print_table

if TYPE_CHECKING:
    from riftsim.results.store import Run

_TRACED_FOR_PATHS = 32


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
        type=int,
        default=_TRACED_FOR_PATHS,
        help=f"take the first N queries together (default: {_TRACED_FOR_PATHS})",
    )
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
    chosen.add_argument("--query", metavar="N", type=int, default=None, help="the N-th measured query, from 0")
    chosen.add_argument("--slowest", action="store_true", help="the slowest query")


def _run_of(options: argparse.Namespace) -> "Run":
    from riftsim.experiments.progress import reporter_for
    from riftsim.experiments.retrace import run_of

    return run_of(options.source, options.set, data_dir=options.data_dir, reporter=reporter_for(sys.stderr))


def _trace(options: argparse.Namespace) -> int:
    from riftsim.experiments.retrace import chosen_query, traced
    from riftsim.plotting.output import write_figure
    from riftsim.plotting.timeline import draw_timeline
    from riftsim.results.chrome_trace import write_chrome_trace
    from riftsim.units import PS_PER_US

    run = _run_of(options)
    row = chosen_query(run, options.query, options.slowest)
    again = traced(run, [row], data_dir=options.data_dir)
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
    from riftsim.experiments.retrace import chosen_query, traced
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
    again = traced(run, rows, data_dir=options.data_dir)
    table = summary(again.trace)
    if options.json:
        print_json(table.to_dict("records"))
        return 0
    columns = [
        Column("resource"),
        *(
            Column(title, numeric=True)
            for title in ("critical us", "share", "gate closed us", "us if free", "speed-up")
        ),
    ]
    cells = [
        [
            row.resource,
            number(row.critical_us, 2),
            f"{100 * row.share:.1f} %",
            number(row.gate_closed_us, 2),
            number(row.if_free_us, 2),
            number(row.speed_up, 3),
        ]
        for row in table.itertuples()
    ]
    print_table(columns, cells, title=f"critical path of {run.experiment}/{run.name}, {name}")
    folder = options.out or again.path.parent / "figures"
    print_figures(write_figure(draw_critical_path(again, table), folder / f"{run.name}-critical-path"))
    return 0
