"""Best-first search whose state and exact distances lie at an active memory node (DistVS, reconstructed)."""

import numpy as np

from riftsim.errors import ProtocolError
from riftsim.kernels import query as q
from riftsim.kernels.calls import advance, prune
from riftsim.kernels.traversal import RemoteIndex
from riftsim.search.graph_search import WORK, FillTable, GraphSearch
from riftsim.search.messages import Answer, CallRequest, Step, Work

HEADER_BYTES = 16
"""Of a call and of a reply: which query, how many entries, and the worst distance of the list."""
_SURVIVOR_BYTES = 8
_NEIGHBOR_BYTES = 4
_RESULT_BYTES = 8


class MemorySideSearch(GraphSearch):
    """One call per round: survivors go to the memory node, unseen neighbours of the next nodes come back.

    The compute node computes compact distances and drops what cannot enter the list. A thread of the memory node
    merges the rest, takes the ``beam_width`` nearest, looks up their neighbours and replies; then it computes the exact
    distances of what entered the list, off the path of the next round. The nodes expanded, and the results, are those
    of ``RoundSearch`` with ``VERIFY_ALL`` and the same beam.

    Parameters
    ----------
    index, queries, fill_table, table_entries, list_size, k
        As for ``GraphSearch``; one memory node holds all records.
    beam_width : int
        Expansions per round.
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
    ):
        super().__init__(
            index,
            queries,
            fill_table,
            table_entries,
            list_size=list_size,
            k=k,
            window=beam_width,
            rules={q.RULE_BEAM: beam_width, q.RULE_VERIFY: q.VERIFY_ALL},
        )
        self._tag = 0

    @property
    def state_bytes(self) -> int:
        """Bytes of per-query state at the compute node: the distance table, and what is sent and received."""
        state = self._state
        return state.table.nbytes + state.pending_ids.nbytes + state.pending_distances.nbytes

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query: the first call brings the query and the start node."""
        self._begin(query_index)
        self._tag = 0
        self._over = self._open = False
        self._counts = dict.fromkeys(("calls", "survivors", "bytes_sent"), 0)
        self._received_bytes = 0
        work = Work(queries=1, table_entries=len(self._state.table), compact=1)
        return self._call(work, 1, self._query.nbytes)

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take in the reply to the open call."""
        if tasks or reads != [self._tag] or not self._open:
            expected = [self._tag] if self._open else []
            raise ProtocolError(f"replies {reads} and tasks {tasks} came; expected replies {expected} and no task")
        self._open = False
        if self._over:
            return Step(Work(), done=True)
        compact = int(self._state.numbers[q.UNFINISHED])
        survivors = self._growing(prune, self._index_handle, self._query)
        return self._call(Work(compact=compact), survivors)

    def retry(self, reads: list[int]) -> Step:
        """Never called: a call that failed has been served or not, which the compute node cannot know."""
        raise ProtocolError(f"calls {reads} failed; a search at a memory node cannot be taken up again")

    def answer(self) -> Answer:
        """Return the results of the search."""
        answer = super().answer()
        sizes = {"bytes_read": self._received_bytes, "chains": self._counts["calls"]}
        return answer._replace(counts=answer.counts | sizes | self._counts)

    def _call(self, work: Work, survivors: int, query_bytes: int = 0) -> Step:
        """Call the memory node; what its thread will do is done here, and priced there."""
        before = self._state.numbers[WORK].tolist()
        expanded = self._growing(advance, self._index_handle, self._query)
        now = self._state.numbers[WORK].tolist()
        lists, neighbors, _, exact, insertions = (b - a for a, b in zip(before, now, strict=True))
        self._over = expanded == 0
        unseen = int(self._state.numbers[q.UNFINISHED])
        reply = len(self._state.results) * _RESULT_BYTES if self._over else unseen * _NEIGHBOR_BYTES
        path = Work(merged=survivors, insertions=insertions, lists=lists, neighbors=neighbors)
        rerank = Work(local_exact=exact, merged=exact)
        if self._over:  # the results are the reply
            path, rerank = path._replace(local_exact=exact, merged=survivors + exact), Work()
        self._tag += 1
        self._open = True
        call = CallRequest(
            self._tag,
            0,
            HEADER_BYTES + survivors * _SURVIVOR_BYTES + query_bytes,
            HEADER_BYTES + reply,
            path,
            rerank,
        )
        self._received_bytes += call.reply_bytes
        self._counts["calls"] += 1
        self._counts["survivors"] += survivors
        self._counts["bytes_sent"] += call.request_bytes
        return Step(work, calls=(call,))
