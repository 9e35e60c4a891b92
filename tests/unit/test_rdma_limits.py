"""Limits that are checked before a device is asked: locked memory, and retries without end."""

import resource

import pytest

from riftsim.errors import TransportError
from riftsim.rdma.memlock import require_memlock
from riftsim.rdma.queue_pairs import Retries


@pytest.fixture
def status(tmp_path, monkeypatch):
    """A process without privileges that has 1 MiB pinned and may lock 8 MiB."""
    monkeypatch.setattr(resource, "getrlimit", lambda which: (8 << 20, 16 << 20))
    path = tmp_path / "status"
    path.write_text("Name:\tpython\nVmPin:\t    1024 kB\nCapEff:\t0000000000000000\n")
    return path


def test_what_fits_may_be_registered(status):
    require_memlock(7 << 20, status)


def test_more_than_the_limit_says_what_is_needed_and_how_to_raise_it(status):
    what = r"7\.0 MiB.*1\.0 MiB are already.*limit is 8\.0 MiB.*ulimit -l.*16\.0 MiB"
    with pytest.raises(TransportError, match=what):
        require_memlock((7 << 20) + 1, status)


def test_privileged_and_unlimited_processes_may_register_all(status, monkeypatch):
    status.write_text("CapEff:\t0000000000004000\n")
    require_memlock(1 << 40, status)
    status.write_text("CapEff:\t0\n")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    require_memlock(1 << 40, status)


@pytest.mark.parametrize("settings", [{"retry_cnt": 7}, {"retry_cnt": -1}, {"timeout": 0}, {"timeout": 32}])
def test_retries_without_end_are_refused(settings):
    with pytest.raises(TransportError, match=next(iter(settings))):
        Retries(**settings)
