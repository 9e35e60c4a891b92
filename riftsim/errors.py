"""The errors of riftsim.

Whoever reads one should be able to act on it: every message names the file, row or key, what was found and what was
expected. ``RiftsimError`` is what the command line turns into one line and a non-zero exit code; anything else is a bug
and keeps its traceback.
"""


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
