"""Policies and systems from other packages, found through one entry-point group.

A package announces ``kind:name = "module:object"`` in the group ``riftsim.plugins``; an experiment file names it by
``kind: plugin, name: name``. Nothing is imported before it is asked for.
"""

from collections.abc import Iterable
from importlib import metadata
from typing import Any

from riftsim.errors import PluginError, did_you_mean

GROUP = "riftsim.plugins"
KINDS = ("system", "placement", "verification", "gate", "controller")


def installed(kind: str | None = None) -> list[tuple[str, str]]:
    """Return kind and name of the announced plug-ins, sorted, without importing any."""
    found = {_split(point.name) for point in metadata.entry_points(group=GROUP)}
    return sorted((of, name) for of, name in found if kind is None or of == kind)


def load(kind: str, name: str) -> Any:
    """Import a plug-in.

    Parameters
    ----------
    kind : {"system", "placement", "verification", "gate", "controller"}
    name : str
        As announced, without the kind.

    Returns
    -------
    callable
        What the entry point names: a class or function.

    Raises
    ------
    PluginError
        None of that name (names the installed ones), several distributions announce it, it cannot be imported, or it is
        not callable.
    """
    matches = [point for point in metadata.entry_points(group=GROUP) if _split(point.name) == (kind, name)]
    distinct = {point.value: point for point in matches}
    if not distinct:
        raise PluginError(f"{kind} plug-in '{name}': not installed{_hint(name, [n for _, n in installed(kind)])}")
    if len(distinct) > 1:
        owners = "; ".join(sorted(f"{point.value} of {_owner(point)}" for point in distinct.values()))
        raise PluginError(f"{kind} plug-in '{name}': announced {len(distinct)} times ({owners}); expected once")
    (point,) = distinct.values()
    try:
        found = point.load()
    except Exception as error:
        raise PluginError(
            f"{kind} plug-in '{name}' ({point.value} of {_owner(point)}): cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise PluginError(
            f"{kind} plug-in '{name}' ({point.value}): found {type(found).__name__}, expected a class or function"
        )
    return found


def make(kind: str, name: str, options: dict[str, Any], expected: type | None = None, *given: Any) -> Any:
    """Import a plug-in and call it with its options.

    Parameters
    ----------
    options : dict
        Keyword arguments from the experiment file.
    *given : object
        What it is called with before them.
    expected : type, optional
        What the call must return; a runtime-checkable protocol will do.

    Raises
    ------
    PluginError
        As `load`; also when the options do not fit or the result is of another type.
    """
    factory = load(kind, name)
    try:
        made = factory(*given, **options)
    except TypeError as error:
        raise PluginError(f"{kind} plug-in '{name}': options {sorted(options)}: {error}") from error
    if expected is not None and not isinstance(made, expected):
        raise PluginError(
            f"{kind} plug-in '{name}': made a {type(made).__name__}, expected what {expected.__name__} describes"
        )
    return made


def _split(entry: str) -> tuple[str, str]:
    kind, _, name = entry.partition(":")
    return kind, name


def _owner(point: metadata.EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"


def _hint(name: str, known: Iterable[str]) -> str:
    known = list(known)
    return f"{did_you_mean(name, known)}; installed: {', '.join(known) or 'none'}"
