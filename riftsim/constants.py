"""Constants of hardware that bear their source, and the files that hold them.

A constant is written ``{value: 390, unit: ns, kind: published, source: "..."}``. Kinds: ``measured`` (on this device,
by this project), ``published`` (by somebody else), ``derived`` (arithmetic on published numbers or protocol sizes),
``fitted`` (to the rows that the source names), ``unverified`` (a plausible value that nothing supports yet).
"""

import difflib
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

import msgspec

from riftsim.errors import ConfigError
from riftsim.units import PS_PER_NS

_UNITS = {"ns": "ns", "bytes": "B", "gbps": "Gb/s", "ghz": "GHz", "permille": "permille", "count": "1"}


class Constant(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """One number of a profile and where it comes from."""

    value: int | float
    unit: str
    kind: Literal["measured", "published", "derived", "fitted", "unverified"]
    source: str
    measured_ghz: float | None = None
    """Clock of the CPU on which it was measured; the value is scaled to the profile's clock."""


def check_constant(path: str, constant: Constant, *, of_cpu: bool = False) -> None:
    """Check unit, sign, wholeness and source of a constant.

    Parameters
    ----------
    path : str
        Its dotted key, whose last word says the unit.
    constant : Constant
    of_cpu : bool
        Whether it may have a clock.

    Raises
    ------
    ConfigError
        Naming the key.
    """
    suffix = path.rsplit("_", 1)[1]
    expected = _UNITS[suffix]
    if constant.unit != expected:
        raise ConfigError(f"{path}: found unit {constant.unit!r}, expected {expected!r}")
    if constant.value < 0:
        raise ConfigError(f"{path}: found {constant.value}, expected a value of at least 0")
    if suffix in ("bytes", "count", "permille") and constant.value != int(constant.value):
        raise ConfigError(f"{path}: found {constant.value}, expected a whole number")
    if constant.measured_ghz is not None and (not of_cpu or suffix != "ns" or constant.measured_ghz <= 0):
        raise ConfigError(f"{path}: measured_ghz is for times of the CPU and positive, found {constant.measured_ghz}")
    if not constant.source.strip():
        raise ConfigError(f"{path}: the source is empty; expected where the value comes from")


def constant_ps(constant: Constant) -> int:
    """A time in ns as whole picoseconds."""
    return round(constant.value * PS_PER_NS)


def ps_per_kib(rate_gbps: Constant) -> int:
    """Picoseconds per KiB of a rate in Gb/s; 0 where the rate is 0, which means that nothing takes time."""
    return round(1024 * 8 * PS_PER_NS / rate_gbps.value) if rate_gbps.value else 0


def profile_names(folder: Traversable) -> list[str]:
    """Names of the profiles in a folder of riftsim."""
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def profile_path(folder: Traversable, name_or_path: str | Path, key: str) -> Path:
    """The file of a profile that is named, or whose path is given.

    Parameters
    ----------
    folder : Traversable
        Where the profiles of this kind lie.
    name_or_path : str or path-like
    key : str
        Key of the experiment file, for the message.

    Raises
    ------
    ConfigError
        If there is no such profile; names those that there are.
    """
    text = str(name_or_path)
    names = profile_names(folder)
    path = Path(str(folder / f"{text}.yaml")) if text in names else Path(text)
    if not path.exists():
        close = difflib.get_close_matches(path.stem, names, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ConfigError(f"{key}: no profile {text!r}{hint}: neither a file nor one of {', '.join(names)}")
    return path
