"""Best-first search over remote records, as a program: the shell around the kernels of ``kernels.traversal``."""

from collections.abc import Callable

import numpy as np

from riftsim.errors import ProtocolError
from riftsim.kernels import query as layout
from riftsim.kernels.candidates import unpack
from riftsim.kernels.traversal import RemoteIndex, begin, next_round, run_rounds, take_in
from riftsim.search.messages import Answer, ReadRequest, Step, Work
from riftsim.search.state import grown, new_state, state_bytes

FillTable = Callable[[np.ndarray, np.ndarray], None]
"""Fill the distance table (float32, second argument) of one query (first argument)."""

_COUNTS = {
    "expansions": layout.EXPANSIONS,
    "evaluations": layout.EVALUATIONS,
    "exact_evaluations": layout.EXACT_EVALUATIONS,
    "insertions": layout.INSERTIONS,
    "hops": layout.ROUNDS,
    "reads_record": layout.READS_RECORD,
    "reads_vector": layout.READS_VECTOR,
    "reads_adjacency": layout.READS_ADJACENCY,
    "bytes_read": layout.BYTES_READ,
    "chains": layout.CHAINS,
}
_WORK = slice(layout.LISTS, layout.INSERTIONS + 1)


class RoundSearch:
    """Round-synchronous best-first search (RiftANN, sections 2.3 and 2.4).

    A round expands the ``beam_width`` nearest candidates with one chain of reads, and the next round starts after the last
    of them is taken in: the results do not depend on the order of completions.

    Parameters
    ----------
    index : RemoteIndex
        Codes, records and their placement.
    queries : ndarray (q, d)
        The evaluated queries, in the dtype of the vectors.
    fill_table : callable
        Fills the code's distance table for one query.
    table_entries : int
        Its length.
    list_size, k, beam_width : int
        L, k and expansions per round.
    verify_all : bool
        Whether every node that was in the candidate list after a round is verified, not only the expanded ones.
    overlapped : bool
        Whether each completion is worked on as soon as it is seen (Async-Vamana) or only when all of the round are in
        (Remote-Vamana).
    """

    def __init__(
        self,
        index: RemoteIndex,
        queries: np.ndarray,
        fill_table: FillTable,
        table_entries: int,
        *,
        list_size: int,
        k: int,
        beam_width: int,
        verify_all: bool = False,
        overlapped: bool = False,
    ):
        self._index = index
        self._queries = queries
        self._fill_table = fill_table
        self._overlapped = overlapped
        self._state = new_state(
            list_size=list_size,
            k=k,
            window=beam_width,
            degree=index.degree,
            table_entries=table_entries,
            rules={
                layout.RULE_BEAM: beam_width,
                layout.RULE_VERIFY: layout.VERIFY_ALL if verify_all else layout.VERIFY_EXPANDED,
            },
        )
        self._query = queries[0]
        self._arrived: list[int] = []
        self._starts: dict[int, int] = {}

    @property
    def state_bytes(self) -> int:
        """Bytes of per-query state."""
        return state_bytes(self._state)

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query."""
        self._begin(query_index)
        first = Work(queries=1, table_entries=len(self._state.table), compact=1, insertions=1)
        return self._decide(first)

    def receive(self, tags: list[int]) -> Step:
        """Take in the reads that were seen to complete."""
        self._arrived += tags
        if not self._overlapped and len(self._arrived) < self._state.numbers[layout.IN_FLIGHT]:
            return Step(Work())
        work = self._take_in(self._arrived)
        self._arrived = []
        return self._decide(work)

    def answer(self) -> Answer:
        """Return the results of the search."""
        numbers = self._state.numbers
        ids, distances = unpack(self._state.results, int(numbers[layout.RESULT_SIZE]))
        return Answer(ids, distances, {name: int(numbers[at]) for name, at in _COUNTS.items()})

    def run(self, query_index: int) -> Answer:
        """Search with every read completing at once, a chain at a time, in one kernel."""
        while True:
            self._begin(query_index)
            demand = run_rounds(self._state, self._index, self._query)
            if demand == 0:
                return self.answer()
            self._state = grown(self._state, demand)

    def _begin(self, query_index: int) -> None:
        self._query = self._queries[query_index]
        self._arrived = []
        self._starts = {}
        self._fill_table(self._query, self._state.table)
        begin(self._state, self._index, self._query)

    def _take_in(self, tags: list[int]) -> Work:
        state = self._state
        before = state.numbers[_WORK].tolist()
        try:
            starts = np.array([self._starts.pop(tag) for tag in tags], np.int64)
        except KeyError as missing:
            raise ProtocolError(f"read {missing} completed, but no such read is in flight") from None
        while True:
            added = take_in(state, self._index, self._query, self._index.region, np.array(tags, np.int64), starts, len(tags))
            if added >= 0:
                break
            if added == layout.UNKNOWN_TAG:
                raise ProtocolError(f"one of the reads {tags} completed twice or was never posted")
            state = self._state = grown(state, added)
        lists, neighbors, compact, exact, insertions = (
            now - was for now, was in zip(state.numbers[_WORK].tolist(), before, strict=True)
        )
        return Work(lists=lists, neighbors=neighbors, compact=compact, exact=exact, insertions=insertions)

    def _decide(self, work: Work) -> Step:
        count = next_round(self._state, self._index)
        if count == 0:
            return Step(work, done=self._state.numbers[layout.IN_FLIGHT] == 0)
        requests = []
        for tag, node, kind, memory_node, offset, length in self._state.outbox[:count].tolist():
            self._starts[tag] = int(self._index.region_bases[memory_node]) + offset
            requests.append(ReadRequest(tag, node, kind, memory_node, offset, length))
        return Step(work, tuple(requests))
