"""What the schema cannot say: keys that contradict each other, in one place."""

import math
from collections.abc import Iterator

import msgspec

from riftsim.config.schema import ClosedLoad, ExperimentConfig, LocalDriver, PluginConfig
from riftsim.config.yaml_file import KeyPath

Problem = tuple[KeyPath, str]


def problems(config: ExperimentConfig) -> list[Problem]:
    """Return every contradiction of a configuration as the path of a key and a sentence; empty if it is sound."""
    return [problem for check in (_search, _data, _cluster, _load, _plugins, _numbers) for problem in check(config)]


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


def _data(config: ExperimentConfig) -> Iterator[Problem]:
    n = config.dataset.n
    if n is not None and config.search.k > n:
        yield ("search", "k"), f"found {config.search.k}, expected at most dataset.n = {n}: there are no more vectors"
    R = getattr(config.index, "R", None)
    if R is not None and R < 2:
        yield ("index", "R"), f"found {R}, expected at least 2: a graph of degree 1 is a chain"


def _cluster(config: ExperimentConfig) -> Iterator[Problem]:
    placement = config.cluster.placement
    if placement.kind == "plugin" and not placement.name:
        yield ("cluster", "placement", "name"), "missing, expected the entry-point name of the placement plug-in"
    if placement.kind != "plugin" and placement.name is not None:
        yield (
            ("cluster", "placement", "name"),
            f"found '{placement.name}' with kind '{placement.kind}'; expected only with kind 'plugin'",
        )
    if placement.kind != "plugin" and placement.options:
        yield ("cluster", "placement", "options"), f"found options with kind '{placement.kind}', which takes none"


def _load(config: ExperimentConfig) -> Iterator[Problem]:
    if isinstance(config.driver, LocalDriver) and not isinstance(config.load, ClosedLoad):
        kind = config.load.__struct_config__.tag
        yield ("load", "kind"), f"found '{kind}' with driver 'local', which has no clock; expected driver 'sim' for it"


def _plugins(config: ExperimentConfig) -> Iterator[Problem]:
    if isinstance(config.system, PluginConfig) and not config.system.name:
        yield ("system", "name"), "found an empty name, expected the entry-point name of the system plug-in"


def _numbers(config: ExperimentConfig) -> Iterator[Problem]:
    """Refuse infinities: YAML can write them, no cost or rate may be one."""

    def walk(value: object, path: KeyPath) -> Iterator[Problem]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from walk(inner, (*path, key))
        elif isinstance(value, float) and not math.isfinite(value):
            yield path, f"found {value}, expected a finite number"

    yield from walk(msgspec.to_builtins(config), ())
