"""riftsim: graph-based vector search on disaggregated memory, real searches on a simulated or real network.

    >>> import riftsim
    >>> runs = riftsim.run("quickstart", set={"search.L": 40})  # doctest: +SKIP
    >>> runs.table()  # doctest: +SKIP

Attributes are imported when they are first used, so that ``import riftsim`` costs nothing.
"""

from typing import Any

__all__ = ["load_experiment", "load_runs", "run"]

_LAZY = {
    "run": "riftsim.experiments.api",
    "load_experiment": "riftsim.config.sweep",
    "load_runs": "riftsim.results.store",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("riftsim")
        except PackageNotFoundError:
            return "unknown (not installed)"
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'riftsim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
