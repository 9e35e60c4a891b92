"""Which runs make one curve: series are systems and swept parameters; along a series, the candidate list grows.

Runs that differ only in seeds are one point: their mean, with an interval over the runs. Runs of several experiments
are series of their own.
"""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from riftsim.plotting import style
from riftsim.results.intervals import runs_interval
from riftsim.results.metrics import METRICS
from riftsim.results.store import SEED_KEYS, Run, RunSet

SYSTEM_NAMES = {
    "in_memory_vamana": "In-memory Vamana",
    "remote_vamana": "Remote-Vamana",
    "async_vamana": "Async-Vamana",
    "riftann": "RiftANN",
    "d_hnsw": "d-HNSW",
    "distvs": "DistVS",
    "cxl_ann": "CXL-ANNS",
    "diskann": "DiskANN",
    "pipeann": "PipeANN",
}
MATCHED_RECALL = 0.95
_NOT_SERIES = ("search.L", "system.kind", "system.name", "driver.engine", "measured_queries")

_PARAMETER_NAMES = {
    "system.beam_width": "W",
    "system.window": "W_R",
    "system.record_reads": "",
    "system.split": "",
    "system.verification.kind": "",
    "system.verification.alpha": "α",
    "system.verification.delta": "δ",
    "system.gate.kind": "",
    "system.gate.bound": "B",
    "system.gate.theta": "θ",
    "system.gate.epsilon": "ε",
    "system.gate.history": "H",
    "system.gate.max_unfinished": "U_max",
    "system.balancing.kind": "",
    "system.balancing.theta_low": "θ_low",
    "system.balancing.theta_high": "θ_high",
    "system.balancing.interval": "interval",
    "search.k": "k",
    "index.R": "R",
    "index.L": "build L",
    "index.alpha": "α",
    "codes.kind": "",
    "codes.bytes": "code bytes",
    "dataset.name": "",
    "dataset.n": "n",
    "hardware": "",
    "driver.kind": "",
    "load.kind": "",
    "load.concurrency": "C",
    "load.rate_qps": "rate",
    "cluster.compute_nodes": "CNs",
    "cluster.memory_nodes": "MNs",
    "cluster.threads": "threads",
}


@dataclasses.dataclass(frozen=True)
class Point:
    """Runs of one configuration, seeds apart.

    Attributes
    ----------
    L : int
        Size of the candidate list.
    runs : tuple of Run
    """

    L: int
    runs: tuple[Run, ...]

    def value(self, metric: str) -> float:
        """Return the metric's mean over the runs."""
        return float(np.mean([run.metrics([metric])[metric] for run in self.runs]))

    def interval(self, metric: str) -> tuple[float, float]:
        """Return the 95 % interval: over queries for a single run, over runs for several."""
        if len(self.runs) == 1:
            return self.runs[0].confidence([metric])[metric]
        return runs_interval(np.array([run.metrics([metric])[metric] for run in self.runs]))


@dataclasses.dataclass(frozen=True)
class Series:
    """One curve.

    Attributes
    ----------
    label : str
        Name for people.
    system : str
        Kind of system, or the name of a plug-in; decides the colour.
    variant, variants : int
        Which of how many series of this system; decides shade, marker and line.
    points : tuple of Point
        In the order of L.
    numbered : int
        Position among series that have a colour each: those that a figure names, or of one system alone; -1 for others.
    """

    label: str
    system: str
    variant: int
    variants: int
    points: tuple[Point, ...]
    numbered: int = -1

    @property
    def look(self) -> style.Look:
        """How it is drawn."""
        if self.numbered >= 0:
            return style.numbered_look(self.numbered)
        return style.look(self.system, self.variant, self.variants)

    @property
    def runs(self) -> list[Run]:
        """The runs of all points."""
        return [run for point in self.points for run in point.runs]


Names = Mapping[str, Mapping[str, Any]]
"""Names of series, each with the dotted keys and values that its runs have; none: see ``series_of``."""


def series_of(runset: RunSet, names: Names | None = None, apart_from: Iterable[str] = ()) -> list[Series]:
    """Group runs into series, known systems first, then in the order of their swept parameters and folders.

    Parameters
    ----------
    runset : RunSet
    names : mapping, optional
        Series with names; runs that fit none are left out.
    apart_from : iterable of str
        Swept keys that vary within a series, besides L and seeds; with a dot at the end, all keys that begin so.
    """
    if names:
        return _named_series(runset, names)
    apart_from = tuple(apart_from)
    keys = [
        key
        for key in runset.swept
        if key not in SEED_KEYS and key not in _NOT_SERIES and not _is_among(key, apart_from)
    ]
    folders = _folder_names(runset)
    groups: dict[str, dict[str, list[Run]]] = {}
    for run in runset:
        variant = json.dumps([*(run.parameters.get(key) for key in keys), folders[run.path.parent]], sort_keys=True)
        groups.setdefault(system_of(run), {}).setdefault(variant, []).append(run)
    found = []
    for system in sorted(groups, key=_system_order):
        variants = [
            ({key: runs[0].parameters.get(key) for key in keys}, folders[runs[0].path.parent], runs)
            for runs in groups[system].values()
        ]
        variants.sort(key=lambda variant: ([_order(value) for value in variant[0].values()], variant[1]))
        told = [key for key in keys if _tells_apart(key, [values for values, _, _ in variants])]
        for number, (values, folder, runs) in enumerate(variants):
            parts = [parameter_text(key, values[key]) for key in told]
            label = ", ".join(filter(None, [system_name(system), *parts, folder]))
            # Shades are there to hold a system together beside others; alone, its series get colours of their own.
            apart = number if len(groups) == 1 and len(variants) > 1 else -1
            found.append(Series(label, system, number, len(variants), _points(runs), apart))
    return found


def parameter_text(key: str, value: Any) -> str:
    """Write a setting for a label; empty where it says nothing."""
    name = _PARAMETER_NAMES.get(key, key.rpartition(".")[2].replace("_", " "))
    if value is None:
        return ""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{name}={text}" if name else text


def parameter_name(key: str) -> str:
    """Name a dotted key for people."""
    return _PARAMETER_NAMES.get(key, "") or key.rpartition(".")[2].replace("_", " ")


def system_of(run: Run) -> str:
    """Return what a run's system is called in its configuration: its kind, or the name of a plug-in."""
    system = run.config.get("system") or {}
    kind = system.get("kind", "unknown")
    return system.get("name", kind) if kind == "plugin" else kind


def system_name(system: str) -> str:
    """Return a system's name for people."""
    return SYSTEM_NAMES.get(system, system.replace("_", " "))


def recall_label(runset: RunSet) -> str:
    """Return the label of a recall axis; k is a number if all runs share it."""
    found = {run.k for run in runset}
    return METRICS["recall"].label.format(k=found.pop() if len(found) == 1 else "k")


def at_matched_recall(series: list[Series]) -> list[tuple[Series, Point]]:
    """Pick one point per series: the smallest L with the recall that every series reaches, 0.95 at most.

    A series without a recall gives its largest L.
    """
    best = [max((_recall(point) for point in one.points), default=math.nan) for one in series]
    target = min([MATCHED_RECALL, *(value for value in best if not math.isnan(value))])
    picked = []
    for one in series:
        reaching = [point for point in one.points if _recall(point) >= target]
        picked.append((one, reaching[0] if reaching else one.points[-1]))
    return picked


def _recall(point: Point) -> float:
    value = point.value("recall")
    return -math.inf if math.isnan(value) else value


def _points(runs: list[Run]) -> tuple[Point, ...]:
    groups: dict[int, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.parameters.get("search.L", 0), []).append(run)
    return tuple(Point(size, tuple(groups[size])) for size in sorted(groups))


def _named_series(runset: RunSet, names: Names) -> list[Series]:
    found = []
    for position, (label, conditions) in enumerate(names.items()):
        runs = runset.where(conditions).runs
        if runs:
            found.append(Series(label, system_of(runs[0]), 0, 1, _points(runs), numbered=position))
    return found


def _is_among(key: str, keys: tuple[str, ...]) -> bool:
    return any(key == other or (other.endswith(".") and key.startswith(other)) for other in keys)


def _tells_apart(key: str, variants: list[dict[str, Any]]) -> bool:
    """Whether a label needs a key: variants of the same kind of block differ in it.

    What differs only because one kind of block has the key and another lacks it is told by the kind.
    """
    kind_key = f"{key.rpartition('.')[0]}.kind"
    values: dict[Any, set[str]] = {}
    for variant in variants:
        kind = variant.get(kind_key) if key != kind_key else None
        values.setdefault(kind, set()).add(json.dumps(variant[key]))
    return any(len(of_kind) > 1 for of_kind in values.values())


def _folder_names(runset: RunSet) -> dict[Path, str]:
    """Name the folders that runs lie in, as briefly as tells them apart; a lone folder needs no name.

    Without it, equal configurations of two experiments would pass for two seeds of one point.
    """
    folders = list(dict.fromkeys(run.path.parent for run in runset))
    if len(folders) == 1:
        return {folders[0]: ""}
    brief = len({folder.name for folder in folders}) == len(folders)
    return {folder: folder.name if brief else str(folder) for folder in folders}


def _system_order(system: str) -> tuple[int, str]:
    names = list(SYSTEM_NAMES)
    return (names.index(system) if system in SYSTEM_NAMES else len(names), system)


def _order(value: Any) -> tuple[int, float, str]:
    """Sort key for values of mixed types: absent, numbers, texts."""
    if isinstance(value, int | float):
        return (1, float(value), "")
    return (0, 0.0, "") if value is None else (2, 0.0, json.dumps(value, sort_keys=True))
