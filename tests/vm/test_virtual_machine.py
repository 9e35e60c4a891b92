"""The virtual machine itself: real boots, on a machine that has QEMU and Debian's packages."""

import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.vm

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "scripts" / "rdma_vm.sh"


def guests() -> set[str]:
    """Return the kernel lines of the guests that run now."""
    lines = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it has ended meanwhile
            continue
        lines |= {word.decode() for word in words if b"rdma_vm=/tmp/rdma-vm-" in word}
    return lines


def test_the_command_sees_arguments_folder_environment_and_device(tmp_path):
    kept = tmp_path / "kept, with a comma"
    kept.mkdir()
    words = ["", "two words", "quo\"te's", "new\nline", "$HOME `id`", "*", "-x"]
    script = textwrap.dedent("""
        import os, sys
        print(repr((sys.argv[1:], os.getcwd(), os.environ.get("OTHER"), os.environ.get("SECRET"))))
        print(os.listdir("/sys/class/infiniband"), sys.stdin.read(), file=sys.stderr)
        open(sys.argv[0] + ".lost", "w").close()
        open("kept, with a comma/file", "w").write("stays")
        sys.exit(17)
    """)
    (tmp_path / "script.py").write_text(script)
    answer = subprocess.run(
        [RUNNER, "--env", "OTHER", "--writable", "kept, with a comma", "--", sys.executable, "script.py", *words],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "OTHER": "a\nb ", "SECRET": "x"},
        capture_output=True,
        text=True,
    )
    assert answer.stdout == repr((words, str(tmp_path), "a\nb ", None)) + "\n", answer.stderr
    assert answer.stderr == "['rxe0'] \n"
    assert answer.returncode == 17
    assert (kept / "file").read_text() == "stays"
    assert not list(tmp_path.glob("*.lost"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_guest_outlives_its_runner(number):
    before = guests()
    process = subprocess.Popen([RUNNER, "--", "sleep", "600"])
    while not (mine := guests() - before):
        assert process.poll() is None
    process.send_signal(number)
    assert process.wait() in (128 + number, -number)
    while mine & guests():  # the kernel ends it together with its parent
        pass
    (folder,) = {Path(line.split("rdma_vm=")[1].split()[0]).parent for line in mine}
    if number == signal.SIGKILL:
        shutil.rmtree(folder)  # which nobody could remove
    assert not folder.exists()


def test_two_machines_and_the_power_cut_of_one():
    """One boot of both for everything: a read of another tool, then a compute node that loses its memory node."""
    script = textwrap.dedent(f"""
        busybox ping -c 1 -W 60 "$RDMA_VM_PEER" >/dev/null && echo "reached from $RDMA_VM_NODE"
        for try in $(seq 300); do # both ends start at their own pace
            ib_read_lat -d rxe0 -x 1 -s 64 -n 5 "$RDMA_VM_PEER" >/dev/null 2>&1 && {{ echo read; break; }}
            sleep 0.1
        done
        {sys.executable} -m pytest -p no:cacheprovider tests/rdma/test_two_machines.py >&2 # it cuts the power
        echo "tests: $?"
        while busybox ping -c 1 -W 1 "$RDMA_VM_PEER" >/dev/null; do :; done
        echo lost
    """)
    responder = f"""
        echo here
        ib_read_lat -d rxe0 -x 1 -s 64 -n 5 >/dev/null
        exec {sys.executable} tests/rdma/byte_node.py 65536 0.0.0.0:7471
    """
    answer = subprocess.run(
        [RUNNER, "--nodes", "2", "--memory-node", responder, "--", "bash", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert answer.stdout.split("\n") == ["reached from compute", "read", "tests: 0", "lost", ""], answer.stderr
    assert "memory node: here" in answer.stderr
    assert "\n1 passed" in answer.stderr, "it ran and was not skipped"
    assert answer.returncode == 0
