"""Best-first search that reads its guess of the next node beside the present one (after CXL-ANNS, ATC'23)."""

from operator import add

import numpy as np

from riftsim.errors import ProtocolError
from riftsim.kernels import query as q
from riftsim.kernels.calls import adopt, guess, pick, post_record, take_in
from riftsim.kernels.traversal import RemoteIndex
from riftsim.search.graph_search import WORK, FillTable, GraphSearch
from riftsim.search.messages import Answer, ReadRequest, Step, Work

_COUNTS = ("guesses", "guesses_right", "reads_ahead", "reads_ahead_used")
"""Nodes guessed to be next, those that were, those read for the guess alone, and those of them that were expanded."""


class SpeculativeSearch(GraphSearch):
    """Expands one node at a time; each expansion also reads the node that the list, not yet updated, has next.

    The nodes expanded, and so the results, are those of ``RoundSearch`` with a beam of 1. Only looking up the
    neighbours, their compact distances and picking the nearest lie between two expansions; exact distances and
    insertions are done after the next reads are posted.

    Parameters
    ----------
    index, queries, fill_table, table_entries, list_size, k
        As for ``GraphSearch``.
    prefetch : bool
        Whether the guess is read.
    split_update : bool
        Whether insertions wait until the next reads are posted.
    cached : bool (n,) or None
        Nodes whose records lie in local memory.
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
        prefetch: bool = True,
        split_update: bool = True,
        cached: np.ndarray | None = None,
    ):
        super().__init__(
            index,
            queries,
            fill_table,
            table_entries,
            list_size=list_size,
            k=k,
            window=list_size + 2,  # a guess for every candidate, the node that is expanded, and the next guess
            rules={q.RULE_VERIFY: q.VERIFY_EXPANDED},
        )
        self._prefetch = prefetch
        self._split_update = split_update
        self._cached = cached
        self._record_bytes = index.vector_bytes + 4 + 4 * index.degree

    @property
    def state_bytes(self) -> int:
        """Bytes of per-query state, with the records that were read and not used yet."""
        return super().state_bytes + self._window * self._record_bytes

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query."""
        self._begin(query_index)
        self._open: dict[int, int] = {}
        """Reads that have not come: tag and node."""
        self._landed: dict[int, int] = {}
        """Records that are here and not expanded: node and tag."""
        self._awaited = self._guess = -1
        self._counts = dict.fromkeys((*_COUNTS, "reads_cached"), 0)
        self._chains = 0
        return self._go_on(Work(queries=1, table_entries=len(self._state.table), compact=1, insertions=1), Work())

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take in the reads that were seen to complete; there are no tasks."""
        if tasks:
            raise ProtocolError(f"tasks {tasks} completed, but a speculative search hands out none")
        self._require_open(reads)
        for tag in reads:
            self._landed[self._open.pop(tag)] = tag
        if self._awaited < 0:
            return Step(Work(), done=not self._open)
        if self._awaited not in self._landed:
            return Step(Work())
        return self._go_on(*self._expanded())

    def retry(self, reads: list[int]) -> Step:
        """Ask again for reads that failed, under new tags."""
        self._require_open(reads)
        step = super().retry(reads)
        for tag in reads:
            del self._open[tag]
        self._open |= {request.tag: request.node for request in step.chain}
        self._chains += 1
        return step

    def answer(self) -> Answer:
        """Return the results of the search."""
        answer = super().answer()
        local = self._counts["reads_cached"]
        answer.counts["reads_record"] -= local
        answer.counts["bytes_read"] -= local * self._record_bytes
        answer.counts["chains"] = self._chains
        return answer._replace(counts=answer.counts | self._counts)

    def _require_open(self, reads: list[int]) -> None:
        """Refuse reads that were never posted, or that completed before or twice, before anything changes."""
        strangers = [tag for tag in reads if tag not in self._open]
        if strangers or len(set(reads)) < len(reads):
            raise ProtocolError(f"reads {reads} completed; expected every tag once, of {sorted(self._open)}")

    def _go_on(self, urgent: Work, rest: Work) -> Step:
        """Pick and post after the urgent work, and expand what is here already, until a read must be waited for."""
        steps: list[Step] = []
        while True:
            picked = self._growing(pick) - 1
            if picked < 0:
                self._awaited = -1
                return _linked([*steps, Step(_sum(urgent, rest), done=not self._open)])
            self._awaited = picked
            steps.append(Step(urgent, self._ask(picked)))
            if any(rest):
                steps.append(Step(rest))
            if picked not in self._landed:
                return _linked(steps)
            urgent, rest = self._expanded()

    def _ask(self, picked: int) -> tuple[ReadRequest, ...]:
        """Read the picked node, unless it was read ahead, and ahead the one that is the nearest now."""
        counts, state = self._counts, self._state
        asked = {node: tag for tag, node in self._open.items()} | self._landed
        counts["guesses_right"] += picked == self._guess
        rows = 0
        if picked in asked:
            counts["reads_ahead_used"] += 1
            adopt(self._handle, asked[picked])
        else:
            post_record(self._handle, self._index_handle, rows, picked, int(state.numbers[q.EXPANSIONS]) - 1)
            rows += 1
        self._guess = guess(self._handle) - 1 if self._prefetch else -1
        if self._guess >= 0:
            counts["guesses"] += 1
            has_room = state.numbers[q.IN_FLIGHT] < len(state.flight_tags)
            if self._guess not in asked and not self._is_local(self._guess) and has_room:
                post_record(self._handle, self._index_handle, rows, self._guess, -1)
                counts["reads_ahead"] += 1
                rows += 1
        remote = []
        for request in self._requests(rows):
            if self._is_local(request.node):
                self._landed[request.node] = request.tag
                counts["reads_cached"] += 1
            else:
                self._open[request.tag] = request.node
                remote.append(request)
        self._chains += bool(remote)
        return tuple(remote)

    def _is_local(self, node: int) -> bool:
        return self._cached is not None and bool(self._cached[node])

    def _expanded(self) -> tuple[Work, Work]:
        """Expand the awaited node, whose record is here: what must precede the next pick, and the rest."""
        node = self._awaited
        before = self._state.numbers[WORK].tolist()
        tags, starts = self._locations([self._landed.pop(node)])
        self._growing(take_in, self._index_handle, self._query, tags, starts, 1)
        now = self._state.numbers[WORK].tolist()
        lists, neighbors, compact, exact, insertions = (b - a for a, b in zip(before, now, strict=True))
        # The price of a compact distance includes comparing it, here with the nearest so far.
        urgent = Work(lists=lists, neighbors=neighbors, compact=compact)
        rest = Work(insertions=insertions, **{"local_exact" if self._is_local(node) else "exact": exact})
        return (urgent, rest) if self._split_update else (_sum(urgent, rest), Work())


def _sum(one: Work, other: Work) -> Work:
    return Work(*map(add, one, other))


def _linked(steps: list[Step]) -> Step:
    """The first of some steps, each followed at once by the next."""
    linked = steps[-1]
    for step in reversed(steps[:-1]):
        linked = step._replace(then=linked)
    return linked
