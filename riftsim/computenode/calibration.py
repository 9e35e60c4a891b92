"""From what was measured on a machine to a hardware profile."""

import datetime
import os
import platform

import numpy as np

from riftsim.computenode.cpu_probe import cpu_constants
from riftsim.constants import Constant
from riftsim.rdma.calibrated import replaced
from riftsim.rdma.profiles import Measurement, ProfileFile


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


def _measured(value: float, unit: str, source: str) -> Constant:
    return Constant(value=round(value, 3), unit=unit, kind="measured", source=source)
