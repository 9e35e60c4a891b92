"""Checks for authors of plug-ins: does it keep its contract?

Call them from the tests of your package, with what its entry point names:

    >>> from riftsim.testing import check_placement
    >>> check_placement(lambda: lambda ids, memory_nodes: ids % memory_nodes)

Each check raises `riftsim.errors.PluginError` with what was found and what was expected, and returns nothing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from riftsim import plugins
from riftsim.errors import PluginError
from riftsim.memnode.shards import by_table


def check_installed(kind: str, name: str) -> None:
    """Check that a plug-in is announced once and can be imported.

    Parameters
    ----------
    kind : str
        One of `riftsim.plugins.KINDS`.
    name : str
        As in an experiment file.
    """
    plugins.load(kind, name)


def check_placement(factory: Callable[..., Any], options: dict[str, Any] | None = None) -> None:
    """Check a placement: a factory whose product maps ids to memory nodes.

    ``factory(**options)`` gives ``place(ids, memory_nodes)``, which returns for ``ids`` (int64 (n,), 0 to n - 1) the
    memory node of each: integers (n,) in [0, memory_nodes). It must give the same answer each time, also when made
    anew, since every compute node works it out for itself, and must leave ``ids`` alone.

    Parameters
    ----------
    factory : callable
        What the entry point names.
    options : dict, optional
        Keyword arguments of the factory.
    """
    for n, memory_nodes in ((1, 1), (10, 1), (10, 10), (1000, 3), (1000, 8)):
        place = factory(**(options or {}))
        if not callable(place):
            raise PluginError(
                f"placement: the factory made a {type(place).__name__}, expected place(ids, memory_nodes)"
            )
        by_table(n, memory_nodes, place)
        ids = np.arange(n, dtype=np.int64)
        ids.flags.writeable = False
        try:
            first = np.asarray(place(ids, memory_nodes)).copy()
        except ValueError as error:
            if "read-only" in str(error):
                raise PluginError(
                    "placement: changes the ids that it is given, expected to leave them alone"
                ) from error
            raise
        anew = factory(**(options or {}))
        for again in (place(ids, memory_nodes), anew(ids, memory_nodes)):
            differing = np.flatnonzero(np.asarray(again) != first)
            if len(differing):
                raise PluginError(
                    f"placement: another memory node for id {differing[0]} in a second call (n = {n}, "
                    f"{memory_nodes} memory nodes), expected the same each time"
                )
