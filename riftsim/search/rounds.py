"""Round-synchronous best-first search as a program (RiftANN, sections 2.3 and 2.4)."""

import numpy as np

from riftsim.errors import ProtocolError
from riftsim.kernels import query as q
from riftsim.kernels.calls import next_round, run_rounds, take_in
from riftsim.kernels.engine_tables import SEARCH_LOCK_STEP, SEARCH_OVERLAPPED
from riftsim.kernels.traversal import RemoteIndex
from riftsim.search.graph_search import WORK, FillTable, GraphSearch, alpha_ppm
from riftsim.search.messages import Answer, Step, Work

_WAITING = Step(Work())


class RoundSearch(GraphSearch):
    """A round expands the nearest candidates with one chain; the next starts after the last of its reads is taken in.

    The results do not depend on the order of completions.

    Parameters
    ----------
    index, queries, fill_table, table_entries, list_size, k
        As for ``GraphSearch``.
    beam_width : int
        Expansions per round.
    verify : int
        ``VERIFY_EXPANDED``, ``VERIFY_CALIBRATED`` or ``VERIFY_ALL`` of ``kernels.query``.
    alpha : float
        Of the calibrated verification rule.
    overlapped : bool
        Whether each completion is worked on as soon as it is seen (Async-Vamana) or only when all of the round are in
        (Remote-Vamana).
    true_ids : integers (q, k) or None
        For ``VERIFY_ORACLE``.
    more_rules : dict
        Further settings by position in ``QueryState.rules``.
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
        verify: int = q.VERIFY_EXPANDED,
        alpha: float = 1.0,
        overlapped: bool = False,
        true_ids: np.ndarray | None = None,
        more_rules: dict[int, int] | None = None,
    ):
        rules = {q.RULE_BEAM: beam_width, q.RULE_VERIFY: verify, q.RULE_ALPHA_PPM: alpha_ppm(alpha)}
        super().__init__(
            index,
            queries,
            fill_table,
            table_entries,
            list_size=list_size,
            k=k,
            window=beam_width,
            rules=rules | (more_rules or {}),
            true_ids=true_ids,
        )
        self._overlapped = overlapped
        self._arrived: list[int] = []

    @property
    def compiled_kind(self) -> int:
        """Which search of the compiled engine this is."""
        return SEARCH_OVERLAPPED if self._overlapped else SEARCH_LOCK_STEP

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query."""
        self._arrived = []
        self._begin(query_index)
        return self._decide(Work(queries=1, table_entries=len(self._state.table), compact=1, insertions=1))

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take in the reads that were seen to complete; there are no tasks."""
        if tasks:
            raise ProtocolError(f"tasks {tasks} completed, but a round-synchronous search hands out none")
        self._require_in_flight(self._arrived + reads)
        self._arrived += reads
        if not self._overlapped and len(self._arrived) < len(self._starts):
            return _WAITING
        before = self._state.numbers[WORK].tolist()
        if not self._overlapped:
            self._arrived.sort()  # all are here: work in the order of posting
        tags, starts = self._locations(self._arrived)
        self._arrived = []
        self._growing(take_in, self._index_handle, self._query, tags, starts, len(tags))
        now = self._state.numbers[WORK].tolist()
        lists, neighbors, compact, exact, insertions = (b - a for a, b in zip(before, now, strict=True))
        work = Work(lists=lists, neighbors=neighbors, compact=compact, exact=exact, insertions=insertions)
        return Step(work) if self._starts else self._decide(work)  # the round is open while a read is in flight

    def run(self, query_index: int) -> Answer:
        """Search with every read completing at once, a chain at a time, in one kernel."""
        while True:
            self._begin(query_index)
            demand = run_rounds(self._handle, self._index_handle, self._query)
            if demand == 0:
                return self.answer()
            self.grow(demand)

    def _decide(self, work: Work) -> Step:
        count = self._growing(next_round, self._index_handle)
        if count == 0:
            return Step(work, done=bool(self._state.numbers[q.IN_FLIGHT] == 0))
        return Step(work, self._requests(count))
