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
    """Time of the memory node's thread from taking the call to having posted the reply."""
    after_ps: int
    """Time for which the thread goes on with the call after that."""
