"""What a transport of real reads offers: work requests in, completions out, over queue pairs of one completion queue.

A port knows neither queries nor retries. ``rdma.verbs`` makes one of a NIC; the tests have one in memory.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np


class Status(IntEnum):
    """Status of a completion; the numbers are those of ``enum ibv_wc_status`` (InfiniBand verbs)."""

    SUCCESS = 0
    LOC_LEN_ERR = 1
    LOC_QP_OP_ERR = 2
    LOC_EEC_OP_ERR = 3
    LOC_PROT_ERR = 4
    WR_FLUSH_ERR = 5
    MW_BIND_ERR = 6
    BAD_RESP_ERR = 7
    LOC_ACCESS_ERR = 8
    REM_INV_REQ_ERR = 9
    REM_ACCESS_ERR = 10
    REM_OP_ERR = 11
    RETRY_EXC_ERR = 12
    RNR_RETRY_EXC_ERR = 13
    LOC_RDD_VIOL_ERR = 14
    REM_INV_RD_REQ_ERR = 15
    REM_ABORT_ERR = 16
    INV_EECN_ERR = 17
    INV_EEC_STATE_ERR = 18
    FATAL_ERR = 19
    RESP_TIMEOUT_ERR = 20
    GENERAL_ERR = 21


class Read(NamedTuple):
    """One READ into a landing slot."""

    slot: int
    """Where it lands; also the number of its work request."""
    remote_offset: int
    """First byte in the memory node's region."""
    length_bytes: int


class Completion(NamedTuple):
    """One entry of the completion queue."""

    wr: int
    """Number of the work request."""
    status: int
    """``Status``."""
    queue_pair: int
    """Position in the port's ``queue_pairs``."""


class QueuePairInfo(NamedTuple):
    """One queue pair of a port."""

    number: int
    """Its QPN, for messages."""
    memory_node: int
    """Which part of the index it reads."""
    address: str
    """``host:port`` of the memory node behind it: replicas differ in it."""
    depth: int
    """Most work requests that may be posted and not completed."""


class ReadPort(Protocol):
    """Queue pairs of one event loop, with one completion queue and one landing buffer."""

    buffer: np.ndarray
    """uint8 (slots * slot_bytes,): where reads land."""
    slot_bytes: int
    queue_pairs: Sequence[QueuePairInfo]

    def post(self, queue_pair: int, reads: Sequence[Read], *, last_only: bool) -> None:
        """Post a chain of reads with one doorbell; ``last_only`` asks for a completion of the last one alone.

        Raises
        ------
        TransportError
            If the queue pair does not take them.
        """

    def poll(self) -> list[Completion]:
        """Completions that have come since the last poll, in the order of the completion queue."""

    def close(self) -> None:
        """Give everything back, in the right order; once more is harmless."""
