"""What an SSD profile says, as rows for tables: constants with their sources, and latency by size."""

from pathlib import Path
from typing import Any

from riftsim.storage.profile import load_ssd_profile
from riftsim.units import PS_PER_US

READ_SIZES_BYTES = (4096, 8192, 16384, 65536, 262144, 1048576)


def describe_ssd(name_or_path: str | Path) -> dict[str, list[dict[str, Any]]]:
    """Describe a profile.

    Returns
    -------
    dict of str to list of dict
        Title of a table to its rows: every constant with its source; latency of a lone read by size.

    Raises
    ------
    ConfigError
        As ``load_ssd_profile``.
    """
    profile = load_ssd_profile(name_or_path)
    constants = [
        {
            "constant": f"{section}.{key}",
            "value": constant.value,
            "unit": constant.unit,
            "kind": constant.kind,
            "source": constant.source,
        }
        for section, key, constant in profile.constants()
    ]
    around_ps = profile.submit_ps + profile.enter_ps + profile.poll_ps + profile.reap_ps
    latencies = [
        {
            "bytes": size,
            "drive": profile.unloaded_ps(size) / PS_PER_US,
            "with CPU": (profile.unloaded_ps(size) + around_ps) / PS_PER_US,
        }
        for size in READ_SIZES_BYTES
    ]
    return {
        f"{profile.name}: {profile.file.description}": constants,
        "Latency of a lone read in us": latencies,
    }


def ssd_constants_markdown(name_or_path: str | Path) -> str:
    """Return the constants of a profile as a Markdown table, whose lines end in a newline each."""
    lines = ["| constant | value | kind | source |", "|---|---|---|---|"]
    for section, key, constant in load_ssd_profile(name_or_path).constants():
        unit = "" if constant.unit == "1" else f" {constant.unit}"
        lines.append(f"| `{section}.{key}` | {constant.value}{unit} | {constant.kind} | {constant.source} |")
    return "".join(f"{line}\n" for line in lines)
