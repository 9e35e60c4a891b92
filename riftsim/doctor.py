"""What of an installation works, and why the rest does not: versions, processor, RDMA, limits, space."""

import os
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from riftsim.errors import TransportError
from riftsim.units import GIB, format_bytes

State = Literal["ok", "note", "broken"]
_REQUIRED = (
    "numpy",
    "numba",
    "simpy",
    "faiss-cpu",
    "pandas",
    "pyarrow",
    "matplotlib",
    "msgspec",
    "PyYAML",
    "h5py",
    "rich",
    "Jinja2",
    "markdown-it-py",
    "scipy",
)
_VECTOR_FEATURES = ("avx2", "fma", "avx512f", "avx512bw", "avx512vnni", "neon", "sve")


@dataclass(frozen=True)
class Check:
    """One finding. ``note`` is worth knowing, ``broken`` keeps riftsim from working."""

    topic: str
    state: State
    text: str


def examine(infiniband: Path = Path("/sys/class/infiniband")) -> list[Check]:
    """Look at the installation and the machine.

    Parameters
    ----------
    infiniband : path
        Where the kernel lists RDMA devices.

    Returns
    -------
    list of Check
    """
    parts: tuple[Callable[[], Iterator[Check]], ...] = (
        _versions,
        _processor,
        lambda: _rdma(infiniband),
        _memlock,
        _cache,
        _plugins,
        _space,
    )
    return [check for part in parts for check in part()]


def _versions() -> Iterator[Check]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", "ok" if sys.version_info >= (3, 11) else "broken", f"{python} ({sys.executable})")
    for package in ("riftsim", *_REQUIRED):
        try:
            yield Check(package, "ok", metadata.version(package))
        except metadata.PackageNotFoundError:
            if package == "riftsim":
                yield Check(package, "note", f"not installed; used from {Path(__file__).resolve().parent}")
            else:
                yield Check(package, "broken", f"not installed; expected: pip install {package}")


def _processor() -> Iterator[Check]:
    usable, present = len(os.sched_getaffinity(0)), os.cpu_count()
    yield Check("threads", "ok", f"{usable} usable of {present}")
    try:
        from llvmlite import binding

        name, features = binding.get_host_cpu_name(), binding.get_host_cpu_features()
    except Exception as error:
        yield Check("processor", "broken", f"llvmlite cannot say: {error}")
        return
    vector = [feature for feature in _VECTOR_FEATURES if features.get(feature)]
    yield Check("processor", "ok", f"{name}; {', '.join(vector) or 'no wide vectors'}")


def _rdma(infiniband: Path) -> Iterator[Check]:
    try:
        devices = sorted(path.name for path in infiniband.iterdir())
    except OSError:
        devices = []
    if devices:
        yield Check("RDMA device", "ok", ", ".join(devices))
    elif not infiniband.exists():
        yield Check("RDMA device", "note", f"none: {infiniband} is not there, the kernel has no RDMA drivers loaded")
    else:
        yield Check("RDMA device", "note", f"none: {infiniband} is empty; a NIC or SoftRoCE (rdma_rxe) is needed")
    from riftsim.rdma import verbs

    try:
        seen = verbs.device_names()
        yield Check("pyverbs", "ok", f"importable; it sees {', '.join(seen) or 'no device'}")
    except TransportError as error:
        yield Check("pyverbs", "note", f"only live runs need it: {error}")


def _memlock() -> Iterator[Check]:
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)

    def show(limit: int) -> str:
        return "unlimited" if limit == resource.RLIM_INFINITY else format_bytes(limit)

    enough = soft == resource.RLIM_INFINITY or soft >= GIB
    hint = "" if enough else "; registering larger regions needs more (ulimit -l, /etc/security/limits.conf)"
    yield Check("memlock", "ok" if enough else "note", f"{show(soft)} (at most {show(hard)}){hint}")


def _cache() -> Iterator[Check]:
    try:
        from riftsim.kernels._jit import cache_root
    except ImportError as error:
        yield Check("cache", "broken", f"kernels cannot be imported: {error}")
        return
    root = cache_root()
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) if root.exists() else 0
    writable = os.access(root if root.exists() else _existing(root), os.W_OK)
    state: State = "ok" if writable else "broken"
    hint = "" if writable else "; not writable, so that every process compiles anew: set RIFTSIM_CACHE_DIR"
    yield Check("cache", state, f"{root}: {format_bytes(size)}{hint}")
    yield Check("cache space", "ok", f"{format_bytes(shutil.disk_usage(_existing(root)).free)} free")


def _plugins() -> Iterator[Check]:
    from riftsim.plugins import installed

    names = [f"{kind}:{name}" for kind, name in installed()]
    yield Check("plug-ins", "ok", ", ".join(names) or "none")


def _space() -> Iterator[Check]:
    free = shutil.disk_usage(Path.cwd()).free
    yield Check("space here", "ok" if free >= GIB else "note", f"{format_bytes(free)} free in {Path.cwd()}")


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())
