"""Variants of a hardware profile: the same but for some constants, as files that an experiment can name."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from riftsim import yaml_file
from riftsim.errors import ConfigError
from riftsim.files import atomic_write
from riftsim.rdma.profiles import Constant, HardwareProfile, ProfileFile, load_profile, make_profile

GROUPS: dict[str, tuple[str, ...]] = {
    "link and PCIe rate": ("link.rate_gbps", "pcie.rate_gbps"),
    "propagation, NIC pipelines": ("link.propagation_ns", "nic.transit_ns"),
    "queue pair": ("nic.qp_service_ns",),
    "NIC per request": ("nic.wr_service_ns", "nic.responder_service_ns", "nic.wr_miss_ns"),
    "PCIe latency": ("pcie.read_ns", "pcie.write_ns", "pcie.wqe_fetch_ns"),
    "posting": ("cpu.build_wr_ns", "cpu.doorbell_ns"),
    "polling": ("cpu.poll_ns", "cpu.cqe_ns"),
    "query set-up, tables": ("cpu.query_setup_ns", "cpu.table_entry_ns"),
    "code distance": tuple(
        f"cpu.{codes}_{price}_ns"
        for codes in ("compact", "sq8", "full")
        for price in ("distance_base", "distance_per_byte", "miss", "miss_per_byte")
    ),
    "exact distance": ("cpu.exact_distance_base_ns", "cpu.exact_distance_per_byte_ns", "cpu.local_record_miss_ns"),
    "list insertion": ("cpu.insertion_ns", "cpu.offer_ns"),
    "adjacency lists": ("cpu.list_ns", "cpu.neighbor_ns"),
    "hand-over, control": ("cpu.handover_ns", "cpu.control_ns"),
}
"""Latency constants by what they belong to; those of one group are moved together."""


def constant_of(profile: HardwareProfile, path: str) -> Constant:
    """Return a constant by its dotted path.

    Raises
    ------
    ConfigError
        There is none of that name.
    """
    section, _, key = path.partition(".")
    block = getattr(profile.file, section, None)
    if not isinstance(getattr(block, key, None), Constant):
        raise ConfigError(f"profile {profile.name}: found no constant {path!r}, expected e.g. cpu.insertion_ns")
    return getattr(block, key)


def with_constants(profile: HardwareProfile, changes: Mapping[str, Constant], name: str) -> HardwareProfile:
    """Return a profile in which some constants are others, by dotted path."""
    file = profile.file
    for path, constant in changes.items():
        constant_of(profile, path)
        section, _, key = path.partition(".")
        block = msgspec.structs.replace(getattr(file, section), **{key: constant})
        file = msgspec.structs.replace(file, **{section: block})
    return make_profile(msgspec.structs.replace(file, name=name))


def with_values(profile: HardwareProfile, values: Mapping[str, float]) -> HardwareProfile:
    """Return a profile in which some constants have other values, by dotted path."""
    changes = {path: msgspec.structs.replace(constant_of(profile, path), value=value) for path, value in values.items()}
    return with_constants(profile, changes, profile.name)


def scaled(profile: HardwareProfile, factors: Mapping[str, float]) -> HardwareProfile:
    """Return a profile in which groups of constants take so many times as long; rates are divided.

    Parameters
    ----------
    profile : HardwareProfile
    factors : mapping of name of a group to float
    """
    changes = {}
    stated = {f"{section}.{key}" for section, key, _ in profile.constants()}
    for group, factor in factors.items():
        for path in GROUPS[group]:
            if path not in stated:  # codes that the profile does not price
                continue
            constant = constant_of(profile, path)
            scale = 1 / factor if path.endswith("_gbps") else factor
            changes[path] = msgspec.structs.replace(constant, value=constant.value * scale)
    return with_constants(profile, changes, profile.name)


def as_yaml(file: ProfileFile, header: str = "") -> str:
    """Write a profile as YAML, comment lines before it; `load_profile` reads it back."""
    plain = msgspec.to_builtins(file)
    for block in plain.values():
        if isinstance(block, dict):
            for key, constant in list(block.items()):
                if constant is None:  # of codes that the profile does not price
                    del block[key]
                elif isinstance(constant, dict) and constant.get("measured_ghz") is None:
                    constant.pop("measured_ghz", None)
    return header + yaml_file.dump(plain)


def write(profile: HardwareProfile, folder: Path) -> Path:
    """Write a profile into a folder under a name that its content gives, and return the path."""
    text = as_yaml(profile.file)
    path = folder / f"{profile.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.yaml"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as partial:
            partial.write_text(text, encoding="utf-8")
    return path.resolve()


def base_profile(hardware: str | None) -> HardwareProfile:
    """Return the profile that experiments run on: that of the paper's testbed unless another is named."""
    return load_profile(hardware or "connectx5-100g")
