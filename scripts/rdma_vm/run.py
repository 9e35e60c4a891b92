"""One run: boots one guest or two, copies their output as it comes, and leaves nothing behind."""

import contextlib
import os
import select
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from image import Image
from machine import Machine

PASSED_VARIABLES = (
    *("PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "TZ", "CI", "XDG_CACHE_HOME", "MPLBACKEND"),
    *("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTEST_ADDOPTS"),
    *("RIFTSIM_CACHE_DIR", "RIFTSIM_DATA_DIR", "RIFTSIM_FORMATS_DIR", "RIFTSIM_RDMA"),
)
"""Variables that pass into the guest. Settings of the host's processor kill programs there; secrets stay out."""

KERNEL_TARGET = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+avx2,+fma"}
"""Where the host compiles for the same target (set both there), the guest finds its compiled kernels."""

ADDRESSES = {"compute": "10.77.0.1", "memory": "10.77.0.2"}
SETUP_RXE = Path(__file__).parents[1] / "setup_rxe.sh"
GUEST_MAIN = Path(__file__).parent / "guest" / "main"


class OverTimeError(Exception):
    """The run was ended at its time limit."""


class BootError(Exception):
    """The guest ended without running the command."""


class ReaderGoneError(Exception):
    """Nobody reads the output any more."""


@dataclass(frozen=True)
class Settings:
    """What to run and how; ``memory_command`` None means a single machine."""

    command: list[str]
    memory_command: str | None
    accel: str
    ram_mib: int
    cpus: int
    counts_instructions: bool
    limit_s: float
    variables: list[str]
    writable: list[Path]


def run(image: Image, settings: Settings) -> int:
    """Run the command in the guest and return its exit code.

    Raises
    ------
    OverTimeError, BootError, ReaderGoneError
    """
    with _run_folder() as folder, contextlib.ExitStack() as machines:
        two = settings.memory_command is not None
        memory = None
        if two:
            _describe(folder / "memory", "memory", ["bash", "-c", settings.memory_command], settings)
            memory = machines.enter_context(Machine(folder / "memory", image, settings, ADDRESSES["memory"]))
        _describe(folder / "compute", "compute", settings.command, settings)
        compute = machines.enter_context(Machine(folder / "compute", image, settings, ADDRESSES["compute"]))
        gone = threading.Event()
        copies = [
            threading.Thread(target=_copy, args=(compute.out, sys.stdout.buffer, gone), daemon=True),
            threading.Thread(target=_copy, args=(compute.err, sys.stderr.buffer, gone), daemon=True),
            threading.Thread(target=_obey, args=(compute, memory), daemon=True),
        ]
        if memory is not None:
            copies += [
                threading.Thread(target=_copy_lines, args=(stream, b"memory node: "), daemon=True)
                for stream in (memory.out, memory.err)
            ]
        for copy in copies:
            copy.start()
        _wait(compute, gone, settings.limit_s)
        for copy in copies[:3]:
            copy.join()
        if gone.is_set():
            raise ReaderGoneError
        if compute.exit_code is None:
            what = "the guest was lost while the command ran" if compute.started else "the guest never ran the command"
            raise BootError(f"{what}; its console:\n{compute.console()}")
        return compute.exit_code


@contextlib.contextmanager
def _run_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="rdma-vm-", dir="/tmp"))  # a path without spaces: the kernel is told of it
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _describe(folder: Path, node: str, command: list[str], settings: Settings) -> None:
    """Write what the guest reads: the command, its folder and environment, each item ended by a zero byte."""
    folder.mkdir()
    peer = "memory" if settings.memory_command is not None else "compute"
    peer = peer if node == "compute" else "compute"
    variables = KERNEL_TARGET | {
        name: os.environ[name]
        for name in (*PASSED_VARIABLES, *KERNEL_TARGET, *settings.variables)
        if name in os.environ
    }
    variables |= {"RDMA_VM_NODE": node, "RDMA_VM_ADDRESS": ADDRESSES[node], "RDMA_VM_PEER": ADDRESSES[peer]}
    _write_items(folder / "command", command)
    _write_items(folder / "environment", [f"{name}={value}" for name, value in variables.items()])
    _write_items(folder / "writable", [str(path) for path in settings.writable])
    (folder / "cwd").write_bytes(os.fsencode(os.getcwd()))
    shutil.copy(SETUP_RXE, folder / "setup_rxe")
    shutil.copy(GUEST_MAIN, folder / "main")


def _write_items(path: Path, items: list[str]) -> None:
    path.write_bytes(b"".join(os.fsencode(item) + b"\0" for item in items))


def _wait(machine: Machine, gone: threading.Event, limit_s: float) -> None:
    """Wait for the end of the machine; an early end of whoever reads the output ends it, as a pipe does a command."""
    end = time.monotonic() + limit_s
    poll = select.poll()
    poll.register(machine.descriptor, select.POLLIN)
    with contextlib.suppress(OSError, ValueError):
        poll.register(sys.stdout.fileno(), 0)
    while not gone.is_set():
        left = end - time.monotonic()
        if left <= 0:
            raise OverTimeError
        for descriptor, events in poll.poll(min(left, 0.5) * 1000):
            if descriptor == machine.descriptor:
                return
            if events & select.POLLERR:
                gone.set()
    machine.kill()


def _copy(source: int, target, gone: threading.Event) -> None:
    while data := os.read(source, 1 << 16):
        if gone.is_set():
            continue
        try:
            target.write(data)
            target.flush()
        except OSError:
            gone.set()


def _copy_lines(source: int, prefix: bytes) -> None:
    with os.fdopen(source, "rb", closefd=False) as lines, contextlib.suppress(OSError):
        for line in lines:
            sys.stderr.buffer.write(prefix + line)
            sys.stderr.buffer.flush()


def _obey(compute: Machine, memory: Machine | None) -> None:
    """Read the compute node's control port: that the command started, its exit code, the end of the memory node."""
    with os.fdopen(compute.control, "rb", closefd=False) as lines:
        for line in lines:
            match line.split():
                case [b"started"]:
                    compute.started = True
                case [b"exit", code]:
                    compute.exit_code = int(code)
                case [b"power-off", b"memory"] if memory is not None:
                    memory.kill()
                case _:
                    print(f"rdma_vm.sh: the guest asked for {line!r}, which is not known", file=sys.stderr)
