"""What the schema cannot say: keys that contradict each other, in one place."""

import math
from collections.abc import Iterator

import msgspec

from riftsim.config.keys import blocks_of, tag_of
from riftsim.config.machines import ClosedLoad, FileDriver, LiveDriver, LocalDriver, ReplayDriver, SimDriver
from riftsim.config.schema import ExperimentConfig
from riftsim.config.systems import (
    AdaptiveBalancing,
    DHnswConfig,
    DiskAnnConfig,
    DistVsConfig,
    PipeAnnConfig,
    SystemConfig,
)
from riftsim.yaml_file import KeyPath

Problem = tuple[KeyPath, str]

_MAX_COUNT = 2**31 - 1
_MAX_NUMBER = 10**15
_LEAST_SAMPLE_US = 0.01
_MOST: dict[KeyPath, int] = {
    ("index", "alpha"): 10**6,
    ("index", "slack"): 1000,
    ("system", "verification", "alpha"): 10**6,
    ("system", "verification_window"): 4096,
    ("system", "gate", "epsilon"): 10**6,
    ("system", "gate", "history"): 10**6,
    ("driver", "deadline_s"): 10**6,
}
"""Keys whose values, if larger, would overflow what is computed of them."""

_UNTRACED = {
    "diskann": "reads of a drive",
    "pipeann": "reads of a drive",
    "distvs": "calls",
    "d_hnsw": "batches",
}
"""Systems of which no timeline can be made, and what of them a trace has no place for."""


def problems(config: ExperimentConfig) -> list[Problem]:
    """Return every contradiction of a configuration as the path of a key and a sentence; empty if it is sound."""
    return [
        problem
        for check in (_search, _data, _cluster, _threads, _tracing, _load, _live, _balancing, _plugins, _numbers)
        for problem in check(config)
    ]


def untraced(config: ExperimentConfig) -> str | None:
    """Say what keeps the queries of a configuration from being traced; None if nothing does.

    Returns
    -------
    str or None
        The driver or the system, and which there may be.
    """
    driver, system = config.driver.__struct_config__.tag, config.system.__struct_config__.tag
    if not isinstance(config.driver, SimDriver):
        return f"driver '{driver}', which writes down no timelines; 'sim' does"
    if system not in _UNTRACED:
        return None
    others = (tag for block in blocks_of(SystemConfig) if (tag := tag_of(block)) not in (*_UNTRACED, "plugin"))
    return f"system '{system}', whose {_UNTRACED[system]} are not written down; those of {', '.join(others)} are"


def _search(config: ExperimentConfig) -> Iterator[Problem]:
    k, L = config.search.k, config.search.L
    if k > L:
        yield ("search", "L"), f"found {L}, expected at least search.k = {k}: the candidate list holds the results"
    beam_width = getattr(config.system, "beam_width", None)
    if beam_width is not None and beam_width > L:
        yield (
            ("system", "beam_width"),
            f"found {beam_width}, expected at most search.L = {L}: a round reads from the candidate list",
        )

    start_width, max_width = (getattr(config.system, key, None) for key in ("start_width", "max_width"))
    if start_width is not None and start_width > max_width:
        yield ("system", "start_width"), f"found {start_width}, expected at most max_width = {max_width}"
    routed, partitions = (getattr(config.system, key, None) for key in ("routed", "partitions"))
    if routed is not None and routed > partitions:
        yield ("system", "routed"), f"found {routed}, expected at most system.partitions = {partitions}"


def _data(config: ExperimentConfig) -> Iterator[Problem]:
    n = config.dataset.n
    if n is not None and config.search.k > n:
        yield ("search", "k"), f"found {config.search.k}, expected at most dataset.n = {n}: there are no more vectors"
    R = getattr(config.index, "R", None)
    if R is not None and R < 2:
        yield ("index", "R"), f"found {R}, expected at least 2: a graph of degree 1 is a chain"


def _cluster(config: ExperimentConfig) -> Iterator[Problem]:
    placement = config.cluster.placement
    if placement.kind == "plugin" and placement.name is None:
        yield ("cluster", "placement", "name"), "missing, expected the entry-point name of the placement plug-in"
    if placement.kind != "plugin" and placement.name is not None:
        yield (
            ("cluster", "placement", "name"),
            f"found '{placement.name}' with kind '{placement.kind}'; expected only with kind 'plugin'",
        )
    workers, threads = getattr(config.system, "workers", 0), config.cluster.threads
    if getattr(config.system, "split", None) == "static" and workers >= threads:
        yield (
            ("system", "workers"),
            f"found {workers} with split 'static' and cluster.threads = {threads}; expected fewer",
        )
    if placement.kind != "plugin" and placement.options:
        yield ("cluster", "placement", "options"), f"found options with kind '{placement.kind}', which takes none"
    if isinstance(config.system, DiskAnnConfig | PipeAnnConfig):
        system = config.system.__struct_config__.tag
        expected = f"with system '{system}': its records lie on one local drive, in the order of their rows"
        if config.cluster.memory_nodes != 1:
            yield ("cluster", "memory_nodes"), f"found {config.cluster.memory_nodes}, expected 1 {expected}"
        if placement.kind != "contiguous":
            yield ("cluster", "placement", "kind"), f"found '{placement.kind}', expected 'contiguous' {expected}"
        if config.cluster.record_cache.kind != "none":
            kind = config.cluster.record_cache.kind
            yield ("cluster", "record_cache", "kind"), f"found '{kind}', expected 'none' with system '{system}'"
        if isinstance(config.driver, LiveDriver | ReplayDriver):
            found = config.driver.__struct_config__.tag
            yield ("driver", "kind"), f"found '{found}' with system '{system}', which reads a drive; expected 'file'"
    elif isinstance(config.driver, FileDriver):
        found = f"found '{config.system.__struct_config__.tag}' with driver 'file'"
        yield ("system", "kind"), f"{found}, which reads an index on a drive; expected 'diskann' or 'pipeann'"


def _threads(config: ExperimentConfig) -> Iterator[Problem]:
    system, cluster = config.system, config.cluster
    if isinstance(system, DHnswConfig) and isinstance(config.driver, SimDriver) and cluster.threads < 2:
        found = f"found {cluster.threads} with system 'd_hnsw'"
        yield ("cluster", "threads"), f"{found}, expected at least 2: one reads partitions"
    if not isinstance(system, DistVsConfig):
        return
    if system.memory_threads >= cluster.threads:
        yield (
            ("system", "memory_threads"),
            f"found {system.memory_threads}, expected fewer than cluster.threads = {cluster.threads}, which hold them",
        )
    if cluster.memory_nodes != 1:
        found = f"found {cluster.memory_nodes} with system 'distvs'"
        yield ("cluster", "memory_nodes"), f"{found}, expected 1: it is reconstructed for one"


def _tracing(config: ExperimentConfig) -> Iterator[Problem]:
    if isinstance(config.driver, SimDriver) and config.driver.trace is not None and (found := untraced(config)):
        yield ("driver", "trace"), f"found one with {found}; expected no trace"


def _load(config: ExperimentConfig) -> Iterator[Problem]:
    if isinstance(config.driver, LocalDriver) and not isinstance(config.load, ClosedLoad):
        kind = config.load.__struct_config__.tag
        yield ("load", "kind"), f"found '{kind}' with driver 'local', which has no clock; expected driver 'sim' for it"
    sample_us = getattr(config.driver, "sample_us", 0.0)
    if 0 < sample_us < _LEAST_SAMPLE_US:
        yield ("driver", "sample_us"), f"found {sample_us}, expected 0 (no samples) or at least {_LEAST_SAMPLE_US}"


def _live(config: ExperimentConfig) -> Iterator[Problem]:
    driver, cluster = config.driver, config.cluster
    if not isinstance(driver, LiveDriver | ReplayDriver | FileDriver):
        return
    kind = driver.__struct_config__.tag
    if cluster.record_cache.kind != "none":
        found = f"found '{cluster.record_cache.kind}' with driver '{kind}'"
        yield ("cluster", "record_cache", "kind"), f"{found}, which reads every record; expected 'none'"
    if cluster.compute_nodes > 1:
        found = f"found {cluster.compute_nodes} with driver '{kind}'"
        yield ("cluster", "compute_nodes"), f"{found}, which is one compute node; expected 1"
    if isinstance(driver, LiveDriver) and len(driver.memnodes) != cluster.memory_nodes * driver.replicas:
        yield (
            ("driver", "memnodes"),
            f"found {len(driver.memnodes)} addresses, expected cluster.memory_nodes * driver.replicas = "
            f"{cluster.memory_nodes * driver.replicas}",
        )


def _balancing(config: ExperimentConfig) -> Iterator[Problem]:
    balancing = getattr(config.system, "balancing", None)
    if not isinstance(balancing, AdaptiveBalancing):
        return
    for low, high in (("theta_low", "theta_high"), ("min_workers", "max_workers"), ("min_window", "max_window")):
        found, limit = getattr(balancing, low), getattr(balancing, high)
        if found > limit:
            yield ("system", "balancing", low), f"found {found}, expected at most {high} = {limit}"
    for key, low, high in (("workers_per_query", "min_workers", "max_workers"), ("window", "min_window", "max_window")):
        found, least, most = getattr(config.system, key), getattr(balancing, low), getattr(balancing, high)
        if not least <= found <= most and least <= most:
            yield (
                ("system", key),
                f"found {found}, expected {low} = {least} to {high} = {most} of the controller, which begins there",
            )


def _values(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(inner, (*path, key))


def _plugins(config: ExperimentConfig) -> Iterator[Problem]:
    for path, value in _values(msgspec.to_builtins(config)):
        if isinstance(value, dict) and value.get("kind") == "plugin" and value.get("name") == "":
            yield (*path, "name"), "found an empty name, expected the entry-point name of the plug-in"


def _numbers(config: ExperimentConfig) -> Iterator[Problem]:
    """Refuse numbers that no cost or rate is, infinities among them, and counts that no array can have."""
    for path, value in _values(msgspec.to_builtins(config)):
        if isinstance(value, bool) or not isinstance(value, int | float) or path[-1] in ("seed", "split_seed"):
            continue
        most = _MOST.get(path, _MAX_COUNT if isinstance(value, int) else _MAX_NUMBER)
        if not math.isfinite(value):
            yield path, f"found {value}, expected a finite number"
        elif abs(value) > most:
            yield path, f"found {value}, expected at most {most}"
