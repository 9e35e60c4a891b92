"""Writing a run: one directory per configuration, complete or absent, and never rewritten.

A run lies in ``<root>/<experiment>/<slug>-<first 8 digits of the configuration's hash>/``:

- ``config.yaml``: the resolved configuration;
- ``manifest.json``: schema version, hashes, versions, machine, seed, driver, engine, status, times, facts;
- ``queries.parquet``: one row per measured query, each column with its unit, ``ids`` and ``distances`` as lists of k;
- ``windows.parquet``: states over time, if the run recorded any;
- ``trace/``: what happened to single queries, if the run traced any (``results.trace``).

All of it is written into a hidden sibling directory that is renamed when it is complete. A point that failed leaves a
text in ``<experiment>/failed/`` instead, which a resumed sweep does not take for a result.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from riftsim.errors import ResultsError
from riftsim.files import atomic_write, umask

if TYPE_CHECKING:
    import pyarrow as pa

    from riftsim.results.trace import Trace

SCHEMA_VERSION = 1
FORMAT = "riftsim-run"
MANIFEST_FILE = "manifest.json"
CONFIG_FILE = "config.yaml"
QUERIES_FILE = "queries.parquet"
WINDOWS_FILE = "windows.parquet"
FAILED_FOLDER = "failed"
TRACE_FOLDER = "trace"
LOCK_FILE = ".lock"
HASH_DIGITS = 8

_UNIT_OF_SUFFIX = {"_ps": "ps", "_ns": "ns", "_us": "us", "_s": "s", "_bytes": "bytes", "_qps": "1/s"}
_UNIT_OF_COLUMN = {"bytes_read": "bytes", "distances": "internal distance (smaller is nearer)"}


@dataclasses.dataclass(frozen=True)
class PointResult:
    """What one run point measured.

    Attributes
    ----------
    queries : dict of str to ndarray
        One value per measured query: ``query`` (index into the evaluated queries), ``arrival_ps``, ``start_ps``,
        ``end_ps``, the parts of the latency (``queue_ps``, ``evaluation_ps``, ``posting_ps``, ``polling_ps``,
        ``wait_ps``, ``gate_ps``, ``drain_ps``, which add up to ``end_ps - arrival_ps``), counts of work,
        ``bytes_read``, ``recall``, ``recall_ties``. A run without a clock has no ``*_ps`` columns.
    ids : ndarray, (q, k), int32
        Returned ids, -1 where fewer than k were found.
    distances : ndarray, (q, k), float32
        Internal distances of ``ids``.
    windows : dict of str to ndarray or None
        States over time: equally long columns, one row per window.
    trace : Trace or None
        What happened to the traced queries.
    facts : dict
        What is true of the whole run; see ``docs/metrics.md`` for the keys that metrics read.

    Raises
    ------
    ResultsError
        If columns differ in length, naming the column.
    """

    queries: dict[str, np.ndarray]
    ids: np.ndarray
    distances: np.ndarray
    windows: dict[str, np.ndarray] | None = None
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    trace: Trace | None = None

    def __post_init__(self):
        if self.ids.ndim != 2 or self.ids.shape != self.distances.shape:
            raise ResultsError(
                f"results: ids of shape {self.ids.shape} and distances of shape {self.distances.shape}; "
                "expected the same shape (queries, k) for both"
            )
        _check_lengths("queries", self.queries, len(self.ids))
        if self.windows:
            _check_lengths("windows", self.windows, len(next(iter(self.windows.values()))))


@contextlib.contextmanager
def reserved(root: str | os.PathLike, experiment: str, config_hash: str) -> Iterator[None]:
    """Keep a configuration to this process while it is run: another that wants it waits, and then finds it recorded.

    Without effect where the folder cannot be written, which `write_run` tells, or its file system has no locks.

    Parameters
    ----------
    root : path-like
        The results folder.
    experiment, config_hash : str
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            folder = Path(root) / experiment
            folder.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context((folder / LOCK_FILE).open("w"))
            # A byte per configuration, so that one file does for all; the end of the process releases it.
            fcntl.lockf(lock, fcntl.LOCK_EX, 1, int(config_hash[:HASH_DIGITS], 16))
        yield


def write_run(
    root: str | os.PathLike,
    experiment: str,
    slug: str,
    config: dict[str, Any],
    config_hash: str,
    result: PointResult,
    provenance: dict[str, Any],
) -> Path:
    """Write a complete run and return its directory.

    Parameters
    ----------
    root : path-like
        The results folder, e.g. ``results/runs``.
    experiment, slug : str
        Name of the experiment and a readable name of the point; together they place the directory.
    config : dict
        The resolved configuration of this point, in plain YAML types.
    config_hash : str
        Hash of ``config`` in hexadecimal; whoever resolves a configuration hashes it.
    result : PointResult
        What was measured. ``facts["dataset"]["fingerprint"]`` and ``facts["index"]["fingerprint"]``, if given, become
        the manifest's hashes; ``facts["driver"]`` and ``facts["engine"]`` its driver and engine.
    provenance : dict
        Of :func:`riftsim.results.provenance.collect`.

    Returns
    -------
    pathlib.Path
        The run's directory. If this configuration is recorded there already, that record stands untouched.

    Raises
    ------
    ResultsError
        If the folder cannot be written (read-only, disk full), or its place is taken by another configuration.
        Nothing is left behind.
    """
    folder = Path(root) / experiment
    target = folder / run_name(slug, config_hash)
    partial = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not _is_recorded(target, config_hash):
            partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=folder))
            _write_files(partial, config, result, _manifest(experiment, slug, config, config_hash, result, provenance))
            partial.chmod(0o777 & ~umask())
            try:
                partial.rename(target)
            except OSError:
                # Another process may have recorded the same point meanwhile: the first complete record stands.
                if not _is_recorded(target, config_hash):
                    raise
        _failure_file(folder, slug, config_hash).unlink(missing_ok=True)
    except OSError as error:
        raise ResultsError(f"{folder}: the run {target.name} cannot be written: {error.strerror or error}") from error
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
    return target


def record_failure(
    root: str | os.PathLike,
    experiment: str,
    slug: str,
    config: dict[str, Any],
    config_hash: str,
    error: str,
    provenance: dict[str, Any],
) -> Path:
    """Keep the error text of a failed point, apart from the runs, until the point succeeds.

    Parameters
    ----------
    root, experiment, slug, config, config_hash, provenance
        As in :func:`write_run`.
    error : str
        Message or traceback.

    Returns
    -------
    pathlib.Path
        ``<root>/<experiment>/failed/<slug>-<hash>.json``.

    Raises
    ------
    ResultsError
        If it cannot be written.
    """
    path = _failure_file(Path(root) / experiment, slug, config_hash)
    record = {
        "schema_version": SCHEMA_VERSION,
        "status": "failed",
        "experiment": experiment,
        "slug": slug,
        "error": error,
        "hashes": {"config": config_hash},
        "config": config,
        **provenance,
    }
    try:
        with atomic_write(path) as partial:
            partial.write_text(_json(record), encoding="utf-8")
    except OSError as problem:
        reason = problem.strerror or problem
        raise ResultsError(f"{path}: the failure of a point cannot be written: {reason}") from problem
    return path


def run_name(slug: str, config_hash: str) -> str:
    """Return the name of a run's directory: the slug and the first digits of the configuration's hash."""
    return f"{slug}-{config_hash[:HASH_DIGITS]}"


def unit_of(column: str) -> str:
    """Return the unit of a column, read off its name; counts and ratios have unit "1"."""
    if column in _UNIT_OF_COLUMN:
        return _UNIT_OF_COLUMN[column]
    return next((unit for suffix, unit in _UNIT_OF_SUFFIX.items() if column.endswith(suffix)), "1")


def _manifest(experiment, slug, config, config_hash, result, provenance) -> dict[str, Any]:
    facts = result.facts
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "status": "complete",
        "experiment": experiment,
        "slug": slug,
        "hashes": {
            "config": config_hash,
            "dataset": _fingerprint(facts.get("dataset")),
            "index": _fingerprint(facts.get("index")),
        },
        "seed": config.get("seed"),
        "driver": facts.get("driver"),
        "engine": facts.get("engine"),
        "queries": len(result.ids),
        "k": result.ids.shape[1],
        **provenance,
        "facts": facts,
    }


def _fingerprint(facts: Any) -> str | None:
    return facts.get("fingerprint") if isinstance(facts, dict) else None


def _is_recorded(target: Path, config_hash: str) -> bool:
    """Tell whether ``target`` holds this configuration; anything else in its place is an error."""
    if not target.exists():
        return False
    try:
        found = json.loads((target / MANIFEST_FILE).read_text(encoding="utf-8"))["hashes"]["config"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(
            f"{target}: exists and is not a complete run ({error}); move it away and run again"
        ) from error
    if found != config_hash:
        raise ResultsError(f"{target}: holds the configuration {found}, expected {config_hash}; move it away")
    return True


def _write_files(folder: Path, config: dict[str, Any], result: PointResult, manifest: dict[str, Any]) -> None:
    import pyarrow.parquet as pq

    (folder / CONFIG_FILE).write_text(
        yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8"
    )
    columns = dict(result.queries)
    columns["ids"] = np.ascontiguousarray(result.ids, dtype=np.int32)
    columns["distances"] = np.ascontiguousarray(result.distances, dtype=np.float32)
    pq.write_table(_table(columns), folder / QUERIES_FILE, compression="zstd")
    if result.windows:
        pq.write_table(_table(result.windows), folder / WINDOWS_FILE, compression="zstd")
    if result.trace is not None:
        result.trace.write(folder / TRACE_FOLDER)
    (folder / MANIFEST_FILE).write_text(_json(manifest), encoding="utf-8")
    for path in (path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as written:
            os.fsync(written.fileno())


def _table(columns: dict[str, np.ndarray]) -> pa.Table:
    import pyarrow as pa

    arrays, fields = [], []
    for name, values in columns.items():
        array = pa.array(np.ravel(values))
        if np.ndim(values) == 2:
            array = pa.FixedSizeListArray.from_arrays(array, values.shape[1])
        arrays.append(array)
        fields.append(pa.field(name, array.type, nullable=False, metadata={"unit": unit_of(name)}))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"riftsim_schema": str(SCHEMA_VERSION)}))


def _json(value: dict[str, Any]) -> str:
    return json.dumps(_strict_json(value), indent=2, ensure_ascii=False) + "\n"


def _strict_json(value: Any) -> Any:
    """Turn numpy values into plain ones, and not-a-number and infinities, which JSON lacks, into null."""
    if isinstance(value, dict):
        return {str(key): _strict_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict_json(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _strict_json(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, os.PathLike):
        return str(value)
    return value


def _failure_file(folder: Path, slug: str, config_hash: str) -> Path:
    return folder / FAILED_FOLDER / f"{run_name(slug, config_hash)}.json"


def _check_lengths(table: str, columns: dict[str, np.ndarray], expected: int) -> None:
    for name, values in columns.items():
        if len(values) != expected:
            raise ResultsError(f"results: column {name} of {table} has {len(values)} rows, expected {expected}")
