"""What a hardware profile says, as rows for tables: constants with their sources, stages, latency by read size."""

from pathlib import Path
from typing import Any

from riftsim.constants import Constant
from riftsim.rdma.profiles import HardwareProfile, load_profile
from riftsim.rdma.published import LATENCY_SETS
from riftsim.rdma.unloaded import read_stages, unloaded_read_ps
from riftsim.units import PS_PER_NS, PS_PER_US

READ_SIZES_BYTES = (8, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)


def benchmark_read_us(profile: HardwareProfile, length_bytes: int) -> float:
    """Return the latency of a lone read as a benchmark on the CPU sees it, in microseconds.

    Building the work request, the doorbell, one poll and one completion entry are added to the network's time.
    """
    cpu = profile.cpu
    around = cpu.build_wr_ps + cpu.doorbell_ps + cpu.poll_ps + cpu.cqe_ps
    return (unloaded_read_ps(profile.network, length_bytes) + around) / PS_PER_US


def describe(name_or_path: str | Path) -> dict[str, list[dict[str, Any]]]:
    """Describe a profile.

    Parameters
    ----------
    name_or_path : str or path-like
        As for ``load_profile``.

    Returns
    -------
    dict of str to list of dict
        Title of a table to its rows: every constant with its source (``used`` is the value after scaling to the
        profile's clock); what each stage adds to a lone read of 128 bytes; latency by read size beside published
        points.

    Raises
    ------
    ConfigError
        As ``load_profile``.
    """
    profile = load_profile(name_or_path)
    constants = [
        {
            "constant": f"{section}.{key}",
            "value": constant.value,
            "unit": constant.unit,
            "used": _used(profile, constant),
            "kind": constant.kind,
            "source": constant.source,
        }
        for section, key, constant in profile.constants()
    ]
    stages = [
        {"stage": stage, "ns": duration_ps / PS_PER_NS} for stage, duration_ps in read_stages(profile.network, 128)
    ]
    latencies = [
        {
            "bytes": size,
            "network": unloaded_read_ps(profile.network, size) / PS_PER_US,
            "with CPU": benchmark_read_us(profile, size),
            **{measured.label: measured.points_us.get(size) for measured in LATENCY_SETS},
        }
        for size in READ_SIZES_BYTES
    ]
    devices = "; ".join(f"{measured.label}: {measured.device}, {measured.source}" for measured in LATENCY_SETS)
    return {
        f"{profile.name}: {profile.file.description}": constants,
        "Stages of a lone read of 128 bytes": stages,
        f"Latency of a lone read in us, beside published points ({devices})": latencies,
    }


def _used(profile: HardwareProfile, constant: Constant) -> float:
    if constant.measured_ghz is None:
        return constant.value
    return constant.value * constant.measured_ghz / profile.file.cpu.clock_ghz.value


def constants_markdown(name_or_path: str | Path, unlike: str | None = None) -> str:
    """Return the constants of a profile as a Markdown table.

    Parameters
    ----------
    name_or_path : str or path-like
        As for ``load_profile``.
    unlike : str, optional
        Another profile: leave out the constants that are the same there, source included.

    Returns
    -------
    str
        Lines that end in a newline each.
    """
    known = {} if unlike is None else {(s, k): constant for s, k, constant in load_profile(unlike).constants()}
    lines = ["| constant | value | kind | source |", "|---|---|---|---|"]
    for section, key, constant in load_profile(name_or_path).constants():
        if known.get((section, key)) != constant:
            unit = "" if constant.unit == "1" else f" {constant.unit}"
            clock = "" if constant.measured_ghz is None else f" at {constant.measured_ghz} GHz"
            value = f"{constant.value}{unit}{clock}"
            lines.append(f"| `{section}.{key}` | {value} | {constant.kind} | {constant.source} |")
    return "".join(f"{line}\n" for line in lines)
