"""Opening a device, with stand-ins for pyverbs: which port and GID are taken, and what is refused."""

from types import SimpleNamespace

import pytest

from riftsim.errors import TransportError
from riftsim.rdma import verbs
from riftsim.rdma.device import Device, DeviceChoice
from riftsim.rdma.reader import ReaderSettings, VerbsPort

IB, ROCE_V1, ROCE_V2 = 0, 1, 2
LINK_LOCAL, IPV4 = "fe80::5054:ff:fe00:1", "::ffff:10.77.0.1"
ENUMS = SimpleNamespace(PORT_ACTIVE=4, GID_TYPE_IB=IB, GID_TYPE_ROCE_V1=ROCE_V1, GID_TYPE_ROCE_V2=ROCE_V2)


class Context:
    """An opened device of two ports with a GID table."""

    closed = 0

    def __init__(self, table, state=ENUMS.PORT_ACTIVE):
        self._table = table
        self._state = state

    def query_port(self, port):
        return SimpleNamespace(state=self._state, active_mtu=5)

    def query_gid_table(self, most):
        return [
            SimpleNamespace(port_num=port, gid_index=index, gid_type=kind, gid_str=lambda gid=gid: gid)
            for port, index, kind, gid in self._table
        ]

    def query_gid(self, port, index):
        return SimpleNamespace(gid=next(row[3] for row in self._table if row[:2] == (port, index)))

    def query_device(self):
        return SimpleNamespace(max_qp_init_rd_atom=16, max_qp_rd_atom=128, max_qp_wr=1024, max_cqe=4096)

    def close(self):
        self.closed += 1


@pytest.fixture
def opened(monkeypatch):
    def open_with(table, choice=None, **context):
        made = Context(table, **context)
        modules = {
            "device": SimpleNamespace(Context=lambda name: made),
            "pd": SimpleNamespace(PD=lambda context: SimpleNamespace(close=lambda: None)),
        }
        monkeypatch.setattr(verbs, "device_names", lambda: ["mlx5_0", "rxe0"])
        monkeypatch.setattr(verbs, "Enums", lambda: ENUMS)
        monkeypatch.setattr(verbs, "load", modules.__getitem__)
        return Device(choice or DeviceChoice()), made

    return open_with


ROCE = [(1, 0, ROCE_V1, LINK_LOCAL), (1, 1, ROCE_V2, LINK_LOCAL), (1, 2, ROCE_V1, IPV4), (1, 3, ROCE_V2, IPV4)]


@pytest.mark.parametrize(
    ("table", "choice", "expected"),
    [
        (ROCE, DeviceChoice(), (3, IPV4)),
        (ROCE, DeviceChoice(gid_index=1), (1, LINK_LOCAL)),
        (ROCE[:2], DeviceChoice(), (1, LINK_LOCAL)),  # RoCE v2 without an IPv4 address
        ([(1, 0, IB, "fe80::1")], DeviceChoice(), (0, "fe80::1")),
        ([(2, 5, ROCE_V2, IPV4), *ROCE], DeviceChoice(), (3, IPV4)),  # the GIDs of another port are not its own
        ([(2, 5, ROCE_V2, IPV4), *ROCE], DeviceChoice(port=2), (5, IPV4)),
    ],
)
def test_the_gid_is_chosen_by_type_or_by_setting(opened, table, choice, expected):
    device, _ = opened(table, choice)
    assert (device.gid_index, device.gid) == expected


def test_limits_and_mtu_are_the_device_s(opened):
    device, context = opened(ROCE)
    assert (device.name, device.mtu, device.mtu_bytes) == ("mlx5_0", 5, 4096)
    assert device.outstanding_reads == 16  # the smaller one: as requester, and as responder
    device.close()
    device.close()
    assert context.closed == 1


@pytest.mark.parametrize(
    ("table", "choice", "context", "complaint"),
    [
        (ROCE, DeviceChoice("mlx9"), {}, "found mlx5_0, rxe0; expected mlx9"),
        (ROCE, DeviceChoice(port=2), {"state": 1}, "device mlx5_0, port 2: not active"),
        (ROCE[:1], DeviceChoice(), {}, f"found GIDs 0: {LINK_LOCAL}; expected one of RoCE v2"),
        ([], DeviceChoice(), {}, "found GIDs none; expected one of RoCE v2"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_was_found(opened, table, choice, context, complaint):
    with pytest.raises(TransportError, match=complaint):
        opened(table, choice, **context)


def test_a_missing_device_is_named_before_a_memory_node_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(verbs, "device_names", list)
    with pytest.raises(TransportError, match=r"RDMA device: found none .*setup_rxe\.sh"):
        VerbsPort(["127.0.0.1:1"], list, 4, 64, ReaderSettings())
