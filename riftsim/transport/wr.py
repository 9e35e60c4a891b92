"""Work requests: what a compute node asks of a memory node's NIC, and the chain that one doorbell announces."""


class WorkRequest:
    """One one-sided READ.

    Attributes
    ----------
    tag : int
        Identifies the read among the reads of its query that are in flight; comes back with the completion.
    memory_node : int
        Whose memory is read.
    remote_offset : int
        First byte within the memory node's registered region.
    length_bytes : int
        Bytes to read, at least 1.
    signaled : bool
        Whether the NIC writes a completion-queue entry for this request. An unsignalled request becomes visible with
        the next signalled completion of its queue pair.
    """

    __slots__ = ("length_bytes", "memory_node", "remote_offset", "signaled", "tag")

    def __init__(self, tag: int, memory_node: int, remote_offset: int, length_bytes: int, signaled: bool = True):
        self.tag = tag
        self.memory_node = memory_node
        self.remote_offset = remote_offset
        self.length_bytes = length_bytes
        self.signaled = signaled

    def __repr__(self) -> str:
        mark = "" if self.signaled else ", unsignalled"
        return f"WorkRequest({self.tag}, node {self.memory_node}, {self.remote_offset}+{self.length_bytes}{mark})"


class Chain:
    """Work requests of one query for one queue pair, announced by one doorbell.

    Attributes
    ----------
    query : int
        The query (slot) that the reads belong to: part of the order of events.
    requests : list of WorkRequest
        In posting order, at least one.
    """

    __slots__ = ("query", "requests")

    def __init__(self, query: int, requests: list[WorkRequest]):
        self.query = query
        self.requests = requests

    def __len__(self) -> int:
        return len(self.requests)

    def __repr__(self) -> str:
        return f"Chain(query {self.query}, {self.requests!r})"
