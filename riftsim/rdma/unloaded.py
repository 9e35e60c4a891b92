"""The latency of a read that meets nobody: the sum of its stages, written without events.

The event-driven network must give exactly this when nothing else is in flight; the tests hold it to that.
"""

from typing import TYPE_CHECKING

from riftsim.rdma.costs import framed_bytes, last_packet_bytes, transfer_ps

if TYPE_CHECKING:
    from riftsim.rdma.profiles import NetworkCosts


def read_stages(costs: "NetworkCosts", length_bytes: int, chained: bool = False) -> list[tuple[str, int]]:
    """Return what each stage adds to the latency of a lone read, in the order of the path.

    Parameters
    ----------
    costs : NetworkCosts
        Constants of the profile.
    length_bytes : int
        Payload.
    chained : bool
        Whether it is the first of a chain of several work requests (the NIC has to fetch the chain).

    Returns
    -------
    list of (str, int)
        Stage and picoseconds; they add up to the time from the doorbell to the visible CQE.
    """
    mtu = costs.mtu_bytes
    sizes = (min(length_bytes, mtu), length_bytes, last_packet_bytes(length_bytes, mtu))
    pcie = [
        transfer_ps(framed_bytes(size, costs.pcie_payload_bytes, costs.pcie_header_bytes), costs.pcie_ps_per_kib)
        for size in sizes
    ]
    wire = [transfer_ps(framed_bytes(size, mtu, costs.response_header_bytes), costs.link_ps_per_kib) for size in sizes]
    # The last packet leaves a stage when the whole message has been served, or when it has been served itself after it
    # left the stage before, whichever is later.
    head, tail = pcie[0], pcie[1]
    stages = [
        ("doorbell", costs.doorbell_ps),
        ("fetch of the chain", costs.wqe_fetch_ps if chained else 0),
        ("queue pair", costs.qp_service_ps),
        ("work request", costs.wr_service_ps),
        ("request on the wire", costs.request_wire_ps),
        ("request in transit", costs.transit_ps),
        ("responder", costs.responder_service_ps),
        ("PCIe read", costs.pcie_read_ps),
        ("data over the memory node's PCIe", tail),
    ]
    for name, (first, whole, last) in (("response on the wire", wire), ("data over the compute node's PCIe", pcie)):
        before = tail
        tail = max(head + whole, tail + last)
        head += first
        stages.append((name, tail - before))
    stages.insert(-1, ("response in transit", costs.transit_ps))
    stages.append(("PCIe write, CQE and remainder", costs.pcie_write_ps))
    return stages


def unloaded_read_ps(costs: "NetworkCosts", length_bytes: int, chained: bool = False) -> int:
    """Return the time from the doorbell to the visible CQE of a read that meets nobody, in picoseconds."""
    return sum(duration for _, duration in read_stages(costs, length_bytes, chained))
