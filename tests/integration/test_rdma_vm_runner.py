"""The runner of the virtual machine, with a process in the guest's place: what it passes, returns and leaves behind."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HELPER = Path(__file__).parents[1] / "helpers" / "fake_qemu.py"
RUNNER = [sys.executable, str(HELPER)]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="virtual machines are run on Linux only")


def run(*words, **options):
    return subprocess.run([*RUNNER, *words], capture_output=True, text=True, **options)


def start(script):
    words = [*RUNNER, "--", "sh", "-c", script]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_folders() -> set[Path]:
    return set(Path("/tmp").glob("rdma-vm-*"))


def guests_of(runner: subprocess.Popen) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split()]


def described_in(pid: int) -> list[Path]:
    """Folders of runs that a guest's command line names."""
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return [Path(word.split("rdma_vm=")[1]) for word in words if "rdma_vm=" in word]


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("code", [0, 1, 77, 255])
def test_the_exit_code_is_the_commands(code):
    answer = run("--", "sh", "-c", f"echo out; echo err >&2; exit {code}")
    assert (answer.returncode, answer.stdout, answer.stderr) == (code, "out\n", "err\n")


def test_words_and_folder_arrive_as_given(tmp_path):
    words = ["", "two words", "quo\"te's", "new\nline", "$HOME", "*", "--", "-h"]
    show = "import os, sys; print(repr((sys.argv[1:], os.getcwd())))"
    answer = run("--", sys.executable, "-c", show, *words, cwd=tmp_path)
    assert answer.stdout == repr((words, str(tmp_path))) + "\n"


def test_a_relative_command_is_found_from_the_callers_folder(tmp_path):
    script = tmp_path / "a script"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    assert run("./a script", cwd=tmp_path).stdout == "ran\n"


def test_only_listed_variables_pass():
    environment = os.environ | {
        "TOKEN": "secret",
        "PYTHONHOME": "/x",
        "OPENBLAS_CORETYPE": "y",
        "LANG": "C",
        "MINE": "a",
    }
    environment.pop("PYTHONHOME")
    answer = run("--env", "MINE", "--", "env", env=environment)
    names = {line.split("=")[0] for line in answer.stdout.splitlines()}
    assert {"LANG", "MINE", "PATH", "NUMBA_CPU_NAME"} <= names
    assert not {"TOKEN", "OPENBLAS_CORETYPE"} & names


def test_no_command_is_a_wrong_call():
    for words in ([], ["--"], ["--nodes", "2", "--"]):
        answer = run(*words)
        assert answer.returncode == 2
        assert "no command" in answer.stderr
    assert "--memory-node: found --nodes 1" in run("--memory-node", "true", "--", "true").stderr
    assert "--writable /none: no such folder" in run("--writable", "/none", "--", "true").stderr


def test_over_the_time_limit_is_124_and_leaves_nothing():
    before = run_folders()
    answer = run("--time-limit", "0.5", "--", "sh", "-c", "echo up; exec sleep 600")
    assert answer.returncode == 124
    assert "time limit of 0.5 s" in answer.stderr
    assert run_folders() <= before


def test_a_guest_that_never_ran_the_command_is_125_with_its_console():
    answer = run("--env", "FAKE_NO_BOOT", "--", "true", env=os.environ | {"FAKE_NO_BOOT": "1"})
    assert answer.returncode == 125
    assert "never ran the command" in answer.stderr
    assert "Kernel panic" in answer.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_guest_and_run(number):
    before = run_folders()
    process = subprocess.Popen(
        [*RUNNER, "--", "sh", "-c", "echo up; exec sleep 600"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "up\n"
    guests = guests_of(process)
    assert guests
    process.send_signal(number)
    process.stdout.close()
    assert process.wait() == 128 + number
    assert not any(is_alive(pid) for pid in guests)
    assert run_folders() <= before


def test_a_killed_runner_takes_its_guest_along():
    process = start("echo up; exec sleep 600")
    assert process.stdout.readline() == "up\n"
    guests = guests_of(process)
    (folder,) = {word.parent for pid in guests for word in described_in(pid)}
    process.kill()
    process.wait()
    while any(is_alive(pid) for pid in guests):  # the kernel ends them together with their parent
        pass
    shutil.rmtree(folder)  # which nobody could remove


def test_a_reader_that_goes_away_ends_the_run():
    for noise in ("exec yes", "echo first; exec sleep 600"):  # in the middle of output, and in silence
        process = start(noise)
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 128 + signal.SIGPIPE
        assert process.stderr.read() == ""


def test_an_outer_timeout_is_obeyed():
    answer = subprocess.run(["timeout", "2", *RUNNER, "--", "sleep", "600"])
    assert answer.returncode == 124


def test_the_memory_nodes_machine_can_lose_its_power():
    script = 'echo "power-off memory" >"$RDMA_VM_CONTROL"; echo "$RDMA_VM_NODE $RDMA_VM_ADDRESS $RDMA_VM_PEER"'
    answer = run("--nodes", "2", "--memory-node", "echo $RDMA_VM_NODE; sleep 600", "--", "sh", "-c", script)
    assert answer.stdout == "compute 10.77.0.1 10.77.0.2\n"
    assert answer.returncode == 0


def test_what_is_missing_is_named(tmp_path):
    """A machine whose search path holds none of the tools."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import host; host.SYSTEM_PATH = ''; print(host.missing())"
    scripts = Path(__file__).parents[2] / "scripts" / "rdma_vm"
    environment = {"PATH": str(tmp_path)}
    words = [sys.executable, "-c", code, scripts]
    answer = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert "qemu-system-x86" in answer.stdout
    assert "cpio" in answer.stdout
