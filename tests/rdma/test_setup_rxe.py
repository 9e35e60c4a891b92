"""The script that makes a SoftRoCE device, on a kernel that has it: a second device beside that of the other tests."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "setup_rxe.sh"

pytestmark = [
    pytest.mark.rdma,
    pytest.mark.skipif(os.geteuid() != 0, reason="makes a device, which only root may"),
    pytest.mark.skipif(not Path("/sys/module/rdma_rxe").exists(), reason="the device here is not of rdma_rxe"),
]


def call(action: str, *options: str) -> tuple[int, str, str]:
    answer = subprocess.run([SCRIPT, action, "--device", "rxe9", *options], capture_output=True, text=True)
    return answer.returncode, answer.stdout, answer.stderr


def test_a_device_is_made_once_and_removed_whole():
    try:
        code, shown, complaint = call("up", "--address", "10.79.0.1/24")
        assert code == 0, complaint
        assert shown == "rxe9 on rxe9-net: ACTIVE\nGID index 1: RoCE v2, IPv4\n"
        assert call("up") == call("status") == (0, shown, "")
        code, _, complaint = call("up", "--netdev", "lo")
        assert (code, complaint) == (
            1,
            "setup_rxe.sh: rxe9: found on rxe9-net, expected on lo; remove it first (down)\n",
        )
    finally:
        assert call("down") == (0, "", "")
    assert call("down") == (0, "", "")
    assert not Path("/sys/class/net/rxe9-net").exists()
    assert call("status") == (1, "", "setup_rxe.sh: there is no RDMA device rxe9\n")
