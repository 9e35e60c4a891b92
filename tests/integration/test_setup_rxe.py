"""The script that makes a SoftRoCE device, where none can be made: it says why. ``tests/rdma`` has where one can."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "setup_rxe.sh"


@pytest.mark.skipif(Path("/sys/module/rdma_rxe").exists(), reason="this kernel has rdma_rxe")
def test_it_says_why_no_device_can_be_made():
    answer = subprocess.run([SCRIPT, "status"], capture_output=True, text=True)
    assert answer.returncode == 1
    assert answer.stderr.startswith(("setup_rxe.sh: there is no RDMA device rxe0", "setup_rxe.sh: there is no command"))


@pytest.mark.parametrize("words", [[], ["sideways"], ["up", "--mtu"], ["up", "--speed", "1"]])
def test_a_wrong_call_shows_the_usage(words):
    answer = subprocess.run([SCRIPT, *words], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "scripts/setup_rxe.sh up [--device rxe0]" in answer.stderr
