"""Profiles of SSDs: YAML files in which every constant bears its source, converted once to integer picoseconds."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import msgspec

from riftsim import yaml_file
from riftsim.constants import Constant, check_constant, constant_ps, profile_names, profile_path, ps_per_kib
from riftsim.errors import ConfigError
from riftsim.index.sectors import SECTOR_BYTES

SECTIONS = ("device", "host")
_FOLDER = resources.files("riftsim") / "configs" / "storage"


class DeviceSection(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """The drive."""

    read_ns: Constant
    """A lone read of one sector, from its submission to its completion, without the host's own work."""
    media_ns: Constant
    """How long a read occupies the unit of flash that its sector lies on."""
    units_count: Constant
    """Units of flash that read independently of each other: planes of the chips on all channels."""
    stripe_bytes: Constant
    """Bytes that lie together on one unit; the next as many lie on the next unit."""
    command_ns: Constant
    """The controller's time per read: the inverse of the highest rate of reads."""
    rate_gbps: Constant
    """Transfer to the host; 0 means that it takes no time."""
    queue_depth_count: Constant
    """Reads that one submission queue may have outstanding; more wait at the host."""


class HostSection(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What a core of the host takes for reads, with an interface like io_uring."""

    submit_ns: Constant
    """Per read: the entry, and its way through the kernel to the drive."""
    enter_ns: Constant
    """Per chain of reads that are submitted together: the system call."""
    poll_ns: Constant
    """A look at the completion queue."""
    reap_ns: Constant
    """Per completion taken: the interrupt, its way through the kernel, and the entry."""


class SsdFile(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A profile as it stands in the file."""

    name: str
    description: str
    device: DeviceSection
    host: HostSection


@dataclass(frozen=True, slots=True)
class SsdProfile:
    """A loaded profile; times in picoseconds.

    Attributes
    ----------
    name : str
    file : SsdFile
        What was read, sources included.
    media_ps, command_ps : int
        Per read on a unit of flash, and in the controller.
    interface_ps : int
        What a lone read takes besides controller, flash and transfer.
    ps_per_kib : int
        Of the transfer.
    units, stripe_bytes, queue_depth : int
    submit_ps, enter_ps, poll_ps, reap_ps : int
        Of a core of the host.
    """

    name: str
    file: SsdFile
    media_ps: int
    command_ps: int
    interface_ps: int
    ps_per_kib: int
    units: int
    stripe_bytes: int
    queue_depth: int
    submit_ps: int
    enter_ps: int
    poll_ps: int
    reap_ps: int

    def transfer_ps(self, length_bytes: int) -> int:
        """Time on the link to the host."""
        return (length_bytes * self.ps_per_kib + 512) >> 10

    def unloaded_ps(self, length_bytes: int = SECTOR_BYTES) -> int:
        """Latency of a lone read that lies on different units: all of them read at once."""
        return self.command_ps + self.media_ps + self.transfer_ps(length_bytes) + self.interface_ps

    def constants(self) -> Iterator[tuple[str, str, Constant]]:
        """Yield section, key and constant in the order of the file."""
        for section in SECTIONS:
            block = getattr(self.file, section)
            for key in block.__struct_fields__:
                yield section, key, getattr(block, key)


def list_ssd_profiles() -> list[str]:
    """Return the names of the profiles that come with riftsim."""
    return profile_names(_FOLDER)


def is_ssd_profile(name_or_path: str | Path) -> bool:
    """Whether this is the name of a bundled SSD profile, or a file that looks like one."""
    if str(name_or_path) in list_ssd_profiles():
        return True
    path = Path(name_or_path)
    content = yaml_file.read(path)[0] if path.is_file() else None
    return isinstance(content, dict) and "device" in content


def load_ssd_profile(name_or_path: str | Path) -> SsdProfile:
    """Read and check a profile and convert it to integers.

    Parameters
    ----------
    name_or_path : str or path-like
        The name of a profile that comes with riftsim, or the path of a YAML file.

    Raises
    ------
    ConfigError
        If there is no such profile, or a constant is missing, unknown, negative, of the wrong unit or contradicts
        another; names file and key.
    """
    path = profile_path(_FOLDER, name_or_path, "drive")
    content, _ = yaml_file.read(path)
    try:
        return make_ssd_profile(msgspec.convert(content, SsdFile))
    except (msgspec.ValidationError, ConfigError) as error:
        raise ConfigError(f"{path}: {error}") from error


def make_ssd_profile(file: SsdFile) -> SsdProfile:
    """Check a profile's constants and convert them.

    Raises
    ------
    ConfigError
        As ``load_ssd_profile``; names the key.
    """
    for section in SECTIONS:
        block = getattr(file, section)
        for key in block.__struct_fields__:
            check_constant(f"{section}.{key}", getattr(block, key))
    device, host = file.device, file.host
    for key in ("units_count", "queue_depth_count"):
        if getattr(device, key).value < 1:
            raise ConfigError(f"device.{key}: found {getattr(device, key).value}, expected at least 1")
    stripe = int(device.stripe_bytes.value)
    if stripe < SECTOR_BYTES or stripe % SECTOR_BYTES:
        raise ConfigError(f"device.stripe_bytes: found {stripe}, expected a multiple of {SECTOR_BYTES}")
    rate = ps_per_kib(device.rate_gbps)
    within = constant_ps(device.command_ns) + constant_ps(device.media_ns) + SECTOR_BYTES // 1024 * rate
    interface = constant_ps(device.read_ns) - within
    if interface < 0:
        raise ConfigError(
            f"device.read_ns: found {device.read_ns.value}, expected at least {within / 1000:g} ns: command_ns, "
            "media_ns and the transfer of a sector are parts of it"
        )
    return SsdProfile(
        name=file.name,
        file=file,
        media_ps=constant_ps(device.media_ns),
        command_ps=constant_ps(device.command_ns),
        interface_ps=interface,
        ps_per_kib=rate,
        units=int(device.units_count.value),
        stripe_bytes=stripe,
        queue_depth=int(device.queue_depth_count.value),
        submit_ps=constant_ps(host.submit_ns),
        enter_ps=constant_ps(host.enter_ns),
        poll_ps=constant_ps(host.poll_ns),
        reap_ps=constant_ps(host.reap_ns),
    )
