"""What a search says to its driver, and what it hears.

A search is a *program*: it is started, it is told what has completed, and each time it answers with a ``Step``: the
computing that its main thread has just done, the reads to be posted together, and whether it has ended. It never
waits and knows no clock. Drivers differ only in how time passes between two calls.
"""

from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np


class Work(NamedTuple):
    """Computing done on a main thread, as counts of operations that a cost model can price."""

    queries: int = 0
    """Queries set up."""
    table_entries: int = 0
    """float32 entries of the distance table filled."""
    lists: int = 0
    """Adjacency lists taken apart."""
    neighbors: int = 0
    """Neighbour ids looked up in the table of seen nodes."""
    compact: int = 0
    """Compact distances."""
    exact: int = 0
    """Exact distances of records that were read."""
    local_exact: int = 0
    """Exact distances of vectors in local memory, each a row at a random place."""
    insertions: int = 0
    """Insertions into the candidate list."""
    handed_over: int = 0
    """Evaluation tasks handed to workers."""
    merged: int = 0
    """Distances offered to the candidate list besides those of ``compact``: what workers computed, and exact ones."""


class EvaluationTask(NamedTuple):
    """Compact distances to be computed by a worker."""

    number: int
    neighbors: int


class Blocked(IntEnum):
    """What a search waits for after a step, in the words of section 4's breakdown."""

    READS = 0
    """Reads in flight: exposed RDMA wait."""
    GATE = 1
    """The impact gate: a candidate and a free slot are there, too much is unfinished."""
    DRAIN = 2
    """Unfinished evaluations at the end, with nothing left to read."""


class ReadRequest(NamedTuple):
    """One read of a record or of one of its fields."""

    tag: int
    node: int
    kind: int
    """``READ_RECORD``, ``READ_VECTOR`` or ``READ_ADJACENCY`` of ``kernels.query``."""
    memory_node: int
    offset_bytes: int
    """From the start of the memory node's region."""
    length_bytes: int


class CallRequest(NamedTuple):
    """A call to an active memory node: one of its own threads works and replies."""

    tag: int
    """From the same numbers as the tags of reads; a reply is told as a completed read is."""
    memory_node: int
    request_bytes: int
    reply_bytes: int
    work: Work
    """What the thread does before it replies."""
    after: Work = Work()
    """What it does after it has replied, before it takes the next call."""


class Step(NamedTuple):
    """One answer of a program."""

    work: Work
    chain: tuple[ReadRequest, ...] = ()
    """Reads to be posted together: one doorbell per memory node."""
    tasks: tuple[EvaluationTask, ...] = ()
    """Evaluations for the shared workers."""
    done: bool = False
    blocked: Blocked = Blocked.READS
    """What the search waits for if it has not ended."""
    calls: tuple[CallRequest, ...] = ()
    """Calls to active memory nodes; those that a main thread makes in one turn share a doorbell."""
    then: "Step | None" = None
    """What the main thread goes on with at once, after it has posted: work that is off the path of these reads. The
    last of the steps says whether the search has ended and what it waits for."""
    resume: bool = False
    """Whether the search goes on at its main thread's next turn, even if nothing has completed by then."""

    def parts(self) -> "list[Step]":
        """This step and those that follow it at once."""
        steps, step = [], self
        while step is not None:
            steps.append(step)
            step = step.then
        return steps


class Answer(NamedTuple):
    """What a finished search returns."""

    ids: np.ndarray
    """int32 (k,), nearest first; -1 where fewer than k nodes were found."""
    distances: np.ndarray
    """float32 (k,), internal distances; inf where there is no node."""
    counts: dict[str, int]
    """Counters of the query, named as the columns of its results row."""
    trail: np.ndarray | None = None
    """int32 (expansions, 4): for each expansion, in order, the unfinished evaluations when it was admitted, the
    neighbours it brought, how many of them were inserted, and the updates that were hidden from it."""


class Program(Protocol):
    """A search of one query at a time; reusable for the next query once it has ended."""

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query."""

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take in what was seen to complete since the last call: tags of reads and numbers of evaluation tasks.

        Both are in the order of their completions.
        """

    def retry(self, reads: list[int]) -> Step:
        """Ask again for reads that failed."""

    def answer(self) -> Answer:
        """Return the results; valid after a step with ``done``."""
