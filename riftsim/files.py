"""Writing files so that a reader never sees a half of one, and a full drive is told."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import numpy as np

from riftsim.errors import FULL


@contextmanager
def atomic_write(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path in the folder of ``path``; on success it becomes ``path``, on any error it is removed.

    Parameters
    ----------
    path : path-like
        The file to be written. Its folder is made if needed.

    Yields
    ------
    pathlib.Path
        Where to write.

    Raises
    ------
    OSError
        It cannot be written; names ``path``, also where the system names the temporary file or none.
    """
    target = Path(path)
    partial = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
        os.close(handle)
        partial = Path(name)
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.chmod(0o666 & ~umask())
        partial.replace(target)
    except BaseException as error:
        if partial is not None:
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and (error.filename is None or str(error.filename).endswith(".partial")):
            # Under the name that the user knows.
            raise OSError(error.errno, error.strerror or str(error), str(target)) from error
        raise


@contextmanager
def room_for(path: str | os.PathLike, needed_bytes: int) -> Iterator[None]:
    """Say how much a file needs and how much is free where its drive turns out to be full.

    Parameters
    ----------
    path : path-like
        The file, or the folder of one without a name, as the user knows it.
    needed_bytes : int

    Raises
    ------
    OSError
        Of a full drive or quota: names ``path``, the bytes needed and those that were free before.
    """
    target = Path(path).absolute()
    free_bytes = shutil.disk_usage(next(place for place in (target, *target.parents) if place.is_dir())).free
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        found = f"{error.strerror}: found {free_bytes:,} bytes free, expected {needed_bytes:,}"
        raise OSError(error.errno, found, os.fspath(path)) from error


def write_npy(file: BinaryIO, array: np.ndarray) -> None:
    """Write an array in numpy's format; a full drive is an error of the system, not numpy's count of items written."""
    np.save(SimpleNamespace(write=file.write), array, allow_pickle=False)


def map_scratch(folder: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Map an array from a nameless file that goes with it, so that it need not fit in memory.

    Its bytes are taken from the drive at once: a drive that is full when a page is written would end the process.

    Parameters
    ----------
    folder : pathlib.Path
        On a disk; made if needed.
    dtype, shape
        Of the array.

    Returns
    -------
    ndarray
        Zeros.

    Raises
    ------
    OSError
        The drive has no room for it; names the folder, the bytes needed and those that are free.
    """
    folder.mkdir(parents=True, exist_ok=True)
    size_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    with tempfile.TemporaryFile(dir=folder) as file, room_for(folder, size_bytes):
        os.posix_fallocate(file.fileno(), 0, size_bytes)
        return np.memmap(file, dtype, "r+", shape=shape).view(np.ndarray)


def umask() -> int:
    """Return the permissions that the process withholds from new files."""
    current = os.umask(0)
    os.umask(current)
    return current
