"""Reliable connected queue pairs: how they are made, and how they are connected to their peers."""

from dataclasses import dataclass

from riftsim.errors import TransportError
from riftsim.rdma import verbs
from riftsim.rdma.bootstrap import Peer
from riftsim.rdma.device import Device

_MIN_RNR_TIMER = 12
_RNR_RETRY = 7
_HOP_LIMIT = 64


@dataclass(frozen=True)
class Retries:
    """When a requester gives a memory node up (InfiniBand specification, 9.7.6.1.3).

    Attributes
    ----------
    timeout : int
        A lost packet is noticed after about ``4.096 us * 2 ** timeout``.
    retry_cnt : int
        Times that it is sent again. 7 is refused: on some devices a lost memory node is then never noticed.
    """

    timeout: int = 14
    retry_cnt: int = 6

    def __post_init__(self):
        if not 1 <= self.timeout <= 31:
            raise TransportError(f"timeout: found {self.timeout}, expected 1 to 31; 0 would wait for ever")
        if not 0 <= self.retry_cnt <= 6:
            raise TransportError(f"retry_cnt: found {self.retry_cnt}, expected 0 to 6; 7 may retry for ever")


PATIENT = Retries()
"""About half a second until a lost memory node is noticed."""


def create(device: Device, completion_queue, depth: int, *, extended: bool = False):
    """Make a queue pair.

    Parameters
    ----------
    device : Device
        Does not close it: whoever makes it does.
    completion_queue : pyverbs CQ
    depth : int
        Most work requests that may be posted.
    extended : bool
        Whether it is posted to through the extended interface.

    Returns
    -------
    pyverbs QP or QPEx
    """
    qp, enums = verbs.load("qp"), device.enums
    capacity = qp.QPCap(max_send_wr=depth, max_recv_wr=1, max_send_sge=1, max_recv_sge=1)
    common = {
        "qp_type": enums.QPT_RC,
        "scq": completion_queue,
        "rcq": completion_queue,
        "cap": capacity,
        "sq_sig_all": 0,
    }
    try:
        if not extended:
            return qp.QP(device.protection_domain, qp.QPInitAttr(**common))
        attributes = qp.QPInitAttrEx(
            pd=device.protection_domain,
            comp_mask=enums.QP_INIT_ATTR_PD | enums.QP_INIT_ATTR_SEND_OPS_FLAGS,
            send_ops_flags=enums.QP_EX_WITH_RDMA_READ,
            **common,
        )
        return qp.QPEx(device.context, attributes)
    except verbs.errors() as error:
        raise TransportError(f"{device.name}: a queue pair of {depth} work requests cannot be made: {error}") from error


def connect(device: Device, queue_pair, first_psn: int, peer: Peer, number: int, retries: Retries) -> None:
    """Connect a queue pair to queue pair ``number`` of a peer.

    Parameters
    ----------
    device : Device
    queue_pair : pyverbs QP
    first_psn : int
        Its own first packet sequence number.
    peer : Peer
        Who also says the path MTU and the outstanding reads, which must be alike on both sides.
    number : int
    retries : Retries
    """
    qp, addresses = verbs.load("qp"), verbs.load("addr")
    peer_number, peer_psn = peer.queue_pairs[number]
    if peer.outstanding_reads < 1:
        raise TransportError(
            f"{device.name}: found {peer.outstanding_reads} outstanding reads, expected at least 1: reads would hang"
        )
    attributes = qp.QPAttr(port_num=device.port)
    attributes.path_mtu = peer.mtu
    attributes.dest_qp_num, attributes.rq_psn = peer_number, peer_psn
    attributes.sq_psn = first_psn
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = peer.outstanding_reads
    attributes.timeout, attributes.retry_cnt = retries.timeout, retries.retry_cnt
    attributes.min_rnr_timer, attributes.rnr_retry = _MIN_RNR_TIMER, _RNR_RETRY
    attributes.qp_access_flags = device.enums.ACCESS_LOCAL_WRITE | device.enums.ACCESS_REMOTE_READ
    route = addresses.GlobalRoute(dgid=addresses.GID(peer.gid), sgid_index=device.gid_index, hop_limit=_HOP_LIMIT)
    attributes.ah_attr = addresses.AHAttr(gr=route, is_global=1, port_num=device.port)
    try:
        queue_pair.to_rts(attributes)
    except verbs.errors() as error:
        raise TransportError(
            f"{device.name}: queue pair {queue_pair.qp_num} cannot be connected to {peer_number} at {peer.gid}: {error}"
        ) from error
