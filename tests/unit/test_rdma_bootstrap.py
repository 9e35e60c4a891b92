"""The messages before the first read: over real sockets, in halves, of other versions, and from strangers."""

import json
import socket
import struct
import threading

import pytest

from riftsim.errors import TransportError
from riftsim.rdma import bootstrap
from riftsim.rdma.bootstrap import Descriptor, Peer

DESCRIPTOR = Descriptor({"index_hash": "ab", "shard": 0}, 1 << 47, 77, 1 << 40, 16, 5, "rxe0")


@pytest.fixture
def pair():
    ends = socket.socketpair()
    for end in ends:
        end.settimeout(5)
    yield ends
    for end in ends:
        end.close()


def frame(**fields) -> bytes:
    body = json.dumps(fields).encode()
    return struct.pack(">I", len(body)) + body


@pytest.mark.parametrize("message", [DESCRIPTOR, Peer("::ffff:1.2.3.4", [[17, 9], [18, 10]], 16, 3)])
def test_messages_arrive_as_they_were_sent(pair, message):
    bootstrap.send(pair[0], message)
    assert bootstrap.receive(pair[1], type(message), "peer") == message


def test_a_message_may_come_in_pieces(pair):
    bootstrap.send(pair[0], DESCRIPTOR)
    whole = pair[1].recv(10_000)
    sender = threading.Thread(target=lambda: [pair[1].sendall(whole[i : i + 1]) for i in range(len(whole))])
    sender.start()
    assert bootstrap.receive(pair[0], Descriptor, "peer") == DESCRIPTOR
    sender.join()


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        (frame(version=2, message="peer"), "version 2 .* expected 1"),
        (frame(version=1, message="descriptor"), "found a descriptor, expected a peer"),
        (frame(version=1, message="peer", gid="x"), "missing"),
        (frame(version=1, message="peer", gid="x", queue_pairs=[], outstanding_reads=1, mtu=1, more=1), "more"),
        (b"GET / HTTP/1.1\r\n\r\n", "a message of 1195725856 bytes"),
        (struct.pack(">I", 3) + b"[1]", "expected a peer of riftsim"),
        (struct.pack(">I", 3) + b"{{{", "expected a peer of riftsim"),
    ],
)
def test_anything_else_is_refused(pair, sent, complaint):
    pair[0].sendall(sent)
    with pytest.raises(TransportError, match=f"the other side: .*{complaint}"):
        bootstrap.receive(pair[1], Peer, "the other side")


def test_a_connection_that_ends_or_is_silent_is_an_error(pair):
    pair[1].settimeout(0.01)
    with pytest.raises(TransportError, match="timed out"):
        bootstrap.receive(pair[1], Peer, "peer")
    pair[0].sendall(b"\0\0")
    pair[0].close()
    with pytest.raises(TransportError, match="the end of the connection"):
        bootstrap.receive(pair[1], Peer, "peer")


def test_a_memory_node_that_is_not_there_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(TransportError, match=rf"memory node 127\.0\.0\.1:{port}: cannot be reached .*memnode serve"):
        bootstrap.connect(f"127.0.0.1:{port}", 1)


@pytest.mark.parametrize("text", ["host", ":7471", "host:", "host:http", "host:70000"])
def test_addresses_have_host_and_port(text):
    with pytest.raises(TransportError, match="expected host:port"):
        bootstrap.parse_address(text)
    assert bootstrap.parse_address("[::1]:7471") == ("::1", 7471)
