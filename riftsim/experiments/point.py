"""One point of a sweep, from configuration to recorded run; this is what a worker process does."""

import importlib
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from riftsim.config.canonical import to_plain
from riftsim.config.sweep import Point
from riftsim.errors import ResultsError, message_of

RUN_POINT = "riftsim.assembly:run_point"
PREPARE = "riftsim.assembly:prepare"
COMPILE = "riftsim.assembly:compile_kernels"

Status = Literal["complete", "skipped", "failed", "not run"]


@dataclass(frozen=True)
class PointTask:
    """What a worker needs to know of a point."""

    experiment: str
    point: Point
    out: Path
    """The results folder."""
    data_dir: Path | None
    run_point: str = RUN_POINT
    """``module:function`` that runs a configuration."""


@dataclass(frozen=True)
class Outcome:
    """How a point ended."""

    point: Point
    status: Status
    path: Path | None = None
    """The run's directory, if there is one."""
    error: str | None = None
    details: str | None = None
    """The traceback of an error that is not the user's."""
    seconds: float = 0.0


def resolve(reference: str) -> Any:
    """Import what ``module:function`` names."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def execute(task: PointTask) -> Outcome:
    """Run and record one point, unless another process does or has; an error becomes part of the outcome and is kept
    beside the results."""
    from riftsim.artifacts import ArtifactStore
    from riftsim.results import provenance, recorder, store

    point, config = task.point, task.point.config
    started, begin = provenance.now(), time.perf_counter()
    try:
        with recorder.reserved(task.out, task.experiment, point.hash):
            recorded = store.find_run(task.out, task.experiment, point.hash)
            if recorded is not None:
                return Outcome(point, "skipped", recorded.path)
            result = resolve(task.run_point)(config, data_dir=task.data_dir, artifacts=ArtifactStore())
            origin = provenance.collect(config.seed, started)
            plain = to_plain(config)
            path = recorder.write_run(task.out, task.experiment, point.slug, plain, point.hash, result, origin)
            return Outcome(point, "complete", path, seconds=time.perf_counter() - begin)
    except Exception as error:
        message, details = describe(error)
        return failed(task, message, details, started, time.perf_counter() - begin)


def failed(
    task: PointTask, message: str, details: str | None = None, started: str | None = None, seconds: float = 0.0
) -> Outcome:
    """Keep the error of a point beside the results and return the outcome."""
    from riftsim.results import provenance, recorder

    point, config = task.point, task.point.config
    origin = provenance.collect(config.seed, started)
    text = details or message
    try:
        recorder.record_failure(task.out, task.experiment, point.slug, to_plain(config), point.hash, text, origin)
    except ResultsError as also:
        message = f"{message}\n{also}"
    return Outcome(point, "failed", None, message, details, seconds)


def describe(error: Exception) -> tuple[str, str | None]:
    """Return the message of an error, and its traceback unless it is one that the user can mend."""
    message = message_of(error)
    if message is not None:
        return message, None
    details = "".join(traceback.format_exception(error))
    return f"{type(error).__name__}: {error}", details
