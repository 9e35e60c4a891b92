"""The cache of costly results (graphs, codes, exact neighbours), found again by the hash of what made them.

An artifact is a folder of ``.npy`` files and one ``manifest.json``. It is written beside its place and renamed, so a
reader never sees a half of it, and it is checked when it is read, so damage is refused instead of searched.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from riftsim.errors import FULL, IndexFileError
from riftsim.files import room_for, write_npy
from riftsim.kernels._jit import cache_root
from riftsim.units import GIB

FORMAT = 1
"""Version of the folder layout; part of every key, so that a new layout never reads old folders."""

CHECKSUM_LIMIT_BYTES = GIB
"""Files up to this size have their checksum verified on every load; larger ones only size, shape and dtype."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass
class Artifact:
    """Named arrays and the facts about how they came to be.

    Attributes
    ----------
    arrays : dict of str to numpy.ndarray
        Names are lower-case letters, digits, ``_`` and ``-``. Arrays that come from the cache are private mappings of
        their files: loaded as they are touched, and writing to one changes neither the file nor another process's view.
    facts : dict
        Whatever JSON can hold: reports, timings, warnings.
    """

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any] = field(default_factory=dict)


class ArtifactStore:
    """A folder of artifacts, shared by any number of processes.

    Parameters
    ----------
    root : path-like, optional
        Where the artifacts lie; by default ``artifacts`` in riftsim's cache folder.
    """

    def __init__(self, root: str | os.PathLike | None = None):
        self.root = Path(root) if root is not None else cache_root() / "artifacts"

    def folder(self, kind: str, recipe: dict[str, Any]) -> Path:
        """Return the folder in which the artifact of a recipe lies or will lie."""
        if not _NAME.fullmatch(kind):
            raise ValueError(f"artifact kind {kind!r} must be lower-case letters, digits, '_' and '-'")
        return self.root / kind / artifact_key(kind, recipe)[:32]

    def get_or_make(self, kind: str, recipe: dict[str, Any], make: Callable[[], Artifact]) -> Artifact:
        """Return the artifact of a recipe, made by ``make`` if it is not there yet.

        Two processes that ask for the same artifact make it once: the second waits and reads.

        Parameters
        ----------
        kind : str
            What it is, e.g. ``"vamana"``.
        recipe : dict
            Everything that determines the result (fingerprint of the vectors, all parameters, version of the method),
            as JSON can hold it.
        make : callable
            Returns the :class:`Artifact`. An exception in it leaves nothing behind.

        Returns
        -------
        Artifact
            Read back from its files, ``facts`` with ``"cached"`` (bool) added: whether it was there already.

        Raises
        ------
        IndexFileError
            If the stored artifact is damaged (names the file, and what to remove) or the cache cannot be written.
        """
        folder = self.folder(kind, recipe)
        cached = folder.exists()
        if not cached:
            with self._locked(folder):
                cached = folder.exists()
                if not cached:
                    self._write(folder, kind, recipe, make())
        artifact = _read(folder, kind, recipe)
        artifact.facts["cached"] = cached
        return artifact

    @contextmanager
    def _locked(self, folder: Path) -> Iterator[None]:
        with _explained(folder.parent):
            folder.parent.mkdir(parents=True, exist_ok=True)
            lock = (folder.parent / f".{folder.name}.lock").open("w")
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the end of the process releases it, however it ends
            yield

    def _write(self, folder: Path, kind: str, recipe: dict[str, Any], artifact: Artifact) -> None:
        prefix = f".{folder.name}.partial-"
        with _explained(folder):
            for abandoned in folder.parent.glob(f"{prefix}*"):  # of a process that was killed; we hold the lock
                shutil.rmtree(abandoned, ignore_errors=True)
            partial = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
            try:
                entries = {name: _write_array(partial, folder, name, array) for name, array in artifact.arrays.items()}
                manifest = {
                    "format": FORMAT,
                    "kind": kind,
                    "recipe": json.loads(canonical_json(recipe)),
                    "arrays": entries,
                    "facts": json.loads(canonical_json(artifact.facts)),
                }
                manifest["seal"] = _seal(manifest)
                with (partial / "manifest.json").open("w") as file:
                    json.dump(manifest, file, indent=1)
                    _sync(file)
                partial.chmod(0o755)
                partial.replace(folder)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise


def canonical_json(value: Any) -> str:
    """Write a value as JSON that is the same text for equal values (sorted keys, numpy scalars as numbers)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)


def artifact_key(kind: str, recipe: dict[str, Any]) -> str:
    """Return the SHA-256 (hexadecimal) of a kind and its recipe."""
    return hashlib.sha256(f"{FORMAT}\n{kind}\n{canonical_json(recipe)}".encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be part of a recipe or of facts")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        is_full = error.errno in FULL
        where, wanted = (error.filename or path, "with room") if is_full else (path, "that can be written")
        raise IndexFileError(
            f"{where}: cannot write to the cache ({error.strerror}); set RIFTSIM_CACHE_DIR to a folder {wanted}"
        ) from error


def _sync(file) -> None:
    file.flush()
    os.fsync(file.fileno())


def _write_array(partial: Path, folder: Path, name: str, array: np.ndarray) -> dict[str, Any]:
    if not _NAME.fullmatch(name):
        raise ValueError(f"array name {name!r} must be lower-case letters, digits, '_' and '-'")
    path = partial / f"{name}.npy"
    array = np.ascontiguousarray(array) if array.ndim else array
    with room_for(folder / path.name, array.nbytes), path.open("wb") as file:
        write_npy(file, array)
        _sync(file)
    return {
        "sha256": _checksum(path),
        "file_bytes": path.stat().st_size,
        "shape": list(array.shape),
        "dtype": array.dtype.str,
    }


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _seal(manifest: dict[str, Any]) -> str:
    """SHA-256 of a manifest without its seal."""
    return hashlib.sha256(canonical_json({**manifest, "seal": None}).encode()).hexdigest()


def _damaged(path: Path, folder: Path, found: str) -> IndexFileError:
    return IndexFileError(f"{path}: damaged cache entry: {found}; remove the folder {folder} to have it made anew")


def _read(folder: Path, kind: str, recipe: dict[str, Any]) -> Artifact:
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
        stored = (manifest["format"], manifest["kind"], canonical_json(manifest["recipe"]))
        entries, facts = dict(manifest["arrays"]), dict(manifest["facts"])
        if manifest.get("seal", _seal(manifest)) != _seal(manifest):  # those of earlier versions have none
            raise ValueError
    except OSError as error:
        raise _damaged(path, folder, f"the manifest cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, folder, "the manifest is not the JSON that was written") from error
    if stored != (FORMAT, kind, canonical_json(recipe)):
        raise _damaged(
            path, folder, f"it describes {stored[1]} of {stored[2]}, expected {kind} of this request's recipe"
        )
    return Artifact({name: _read_array(folder, name, entry) for name, entry in entries.items()}, facts)


def _read_array(folder: Path, name: str, entry: dict[str, Any]) -> np.ndarray:
    path = folder / f"{name}.npy"
    try:
        size_bytes = path.stat().st_size
        if size_bytes != entry["file_bytes"]:
            raise _damaged(path, folder, f"{size_bytes} bytes, expected {entry['file_bytes']}")
        if size_bytes <= CHECKSUM_LIMIT_BYTES and _checksum(path) != entry["sha256"]:
            raise _damaged(path, folder, "its checksum is not the one in the manifest")
        # Copy-on-write rather than read-only: numba compiles a second variant of every kernel for read-only arrays.
        array = np.load(path, mmap_mode="c", allow_pickle=False)
        found, expected = (list(array.shape), array.dtype.str), (list(entry["shape"]), entry["dtype"])
    except OSError as error:
        raise _damaged(path, folder, f"it cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, folder, f"it is not the array that was written ({error})") from error
    if found != expected:
        raise _damaged(path, folder, f"shape and dtype {found}, expected {expected}")
    return np.asarray(array)
