"""The errors of riftsim, and what the machine's own errors say of a place that the user can mend.

Whoever reads one should be able to act on it: every message names the file, row or key, what was found and what was
expected. ``RiftsimError`` is what the command line turns into one line and a non-zero exit code; so are a file that the
system refuses and memory that has run out. Anything else is a bug and keeps its traceback.
"""

import difflib
import errno
import os
from collections.abc import Iterable

FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the system says of a drive that is full, or of a quota that is used up."""


class RiftsimError(Exception):
    """Base of every error that a user can cause and mend."""


class ConfigError(RiftsimError):
    """A configuration that cannot be used; names the path of the key."""


class DataError(RiftsimError):
    """A vector, ground-truth or data-set file that cannot be used; names the file and row."""


class IndexFileError(RiftsimError):
    """An index file that is damaged, of another format, or of other vectors."""


class BudgetError(RiftsimError):
    """More compute-side memory is asked for than the budget allows; itemises what takes how much."""


class ProtocolError(RiftsimError):
    """A driver or policy broke the contract of the search core (a tag completed twice, an unknown tag)."""


class TransportError(RiftsimError):
    """A read failed; names memory node, queue pair, work request and status."""


class ResultsError(RiftsimError):
    """A results directory that cannot be written or read."""


class ClusterError(RiftsimError):
    """A Dask cluster that cannot be reached, or whose workers would not give the same results."""


class PluginError(RiftsimError):
    """A plug-in that is missing, ambiguous or does not keep its contract."""


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """Return the part of a message that names the nearest of the known names, whatever its case; empty if none is."""
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(wanted.lower(), folded, n=1, cutoff=0.5)
    return f" (did you mean '{folded[close[0]]}'?)" if close else ""


def message_of(error: BaseException) -> str | None:
    """Return what to tell the user of an error that is theirs to mend; None if it is a bug.

    Theirs are the errors of riftsim, files that the system refuses (missing, not allowed, on a full disk), and memory
    that has run out.
    """
    if isinstance(error, RiftsimError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"out of memory: {error}".rstrip(": ")
    if isinstance(error, OSError) and error.errno in FULL:
        where = _place(error) or "the cache (RIFTSIM_CACHE_DIR), the results folder or the output"
        return f"{where}: {error.strerror}; expected room for graphs, codes, compiled kernels and results"
    if isinstance(error, OSError) and _place(error):
        return f"{_place(error)}: {error.strerror}"
    return None


def _place(error: OSError) -> str:
    """The files that an error of the system names."""
    return " -> ".join(os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes))
