"""Pipelined best-first search as a program (PipeANN, OSDI'25)."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from riftsim.errors import ConfigError, ProtocolError
from riftsim.kernels import query as q
from riftsim.kernels.calls import issue, land, outlook, pick_arrived, rescore, seed, take_in
from riftsim.kernels.pipelined import ENDED, GOES_ON
from riftsim.kernels.traversal import RemoteIndex
from riftsim.search.graph_search import WORK, FillTable, GraphSearch
from riftsim.search.messages import Answer, Step, Work

Entries = Callable[[int], tuple[np.ndarray, np.ndarray, Work]]
"""Entry points of a query: nodes int32 (m,), their exact distances float32 (m,), and the work of finding them."""


@dataclass(frozen=True)
class PipelineRules:
    """Settings of the search; defaults are those of the published code.

    Attributes
    ----------
    start_width, max_width : int
        Most reads in flight: at the start of a query, and at all.
    marker : int
        Position in the candidate list that the nearest unread candidate must have reached before the width is
        controlled.
    most_waste : float
        Share of the reads since then that came in vain, up to which the width grows.
    """

    start_width: int = 4
    max_width: int = 32
    marker: int = 5
    most_waste: float = 0.1


class PipelinedSearch(GraphSearch):
    """Works on what has arrived while other reads are in flight, whichever candidate comes next.

    A turn takes in what arrived, in the order of posting; posts at most one read, for the nearest unread candidate, if
    fewer than the width are in flight; and works on one record, that of the nearest candidate whose record is there.
    The search has ended when every candidate was worked on; reads that are still in flight then are waited for.

    Parameters
    ----------
    index, queries, fill_table, table_entries, list_size, k
        As for ``GraphSearch``.
    rules : PipelineRules
    entries : callable or None
        Where a query begins. Its first reads are posted by the distances that it gives, before the distance table is
        filled. None begins at the index's start node.
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
        rules: PipelineRules,
        entries: Entries | None = None,
    ):
        if not 1 <= rules.start_width <= rules.max_width:
            raise ConfigError(f"start_width: found {rules.start_width}, expected 1 to max_width = {rules.max_width}")
        super().__init__(
            index,
            queries,
            fill_table,
            table_entries,
            list_size=list_size,
            k=k,
            window=rules.max_width + list_size,  # a read that has arrived keeps its slot until it is worked on
            rules={
                q.RULE_VERIFY: q.VERIFY_EXPANDED,
                q.RULE_MAX_WINDOW: rules.max_width,
                q.RULE_MARKER: rules.marker,
                q.RULE_WASTE_PPM: round(rules.most_waste * 1e6),
            },
        )
        self._start_width = rules.start_width
        self._entries = entries
        slots = len(self._state.flight_tags)
        self._posted, self._landed_at = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
        self._order: deque[int] = deque()
        """Reads in flight, in the order of posting."""
        self._arrived: dict[int, int] = {}
        """Reads that completed, and where their bytes lie, until all before them have completed too."""
        self._table_due = False

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query."""
        self._order.clear()
        self._arrived.clear()
        self._table_due = self._entries is not None
        if self._entries is None:
            self._begin(query_index)
            self._state.numbers[q.WINDOW] = self._start_width
            work = Work(queries=1, table_entries=len(self._state.table), compact=1, insertions=1)
        else:
            self._query = self._queries[query_index]
            self._starts = {}
            nodes, distances, found = self._entries(query_index)
            seed(self._handle, nodes, distances, self._start_width)
            work = found._replace(queries=1)
        chain = self._requests(self._growing(issue, self._index_handle, self._posted, self._start_width))
        self._order.extend(read.tag for read in chain)
        return Step(work, chain, resume=self._table_due)

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take one turn with the reads that were seen to complete; there are no tasks."""
        if tasks:
            raise ProtocolError(f"tasks {tasks} completed, but a pipelined search hands out none")
        self._require_in_flight(reads)
        for tag in reads:
            self._arrived[tag] = self._starts.pop(tag)
        if self._table_due:
            self._table_due = False
            return self._fill()
        self._land()
        before = self._state.numbers[WORK].tolist()
        chain = self._requests(self._growing(issue, self._index_handle, self._posted, 1))
        self._order.extend(read.tag for read in chain)
        self._work_on_one()
        now = self._state.numbers[WORK].tolist()
        lists, neighbors, compact, exact, insertions = (b - a for a, b in zip(before, now, strict=True))
        work = Work(lists=lists, neighbors=neighbors, compact=compact, exact=exact, insertions=insertions)
        left = outlook(self._handle, self._posted)
        worked = Step(work, done=left == ENDED and not self._order, resume=left == GOES_ON)
        return Step(Work(), chain, then=worked) if chain else worked

    def retry(self, reads: list[int]) -> Step:
        """Ask again for reads that failed, under new tags."""
        mask = len(self._posted) - 1
        keys = [self._posted[tag & mask] for tag in reads]
        step = super().retry(reads)
        for read, key in zip(step.chain, keys, strict=True):
            self._posted[read.tag & mask] = key
        self._order = deque(tag for tag in self._order if tag not in reads)
        self._order.extend(read.tag for read in step.chain)
        return step

    def answer(self) -> Answer:
        """Return the results of the search."""
        answer = super().answer()
        answer.counts["width"] = int(self._state.numbers[q.WINDOW])
        return answer

    def _fill(self) -> Step:
        """Fill the distance table while the first reads are in flight, and order the entry points by it."""
        self._fill_table(self._query, self._state.table)
        count = rescore(self._handle, self._index_handle, self._query, self._posted)
        return Step(Work(table_entries=len(self._state.table), compact=count, insertions=count), resume=True)

    def _land(self) -> None:
        """Take in what completed, in the order of posting."""
        tags = []
        while self._order and self._order[0] in self._arrived:
            tags.append(self._order.popleft())
        if tags:
            places = np.array([self._arrived.pop(tag) for tag in tags], np.int64)
            self._growing(land, self._posted, self._landed_at, np.array(tags, np.int64), places, len(tags))

    def _work_on_one(self) -> None:
        slot = pick_arrived(self._handle)
        if slot >= 0:
            tags, places = self._state.flight_tags[slot : slot + 1].copy(), self._landed_at[slot : slot + 1]
            self._growing(take_in, self._index_handle, self._query, tags, places, 1)
