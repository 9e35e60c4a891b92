"""The device itself, by pyverbs alone: a READ of this process's own memory."""

import time

import numpy as np
import pytest

from riftsim.rdma import verbs

pytestmark = pytest.mark.rdma

IPV4_GID_INDEX = 1


def test_a_read_over_the_loop_brings_the_bytes(device):
    enums, qp_module, wr_module = verbs.load("enums"), verbs.load("qp"), verbs.load("wr")
    address_module = verbs.load("addr")
    source = np.arange(4096, dtype=np.uint8)
    target = np.zeros(4096, dtype=np.uint8)
    access = enums.IBV_ACCESS_LOCAL_WRITE | enums.IBV_ACCESS_REMOTE_READ
    with (
        verbs.load("device").Context(name=device) as context,
        verbs.load("pd").PD(context) as domain,
        verbs.load("mr").MR(domain, source.nbytes, access, address=source.ctypes.data) as remote,
        verbs.load("mr").MR(domain, target.nbytes, access, address=target.ctypes.data) as local,
        verbs.load("cq").CQ(context, 4) as queue,
        qp_module.QP(
            domain,
            qp_module.QPInitAttr(
                qp_type=enums.IBV_QPT_RC,
                scq=queue,
                rcq=queue,
                cap=qp_module.QPCap(max_send_wr=4, max_recv_wr=1, max_send_sge=1, max_recv_sge=1),
            ),
        ) as pair,
    ):
        attributes = qp_module.QPAttr(port_num=1)
        attributes.dest_qp_num = pair.qp_num
        attributes.path_mtu = enums.IBV_MTU_1024
        attributes.max_dest_rd_atomic = attributes.max_rd_atomic = 4
        attributes.timeout, attributes.retry_cnt, attributes.rnr_retry = 14, 3, 3
        attributes.qp_access_flags = access
        own = address_module.GID(context.query_gid(1, IPV4_GID_INDEX).gid)
        route = address_module.GlobalRoute(dgid=own, sgid_index=IPV4_GID_INDEX, hop_limit=64)
        attributes.ah_attr = address_module.AHAttr(gr=route, is_global=1, port_num=1)
        pair.to_rts(attributes)

        entry = wr_module.SGE(target.ctypes.data + 64, 1024, local.lkey)
        request = wr_module.SendWR(
            wr_id=7, opcode=enums.IBV_WR_RDMA_READ, num_sge=1, sg=[entry], send_flags=enums.IBV_SEND_SIGNALED
        )
        request.set_wr_rdma(remote.rkey, source.ctypes.data + 256)
        pair.post_send(request)
        end = time.monotonic() + 10
        count, completions = 0, []
        while not count and time.monotonic() < end:
            count, completions = queue.poll(1)
        assert [(done.wr_id, done.status) for done in completions] == [(7, enums.IBV_WC_SUCCESS)]
        np.testing.assert_array_equal(target[64:1088], source[256:1280])
        assert not target[:64].any()
        assert not target[1088:].any()
        request.close()
        entry.close()
