"""Profiles that a calibration makes: a base with some constants replaced, and how they are written."""

from pathlib import Path

import msgspec
import yaml

from riftsim.constants import Constant
from riftsim.errors import DataError
from riftsim.files import atomic_write
from riftsim.rdma.profiles import ProfileFile, make_profile
from riftsim.rdma.unloaded import unloaded_read_ps
from riftsim.units import PS_PER_US


def replaced(base: ProfileFile, constants: dict[str, Constant], **fields: object) -> ProfileFile:
    """Return a profile with other constants.

    Parameters
    ----------
    base : ProfileFile
    constants : dict of str to Constant
        By dotted key, such as ``nic.qp_service_ns``.
    **fields
        Other fields of the profile: ``name``, ``description``, ...
    """
    sections = {}
    for path, constant in constants.items():
        section, key = path.split(".")
        sections.setdefault(section, {})[key] = constant
    changed = {name: msgspec.structs.replace(getattr(base, name), **keys) for name, keys in sections.items()}
    return msgspec.structs.replace(base, **changed, **fields)


def measure_transit(file: ProfileFile, latency_us: float, length_bytes: int, source: str) -> Constant:
    """The transit time that makes a lone read take what it was measured to take.

    Parameters
    ----------
    file : ProfileFile
        Whose other stages and costs of the core are taken off; its own transit time is not looked at.
    latency_us : float
        Of a lone read, from before it is built until it is polled.
    length_bytes : int
        Its size.
    source : str
        Where the latency comes from.

    Raises
    ------
    DataError
        If the other stages alone take longer.
    """
    nothing = Constant(value=0, unit="ns", kind="derived", source=source)
    profile = make_profile(replaced(file, {"nic.transit_ns": nothing}))
    cpu = profile.cpu
    core_ps = cpu.build_wr_ps + cpu.doorbell_ps + cpu.poll_ps + cpu.cqe_ps
    others_us = (unloaded_read_ps(profile.network, length_bytes) + core_ps) / PS_PER_US
    if latency_us < others_us:
        raise DataError(
            f"{source}: found {latency_us:.3f} us for {length_bytes} bytes, expected at least the {others_us:.3f} us "
            "of the base profile's other stages; choose another one (--base)"
        )
    left = f"half of {latency_us:.3f} us less {others_us:.3f} us of the other stages"
    return Constant(
        value=round((latency_us - others_us) / 2 * 1e3, 3),
        unit="ns",
        kind="derived",
        source=f"{source}, {length_bytes} bytes: {left}",
    )


def write_profile(file: ProfileFile, path: Path) -> None:
    """Check a profile and write it as YAML that ``load_profile`` reads.

    Raises
    ------
    ConfigError
        If a constant contradicts another one; names it. Nothing is written then.
    """
    make_profile(file)
    content = _without_nulls(msgspec.to_builtins(file))
    with atomic_write(path) as partial:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
        partial.write_text(text, encoding="utf-8")


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
