"""Finding and reading recorded runs; nothing here writes.

A folder may hold files of other origin: only a ``manifest.json`` that says it is a run of riftsim is read. A run of a
newer schema version is refused rather than misread.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from riftsim.errors import ResultsError
from riftsim.results import metrics
from riftsim.results.recorder import (
    CONFIG_FILE,
    FAILED_FOLDER,
    FORMAT,
    HASH_DIGITS,
    MANIFEST_FILE,
    QUERIES_FILE,
    SCHEMA_VERSION,
    TRACE_FOLDER,
    WINDOWS_FILE,
)

if TYPE_CHECKING:  # each takes longer to import than a run of the quick start's first query
    import pandas as pd
    import pyarrow as pa

    from riftsim.results.trace import Trace

_SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C ten times faster
_DEPTH = 4  # root / experiment / run, and one folder above
_NOT_SWEPT = ("name", "description", "sweep", "plots")
_MANIFEST_TYPES = {"experiment": str, "hashes": dict, "k": int, "queries": int, "facts": dict}
_WRITTEN_AS = {str: "a text", dict: "a mapping", int: "a whole number"}
SEED_KEYS = ("seed", "dataset.split_seed", "index.seed", "codes.seed")
"""Keys in which repetitions of one configuration differ."""


class Run:
    """One recorded run; its tables are read when they are first asked for.

    Attributes
    ----------
    path : pathlib.Path
    manifest : dict
    """

    def __init__(self, path: Path, manifest: dict[str, Any]):
        self.path = path
        self.manifest = manifest

    def __repr__(self) -> str:
        return f"Run({self.experiment}/{self.name})"

    @property
    def name(self) -> str:
        """Name of the run's directory."""
        return self.path.name

    @property
    def experiment(self) -> str:
        return self.manifest["experiment"]

    @property
    def facts(self) -> dict[str, Any]:
        return self.manifest["facts"]

    @property
    def k(self) -> int:
        return self.manifest["k"]

    @functools.cached_property
    def config(self) -> dict[str, Any]:
        """The resolved configuration."""
        path = self.path / CONFIG_FILE
        try:
            config = yaml.load(path.read_text(encoding="utf-8"), Loader=_SAFE_LOADER)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ResultsError(f"{path}: the run's configuration cannot be read: {error}") from error
        if not isinstance(config, dict):
            raise ResultsError(f"{path}: the run's configuration is {type(config).__name__}, expected a mapping")
        return config

    @functools.cached_property
    def parameters(self) -> dict[str, Any]:
        """The configuration with dotted keys, e.g. ``search.L``."""
        return dict(_flatten(self.config))

    def matches(self, conditions: Mapping[str, Any]) -> bool:
        """Whether the run has these values at these dotted keys; the name of a block stands for its ``kind``."""
        return all(
            self.parameters.get(key, self.parameters.get(f"{key}.kind")) == value for key, value in conditions.items()
        )

    @functools.cached_property
    def queries(self) -> pd.DataFrame:
        """One row per measured query, without ids and distances."""
        path = self.path / QUERIES_FILE
        from pyarrow import types

        fields = [field for field in _schema(path) if not types.is_nested(field.type)]
        for field in fields:
            if not (types.is_integer(field.type) or types.is_floating(field.type) or types.is_boolean(field.type)):
                raise ResultsError(f"{path}: column {field.name}: found {field.type}, expected numbers")
        table = _read(path, [field.name for field in fields]).to_pandas()
        if len(table) != self.manifest["queries"]:
            raise ResultsError(
                f"{path}: found {len(table)} rows, expected {self.manifest['queries']}, as manifest.json has"
            )
        return table

    @functools.cached_property
    def ids(self) -> np.ndarray:
        """Returned ids, int32 (q, k), -1 where fewer than k were found."""
        return self._matrix("ids")

    @functools.cached_property
    def distances(self) -> np.ndarray:
        """Internal distances of ``ids``, float32 (q, k)."""
        return self._matrix("distances")

    @functools.cached_property
    def windows(self) -> pd.DataFrame | None:
        """States over time, or None if the run recorded none."""
        path = self.path / WINDOWS_FILE
        return _read(path, None).to_pandas() if path.exists() else None

    @functools.cached_property
    def trace(self) -> Trace | None:
        """What happened to the traced queries, or None if the run traced none."""
        folder = self.path / TRACE_FOLDER
        from riftsim.results.trace import Trace

        return Trace.read(folder) if folder.exists() else None

    def units(self) -> dict[str, str]:
        """Return the unit of each column of the queries table, as the file states it."""
        return {
            field.name: (field.metadata or {}).get(b"unit", b"1").decode()
            for field in _schema(self.path / QUERIES_FILE)
        }

    def metrics(self, names: Iterable[str] | None = None) -> dict[str, float]:
        """Compute metrics of this run; see :func:`riftsim.results.metrics.evaluate`."""
        return metrics.evaluate(self.queries, self._measured_facts, names)

    def confidence(self, names: Iterable[str] | None = None, seed: int = 0) -> dict[str, tuple[float, float]]:
        """Compute 95 % intervals of metrics of this run; see :func:`riftsim.results.metrics.confidence`."""
        return metrics.confidence(self.queries, self._measured_facts, names, seed)

    @property
    def _measured_facts(self) -> dict[str, Any]:
        """The facts, with the closed loops that the configuration asks for, which older runs do not state."""
        if self.parameters.get("load.kind") != "closed":
            return self.facts
        loops = self.parameters["load.concurrency"] * self.parameters.get("cluster.compute_nodes", 1)
        return {"closed_loops": loops, **self.facts}

    def _matrix(self, column: str) -> np.ndarray:
        from pyarrow import types

        path = self.path / QUERIES_FILE
        schema = _schema(path)
        found = schema.field(column).type if column in schema.names else "no such column"
        if found == "no such column" or not types.is_fixed_size_list(found):
            raise ResultsError(f"{path}: column {column}: found {found}, expected lists of {self.k}")
        chunked = _read(path, [column]).column(column)
        width = chunked.type.list_size
        return chunked.combine_chunks().flatten().to_numpy().reshape(-1, width)


@dataclasses.dataclass(frozen=True)
class RunSet:
    """Runs that belong together, in the order of their paths.

    Attributes
    ----------
    runs : list of Run
    """

    runs: list[Run]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @functools.cached_property
    def swept(self) -> list[str]:
        """Dotted configuration keys in which the runs differ, in the order of the configuration."""
        keys = dict.fromkeys(key for run in self.runs for key in run.parameters)
        return [
            key
            for key in keys
            if key.split(".")[0] not in _NOT_SWEPT
            and len({json.dumps(run.parameters.get(key), sort_keys=True) for run in self.runs}) > 1
        ]

    def where(self, conditions: Mapping[str, Any]) -> RunSet:
        """Return the runs that have these values at these dotted keys."""
        return RunSet([run for run in self.runs if run.matches(conditions)])

    def table(self, names: Iterable[str] | None = None, confidence: bool = False, seed: int = 0) -> pd.DataFrame:
        """Return one row per run: experiment, run, swept parameters, metrics.

        Parameters
        ----------
        names : iterable of str, optional
            Which metrics; all by default.
        confidence : bool
            Add ``<metric>_low`` and ``<metric>_high``, the 95 % interval.
        seed : int
            Of the bootstrap.

        Returns
        -------
        pandas.DataFrame
            A swept key that a run does not have is None there.

        Raises
        ------
        ResultsError
            If a run's files are damaged.
        """
        names = list(names or metrics.METRICS)
        rows = []
        for run in self.runs:
            row = {"experiment": run.experiment, "run": run.name}
            row |= {key: run.parameters.get(key) for key in self.swept}
            row |= run.metrics(names)
            if confidence:
                for name, (low, high) in run.confidence(names, seed).items():
                    row |= {f"{name}_low": low, f"{name}_high": high}
            rows.append(row)
        columns = ["experiment", "run", *self.swept, *names] if not rows else None
        import pandas as pd

        return pd.DataFrame(rows, columns=columns)


def find_run(root: str | os.PathLike, experiment: str, config_hash: str) -> Run | None:
    """Return the complete run of a configuration, or None.

    Parameters
    ----------
    root : path-like
        The results folder.
    experiment, config_hash : str

    Raises
    ------
    ResultsError
        If the run is of a newer schema version, or damaged.
    """
    folder = Path(root) / experiment
    # A loop and not glob(): a slug may hold characters that glob takes for patterns.
    if not folder.is_dir():
        return None
    for path in sorted(folder.iterdir()):
        if path.name.endswith(f"-{config_hash[:HASH_DIGITS]}") and not path.name.startswith("."):
            run = open_run(path)
            if run is not None and run.manifest["hashes"]["config"] == config_hash:
                _require_whole(path / QUERIES_FILE)
                return run
    return None


def _require_whole(table: Path) -> None:
    """Refuse a run whose table is missing or cut: a Parquet file ends with its magic."""
    try:
        with table.open("rb") as file:
            file.seek(-4, os.SEEK_END)
            found = file.read()
    except OSError as error:
        found = error.strerror
    if found != b"PAR1":
        raise ResultsError(
            f"{table}: found {found!r}, expected a whole Parquet file; the run is damaged: remove {table.parent} to "
            "have it run again"
        )


def load_runs(*folders: str | os.PathLike) -> RunSet:
    """Load all complete runs below some folders: run directories, experiments, or whole results folders.

    Raises
    ------
    ResultsError
        If a folder does not exist, or a run is of a newer schema version.
    """
    found: dict[Path, Run] = {}
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise ResultsError(f"{folder}: no such results folder")
        for path in _candidates(folder, _DEPTH):
            run = open_run(path)
            if run is not None:
                found.setdefault(path.resolve(), run)
    return RunSet(sorted(found.values(), key=lambda run: (run.experiment, _natural(run.name))))


def open_run(path: str | os.PathLike) -> Run | None:
    """Open the run in one directory; None if it holds no complete run of riftsim.

    Raises
    ------
    ResultsError
        If the run is of a newer schema version than this riftsim reads, or its manifest is damaged.
    """
    path = Path(path)
    try:
        manifest = json.loads((path / MANIFEST_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT or manifest.get("status") != "complete":
        return None
    version = manifest.get("schema_version")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise ResultsError(
            f"{path / MANIFEST_FILE}: schema version {version!r}; this riftsim reads up to {SCHEMA_VERSION}: "
            "use the riftsim that wrote the run, or a newer one"
        )
    for key, kind in _MANIFEST_TYPES.items():
        if not isinstance(manifest.get(key), kind):
            raise ResultsError(
                f"{path / MANIFEST_FILE}: {key}: found {manifest.get(key)!r}, expected {_WRITTEN_AS[kind]}; the run is "
                f"damaged: remove {path} to have it run again"
            )
    return Run(path, manifest)


def failures(root: str | os.PathLike, experiment: str) -> list[dict[str, Any]]:
    """Return the records of an experiment's failed points (``slug``, ``error``, ``config``, ...), by file name."""
    folder = Path(root) / experiment / FAILED_FOLDER
    records = []
    for path in sorted(folder.glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(record, dict) and record.get("status") == "failed":
            records.append(record)
    return records


def _candidates(folder: Path, depth: int) -> Iterator[Path]:
    """Yield directories with a manifest, hidden ones (unfinished writes) left out; runs do not nest."""
    if (folder / MANIFEST_FILE).is_file():
        yield folder
    elif depth:
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.name.startswith("."):
                yield from _candidates(path, depth - 1)


def _natural(name: str) -> list[str | int]:
    """Sort key that puts L=9 before L=10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"([0-9]+)", name)]


def _flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and (value or not prefix):
        for key, item in value.items():
            yield from _flatten(item, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def _schema(path: Path) -> pa.Schema:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise ResultsError(f"{path}: the run's table cannot be read: {error}") from error


def _read(path: Path, columns: list[str] | None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise ResultsError(f"{path}: the run's table cannot be read: {error}") from error
