"""An opened RDMA device: its port, its GID, its limits, and memory registered with it."""

import ipaddress
from contextlib import ExitStack, closing
from dataclasses import dataclass

import numpy as np

from riftsim.errors import TransportError
from riftsim.rdma import verbs
from riftsim.rdma.memlock import require_memlock

_MTU_BYTES = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
"""Bytes of ``enum ibv_mtu``."""


@dataclass(frozen=True)
class DeviceChoice:
    """Which device, port and GID.

    Attributes
    ----------
    name : str or None
        Of the device; by default the first one.
    port : int
        Of the device, from 1.
    gid_index : int or None
        By default the first RoCE v2 GID with an IPv4 address; on InfiniBand the first one.
    """

    name: str | None = None
    port: int = 1
    gid_index: int | None = None


ANY_DEVICE = DeviceChoice()


def name_of(choice: DeviceChoice) -> str:
    """Return the name of the chosen device.

    Raises
    ------
    TransportError
        This machine has none of that name, or none at all, or no library to reach it.
    """
    names = verbs.device_names()
    name = choice.name or (names[0] if names else "")
    if name not in names:
        found = ", ".join(names) or "none (a NIC, or SoftRoCE: scripts/setup_rxe.sh)"
        raise TransportError(f"RDMA device: found {found}; expected {choice.name or 'one'}")
    return name


class Device:
    """An opened device; closing it closes everything that was made with it, in the right order.

    Attributes
    ----------
    name, gid, gid_index : str, str, int
    mtu : int
        Active MTU of the port, as ``enum ibv_mtu``.
    outstanding_reads : int
        Most reads that a queue pair may have in flight, as requester and as responder.
    max_work_requests, max_completions : int
        Most of a queue pair, and of a completion queue.
    """

    def __init__(self, choice: DeviceChoice):
        self.name = name_of(choice)
        self.enums = verbs.Enums()
        self.port = choice.port
        with ExitStack() as made:
            self.context = made.enter_context(closing(verbs.load("device").Context(name=self.name)))
            attributes = self.context.query_port(choice.port)
            if attributes.state != self.enums.PORT_ACTIVE:
                raise TransportError(f"RDMA device {self.name}, port {choice.port}: not active; is its link up?")
            self.mtu = int(attributes.active_mtu)
            self.gid_index, self.gid = self._choose_gid(choice)
            limits = self.context.query_device()
            self.outstanding_reads = min(int(limits.max_qp_init_rd_atom), int(limits.max_qp_rd_atom))
            self.max_work_requests, self.max_completions = int(limits.max_qp_wr), int(limits.max_cqe)
            self.protection_domain = made.enter_context(closing(verbs.load("pd").PD(self.context)))
            self.closing = made.pop_all()
            """What is to be closed, last made first closed."""

    @property
    def mtu_bytes(self) -> int:
        """Active MTU of the port."""
        return _MTU_BYTES[self.mtu]

    def register(self, memory: np.ndarray, *, remote_read: bool):
        """Register memory; the array must outlive the device.

        Parameters
        ----------
        memory : uint8 (bytes,)
        remote_read : bool
            Whether peers may read it; else only this device writes to it.

        Returns
        -------
        pyverbs MR
            With ``lkey`` and ``rkey``.

        Raises
        ------
        TransportError
            If the process may not lock so much memory: says how much is needed and allowed.
        """
        require_memlock(memory.nbytes)
        access = self.enums.ACCESS_LOCAL_WRITE | (self.enums.ACCESS_REMOTE_READ if remote_read else 0)
        try:
            region = verbs.load("mr").MR(self.protection_domain, memory.nbytes, access, address=int(memory.ctypes.data))
        except verbs.errors() as error:
            raise TransportError(f"{self.name}: {memory.nbytes} bytes cannot be registered: {error}") from error
        return self.closing.enter_context(closing(region))

    def close(self) -> None:
        """Close what was made with the device, then the device; once more is harmless."""
        self.closing.close()

    def _choose_gid(self, choice: DeviceChoice) -> tuple[int, str]:
        if choice.gid_index is not None:
            return choice.gid_index, self.context.query_gid(choice.port, choice.gid_index).gid
        entries = [entry for entry in self.context.query_gid_table(256) if entry.port_num == choice.port]
        roce = [entry for entry in entries if entry.gid_type == self.enums.GID_TYPE_ROCE_V2]
        with_ipv4 = [entry for entry in roce if ipaddress.IPv6Address(entry.gid_str()).ipv4_mapped]
        infiniband = [entry for entry in entries if entry.gid_type == self.enums.GID_TYPE_IB]
        for chosen in (with_ipv4, infiniband, roce):
            if chosen:
                return int(chosen[0].gid_index), chosen[0].gid_str()
        found = ", ".join(f"{entry.gid_index}: {entry.gid_str()}" for entry in entries) or "none"
        raise TransportError(
            f"RDMA device {self.name}, port {choice.port}: found GIDs {found}; expected one of RoCE v2"
        )
