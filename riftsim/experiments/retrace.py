"""Timelines of recorded queries: the run is repeated, which gives the same events, with some of its queries traced."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from riftsim.config.check import untraced
from riftsim.config.sweep import Experiment, Point, Settings, load_experiment
from riftsim.errors import ConfigError, ResultsError
from riftsim.experiments.point import Outcome, PointTask, execute
from riftsim.experiments.runner import DEFAULT_OUT, Reporter, Silent, run_experiment
from riftsim.results.recorder import CONFIG_FILE
from riftsim.results.store import Run, find_run, open_run

DEFAULT_TRACES = Path("results/traces")
"""Traced runs lie apart, so that figures of the results are not made from them too."""


def run_of(
    source: str, settings: Settings = (), *, data_dir: Path | None = None, reporter: Reporter | None = None
) -> Run:
    """Open a recorded run whose queries can be traced, or run the one point of a file if that was not done yet.

    Parameters
    ----------
    source : str
        A run's directory, or an experiment file or name.
    settings : mapping or iterable of ``"key=value"``
        Of an experiment file, to choose one of its points.

    Raises
    ------
    ConfigError, ResultsError
        No run there, several points, queries that cannot be traced (before anything is run), or the point failed.
    """
    folder = Path(source)
    if folder.is_dir():
        if settings:
            raise ConfigError(f"{folder}: --set is for experiment files; a recorded run is as it was")
        run = open_run(folder)
        if run is None:
            raise ResultsError(f"{folder}: found no complete run; expected the directory of one, with a manifest.json")
        _require_traceable(_recorded_point(run), str(run.path))
        return run
    experiment = load_experiment(source, settings)
    point = _only_point(experiment)
    _require_traceable(point, f"{experiment.name}/{point.slug}")
    report = run_experiment(experiment, data_dir=data_dir, reporter=reporter)
    if report.interrupted:
        raise KeyboardInterrupt
    (outcome,) = report.outcomes
    if outcome.error:
        raise ResultsError(f"{experiment.name}/{point.slug}: {outcome.error}")
    found = find_run(DEFAULT_OUT, experiment.name, point.hash)
    if found is None:
        raise ResultsError(f"{DEFAULT_OUT / experiment.name}: the run {point.slug} is not there after it was made")
    return found


def chosen_query(run: Run, query: int | None = None, slowest: bool = False) -> int:
    """Return the row of a query: the one asked for, the slowest, or else the one of median latency.

    Raises
    ------
    ResultsError
        If there is no such row, or the run has no clock.
    """
    if "end_ps" not in run.queries:
        raise ResultsError(f"{run.path}: the run has no clock (driver 'local'), so there is nothing to trace")
    latency_ps = (run.queries["end_ps"] - run.queries["arrival_ps"]).tolist()
    if query is not None:
        if query >= len(latency_ps):
            raise ResultsError(f"{run.path}: found no query {query}; expected one of 0 to {len(latency_ps) - 1}")
        return query
    return latency_ps.index(max(latency_ps) if slowest else statistics.median_low(latency_ps))


def traced(
    run: Run,
    rows: Sequence[int],
    *,
    out: Path = DEFAULT_TRACES,
    data_dir: Path | None = None,
    reporter: Reporter | None = None,
) -> Run:
    """Repeat a run with some of its queries traced, unless that was done before.

    Parameters
    ----------
    run : Run
    rows : sequence of int
        Rows of its queries; all between the first and the last are traced.
    out : path
        Folder of traced runs.
    reporter : Reporter, optional
        Is told when the repetition begins and ends.

    Returns
    -------
    Run
        With a trace.

    Raises
    ------
    ConfigError
        If its driver or its system cannot be traced; names it.
    ResultsError
        If it failed, or if its queries end at other times than those that are recorded.
    """
    _require_traceable(_recorded_point(run), str(run.path))
    trace = {"first": min(rows), "queries": max(rows) - min(rows) + 1}
    point = _recorded_point(run, {"driver.trace": trace})
    again = find_run(out, run.experiment, point.hash)
    if again is None:
        task = PointTask(run.experiment, replace(point, slug=run.manifest["slug"]), out, data_dir)
        outcome = _repeated(task, trace["queries"], reporter or Silent())
        if outcome.error:
            raise ResultsError(f"{run.path}: the repetition with a trace failed: {outcome.details or outcome.error}")
        again = open_run(outcome.path)
    _require_same_times(run, again)
    return again


def _repeated(task: PointTask, queries: int, reporter: Reporter) -> Outcome:
    reporter.begin(1, 0)
    try:
        what = "one query" if queries == 1 else f"{queries} queries"
        reporter.stage(f"repeating {task.experiment}/{task.point.slug} with {what} traced")
        outcome = execute(task)
        reporter.finished(outcome)
    finally:
        reporter.end()
    return outcome


def _only_point(experiment: Experiment) -> Point:
    if len(experiment.points) != 1:
        keys = ", ".join(experiment.points[0].swept)
        raise ConfigError(
            f"{experiment.source}: found {len(experiment.points)} points, expected one: choose with --set one value of "
            f"each of {keys}, or name a run's directory"
        )
    return experiment.points[0]


def _recorded_point(run: Run, settings: Settings = ()) -> Point:
    return _only_point(load_experiment(run.path / CONFIG_FILE, settings))


def _require_traceable(point: Point, name: str) -> None:
    if found := untraced(point.config):
        raise ConfigError(f"{name}: its queries cannot be traced: found {found}")


def _require_same_times(run: Run, again: Run) -> None:
    columns = ["arrival_ps", "start_ps", "end_ps"]
    recorded, repeated = run.queries[columns].to_numpy(), again.queries[columns].to_numpy()
    if recorded.shape != repeated.shape or (recorded != repeated).any():
        commits = [each.manifest.get("versions", {}).get("commit") for each in (run, again)]
        raise ResultsError(
            f"{run.path}: its repetition gave other times (recorded by commit {commits[0]}, repeated by {commits[1]}); "
            "expected the riftsim that recorded it: run the experiment again and trace that"
        )
