"""What every graph search over remote records shares: the shell around a query's state."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from riftsim.errors import ConfigError, ProtocolError
from riftsim.kernels import query as q
from riftsim.kernels.calls import begin, retry_reads, statuses
from riftsim.kernels.candidates import unpack
from riftsim.kernels.handles import index_handle, state_handle
from riftsim.kernels.query import QueryState
from riftsim.kernels.traversal import RemoteIndex
from riftsim.search.messages import Answer, ReadRequest, Step, Work
from riftsim.search.state import grown, laid_out, new_state, state_bytes

FillTable = Callable[[np.ndarray, np.ndarray], None]
"""Fill the distance table (float32, second argument) of one query (first argument)."""

WORK = slice(q.LISTS, q.INSERTIONS + 1)
"""Where the counters of a main thread's work lie in ``QueryState.numbers``."""

_COUNTS = {
    "expansions": q.EXPANSIONS,
    "evaluations": q.EVALUATIONS,
    "exact_evaluations": q.EXACT_EVALUATIONS,
    "insertions": q.INSERTIONS,
    "hops": q.ROUNDS,
    "reads_record": q.READS_RECORD,
    "reads_vector": q.READS_VECTOR,
    "reads_adjacency": q.READS_ADJACENCY,
    "bytes_read": q.BYTES_READ,
    "chains": q.CHAINS,
    "retried": q.RETRIED,
}


def alpha_ppm(alpha: float) -> int:
    """alpha in parts per million, rounded up: the ratio that alpha was observed as stays covered."""
    return math.ceil(round(alpha * 1e6, 3))


class GraphSearch:
    """State, growth, requests and results of a search; subclasses say when to read.

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
    list_size, k, window : int
        L, k and most reads in flight.
    rules : dict
        Settings by position in ``QueryState.rules``.
    history : int
        H: evaluations in the rolling history.
    true_ids : integers (q, k) or None
        True neighbours of the queries, -1 where there is none; for ``VERIFY_ORACLE``, which must have them.
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
        window: int,
        rules: dict[int, int],
        history: int = 1,
        true_ids: np.ndarray | None = None,
    ):
        if rules.get(q.RULE_VERIFY) == q.VERIFY_ORACLE and true_ids is None:
            raise ConfigError("verification: found 'oracle', but the true neighbours of the queries are not known")
        self._index = index
        self._queries = queries
        self._fill_table = fill_table
        self._window = window
        self._query = queries[0]
        self._true_ids = true_ids
        self._starts: dict[int, int] = {}
        self._landing: tuple[int, int, Callable[[int], int]] | None = None
        self._growth: Callable[[], AbstractContextManager] = nullcontext
        self._index_handle = index_handle(index)
        self._set_state(
            new_state(
                list_size=list_size,
                k=k,
                window=window,
                degree=index.degree,
                table_entries=table_entries,
                rules=rules,
                history=history,
                true_neighbors=0 if true_ids is None else true_ids.shape[1],
            )
        )

    @property
    def state_bytes(self) -> int:
        """Bytes of per-query state."""
        return state_bytes(self._state)

    @property
    def state(self) -> QueryState:
        """The state of the query at hand; replaced by a larger one where it grows."""
        return self._state

    @property
    def handle(self) -> np.ndarray:
        """Handle of the state."""
        return self._handle

    @property
    def index_handle(self) -> np.ndarray:
        """Handle of the index."""
        return self._index_handle

    @property
    def index(self) -> RemoteIndex:
        """Codes, records and their placement."""
        return self._index

    @property
    def queries(self) -> np.ndarray:
        """The evaluated queries."""
        return self._queries

    @property
    def landing_slots(self) -> int:
        """Places that the reads of one query need where records land away from the memory nodes' own regions."""
        return len(self._state.flight_tags)

    def land_in(
        self, buffer: np.ndarray, first_bytes: int, slot_bytes: int, within: Callable[[int], int] = lambda _: 0
    ) -> None:
        """Take in records from a buffer that reads are copied to, not from the memory nodes' own regions.

        A read lands in the slot of its tag modulo ``landing_slots``, which is its own until it was taken in.

        Parameters
        ----------
        buffer : uint8 (bytes,)
            The buffer, alive as long as the search.
        first_bytes : int
            Where the slots of this search begin in it.
        slot_bytes : int
            From one slot to the next.
        within : callable
            Where in its slot a record begins, by its place in the memory node's region, where more than it is read.
        """
        self._landing = first_bytes, slot_bytes, within
        self._index = self._index._replace(region=buffer)
        self._index_handle = index_handle(self._index)

    def move_state(self, memory: np.ndarray) -> None:
        """Move the state into one piece of memory (uint8); see ``search.state.laid_out``."""
        self._set_state(laid_out(self._state, memory))

    def grow(self, demand: int) -> None:
        """Give the state the room that a kernel asked for."""
        with self._growth():
            self._set_state(grown(self._state, demand))

    def prepare(self, query_index: int) -> None:
        """Empty the state and enter the start node; the first decision is the caller's."""
        self._begin(query_index)

    def retry(self, reads: list[int]) -> Step:
        """Ask again for reads that failed, under new tags; a driver that gives up ends the query instead."""
        self._require_in_flight(reads)
        tags, _ = self._locations(reads)
        return Step(Work(), self._requests(self._growing(retry_reads, self._index_handle, tags, len(tags))))

    def answer(self) -> Answer:
        """Return the results of the search."""
        numbers = self._state.numbers
        ids, distances = unpack(self._state.results, int(numbers[q.RESULT_SIZE]))
        trail = self._state.trail[: int(numbers[q.EXPANSIONS])].copy()
        trail[:, q.TRAIL_HIDDEN] = np.cumsum(trail[:, q.TRAIL_HIDDEN])
        return Answer(ids, distances, {name: int(numbers[at]) for name, at in _COUNTS.items()}, trail)

    def discovered(self, nodes: np.ndarray) -> np.ndarray:
        """Which nodes (integers (m,)) entered the candidate list or were read during the search: bool (m,)."""
        status = np.zeros(len(nodes), np.uint8)
        statuses(self._handle, np.asarray(nodes, np.int32), status)
        return (status & (q.ENTERED | q.HAS_VECTOR)) != 0

    def _set_state(self, state: QueryState) -> None:
        self._state = state
        self._handle = state_handle(state)

    def _begin(self, query_index: int) -> None:
        self._query = self._queries[query_index]
        self._starts = {}
        self._fill_table(self._query, self._state.table)
        if self._true_ids is not None:
            self._state.true_ids[:] = self._true_ids[query_index]
        begin(self._handle, self._index_handle, self._query, self._window)

    def _growing(self, transition: Callable, *arguments) -> int:
        """Call a kernel on the state, with a larger state as often as it asks for one."""
        while True:
            answer = transition(self._handle, *arguments)
            if answer >= 0:
                return answer
            if answer == q.UNKNOWN_TAG:
                raise ProtocolError(f"a read or task among {arguments[-3:]} completed twice or was never posted")
            self.grow(answer)

    def _require_in_flight(self, reads: list[int]) -> None:
        """Refuse reads that were never posted, or that completed before or twice, before anything changes."""
        for tag in reads:
            if tag not in self._starts:
                raise ProtocolError(f"read {tag} completed, but no such read is in flight")
        if len(set(reads)) < len(reads):
            raise ProtocolError(f"reads {reads} completed; expected every tag once")

    def _locations(self, reads: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Tags and places in the region (int64) of reads that completed."""
        starts = [self._starts.pop(tag) for tag in reads]
        return np.array(reads, np.int64), np.array(starts, np.int64)

    def _requests(self, count: int) -> tuple[ReadRequest, ...]:
        """Decode the chain that a kernel has written into the outbox."""
        requests = []
        for tag, node, kind, memory_node, offset, length in self._state.outbox[:count].tolist():
            if self._landing is None:
                start = int(self._index.region_bases[memory_node]) + offset
            else:
                first_bytes, slot_bytes, within = self._landing
                start = first_bytes + tag % self.landing_slots * slot_bytes + within(offset)
            self._starts[tag] = start
            requests.append(ReadRequest(tag, node, kind, memory_node, offset, length))
        return tuple(requests)
