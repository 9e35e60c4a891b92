"""One form per configuration: as plain values, as YAML, and as a hash that names its results."""

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from riftsim.config.document import BUNDLED, looks_like_path
from riftsim.config.schema import ExperimentConfig
from riftsim.constants import SHORT_CODE_BYTES
from riftsim.errors import ConfigError
from riftsim.yaml_file import dump, read

_PRESENTATION = ("name", "description", "sweep", "plots")
_HASH_CHARACTERS = 16
_LATER_KEYS: dict[str, dict[str, Any]] = {
    "distvs": {"connections": "shared", "intake": "one"},
    "d_hnsw": {"memory_bytes_per_vector": None},
}
"""Keys of systems that were added when there were results already, and what these were run with."""
_LARGE_FILES = (("index", "path"), ("codes", "pivots"), ("codes", "codes"), ("driver", "log"))
"""Keys that name files too large to hash each time."""


def to_plain(config: ExperimentConfig) -> dict[str, Any]:
    """Return a configuration as mappings, lists and scalars with every default written out, in the schema's order."""
    return msgspec.to_builtins(config)


def dump_config(config: ExperimentConfig) -> str:
    """Write a configuration as YAML that loads to the same configuration."""
    return dump(to_plain(config))


def config_hash(config: ExperimentConfig) -> str:
    """Hash what decides the numbers of a point.

    The order of keys, the name, description, sweep and plots of the experiment do not count. The *contents* of the
    hardware profile and of the data-set file count, so that results of an edited profile are not taken for those of
    the old one; of larger files (an index, codes, a log to be replayed) name, size and time. Prices of codes that the
    run has not do not count. A data set of the package that states ground truths counts by its name.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    plain = to_plain(config)
    decisive = {key: value for key, value in plain.items() if key not in _PRESENTATION}
    if decisive["driver"].get("trace") is None:  # a run that traces nothing is the run that could not
        decisive["driver"].pop("trace", None)
    decisive["hardware"] = _without_other_codes(_file_identity(config.hardware, "hardware"), decisive["codes"])
    decisive["dataset"]["name"] = _file_identity(config.dataset.name, "datasets")
    for key, before in _LATER_KEYS.get(decisive["system"]["kind"], {}).items():
        if decisive["system"][key] == before:
            decisive["system"].pop(key)
    if "drive" in decisive["system"]:
        decisive["system"]["drive"] = _file_identity(decisive["system"]["drive"], "storage")
    for block, key in _LARGE_FILES:
        if decisive[block].get(key) is not None:
            decisive[block][key] = _large_file_identity(Path(decisive[block][key]))
    text = json.dumps(decisive, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARACTERS]


def _file_identity(name: str, folder: str) -> list:
    """Return the name without its folder and the content of a YAML file that is referred to by name or path."""
    by_path = looks_like_path(name)
    path = Path(name) if by_path else BUNDLED / folder / f"{name}.yaml"
    try:
        # Truths are keyed by numbers. Those of the package are not read: what was recorded before they could be keeps
        # its hash, and the package does not change them.
        contents = _contents(path, path.stat().st_mtime_ns, integer_keys=by_path and folder == "datasets")
    except OSError:  # whoever opens the file for its purpose reports it
        return [name]
    return [path.stem, *contents] if contents else [name]


@lru_cache(maxsize=64)
def _contents(path: Path, mtime_ns: int, integer_keys: bool) -> list:
    """Return the content of a YAML file in a list, or an empty one if it cannot be read; a sweep asks once a point."""
    try:
        content = read(path, integer_keys=integer_keys)[0]
    except ConfigError:
        return []
    return [json.loads(json.dumps(content))]  # all keys as text, which can be sorted


def _without_other_codes(identity: list, codes: dict[str, Any]) -> list:
    """Leave out of a profile's identity what it states of codes that a run has not."""
    content = identity[-1]
    if not (isinstance(content, dict) and isinstance(content.get("cpu"), dict)):
        return identity
    other = [f"{kind}_" for kind in SHORT_CODE_BYTES if kind not in ("pq", codes["kind"])]
    if codes["kind"] == "pq" and codes["bytes"] <= SHORT_CODE_BYTES["pq"]:
        other.append("compact_miss_per_byte_")
    cpu = {key: value for key, value in content["cpu"].items() if not key.startswith(tuple(other))}
    return [*identity[:-1], {**content, "cpu": cpu}]


def _large_file_identity(path: Path) -> list:
    """Return name, size and time of a file too large to hash each time."""
    try:
        status = path.stat()
    except OSError:
        return [path.name]
    return [path.name, status.st_size, status.st_mtime_ns]
