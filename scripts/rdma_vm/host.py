"""What the host must have: Debian packages, named where they are missing, installed only when asked for."""

import os
import shutil
import subprocess
from pathlib import Path

COMMANDS = {
    "qemu-system-x86": "qemu-system-x86_64",
    "rdma-core": "/usr/share/doc/rdma-core",
    "ibverbs-providers": "/etc/libibverbs.d/rxe.driver",
    "ibverbs-utils": "ibv_devinfo",
    "perftest": "ib_read_lat",
    "python3-pyverbs": "/usr/lib/python3/dist-packages/pyverbs",
    "iproute2": "rdma",
    "busybox-static": "busybox",
    "kmod": "modprobe",
    "cpio": "cpio",
}
"""A command or file by which each package is known to be there."""

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class UnreadyHostError(Exception):
    """The machine lacks something; the message says what and how to get it."""


def tool(name: str) -> str:
    """Return the path of a command, looking also where an ordinary user's PATH does not.

    Raises
    ------
    UnreadyHostError
        If it is nowhere.
    """
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}")
    if found is None:
        raise UnreadyHostError(f"there is no command {name}")
    return found


def missing() -> list[str]:
    """Return the packages that are not installed."""
    path = f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}"
    return [
        package
        for package, sign in COMMANDS.items()
        if not (Path(sign).exists() if sign.startswith("/") else shutil.which(sign, path=path))
    ]


def install(*, needs_kernel: bool) -> None:
    """Install the missing packages with apt.

    Parameters
    ----------
    needs_kernel : bool
        Whether a kernel will have to be downloaded: then apt's lists are brought up to date even if nothing is missing.

    Raises
    ------
    UnreadyHostError
        If the machine has no apt, the caller is not root or apt fails.
    """
    absent = missing()
    if not absent and not needs_kernel:
        return
    if os.geteuid() != 0:
        wanted = ", ".join(absent) or "nothing, but to update apt's lists"
        raise UnreadyHostError(f"--install: found user {os.geteuid()}, expected root, to install {wanted}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    steps = [["update", "-q"]]
    if absent:
        steps.append(["install", "-q", "-y", "--no-install-recommends", *absent])
    for words in steps:
        answer = subprocess.run(
            [tool("apt-get"), *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if answer.returncode:
            raise UnreadyHostError(
                f"apt-get {words[0]} failed with {answer.returncode} (are Debian's packages reachable from here?):\n"
                f"{(answer.stdout + answer.stderr)[-2000:]}"
            )
