"""The one decorator of every compiled kernel.

numba's on-disk cache notices a change in the file of a function but not in the files of the functions that it calls.
All kernels therefore live in this package, and their cache folder is keyed by a hash of all its sources: an edit
anywhere opens a new folder. Other packages' caches are left alone. Compiling is announced in the log
``riftsim.kernels``.
"""

import atexit
import contextlib
import hashlib
import logging
import os
import pickle
import shutil
import tempfile
import warnings
from pathlib import Path

import numba
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

_KEPT_CACHES = 8


def cache_root() -> Path:
    """Return riftsim's cache folder: ``$RIFTSIM_CACHE_DIR``, else ``riftsim`` in the user's cache folder."""
    configured = os.environ.get("RIFTSIM_CACHE_DIR")
    if configured:
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "riftsim"


def sources_digest(folder: Path) -> str:
    """Hash the names and contents of the Python files of a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _kernel_cache() -> Path:
    root = cache_root() / "kernels"
    folder = root / sources_digest(Path(__file__).parent)
    if folder.exists():
        with contextlib.suppress(OSError):  # a cache that others share may be read-only
            os.utime(folder)  # so that the caches least recently used go first
    else:
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            return folder
        except OSError:  # a read-only or full home: kernels still work, they only compile anew
            temporary = tempfile.mkdtemp(prefix="riftsim-kernels-")
            atexit.register(shutil.rmtree, temporary, ignore_errors=True)
            return Path(temporary)
        stale = sorted((p for p in root.iterdir() if p != folder), key=lambda p: p.stat().st_mtime)
        for old in stale[: max(0, len(stale) + 1 - _KEPT_CACHES)]:
            shutil.rmtree(old, ignore_errors=True)
    return folder


KERNEL_CACHE = _kernel_cache()


class _Announcer(event.Listener):
    """Says once that kernels are compiled: for a minute or more nothing else is to be seen."""

    announced = False

    def on_start(self, compilation):
        """A function is about to be compiled."""
        if not self.announced and compilation.data["dispatcher"].py_func.__module__.startswith(f"{__package__}."):
            self.announced = True
            logging.getLogger(__package__).info(
                "compiling kernels, which are kept for later runs (the first time this takes a minute or two)"
            )

    def on_end(self, compilation):
        """A function has been compiled."""


event.register("numba:compile", _Announcer())


class _MendingCache(FunctionCache):
    """numba's cache of one function, which neither a damaged file (a machine that went down) nor a full disk stops."""

    warned = False

    def load_overload(self, sig, target_context):
        """Load a compiled variant; None, after forgetting all variants, if the files are not what was written.

        numba would first register all that it can compile, scipy's linear algebra with it: a third of a start. Only
        compiling needs that, and sees to it itself; what is compiled needs the runtime of arrays.
        """
        try:
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except (EOFError, pickle.UnpicklingError, ValueError, TypeError, AttributeError, ImportError, IndexError):
            self.flush()
            return None

    def save_overload(self, sig, data):
        """Save a compiled variant; where that cannot be done it is used all the same, and compiled again next time."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            if not _MendingCache.warned:
                _MendingCache.warned = True
                warnings.warn(
                    f"{KERNEL_CACHE}: compiled kernels cannot be kept ({error.strerror or error}), so that each start "
                    "compiles them anew; RIFTSIM_CACHE_DIR chooses another folder",
                    stacklevel=1,
                )


def kernel(function=None, *, parallel=False, inline=False, allocates=False):
    """Compile a function without the interpreter lock and cache the result on disk.

    Floating-point arithmetic is exact IEEE: no reassociation and no contraction, so that a distance has the same bits
    at every call site and on every machine. Speed comes from explicit vectors (``vector_ops``), not from relaxed
    rules.

    Parameters
    ----------
    parallel : bool
        Whether ``numba.prange`` loops run on several threads.
    inline : bool
        Whether callers always inline the function (for small helpers of hot loops).
    allocates : bool
        Whether the function itself makes arrays (parallel ones may always). The others are compiled without reference
        counts, which took a tenth of a search's time and much of its compilation; they must not return an array that
        they were given.
    """

    def compile_later(target):
        previous = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(KERNEL_CACHE)
        try:
            compiler = numba.njit(
                nogil=True,
                parallel=parallel,
                forceinline=inline,
                error_model="numpy",
                _nrt=allocates or parallel,
            )
            compiled = compiler(target)
            compiled._cache = _MendingCache(target)
            return compiled
        finally:
            numba.config.CACHE_DIR = previous

    return compile_later if function is None else compile_later(function)
