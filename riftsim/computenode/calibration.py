"""From what was measured on a machine to a hardware profile."""

import datetime
import os
import platform

import numpy as np

from riftsim.computenode.cpu_probe import cpu_constants
from riftsim.computenode.rdma_probe import CHAINED_BYTES, ReadFigures, line
from riftsim.constants import Constant
from riftsim.rdma.calibrated import measure_transit, replaced
from riftsim.rdma.profiles import Measurement, ProfileFile

PATH = "through riftsim's Python path"


def summary(what: str, unit: str, samples: np.ndarray) -> Measurement:
    """Median and spread of samples."""
    p5, median, p95 = (round(float(value), 4) for value in np.percentile(samples, (5, 50, 95)))
    return Measurement(what=what, unit=unit, median=median, p5=p5, p95=p95, samples=len(samples))


def this_machine() -> dict[str, str]:
    """Facts about where and when something was measured."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def with_cpu(base: ProfileFile, figures: dict[str, np.ndarray]) -> ProfileFile:
    """Put measured times of computing into a profile; the clock is that of the measurement.

    Parameters
    ----------
    base : ProfileFile
    figures : dict of str to ndarray
        Of ``cpu_probe.cpu_figures``.
    """
    clock_ghz = round(float(np.median(figures["clock_ghz"])), 3)
    medians = {name: float(np.median(samples)) for name, samples in figures.items()}
    constants = {"cpu.clock_ghz": _measured(clock_ghz, "GHz", "a chain of dependent steps of 4 cycles")}
    constants |= {
        f"cpu.{key}": _measured(value, "ns", source) for key, (value, source) in cpu_constants(medians).items()
    }
    rows = [
        summary(name.removesuffix("_ns"), "GHz" if name == "clock_ghz" else "ns", samples)
        for name, samples in figures.items()
    ]
    return replaced(base, constants, measurements=[*base.measurements, *rows])


def with_reads(base: ProfileFile, figures: ReadFigures, device: str, *, shares_core: bool) -> ProfileFile:
    """Put measured reads into a profile.

    Parameters
    ----------
    base : ProfileFile
        With the times of computing.
    figures : ReadFigures
    device : str
        For the sources.
    shares_core : bool
        Whether NICs, polling and workers share one core: link, PCIe and all other stages then take no time of their
        own, and a read costs what it was measured to cost.
    """
    doorbell_ns, build_ns = line(figures.post_ns)
    poll_ns = float(np.median(figures.empty_poll_ns))
    cqe_ns = line(figures.full_poll_ns)[1]
    after = {count: np.maximum(0, figures.chain_ns[count] - figures.post_ns[count]) for count in figures.chain_ns}
    fixed_ns, per_read_ns = line(after)
    where = f"{device}, reads of {CHAINED_BYTES} bytes, {PATH}"
    constants = {
        "cpu.build_wr_ns": _measured(build_ns, "ns", f"{where}: the post, per work request of a chain"),
        "cpu.doorbell_ns": _measured(doorbell_ns, "ns", f"{where}: the post, whatever the chain's length"),
        "cpu.poll_ns": _measured(poll_ns, "ns", f"{where}: a poll that finds nothing"),
        "cpu.cqe_ns": _measured(cqe_ns, "ns", f"{where}: a poll, per completion"),
        "nic.qp_service_ns": _measured(per_read_ns, "ns", f"{where}: after the post, per read of a chain"),
    }
    if shares_core:
        transit_ns = max(0.0, fixed_ns - poll_ns - cqe_ns) / 2
        constants["nic.transit_ns"] = _measured(transit_ns, "ns", f"{where}: after the post, half of what is fixed")
        constants |= _no_stages(base)
        file = replaced(base, constants)
    else:
        file = replaced(base, constants)
        smallest = min(figures.latency_ns)
        latency_us = float(np.median(figures.latency_ns[smallest])) / 1e3
        constants["nic.remainder_ns"] = _measured(0, "ns", "everything unexplained is in transit_ns")
        file = replaced(file, constants)
        transit = measure_transit(file, latency_us, smallest, f"{device}, {PATH}")
        file = replaced(file, {"nic.transit_ns": transit})
    return replaced(file, {}, nic_shares_core=shares_core, measurements=[*base.measurements, *_read_rows(figures)])


def with_handover(base: ProfileFile, samples_ns: np.ndarray) -> ProfileFile:
    """Put the measured hand-over of a task (``cpu_probe.handover_ns``) into a profile."""
    constant = _measured(float(np.median(samples_ns)), "ns", f"an empty task to a worker thread and back, {PATH}")
    rows = [*base.measurements, summary("an empty task to a worker and back", "us", samples_ns / 1e3)]
    return replaced(base, {"cpu.handover_ns": constant}, measurements=rows)


def _no_stages(base: ProfileFile) -> dict[str, Constant]:
    kept = ("nic.qp_service_ns", "nic.transit_ns")
    source = "a core that is its own NIC: measured as a whole, see qp_service_ns and transit_ns"
    return {
        f"{section}.{key}": Constant(value=0, unit=getattr(block, key).unit, kind="derived", source=source)
        for section, block in (("link", base.link), ("nic", base.nic), ("pcie", base.pcie))
        for key in block.__struct_fields__
        if key.endswith(("_ns", "_gbps")) and f"{section}.{key}" not in kept
    }


def _read_rows(figures: ReadFigures) -> list[Measurement]:
    rows = [summary(f"read of {size} bytes, alone", "us", ns / 1e3) for size, ns in figures.latency_ns.items()]
    for what, found in (
        ("posting a chain of {}", figures.post_ns),
        ("chain of {}, to its last completion", figures.chain_ns),
        ("a poll that finds {}", figures.full_poll_ns),
    ):
        rows += [summary(what.format(count), "us", ns / 1e3) for count, ns in found.items()]
    rows.append(summary("a poll that finds 0", "us", figures.empty_poll_ns / 1e3))
    rows += [summary(f"reads with {window} outstanding", "M/s", rate) for window, rate in figures.rate_mops.items()]
    return rows


def _measured(value: float, unit: str, source: str) -> Constant:
    return Constant(value=round(value, 3), unit=unit, kind="measured", source=source)
