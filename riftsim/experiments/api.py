"""Experiments from Python in a few lines: ``riftsim.run("quickstart", set={"search.L": 40}).table()``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riftsim.config.sweep import Settings, load_experiment
from riftsim.errors import RiftsimError
from riftsim.experiments.runner import DEFAULT_OUT, Report, run_experiment
from riftsim.results.store import RunSet, open_run


class FailedPointsError(RiftsimError):
    """Some points of an experiment failed; the others are recorded."""


def runs_of(report: Report) -> RunSet:
    """Return the complete runs of an experiment, in the order of its sweep."""
    opened = [open_run(outcome.path) for outcome in report.with_status("complete", "skipped")]
    return RunSet([run for run in opened if run is not None])


def run(
    source: str | Path | Mapping[str, Any],
    *,
    set: Settings = (),
    out: str | Path = DEFAULT_OUT,
    jobs: int = 1,
    dask: str | None = None,
    data_dir: str | Path | None = None,
) -> RunSet:
    """Run an experiment and return its runs; points that are recorded already are not run again.

    Parameters
    ----------
    source : path, name or mapping
        A YAML file, the name of a bundled experiment, or its content.
    set : mapping or iterable of ``"key=value"``
        Values that win over the file, by dotted key.
    out : path
        Results folder.
    jobs : int
        Processes. With more than one, a script needs the usual ``if __name__ == "__main__":``.
    dask : str, optional
        Address of the scheduler of a Dask cluster, which then runs the points instead of this machine.
    data_dir : path, optional
        Folder of larger data sets; default ``$RIFTSIM_DATA_DIR``.

    Returns
    -------
    RunSet
        ``.table()`` is a pandas DataFrame with a row per run.

    Raises
    ------
    ConfigError, ResultsError, ClusterError
        Before any work.
    FailedPointsError
        After all points have run, naming those that failed.
    """
    experiment = load_experiment(source, set)
    report = run_experiment(
        experiment, out=Path(out), jobs=jobs, dask=dask, data_dir=Path(data_dir) if data_dir else None
    )
    if report.interrupted:
        raise KeyboardInterrupt
    failed = report.with_status("failed")
    if failed:
        lines = [f"{outcome.point.slug}: {outcome.error}" for outcome in failed]
        raise FailedPointsError(f"{len(failed)} of {len(report.outcomes)} points failed:\n" + "\n".join(lines))
    return runs_of(report)
