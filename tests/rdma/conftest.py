"""Tests on a real RDMA device (marker ``rdma``): ``make test-rdma`` runs them here or in the virtual machine."""

import os
import sys
from pathlib import Path

import pytest

from riftsim.errors import TransportError
from riftsim.rdma import verbs

sys.path.insert(0, str(Path(__file__).parent))


def _device_or_reason() -> tuple[str | None, str]:
    try:
        names = verbs.device_names()
    except TransportError as error:
        return None, str(error)
    return (names[0], "") if names else (None, "this machine has no RDMA device (make test-rdma boots one that has)")


@pytest.fixture(scope="session", autouse=True)
def device() -> str:
    """Name of the first RDMA device; without one the tests skip, or fail where RIFTSIM_RDMA=required says so."""
    name, reason = _device_or_reason()
    if name is None:
        if os.environ.get("RIFTSIM_RDMA") == "required":
            pytest.fail(f"RIFTSIM_RDMA=required, but {reason}")
        pytest.skip(reason)
    return name
