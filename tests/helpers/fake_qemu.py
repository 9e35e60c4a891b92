#!/usr/bin/env python3
"""The virtual machine's runner with a guest that is only a process: no kernel, no boot.

``python fake_qemu.py RUNNER_ARGUMENT...`` runs the runner; it starts this file again, in the place of QEMU, which then
does what the guest's programs do: reads the run's folder, runs the command, tells the exit code.
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"


def _be_the_runner() -> None:
    sys.path.insert(0, str(SCRIPTS / "rdma_vm"))
    import host
    import image

    find = host.tool
    host.missing = lambda: []
    host.tool = lambda name: __file__ if name == "qemu-system-x86_64" else find(name)
    image.guest_image = lambda: image.Image(Path("kernel"), Path("initramfs"))
    runpy.run_path(str(SCRIPTS / "rdma_vm" / "__main__.py"), run_name="__main__")


def _items(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\0")[:-1]


def _be_the_guest(words: list[str]) -> None:
    folder = Path(words[words.index("-append") + 1].split("rdma_vm=")[1])
    ports = {}
    for word in words:
        if word.startswith("file,id="):
            name, path = (part.split("=", 1)[1] for part in word.split(",")[1:3])
            ports[name] = os.fdopen(os.open(path, os.O_WRONLY), "wb", buffering=0)
    environment = dict(item.split(b"=", 1) for item in _items(folder / "environment"))
    if b"FAKE_NO_BOOT" in environment:
        (folder / "console.log").write_text("Kernel panic\n")
        return
    # Its own control port stands in for the device file of the guest.
    environment[b"RDMA_VM_CONTROL"] = f"/proc/{os.getpid()}/fd/{ports['control'].fileno()}".encode()
    ports["control"].write(b"started\n")
    code = subprocess.call(
        [b"setpriv", b"--pdeathsig", b"KILL", *_items(folder / "command")],  # it dies with its machine
        cwd=(folder / "cwd").read_bytes(),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=ports["out"],
        stderr=ports["err"],
    )
    ports["control"].write(f"exit {code}\n".encode())


if __name__ == "__main__":
    if "-append" in sys.argv:
        _be_the_guest(sys.argv)
    else:
        _be_the_runner()
