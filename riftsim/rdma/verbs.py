"""The seam to pyverbs: the only module that imports it, and only when it is asked for.

Importing ``pyverbs`` sets up logging as a side effect; what the program had set up is kept.
"""

import importlib
import logging
from types import ModuleType

from riftsim.errors import TransportError

HOW_TO_INSTALL = (
    "install the distribution's package (Debian/Ubuntu: python3-pyverbs, in an environment made with "
    "--system-site-packages), or pip install 'riftsim[rdma]' beside rdma-core of the same generation"
)


def load(module: str = "device") -> ModuleType:
    """Import a module of pyverbs.

    Parameters
    ----------
    module : str
        Its name without the package, e.g. ``"qp"``.

    Raises
    ------
    TransportError
        If it cannot be imported; says how to install it.
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        return importlib.import_module(f"pyverbs.{module}")
    except ImportError as error:
        raise TransportError(f"pyverbs.{module} cannot be imported ({error}): {HOW_TO_INSTALL}") from error
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def errors() -> tuple[type[Exception], ...]:
    """The errors of pyverbs."""
    return (load("pyverbs_error").PyverbsError,)


def device_names() -> list[str]:
    """Names of the RDMA devices that pyverbs sees; empty where the kernel has none.

    Raises
    ------
    TransportError
        If pyverbs cannot be imported.
    """
    device = load("device")
    try:
        found = device.get_device_list()
    except Exception as error:  # without RDMA in the kernel pyverbs raises an error of its own instead of an empty list
        if type(error).__name__ != "PyverbsRDMAError":
            raise
        return []
    return sorted(entry.name.decode() if isinstance(entry.name, bytes) else str(entry.name) for entry in found)


class Enums:
    """Constants of libibverbs by their names without ``IBV_``, from where this generation of pyverbs keeps them."""

    def __init__(self):
        try:
            self._module = load("libibverbs_enums")
        except TransportError:
            self._module = load("enums")

    def __getattr__(self, name: str) -> int:
        return getattr(self._module, f"IBV_{name}")
