"""Results of perftest's ib_read_lat and ib_read_bw, and the constants of a hardware profile that follow from them.

Both tools (https://github.com/linux-rdma/perftest, https://perftest.wiki) print facts as ``name : value`` and then a
table whose head names the units. MB are 2**20 bytes, as perftest counts them.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from riftsim.constants import Constant
from riftsim.errors import DataError
from riftsim.rdma.calibrated import measure_transit, replaced
from riftsim.rdma.costs import framed_bytes
from riftsim.rdma.profiles import Measurement, ProfileFile

_TITLE = re.compile(r"RDMA_Read (Latency|BW) Test")
_FACT = re.compile(r"([A-Za-z][A-Za-z_.* ]*?)[ \t]*: ?([^\t\n]*?)(?=\s{2,}|\t|$)")
_LATENCY = {"t_typical": "typical_us", "99% percentile": "p99_us", "99.9% percentile": "p999_us", "t_min": "min_us"}
_BANDWIDTH = {"BW average": "average", "MsgRate": "rate_mops"}
_SMALL_BYTES = 256
"""Reads up to here are taken to be bound by the rate of work requests, not by bytes."""
_LARGE_BYTES = 32_768
"""Reads from here on are taken to be bound by bytes."""


@dataclass(frozen=True)
class PerftestFile:
    """One run of a tool.

    Attributes
    ----------
    path : Path
    is_latency : bool
        ib_read_lat, else ib_read_bw.
    facts : dict of str to str
        As printed: ``Device``, ``Mtu``, ``Outstand reads``, ...
    rows : list of dict
        One a size: ``bytes``, ``iterations``, and ``typical_us``, ``p99_us``, ``p999_us``, ``min_us`` of latency or
        ``gbps``, ``rate_mops`` of bandwidth.
    """

    path: Path
    is_latency: bool
    facts: dict[str, str]
    rows: list[dict[str, float]]


def read_perftest(path: Path) -> PerftestFile:
    """Read what ib_read_lat or ib_read_bw printed.

    Raises
    ------
    DataError
        If it is the output of something else, or has no results; names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    title = _TITLE.search(text)
    if title is None:
        raise DataError(
            f"{path}: found no title 'RDMA_Read Latency Test', expected output of ib_read_lat or ib_read_bw"
        )
    is_latency = title[1] == "Latency"
    facts: dict[str, str] = {}
    rows: list[dict[str, float]] = []
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().startswith("#bytes"):
            columns = re.split(r"\s{2,}|\s(?=#)", line.strip())
        elif columns and re.match(r"\s*\d+\s", line):
            rows.append(_row(f"{path}, line {number}", columns, line.split(), _LATENCY if is_latency else _BANDWIDTH))
        elif not columns:
            facts |= {name.strip(): value.strip() for name, value in _FACT.findall(line)}
    if not rows:
        raise DataError(f"{path}: found no row of results, expected a table below '#bytes #iterations'")
    return PerftestFile(path, is_latency, facts, rows)


def _row(place: str, columns: list[str], words: list[str], wanted: dict[str, str]) -> dict[str, float]:
    if len(words) != len(columns):
        raise DataError(f"{place}: found {len(words)} values, expected {len(columns)}: {', '.join(columns)}")
    row: dict[str, float] = {}
    for column, word in zip(columns, words, strict=True):
        name, _, unit = column.partition("[")
        try:
            value = float(word)
        except ValueError as error:
            raise DataError(f"{place}: found {word!r} for {name}, expected a number") from error
        if not math.isfinite(value):
            raise DataError(
                f"{place}: found {word} for {name}, expected a time: perftest could not tell the "
                "processor's clock (what it measured and /proc/cpuinfo disagree, as on emulated machines)"
            )
        if name in ("#bytes", "#iterations"):
            row[name[1:]] = value
        elif wanted.get(name) == "average":
            row["gbps"] = value if unit.startswith("Gb") else value * 8 * 2**20 / 1e9
        elif name in wanted:
            row[wanted[name]] = value
    missing = {"bytes", *(key for key in wanted.values() if key != "average")} - row.keys()
    if missing:
        raise DataError(f"{place}: found columns {', '.join(columns)}, expected also {', '.join(sorted(missing))}")
    return row


def constants_of(files: list[PerftestFile], base: ProfileFile) -> tuple[dict[str, Constant], list[Measurement]]:
    """Derive constants of the network from results of both tools.

    Latency gives the transit time (what the base's other stages leave of the smallest read), and the tail; bandwidth
    the rate of the link (of the largest reads) and of a queue pair (of small ones). What perftest cannot tell apart,
    above all PCIe, stays as in the base.

    Parameters
    ----------
    files : list of PerftestFile
        At least one of ib_read_lat and one of ib_read_bw, of one queue pair.
    base : ProfileFile
        Everything else.

    Returns
    -------
    constants : dict of str to Constant
        By dotted key.
    measurements : list of Measurement

    Raises
    ------
    DataError
        If a tool is missing, a run used several queue pairs, or the latency is less than the base's other stages.
    """
    latency, bandwidth = ([file for file in files if file.is_latency is wanted] for wanted in (True, False))
    for name, found in (("ib_read_lat", latency), ("ib_read_bw", bandwidth)):
        if not found:
            raise DataError(f"--perftest: found no output of {name}, expected one file of each tool")
    for file in files:
        if file.facts.get("Number of qps", "1") != "1":
            raise DataError(f"{file.path}: found {file.facts['Number of qps']} queue pairs, expected 1 (-q 1)")
    small = min((row for file in latency for row in file.rows), key=lambda row: row["bytes"])
    large = max((row for file in bandwidth for row in file.rows), key=lambda row: row["bytes"])
    quick = [row for file in bandwidth for row in file.rows if row["bytes"] <= _SMALL_BYTES and row["rate_mops"] > 0]
    if not quick:
        raise DataError(f"ib_read_bw: found no read of at most {_SMALL_BYTES} bytes, expected one (-s 64, or -a)")
    if large["bytes"] < _LARGE_BYTES:
        raise DataError(f"ib_read_bw: found no read of {_LARGE_BYTES} bytes or more, expected one (-s 65536, or -a)")
    fastest = max(quick, key=lambda row: row["rate_mops"])
    one_at_a_time = 1 / small["typical_us"]
    if fastest["rate_mops"] < one_at_a_time:
        raise DataError(
            f"ib_read_bw: found {fastest['rate_mops']} M/s of {fastest['bytes']:.0f} bytes, expected at least the "
            f"{one_at_a_time:.4g} M/s of one read at a time (ib_read_lat); was the machine busy with something else?"
        )
    where = f"{latency[0].facts.get('Device', 'the device')}, perftest"

    def measured(value: float, unit: str, source: str, kind: str = "measured") -> Constant:
        return Constant(value=round(value, 3), unit=unit, kind=kind, source=f"{where}: {source}")

    mtu = _number(bandwidth[0], "Mtu") or int(base.link.mtu_bytes.value)
    constants = {
        "link.rate_gbps": measured(
            large["gbps"] * _framed(large["bytes"], mtu, base),
            "Gb/s",
            f"ib_read_bw of {large['bytes']:.0f} bytes, with headers",
        ),
        "nic.qp_service_ns": measured(
            1e3 / fastest["rate_mops"], "ns", f"ib_read_bw of {fastest['bytes']:.0f} bytes: {fastest['rate_mops']} M/s"
        ),
    }
    for key, name, unit in (("link.mtu_bytes", "Mtu", "B"), ("nic.max_outstanding_count", "Outstand reads", "1")):
        found = _number(bandwidth[0], name)
        if found:
            constants[key] = measured(found, unit, f"ib_read_bw, {name!r}")
    typical_us = small["typical_us"]
    for key, column in (("nic.tail_p99_permille", "p99_us"), ("nic.tail_p999_permille", "p999_us")):
        excess = max(0, round(1000 * (small[column] / typical_us - 1)))
        constants[key] = measured(
            excess, "permille", f"ib_read_lat of {small['bytes']:.0f} bytes, {column[:-3]} {small[column]} us"
        )
    constants["nic.remainder_ns"] = measured(0, "ns", "everything unexplained is in transit_ns", "derived")
    file = replaced(base, constants)
    constants["nic.transit_ns"] = measure_transit(file, typical_us, int(small["bytes"]), f"{where}: ib_read_lat")
    measurements = [
        Measurement(
            what=f"ib_read_lat, {row['bytes']:.0f} bytes (p5: least, p95: 99th percentile)",
            unit="us",
            median=row["typical_us"],
            p5=row["min_us"],
            p95=row["p99_us"],
            samples=int(row["iterations"]),
        )
        for file in latency
        for row in file.rows
    ]
    return constants, measurements


def _number(file: PerftestFile, name: str) -> int | None:
    digits = re.match(r"\d+", file.facts.get(name, ""))
    return int(digits[0]) if digits else None


def _framed(length_bytes: float, mtu_bytes: int, base: ProfileFile) -> float:
    """Bytes on the wire per byte of payload."""
    header_bytes = int(base.link.response_header_bytes.value)
    return framed_bytes(int(length_bytes), mtu_bytes, header_bytes) / length_bytes
