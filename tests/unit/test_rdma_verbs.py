"""The seam to pyverbs, with stand-ins for what machines have: no package, no device, devices."""

import logging
import sys
from types import ModuleType, SimpleNamespace

import pytest

from riftsim.errors import TransportError
from riftsim.rdma import verbs


def stand_in(monkeypatch, get_device_list):
    package, device = ModuleType("pyverbs"), ModuleType("pyverbs.device")
    package.__path__ = []
    device.get_device_list = get_device_list
    monkeypatch.setitem(sys.modules, "pyverbs", package)
    monkeypatch.setitem(sys.modules, "pyverbs.device", device)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    for name in ("pyverbs", "pyverbs.device"):  # an earlier test may have imported the real one
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(TransportError, match=r"pyverbs\.device cannot be imported.*python3-pyverbs"):
        verbs.device_names()


def test_devices_are_named_whether_as_bytes_or_text(monkeypatch):
    stand_in(monkeypatch, lambda: [SimpleNamespace(name=b"rxe0"), SimpleNamespace(name="mlx5_0")])
    assert verbs.device_names() == ["mlx5_0", "rxe0"]


def test_a_kernel_without_rdma_has_no_devices(monkeypatch):
    class PyverbsRDMAError(Exception):
        pass

    def refuse():
        raise PyverbsRDMAError("Failed to get device list")

    stand_in(monkeypatch, refuse)
    assert verbs.device_names() == []


def test_any_other_error_is_not_hidden(monkeypatch):
    def fail():
        raise ValueError("broken")

    stand_in(monkeypatch, fail)
    with pytest.raises(ValueError, match="broken"):
        verbs.device_names()


def test_logging_stays_as_it_was(monkeypatch, tmp_path):
    """The real package calls logging.basicConfig when it is imported."""
    package = tmp_path / "pyverbs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "device.py").write_text("import logging\nlogging.getLogger().addHandler(logging.NullHandler())\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("pyverbs", "pyverbs.device"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    before = list(logging.getLogger().handlers)
    try:
        verbs.load()
        assert logging.getLogger().handlers == before
    finally:
        for name in ("pyverbs", "pyverbs.device"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("generation", ["enums", "libibverbs_enums"])
def test_constants_are_found_in_both_generations_of_pyverbs(monkeypatch, generation):
    stand_in(monkeypatch, list)
    for name in ("enums", "libibverbs_enums"):
        module = SimpleNamespace(IBV_QPT_RC=2) if name == generation else None
        monkeypatch.setitem(sys.modules, f"pyverbs.{name}", module)
    assert verbs.Enums().QPT_RC == 2
    with pytest.raises(AttributeError, match="IBV_NO_SUCH"):
        _ = verbs.Enums().NO_SUCH
