"""How much memory the process may lock: what is registered with a device is locked."""

import resource
from pathlib import Path

from riftsim.errors import TransportError
from riftsim.units import format_bytes

_CAP_IPC_LOCK = 14


def require_memlock(needed_bytes: int, status: Path = Path("/proc/self/status")) -> None:
    """Refuse to register more than the limit of locked memory allows.

    Parameters
    ----------
    needed_bytes : int
        What is to be registered now.
    status : path
        The kernel's account of this process (proc(5)).

    Raises
    ------
    TransportError
        Says how much is needed, how much is allowed, and how to raise it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
    if soft == resource.RLIM_INFINITY or int(fields.get("CapEff", "0"), 16) >> _CAP_IPC_LOCK & 1:
        return
    pinned_bytes = 1024 * int(fields.get("VmPin", "0 kB").split()[0])
    if pinned_bytes + needed_bytes > soft:
        most = "unlimited" if hard == resource.RLIM_INFINITY else format_bytes(hard)
        raise TransportError(
            f"memlock: {format_bytes(needed_bytes)} are to be registered and {format_bytes(pinned_bytes)} are already, "
            f"but the limit is {format_bytes(soft)}: raise it with `ulimit -l` (this process: up to {most}), in "
            "/etc/security/limits.conf (memlock), by LimitMEMLOCK= of a systemd unit, or give CAP_IPC_LOCK"
        )
