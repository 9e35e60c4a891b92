"""Constants of hardware that bear their source, and the files that hold them.

A constant is written ``{value: 390, unit: ns, kind: published, source: "..."}``. Kinds: ``measured`` (on this device,
by this project), ``published`` (by somebody else), ``derived`` (arithmetic on published numbers or protocol sizes),
``fitted`` (to the rows that the source names), ``unverified`` (a plausible value that nothing supports yet).
"""

from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

import msgspec

from riftsim.errors import ConfigError, did_you_mean
from riftsim.units import PS_PER_NS

SHORT_CODE_BYTES = {"pq": 20, "sq8": 128, "full": 128}
"""By kind of compact codes: length of those whose cache miss a hardware profile states; what is longer misses more."""

_UNITS = {"ns": "ns", "bytes": "B", "gbps": "Gb/s", "ghz": "GHz", "permille": "permille", "count": "1"}
MAX_NS = 1e7
"""Of a constant: 10 ms. With it, whatever one event adds to the time is far from what 64 bits of picoseconds hold."""
_LIMITS = {
    "ns": (0, MAX_NS),
    "bytes": (0, 2**31 - 1),
    "gbps": (1e-3, 1e6),
    "ghz": (1e-3, 1e3),
    "permille": (0, 1e6),
    "count": (0, 2**31 - 1),
}
"""Least and most of each unit; a rate may also be 0, which means that nothing takes time."""


class Constant(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """One number of a profile and where it comes from."""

    value: int | float
    unit: str
    kind: Literal["measured", "published", "derived", "fitted", "unverified"]
    source: str
    measured_ghz: float | None = None
    """Clock of the CPU on which it was measured; the value is scaled to the profile's clock."""


def check_constant(path: str, constant: Constant, *, of_cpu: bool = False) -> None:
    """Check unit, size, wholeness and source of a constant.

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
    require_within(path, constant.value, suffix)
    if suffix in ("bytes", "count", "permille") and constant.value != int(constant.value):
        raise ConfigError(f"{path}: found {constant.value}, expected a whole number")
    if constant.measured_ghz is not None:
        if not of_cpu or suffix != "ns":
            raise ConfigError(f"{path}: found measured_ghz, expected it with times of the CPU only")
        require_within(f"{path}: measured_ghz", constant.measured_ghz, "ghz")
    if not constant.source.strip():
        raise ConfigError(f"{path}: the source is empty; expected where the value comes from")


def require_within(path: str, value: float, suffix: str) -> None:
    """Refuse a value that no machine has: negative, or so large that its times could not be added up.

    Parameters
    ----------
    path : str
        Its key, for the message.
    value : float
    suffix : str
        Its unit, as the last word of the key says it.

    Raises
    ------
    ConfigError
        Naming the key.
    """
    least, most = _LIMITS[suffix]
    if not (least <= value <= most or (value == 0 and suffix == "gbps")):
        raise ConfigError(f"{path}: found {value}, expected {least:g} to {most:g} {_UNITS[suffix]}")


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
        hint = did_you_mean(path.stem, names)
        raise ConfigError(f"{key}: no profile {text!r}{hint}: neither a file nor one of {', '.join(names)}")
    return path
