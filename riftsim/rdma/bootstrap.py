"""How two processes meet before they can read: a few messages over TCP, each JSON behind its length.

The memory node speaks first and says what it has (``Descriptor``); whoever does not want that goes away before a queue
pair exists. Then both exchange queue pairs (``Peer``), and nothing else is ever said; the connection stays open, and
its end tells the memory node that it may give the queue pairs back.
"""

import json
import socket
import struct
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from riftsim.errors import TransportError

VERSION = 1
"""Of the messages; both sides must speak the same."""

_LENGTH = struct.Struct(">I")
_LONGEST_BYTES = 1 << 20
_Message = TypeVar("_Message", "Descriptor", "Peer")


@dataclass(frozen=True)
class Descriptor:
    """What a memory node has registered.

    Attributes
    ----------
    content : dict
        What the bytes are; the transport only carries it.
    address, rkey, size_bytes : int
        Of the registered region.
    outstanding_reads : int
        Most reads that one queue pair may have in flight at the memory node.
    mtu : int
        Active MTU of its port, as ``enum ibv_mtu``.
    device : str
        Its name there.
    """

    content: dict[str, Any]
    address: int
    rkey: int
    size_bytes: int
    outstanding_reads: int
    mtu: int
    device: str


@dataclass(frozen=True)
class Peer:
    """The queue pairs of one side.

    Attributes
    ----------
    gid : str
    queue_pairs : list of [int, int]
        Number and first packet sequence number of each.
    outstanding_reads : int
        Reads that each of them may have in flight.
    mtu : int
        Path MTU, as ``enum ibv_mtu``.
    error : str
        Why there are no queue pairs; empty if there are.
    """

    gid: str
    queue_pairs: list[list[int]]
    outstanding_reads: int
    mtu: int
    error: str = ""


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of ``host:port`` or ``[v6]:port``."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or not 0 <= int(port) < 65536 or not host:
        raise TransportError(f"address: found {text!r}, expected host:port")
    return host.strip("[]"), int(port)


def connect(address: str, timeout_s: float) -> socket.socket:
    """Open a TCP connection to a memory node.

    Raises
    ------
    TransportError
        If it cannot be reached in time.
    """
    try:
        connection = socket.create_connection(parse_address(address), timeout_s)
    except OSError as error:
        raise TransportError(
            f"memory node {address}: cannot be reached ({error}); expected `riftsim memnode serve` to run there"
        ) from error
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def send(connection: socket.socket, message: Descriptor | Peer) -> None:
    """Send one message."""
    kind = type(message).__name__.lower()
    body = json.dumps({"version": VERSION, "message": kind, **asdict(message)}).encode()
    connection.sendall(_LENGTH.pack(len(body)) + body)


def receive(connection: socket.socket, kind: type[_Message], peer: str) -> _Message:
    """Receive one message.

    Parameters
    ----------
    connection : socket
    kind : type
        ``Descriptor`` or ``Peer``.
    peer : str
        Who it comes from, for messages of errors.

    Raises
    ------
    TransportError
        If the connection ends or is silent for too long, or the message is another one, or of another version.
    """
    try:
        (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
        if length > _LONGEST_BYTES:
            raise ValueError(f"a message of {length} bytes, expected at most {_LONGEST_BYTES}")
        fields = json.loads(_exactly(connection, length))
        version, name = fields.pop("version"), fields.pop("message")
    except (OSError, EOFError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise TransportError(
            f"{peer}: found {error or type(error).__name__}, expected a {kind.__name__.lower()} of riftsim"
        ) from error
    if version != VERSION:
        raise TransportError(f"{peer}: speaks version {version} of riftsim's messages, expected {VERSION}")
    try:
        if name != kind.__name__.lower():
            raise TypeError(f"a {name}")
        return kind(**fields)
    except TypeError as error:
        raise TransportError(f"{peer}: found {error}, expected a {kind.__name__.lower()}") from error


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            raise EOFError("the end of the connection")
        parts += part
    return parts
