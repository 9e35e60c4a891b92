"""The points of an experiment: the product of the values that its sweep lists."""

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from riftsim.config.canonical import config_hash
from riftsim.config.decode import decode, require_sound
from riftsim.config.document import Document, Origin, load_document, parse_setting, show_value
from riftsim.config.keys import TAG, split_key
from riftsim.config.schema import ExperimentConfig
from riftsim.errors import ConfigError
from riftsim.yaml_file import KeyPath

MAX_POINTS = 100_000
_SLUG_CHARACTERS = 96
_UNSWEEPABLE = ("name", "description", "sweep", "plots", "base")


@dataclass(frozen=True)
class Point:
    """One configuration to run: all values fixed, the sweep gone."""

    slug: str
    """Readable, unique within the experiment, safe as a file name."""
    config: ExperimentConfig
    hash: str
    swept: dict[str, Any]
    """The values that the sweep gave this point, by dotted key."""


@dataclass(frozen=True)
class Experiment:
    """A checked experiment file: its configuration as written and its points."""

    name: str
    source: str
    config: ExperimentConfig
    points: list[Point]


Settings = Mapping[str, Any] | Iterable[str]


def load_experiment(source: str | Path | Mapping[str, Any], set: Settings = ()) -> Experiment:
    """Read, check and expand an experiment.

    Parameters
    ----------
    source : path, name or mapping
        A YAML file, the name of a bundled experiment (``"quickstart"``), or its content.
    set : mapping of dotted key to value, or iterable of ``"key=value"``
        Values that win over the file and over its sweep. Setting a key that is swept, or a block around it, ends that
        axis.

    Returns
    -------
    Experiment
        Points in the order of the sweep, the last axis fastest; points that come out equal are one.

    Raises
    ------
    ConfigError
        Anything wrong with the file, a setting, or one of the points.
    """
    document = load_document(source)
    settings = _read_settings(set)
    for path, value, origin in settings:
        document = document.with_value(path, value, origin)
        document = _end_axes(document, path)
    config = decode(document)
    point_settings = [setting for setting in settings if setting[0][0] not in ("sweep", "plots")]
    return Experiment(config.name, document.source, config, _expand(document, point_settings))


def _read_settings(given: Settings) -> list[tuple[KeyPath, Any, Origin]]:
    if isinstance(given, Mapping):
        return [(split_key(key), value, Origin(f"set {key}")) for key, value in given.items()]
    if isinstance(given, str):
        given = [given]
    return [(*parse_setting(text), Origin(f"--set {text}")) for text in given]


def _end_axes(document: Document, path: KeyPath) -> Document:
    """Remove the axes whose key is the one just set or lies inside it."""
    axes = document.tree.get("sweep")
    if not isinstance(axes, dict) or path[0] == "sweep":
        return document
    kept = {key: values for key, values in axes.items() if split_key(key)[: len(path)] != path}
    return Document({**document.tree, "sweep": kept}, document.origins, document.source)


def _expand(document: Document, settings: list[tuple[KeyPath, Any, Origin]]) -> list[Point]:
    axes: dict[str, list] = document.tree.get("sweep", {})
    _check_axes(axes, document)
    tree = {key: value for key, value in document.tree.items() if key != "sweep"}
    origins = {path: where for path, where in document.origins.items() if path[0] != "sweep"}
    single = Document(tree, origins, document.source)
    shorts = {key: _short_name(key, axes) for key in axes}
    points: dict[str, Point] = {}
    slugs: set[str] = set()
    for choice in itertools.product(*(range(len(values)) for values in axes.values())):
        point = single
        for (key, values), position in zip(axes.items(), choice, strict=True):
            where = document.origin(("sweep", key, position))
            origin = Origin(f'{where}: $.sweep["{key}"][{position}]', None, where.folder)
            point = point.with_value(split_key(key), values[position], origin)
        for path, value, origin in settings:
            point = point.with_value(path, value, origin)
        # A setting may lie inside a swept block: the point is named by what it runs.
        found = {key: _value_at(point.tree, split_key(key)) for key in axes}
        swept = {key: value for key, (there, value) in found.items() if there}
        point = point.resolved_paths()
        config = decode(point)
        require_sound(config, point)
        identity = config_hash(config)
        if identity in points:
            continue
        words = [_label(shorts[key], value) for key, value in swept.items()]
        slug = _slug(words or [config.system.__struct_config__.tag], identity, slugs)
        slugs.add(slug.lower())
        points[identity] = Point(slug, config, identity, swept)
    return list(points.values())


def _value_at(tree: Any, path: KeyPath) -> tuple[bool, Any]:
    """Return whether a tree has a key, and its value."""
    for part in path:
        if not isinstance(tree, dict) or part not in tree:
            return False, None
        tree = tree[part]
    return True, tree


def _check_axes(axes: dict[str, list], document: Document) -> None:
    count = 1
    for key, values in axes.items():
        where = f'{document.origin(("sweep", key))}: $.sweep["{key}"]'
        if split_key(key)[0] in _UNSWEEPABLE:
            raise ConfigError(f"{where}: '{split_key(key)[0]}' cannot be swept; expected a key that changes the run")
        if not values:
            raise ConfigError(f"{where}: found an empty list, expected at least one value")
        seen = set()
        for value in values:
            identity = (type(value), repr(msgspec.to_builtins(value, order="sorted")))
            if identity in seen:
                raise ConfigError(f"{where}: found {show_value(value)} twice, expected each value once")
            seen.add(identity)
        count *= len(values)
    if count > MAX_POINTS:
        raise ConfigError(f"{document.origin(('sweep',))}: $.sweep: {count} points, expected at most {MAX_POINTS}")


# ---------------------------------------------------------------- names of points


def _short_name(key: str, axes: dict[str, list]) -> str:
    """Return the last part of a swept key, or all of it where two keys end alike."""
    short = key.rsplit(".", 1)[-1]
    alike = sum(other.rsplit(".", 1)[-1] == short for other in axes) > 1
    return key.replace(".", "_") if alike else short


def _label(name: str, value: Any) -> str:
    """Name a value: a kind or word as it is, a number with its key."""
    if isinstance(value, dict):
        inner = [_label(str(key), part) for key, part in value.items() if key != TAG]
        return "-".join(([str(value[TAG])] if TAG in value else []) + inner) or name
    if isinstance(value, list):
        return name + "+".join(_label("", item) for item in value)
    if isinstance(value, str):
        return Path(value).stem if "/" in value else value
    if isinstance(value, bool) or value is None:
        return f"{name}-{msgspec.json.encode(value).decode()}"
    return f"{name}{value}"


def _slug(words: list[str], identity: str, taken: set[str]) -> str:
    text = re.sub(r"[^A-Za-z0-9_.+-]+", "_", "-".join(words)).strip("._-") or "point"
    if len(text) > _SLUG_CHARACTERS:
        text = f"{text[: _SLUG_CHARACTERS - 9]}-{sha256(text.encode()).hexdigest()[:8]}"
    return text if text.lower() not in taken else f"{text[: _SLUG_CHARACTERS - 9]}-{identity[:8]}"
