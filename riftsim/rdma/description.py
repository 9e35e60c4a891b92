"""What a hardware profile says, as rows for a table: constants with their sources, stages, latency by read size."""

from dataclasses import dataclass
from pathlib import Path

from riftsim.rdma.profiles import Constant, HardwareProfile, load_profile
from riftsim.rdma.published import LATENCY_SETS
from riftsim.rdma.unloaded import read_stages, unloaded_read_ps
from riftsim.units import PS_PER_NS, PS_PER_US

READ_SIZES_BYTES = (8, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)


@dataclass(frozen=True, slots=True)
class ConstantRow:
    """One constant of a profile.

    Attributes
    ----------
    section, key : str
        Where it stands in the file.
    value : float
        As it stands in the file.
    unit : str
    used : float
        After scaling to the profile's clock; the same as ``value`` where no clock is given.
    kind, source : str
    """

    section: str
    key: str
    value: float
    unit: str
    used: float
    kind: str
    source: str


@dataclass(frozen=True, slots=True)
class StageRow:
    """What one stage adds to the latency of a lone read of 128 bytes."""

    stage: str
    time_ns: float


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """Latency of a lone read of one size.

    Attributes
    ----------
    length_bytes : int
    network_us : float
        From the doorbell to the visible completion entry.
    model_us : float
        As a benchmark on the CPU sees it: building, doorbell, polling and one entry included.
    published_us : dict of str to float
        By device. ConnectX-3 is a slower device: its shape counts, not its level.
    """

    length_bytes: int
    network_us: float
    model_us: float
    published_us: dict[str, float]


@dataclass(frozen=True, slots=True)
class ProfileDescription:
    """Everything that ``riftsim profile show`` prints."""

    name: str
    text: str
    constants: list[ConstantRow]
    stages: list[StageRow]
    latencies: list[LatencyRow]


def benchmark_read_us(profile: HardwareProfile, length_bytes: int) -> float:
    """Return the latency of a lone read as a benchmark on the CPU sees it, in microseconds."""
    cpu = profile.cpu
    around = cpu.build_wr_ps + cpu.doorbell_ps + cpu.poll_ps + cpu.cqe_ps
    return (unloaded_read_ps(profile.network, length_bytes) + around) / PS_PER_US


def describe(name_or_path: str | Path) -> ProfileDescription:
    """Describe a profile.

    Parameters
    ----------
    name_or_path : str or path-like
        As for ``load_profile``.

    Returns
    -------
    ProfileDescription

    Raises
    ------
    ConfigError
        As ``load_profile``.
    """
    profile = load_profile(name_or_path)
    constants = [
        ConstantRow(section, key, c.value, c.unit, _used(profile, section, c), c.kind, c.source)
        for section, key, c in profile.constants()
    ]
    stages = [StageRow(stage, time_ps / PS_PER_NS) for stage, time_ps in read_stages(profile.network, 128)]
    latencies = [
        LatencyRow(
            length_bytes=size,
            network_us=unloaded_read_ps(profile.network, size) / PS_PER_US,
            model_us=benchmark_read_us(profile, size),
            published_us={s.device: s.points_us[size] for s in LATENCY_SETS if size in s.points_us},
        )
        for size in READ_SIZES_BYTES
    ]
    return ProfileDescription(profile.name, profile.file.description, constants, stages, latencies)


def _used(profile: HardwareProfile, section: str, constant: Constant) -> float:
    if section == "cpu" and constant.measured_ghz is not None:
        return constant.value * constant.measured_ghz / profile.file.cpu.clock_ghz.value
    return constant.value
