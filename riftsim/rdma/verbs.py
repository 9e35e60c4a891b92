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
