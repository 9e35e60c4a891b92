"""Commands on an experiment file: validate, build, run, plot."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from riftsim.cli.terminal import Column, number, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from riftsim.config.schema import PlotConfig
    from riftsim.config.sweep import Experiment
    from riftsim.experiments.point import Outcome
    from riftsim.experiments.runner import Report
    from riftsim.results.store import RunSet

_SUMMARY = (
    ("recall", "recall@{k}", 4),
    ("latency_mean_us", "mean us", 1),
    ("latency_p50_us", "P50 us", 1),
    ("latency_p99_us", "P99 us", 1),
    ("qps", "QPS", 0),
    ("reads", "reads", 1),
    ("kib_read", "KiB/query", 1),
)
"""Metric, heading and digits of the columns of the summary."""

_IN_FLIGHT_TOLERANCE = 0.1


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the commands of this module."""
    validate = commands.add_parser("validate", help="check an experiment file and list its points")
    add_experiment(validate)
    add_data_dir(validate)
    add_json(validate)
    validate.set_defaults(command=_validate)

    build = commands.add_parser("build", help="make graph and codes into the cache and report on them")
    add_experiment(build)
    add_data_dir(build)
    add_json(build)
    build.add_argument(
        "--disk-index",
        metavar="PREFIX",
        type=Path,
        help="also write PREFIX_disk.index and what DiskANN's tool needs beside it",
    )
    build.set_defaults(command=_build)

    run = commands.add_parser(
        "run",
        help="run the points of an experiment that are not complete yet",
        epilog="Table and figures show the points of this call, those that were complete included. "
        "After another --set, `riftsim plot DIR` draws all that the results folder DIR holds.",
    )
    add_experiment(run)
    run.add_argument("--out", metavar="DIR", type=Path, default=None, help="results folder (default: results/runs)")
    run.add_argument("--jobs", metavar="N", type=positive, default=1, help="processes (default: 1)")
    run.add_argument("--dask", metavar="ADDRESS", help="run the points on the Dask cluster of this scheduler instead")
    run.add_argument(
        "--retries", metavar="N", type=count, default=0, help="try points that failed N more times (default: 0)"
    )
    add_data_dir(run)
    add_json(run)
    run.add_argument("--no-plots", action="store_true", help="make no figures")
    run.set_defaults(command=_run)

    plot = commands.add_parser("plot", help="make figures from results")
    plot.add_argument("source", metavar="DIR|FILE", help="a results folder, or an experiment file that has been run")
    plot.add_argument("--out", metavar="DIR", type=Path, default=None, help="folder of the figures")
    plot.add_argument("--results", metavar="DIR", type=Path, default=None, help="results folder of an experiment FILE")
    plot.add_argument(
        "--kind", action="append", default=[], help="kind of figure; repeatable (default: those of the experiment)"
    )
    plot.set_defaults(command=_plot)


def add_experiment(parser: argparse.ArgumentParser) -> None:
    """Add the experiment file and its settings to a command."""
    parser.add_argument("file", metavar="FILE", help="experiment file, or name of a bundled one (quickstart)")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="set a key, e.g. search.L=40; repeatable"
    )


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """Add the folder of data sets."""
    parser.add_argument(
        "--data-dir", metavar="DIR", type=folder, default=None, help="folder of data sets (default: $RIFTSIM_DATA_DIR)"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the choice of JSON in place of tables."""
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else on stdout")


def folder(text: str) -> Path:
    """Read an argument that is a folder to read from."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a folder that is there")
    return Path(text)


def positive(text: str) -> int:
    """Read an argument that counts at least one thing."""
    return _whole_number(text, 1)


def count(text: str) -> int:
    """Read an argument that may be 0."""
    return _whole_number(text, 0)


def _whole_number(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number of at least {least}")
    return value


# ---------------------------------------------------------------- validate and build


def _validate(options: argparse.Namespace) -> int:
    from riftsim.config.canonical import dump_config, to_plain
    from riftsim.config.sweep import load_experiment

    experiment = load_experiment(options.file, options.set)
    _require_files(experiment, options.data_dir)
    if options.json:
        points = [
            {"slug": point.slug, "hash": point.hash, "config": to_plain(point.config)} for point in experiment.points
        ]
        print_json({"name": experiment.name, "source": experiment.source, "points": points})
        return 0
    print(f"{experiment.source}: sound; {len(experiment.points)} point(s)")
    for point in experiment.points:
        print(f"  {point.slug}")
    print("\nFirst point, with every default:\n")
    print(dump_config(experiment.points[0].config), end="")
    return 0


def _require_files(experiment: "Experiment", data_dir: Path | None) -> None:
    """Refuse a data-set file or a profile that cannot be read; the vectors need not be there."""
    from riftsim.rdma.profiles import load_profile
    from riftsim.storage.profile import load_ssd_profile
    from riftsim.workload.locate import find_spec
    from riftsim.workload.spec import read_spec

    for name in dict.fromkeys(point.config.dataset.name for point in experiment.points):
        read_spec(find_spec(name, data_dir))
    for name in dict.fromkeys(point.config.hardware for point in experiment.points):
        load_profile(name)
    drives = (getattr(point.config.system, "drive", None) for point in experiment.points)
    for name in dict.fromkeys(drive for drive in drives if drive is not None):
        load_ssd_profile(name)


def _build(options: argparse.Namespace) -> int:
    from riftsim.artifacts import ArtifactStore
    from riftsim.assembly import prepare
    from riftsim.config.sweep import load_experiment
    from riftsim.errors import ConfigError
    from riftsim.experiments.runner import group_by_artifacts

    experiment = load_experiment(options.file, options.set)
    groups = group_by_artifacts(experiment.points)
    written = {}
    if options.disk_index:
        if len(groups) > 1:
            found = f"found {len(groups)} pairs of graph and codes in {experiment.source}, expected one"
            raise ConfigError(f"--disk-index {options.disk_index}: {found}: fix what differs with --set")
        written["disk_index"] = options.disk_index
    reports = []
    for group in groups:
        report = prepare(group[0].config, data_dir=options.data_dir, artifacts=ArtifactStore(), **written)
        reports.append({"points": [point.slug for point in group], **report})
        if not options.json:
            print_table([Column("of"), Column("fact"), Column("value", wraps=True)], list(_facts(report)))
    if options.json:
        print_json(reports)
    elif options.disk_index:
        print(f"disk index: {options.disk_index}_disk.index")
    return 0


def _facts(report: dict, owner: str = "") -> list[tuple[str, str, str]]:
    rows = []
    for key, value in report.items():
        if isinstance(value, dict):
            rows += _facts(value, f"{owner}.{key}" if owner else str(key))
        else:
            rows.append((owner, str(key), f"{value:,.3f}" if isinstance(value, float) else str(value)))
    return rows


# ---------------------------------------------------------------- run


def _run(options: argparse.Namespace) -> int:
    from riftsim.config.sweep import load_experiment
    from riftsim.experiments.api import runs_of
    from riftsim.experiments.progress import reporter_for
    from riftsim.experiments.runner import DEFAULT_OUT, run_experiment

    experiment = load_experiment(options.file, options.set)
    _require_files(experiment, options.data_dir)
    report = run_experiment(
        experiment,
        out=options.out or DEFAULT_OUT,
        jobs=options.jobs,
        dask=options.dask,
        retries=options.retries,
        data_dir=options.data_dir,
        reporter=reporter_for(sys.stderr),
    )
    runs = runs_of(report)
    figures = []
    if experiment.config.plots and len(runs) and not (report.interrupted or options.no_plots):
        print(f"drawing {len(experiment.config.plots)} figure(s)", file=sys.stderr)
        figures = _draw(runs, experiment.config.plots, report.folder / "figures")
    if options.json:
        print_json(_as_json(report, runs, figures))
    else:
        _print_summary(report, runs, figures)
    return _conclude(report)


def _as_json(report: "Report", runs: "RunSet", figures: list[Path]) -> dict:
    by_path = {run.path: run for run in runs}
    points = []
    for outcome in report.outcomes:
        run = by_path.get(outcome.path)
        points.append(
            {
                "slug": outcome.point.slug,
                "hash": outcome.point.hash,
                "status": outcome.status,
                "swept": outcome.point.swept,
                "path": outcome.path and str(outcome.path),
                "error": outcome.error,
                "metrics": run.metrics() if run is not None else None,
            }
        )
    return {
        "experiment": report.experiment,
        "results": str(report.folder),
        "interrupted": report.interrupted,
        "points": points,
        "figures": [str(figure) for figure in figures],
    }


def _print_summary(report: "Report", runs: "RunSet", figures: list[Path]) -> None:
    if len(runs):
        slugs = {outcome.path: outcome.point.slug for outcome in report.outcomes}
        k = runs.runs[0].k
        columns = [Column("point"), *(Column(title.format(k=k), numeric=True) for _, title, _ in _SUMMARY)]
        rows = []
        for run in runs:
            values = run.metrics([name for name, _, _ in _SUMMARY])
            rows.append([slugs[run.path], *(number(values[name], digits) for name, _, digits in _SUMMARY)])
        print_table(columns, rows, title=report.experiment)
        _say_what_was_too_short(runs)
        _say_what_python_costs(runs)
        print(f"results: {report.folder}")
    print_figures(figures)


def _say_what_was_too_short(runs: "RunSet") -> None:
    """Warn of closed loops in which throughput and latency disagree with the number of queries in flight."""
    short = []
    for run in runs:
        load, cluster = (run.config.get(block, {}) for block in ("load", "cluster"))
        if load.get("kind") != "closed":
            continue
        expected = load["concurrency"] * cluster.get("compute_nodes", 1)
        found = run.metrics(["in_flight"])["in_flight"]
        if abs(found - expected) > _IN_FLIGHT_TOLERANCE * expected:
            short.append(f"{found:.1f} instead of {expected}")
    if short:
        print(
            f"riftsim: note: throughput times latency gives other numbers of queries in flight than the load keeps "
            f"({short[0]}; {len(short)} point(s)): too few queries for a steady throughput; raise measured_queries",
            file=sys.stderr,
        )


def _say_what_python_costs(runs: "RunSet") -> None:
    """Print beside live figures what of them is the interpreter's and not the network's."""
    costs = [run.facts["python"] for run in runs if "python" in run.facts]
    if costs:
        posting_us, polling_us = (
            sum(cost[f"{part}_ns"] for cost in costs) / max(1, sum(cost["reads"] for cost in costs)) / 1000
            for part in ("posting", "polling")
        )
        print(
            f"riftsim: note: live latencies contain Python: {posting_us:.1f} us to post a read and {polling_us:.1f} us "
            "to take its completion",
            file=sys.stderr,
        )


def _conclude(report: "Report") -> int:
    """Say on stderr what is missing and why; return the exit code."""
    failed = report.with_status("failed")
    for error, alike in _by_error(failed).items():
        first = alike[0]
        others = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        print(f"\nriftsim: error: point {first.point.slug}{others} failed: {error}", file=sys.stderr)
        if first.details:
            print(first.details, file=sys.stderr, end="")
    if report.interrupted:
        kept = len(report.with_status("complete", "skipped"))
        print(
            f"\nriftsim: interrupted: {kept} of {len(report.outcomes)} points are complete and kept in "
            f"{report.folder}; the same command goes on with the rest",
            file=sys.stderr,
        )
        return 130
    if failed:
        print(
            f"\nriftsim: {len(failed)} of {len(report.outcomes)} points failed; the same command tries them again",
            file=sys.stderr,
        )
        return 1
    skipped = len(report.with_status("skipped"))
    if skipped:
        print(f"{skipped} point(s) were complete already; to run them again, remove their folders", file=sys.stderr)
    return 0


def _by_error(failed: "list[Outcome]") -> "dict[str | None, list[Outcome]]":
    """Points that failed, by what they failed of: a missing file is told once, not once per point."""
    causes: dict[str | None, list[Outcome]] = {}
    for outcome in failed:
        causes.setdefault(outcome.error, []).append(outcome)
    return causes


# ---------------------------------------------------------------- plot


def _plot(options: argparse.Namespace) -> int:
    from riftsim.config.sweep import load_experiment
    from riftsim.errors import ResultsError
    from riftsim.experiments.runner import DEFAULT_OUT
    from riftsim.plotting.figures import DEFAULT_PLOTS
    from riftsim.results.store import RunSet, find_run, load_runs

    if Path(options.source).is_dir():
        folder = Path(options.source)
        runs = load_runs(folder)
        plots = runs.runs[0].config.get("plots") if len(runs) else None
    else:
        experiment = load_experiment(options.source)
        root = options.results or DEFAULT_OUT
        folder = root / experiment.name
        found = [find_run(root, experiment.name, point.hash) for point in experiment.points]
        runs = RunSet([run for run in found if run is not None])
        plots = experiment.config.plots
    if not len(runs):
        raise ResultsError(f"{folder}: found no complete run; expected results of `riftsim run`")
    plots = [{"kind": kind} for kind in options.kind] or plots or DEFAULT_PLOTS
    print_figures(_draw(runs, plots, options.out or folder / "figures"))
    return 0


def _draw(runs: "RunSet", plots: "Iterable[PlotConfig | dict]", folder: Path) -> list[Path]:
    from riftsim.plotting.figures import make_figures

    return make_figures(runs, plots, folder)


def print_figures(files: list[Path]) -> None:
    """Name each figure once, with the other files of the same name."""
    for picture in (file for file in files if file.suffix == ".png"):
        others = [file.name.removeprefix(picture.stem) for file in files if file.name.startswith(f"{picture.stem}.")]
        print(f"figure: {picture} (also {', '.join(ending for ending in others if ending != '.png')})")
