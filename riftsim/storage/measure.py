"""Measuring this machine's drive into a profile: random sector reads at several depths, and long reads in a row."""

import math
import mmap
import os
import stat
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from riftsim import yaml_file
from riftsim.constants import Constant
from riftsim.errors import TransportError
from riftsim.files import atomic_write
from riftsim.index.sectors import SECTOR_BYTES
from riftsim.kernels.disk_reads import timed_reads
from riftsim.rng import stream
from riftsim.storage.profile import SECTIONS, DeviceSection, SsdFile, load_ssd_profile, make_ssd_profile
from riftsim.units import MIB

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
_MOST_UNITS = 1024
_LONG_READ_BYTES = MIB
_BLOCK_BYTES = 512
"""Of `st_blocks`."""


@dataclass(frozen=True)
class DepthRow:
    """Random reads of a sector with so many in flight."""

    depth: int
    mean_us: float
    p50_us: float
    p99_us: float
    reads_per_s: float


@dataclass(frozen=True)
class DriveMeasurement:
    """What was measured of a drive.

    Attributes
    ----------
    path : str
        The file that was read.
    direct : bool
        Whether reads went past the page cache.
    rows : list of DepthRow
    long_read_gbps : float
        Rate of reads of 1 MiB, one after the other in each of four threads.
    """

    path: str
    direct: bool
    rows: list[DepthRow]
    long_read_gbps: float


def measure_drive(
    path: str | os.PathLike,
    *,
    depths: tuple[int, ...] = DEPTHS,
    reads: int = 2000,
    seed: int = 0,
    direct: bool = True,
) -> DriveMeasurement:
    """Read a file at random places, by as many threads as there are to be reads in flight.

    Parameters
    ----------
    path : path-like
        A file on the drive, of at least 8 MiB and without holes; the larger, the more of the drive it shows. It is only
        read.
    depths : tuple of int
        Reads in flight.
    reads : int
        Reads per depth, at least; each thread does at least 50.
    seed : int
        Of the places.
    direct : bool
        Whether to read past the page cache; without it, memory is measured.

    Raises
    ------
    TransportError
        If the file cannot be opened or read in this way, is a folder, too small or mostly holes: names it.
    """
    path = os.fspath(path)
    size = _size(path)
    try:
        file = os.open(path, os.O_RDONLY | (os.O_DIRECT if direct else 0))
    except OSError as error:
        raise TransportError(f"{path}: cannot be opened for direct reads: {error.strerror}") from error
    try:
        sectors = size // SECTOR_BYTES
        rows = []
        for depth in depths:
            each = max(50, reads // depth)
            places = stream(seed, f"sectors at depth {depth}").integers(0, sectors, (depth, each)) * SECTOR_BYTES
            took_ns, wall_s = _read_together(path, file, places, SECTOR_BYTES)
            p50, p99 = np.quantile(took_ns, [0.5, 0.99]) / 1e3
            rows.append(DepthRow(depth, float(took_ns.mean()) / 1e3, float(p50), float(p99), took_ns.size / wall_s))
        long = min(64, size // _LONG_READ_BYTES // 4)
        places = np.arange(4 * long).reshape(4, long) * _LONG_READ_BYTES
        took_ns, wall_s = _read_together(path, file, places, _LONG_READ_BYTES)
    finally:
        os.close(file)
    return DriveMeasurement(path, direct, rows, took_ns.size * _LONG_READ_BYTES * 8 / wall_s / 1e9)


def _size(path: str) -> int:
    try:
        status = Path(path).stat()
    except OSError as error:
        raise TransportError(f"{path}: cannot be read: {error.strerror}") from error
    if stat.S_ISDIR(status.st_mode):
        raise TransportError(f"{path}: found a folder, expected a file on the drive, of at least {8 * MIB} bytes")
    size, stored = status.st_size, status.st_blocks * _BLOCK_BYTES
    if size < 8 * MIB:
        raise TransportError(f"{path}: found {size} bytes, expected at least {8 * MIB} to read at random places of")
    if stored < size // 2:
        raise TransportError(
            f"{path}: found {stored} of {size} bytes on the drive, expected all: holes are read without it"
        )
    return size


def _read_together(path: str, file: int, places: np.ndarray, length_bytes: int) -> tuple[np.ndarray, float]:
    """Read a row of places by each of several threads; times of all reads in ns, and seconds over all."""
    threads, each = places.shape
    took_ns = np.zeros((threads, each), np.int64)
    found = [0] * threads
    memory = mmap.mmap(-1, threads * length_bytes)
    landing = np.frombuffer(memory, np.uint8)
    gate = threading.Barrier(threads + 1)

    def work(number: int) -> None:
        clock, mine = np.zeros(2, np.int64), np.ascontiguousarray(places[number], np.int64)
        address = landing.ctypes.data + number * length_bytes
        gate.wait()
        found[number] = timed_reads(file, address, length_bytes, mine, took_ns[number], clock, clock.ctypes.data)

    scratch = np.zeros(2, np.int64)
    timed_reads(file, landing.ctypes.data, 0, places[0, :0].copy(), took_ns[0], scratch, scratch.ctypes.data)  # compile
    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    gate.wait()
    begin = time.perf_counter()
    for worker in workers:
        worker.join()
    wall_s = time.perf_counter() - begin
    for number in range(threads):
        if found[number] < each:
            at = places[number, found[number]]
            raise TransportError(f"{path}: read of {length_bytes} bytes at byte {at} failed or found less")
    return took_ns.reshape(-1), wall_s


def measured_profile(measurement: DriveMeasurement, name: str) -> SsdFile:
    """Turn a measurement into a profile.

    The controller is given the highest rate that was seen, the link that of the long reads, the flash what is left of
    a lone read. The number of units is fitted to the rates over depth: n readers keep ``n c / (n + c - 1)`` of c units
    busy. The host's own costs cannot be told apart from outside and are those of ``samsung-980pro``.

    Parameters
    ----------
    measurement : DriveMeasurement
        Of at least the depth 1 and a deeper one.
    name : str
        Of the profile.
    """
    known = load_ssd_profile("samsung-980pro")
    rows = sorted(measurement.rows, key=lambda row: row.depth)
    how = f"random reads of 4 KiB of {Path(measurement.path).name}, " + ("direct" if measurement.direct else "cached")
    host_ns = (known.submit_ps + known.enter_ps + known.poll_ps + known.reap_ps) / 1000
    top = max(row.reads_per_s for row in rows)
    command_ns, rate_gbps = round(1e9 / top, 1), round(measurement.long_read_gbps, 2)
    others_ns = command_ns + SECTOR_BYTES * 8 / rate_gbps + 1  # 1 ns for what rounding to integers adds
    read_ns = max(round(rows[0].p50_us * 1e3 - host_ns), math.ceil(others_ns))
    media_ns = math.floor(read_ns - others_ns)
    units = _fitted_units(rows, media_ns, top)
    values = {
        "read_ns": (read_ns, "measured", f"{how}: median at depth 1, less the host's own {host_ns:.0f} ns"),
        "media_ns": (media_ns, "derived", "what controller and transfer leave of read_ns"),
        "units_count": (units, "fitted", f"{how}: rates at depths {', '.join(str(row.depth) for row in rows)}"),
        "stripe_bytes": (16384, "unverified", "as samsung-980pro"),
        "command_ns": (command_ns, "measured", f"{how}: the highest rate, {top:,.0f} reads/s"),
        "rate_gbps": (rate_gbps, "measured", "reads of 1 MiB by four threads"),
        "queue_depth_count": (int(known.file.device.queue_depth_count.value), "unverified", "as samsung-980pro"),
    }
    units_of = {key: getattr(known.file.device, key).unit for key in values}
    device = DeviceSection(
        **{
            key: Constant(value=value, unit=units_of[key], kind=kind, source=source)
            for key, (value, kind, source) in values.items()
        }
    )
    description = f"Measured on this machine: {measurement.path}"
    return SsdFile(name=name, description=description, device=device, host=known.file.host)


def write_ssd_profile(file: SsdFile, path: str | os.PathLike) -> None:
    """Check a profile and write it as YAML that ``load_ssd_profile`` reads, atomically.

    Raises
    ------
    ConfigError
        If a constant contradicts another one; names it. Nothing is written then.
    """
    make_ssd_profile(file)
    content = msgspec.to_builtins(file)
    for section in SECTIONS:
        for constant in content[section].values():
            if constant["measured_ghz"] is None:
                del constant["measured_ghz"]
    with atomic_write(path) as partial:
        partial.write_text(yaml_file.dump(content), encoding="utf-8")


def _fitted_units(rows: list[DepthRow], media_ns: int, top: float) -> int:
    """Units whose rates over depth come nearest to those measured, in the sum of squared logarithms."""
    depths = np.array([row.depth for row in rows])
    rates = np.log([row.reads_per_s for row in rows])
    counts = np.arange(1, _MOST_UNITS + 1)[:, None]
    modelled = depths * counts / (depths + counts - 1) / max(media_ns, 1) * 1e9
    errors = np.square(np.log(np.minimum(modelled, top)) - rates).sum(axis=1)
    return int(counts[np.argmin(errors), 0])
