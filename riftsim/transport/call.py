"""Calls: what a compute node asks of an active memory node, whose own threads answer."""

from typing import NamedTuple


class Call(NamedTuple):
    """One remote procedure call of a query."""

    query: int
    """The query (number of its arrival): with the tag, part of the order of events."""
    tag: int
    """Comes back with the reply."""
    memory_node: int
    request_bytes: int
    reply_bytes: int
    service_ps: int
    """Work of the memory node's thread for the reply, while none of its other threads is busy."""
    after_ps: int
    """Work with which the thread goes on after the reply, likewise."""
    handling_ps: int = 0
    """What the thread takes besides to take in the call and to post the reply, however many others are busy."""
