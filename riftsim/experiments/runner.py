"""Running the points of an experiment: what is complete is skipped, what fails does not stop the others."""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from riftsim.config.canonical import to_plain
from riftsim.config.sweep import Experiment, Point
from riftsim.errors import ResultsError
from riftsim.experiments.point import (
    COMPILE,
    PREPARE,
    RUN_POINT,
    Outcome,
    PointTask,
    describe,
    execute,
    failed,
    resolve,
)
from riftsim.experiments.pool import WorkerDied, run_tasks
from riftsim.units import MIB, format_bytes

DEFAULT_OUT = Path("results/runs")
_MIN_FREE_BYTES = 64 * MIB


class Reporter(Protocol):
    """What is told of the progress of a sweep."""

    def begin(self, total: int, skipped: int) -> None:
        """Say how many points there are and how many were complete already."""

    def stage(self, text: str) -> None:
        """Say what is done before the points run."""

    def finished(self, outcome: Outcome) -> None:
        """Count one more point."""

    def end(self) -> None:
        """Say nothing more."""


class Silent:
    """A reporter that reports nothing."""

    def begin(self, total: int, skipped: int) -> None:
        """Do nothing."""

    def stage(self, text: str) -> None:
        """Do nothing."""

    def finished(self, outcome: Outcome) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


@dataclass
class Report:
    """What became of an experiment."""

    experiment: str
    folder: Path
    """The results of the experiment."""
    outcomes: list[Outcome]
    """One per point, in the order of the sweep."""
    interrupted: bool = False

    def with_status(self, *statuses: str) -> list[Outcome]:
        """Return the outcomes of the given statuses."""
        return [outcome for outcome in self.outcomes if outcome.status in statuses]


@dataclass(frozen=True)
class Engine:
    """The functions that prepare and run a configuration, as ``module:function``."""

    run_point: str = RUN_POINT
    prepare: str | None = PREPARE
    compile: str | None = COMPILE


def run_experiment(
    experiment: Experiment,
    *,
    out: Path = DEFAULT_OUT,
    jobs: int = 1,
    dask: str | None = None,
    retries: int = 0,
    data_dir: Path | None = None,
    reporter: Reporter | None = None,
    engine: Engine | None = None,
) -> Report:
    """Run the points that are not complete yet.

    Parameters
    ----------
    experiment : Experiment
        Of `riftsim.config.sweep.load_experiment`.
    out : path
        Results folder; the runs lie in ``<out>/<experiment>/``.
    jobs : int
        Processes on this machine.
    dask : str, optional
        Address of the scheduler of a Dask cluster, which then runs the points instead.
    retries : int
        How often a point that failed is tried again, after the others.
    data_dir : path, optional
        Folder of larger data sets.
    reporter : Reporter, optional
        Is told of the progress.
    engine : Engine, optional
        What runs a configuration.

    Returns
    -------
    Report
        After Ctrl-C it says so, and the points that were finished are recorded.

    Raises
    ------
    ResultsError
        The results folder cannot be written or has no room; raised before any work.
    ClusterError
        The cluster cannot be used; raised before any work.
    """
    from riftsim.results import store

    if jobs < 1:
        raise ResultsError(f"jobs: found {jobs}, expected at least 1")
    reporter = reporter or Silent()
    if dask is not None:  # workers have working folders of their own
        out, data_dir = (
            Path(out).absolute(),
            data_dir and Path(data_dir).absolute(),
        )
    folder = Path(out) / experiment.name
    require_writable(folder)
    outcomes: dict[str, Outcome] = {}
    for point in experiment.points:
        run = store.find_run(out, experiment.name, point.hash)
        if run is not None:
            outcomes[point.hash] = Outcome(point, "skipped", run.path)
    todo = [point for point in experiment.points if point.hash not in outcomes]
    interrupted = False
    with _processes(jobs, dask, folder) as run_all:
        sweep = _Sweep(
            experiment, Path(out), run_all, jobs > 1 or dask is not None, retries, data_dir, reporter,
            engine or Engine(), outcomes,
        )  # fmt: skip
        reporter.begin(len(experiment.points), len(outcomes))
        try:
            sweep.run(sweep.prepare(todo))
        except KeyboardInterrupt:
            interrupted = True
        finally:
            reporter.end()
    ordered = [outcomes.get(point.hash, Outcome(point, "not run")) for point in experiment.points]
    return Report(experiment.name, folder, ordered, interrupted)


RunTasks = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[tuple[int, Any]]]
"""``pool.run_tasks`` on given processes."""


def _processes(jobs: int, dask: str | None, folder: Path) -> AbstractContextManager[RunTasks]:
    if dask is None:
        return nullcontext(partial(run_tasks, jobs=jobs))
    from riftsim.experiments.cluster import cluster

    return cluster(dask, folder)


@dataclass
class _Sweep:
    experiment: Experiment
    out: Path
    run_all: RunTasks
    several: bool
    """Whether points run at the same time."""
    retries: int
    data_dir: Path | None
    reporter: Reporter
    engine: Engine
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def prepare(self, points: Sequence[Point]) -> list[Point]:
        """Make each graph and code once, before processes would each begin the same; return the points to run."""
        if self.engine.prepare is None or not points:
            return list(points)
        from riftsim.artifacts import ArtifactStore

        sound: list[Point] = []
        for group in group_by_artifacts(points):
            config = group[0].config
            self.reporter.stage(f"preparing {config.dataset.name}: graph and codes for {len(group)} point(s)")
            try:
                resolve(self.engine.prepare)(config, data_dir=self.data_dir, artifacts=ArtifactStore())
            except Exception as error:
                message, details = describe(error)
                for point in group:
                    self._finish(Outcome(point, "failed", None, message, details))
            else:
                sound += group
        if self.several and self.engine.compile is not None:
            self._compile(sound)
        order = {point.hash: position for position, point in enumerate(self.experiment.points)}
        return sorted(sound, key=lambda point: order[point.hash])

    def _compile(self, points: Sequence[Point]) -> None:
        """Let each kind of search compile its kernels once, before processes would each compile the same."""
        from riftsim.artifacts import ArtifactStore

        kinds = {(point.config.system.__struct_config__.tag, point.config.driver): point.config for point in points}
        for config in kinds.values():
            # What goes wrong here goes wrong again, and is reported, when the point is run.
            with contextlib.suppress(Exception):
                resolve(self.engine.compile)(config, data_dir=self.data_dir, artifacts=ArtifactStore())

    def run(self, points: Sequence[Point]) -> None:
        """Run points and collect their outcomes; try again those that failed, as often as was asked for."""
        for left in reversed(range(1 + self.retries)):
            self._run_once(points, last=left == 0)
            points = [point for point in points if self.outcomes[point.hash].status == "failed"]
            if not points:
                return
            if left:
                self.reporter.stage(f"trying {len(points)} failed point(s) again")

    def _run_once(self, points: Sequence[Point], last: bool) -> None:
        name, engine = self.experiment.name, self.engine
        tasks = [PointTask(name, point, self.out, self.data_dir, engine.run_point) for point in points]
        results = self.run_all(execute, tasks)
        try:
            for position, result in results:
                if isinstance(result, WorkerDied):
                    result = failed(tasks[position], str(result))
                if last or result.status != "failed":
                    self._finish(result)
                else:
                    self.outcomes[result.point.hash] = result
        finally:
            results.close()

    def _finish(self, outcome: Outcome) -> None:
        self.outcomes[outcome.point.hash] = outcome
        self.reporter.finished(outcome)


def group_by_artifacts(points: Sequence[Point]) -> list[list[Point]]:
    """Group points that share data set, graph and codes."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        plain = to_plain(point.config)
        key = json.dumps([plain[block] for block in ("dataset", "index", "codes")], sort_keys=True)
        groups.setdefault(key, []).append(point)
    return list(groups.values())


def require_writable(folder: Path, free_bytes: Callable[[Path], Any] = shutil.disk_usage) -> None:
    """Make a results folder and refuse one that cannot be written or has no room.

    Raises
    ------
    ResultsError
        Names the folder and the reason.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0" * 4096)
    except OSError as error:
        raise ResultsError(
            f"{folder}: results cannot be written: {error.strerror or error}; expected a writable folder (--out DIR)"
        ) from None
    free = free_bytes(folder).free
    if free < _MIN_FREE_BYTES:
        raise ResultsError(
            f"{folder}: found {format_bytes(free)} of free space, expected at least {format_bytes(_MIN_FREE_BYTES)}"
        )


def require_writable_file(path: Path) -> None:
    """Refuse the place of a file that cannot be written, before what goes into it is measured; make nothing.

    Raises
    ------
    ResultsError
        Names the folder and the reason.
    """
    if path.is_dir():
        raise ResultsError(f"{path}: found a folder, expected the name of a file (--out FILE)")
    require_writable(next(folder for folder in path.absolute().parents if folder.exists()))
