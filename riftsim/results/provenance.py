"""Where a result comes from: versions, machine, time, command line and seed. Never the host's or the user's name."""

import datetime
import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "numba", "llvmlite", "faiss-cpu", "simpy", "pandas", "pyarrow")


def now() -> str:
    """Return the present time in UTC, ISO 8601, to the millisecond."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def collect(seed: int, started: str | None = None) -> dict[str, Any]:
    """Return the provenance of a run that ends now.

    Parameters
    ----------
    seed : int
        Seed of the run.
    started : str, optional
        Of :func:`now` when the run began.

    Returns
    -------
    dict
        ``started``, ``finished``, ``seed``, ``command``, ``versions``, ``machine``; plain JSON types.
    """
    finished = now()
    return {
        "started": started or finished,
        "finished": finished,
        "seed": seed,
        "command": [_program(), *sys.argv[1:]],
        "versions": versions(),
        "machine": machine(),
    }


def _program() -> str:
    name = Path(sys.argv[0]).name
    return "riftsim" if name == "__main__.py" else name  # python -m riftsim


@functools.cache
def versions() -> dict[str, Any]:
    """Return the versions of riftsim (and its commit, if it runs from a checkout), Python and the libraries."""
    found: dict[str, Any] = {"riftsim": _version("riftsim"), **_commit(), "python": platform.python_version()}
    return found | {name: _version(name) for name in LIBRARIES}


@functools.cache
def machine() -> dict[str, Any]:
    """Return what the run ran on: processor, usable cores, memory in bytes, kernel."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> dict[str, Any]:
    checkout = Path(__file__).resolve().parents[2]
    # Without this test, a package installed below somebody else's repository would report that repository's commit.
    if not (checkout / ".git").exists():
        return {"commit": None, "dirty": None}
    commit = _git(checkout, "rev-parse", "HEAD")
    changes = _git(checkout, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit or None, "dirty": None if changes is None else bool(changes)}


def _git(checkout: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(checkout), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
