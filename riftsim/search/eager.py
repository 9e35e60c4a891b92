"""Impact-aware asynchronous search as a program (RiftANN, sections 3.2 and 3.3)."""

from dataclasses import dataclass

import numpy as np

from riftsim.kernels import query as q
from riftsim.kernels.eager import count_dropped, merge_tasks, next_chain
from riftsim.kernels.gate import GATE_IMPACT, PER_UNIT
from riftsim.kernels.traversal import RemoteIndex, receive
from riftsim.search.graph_search import WORK, FillTable, GraphSearch
from riftsim.search.messages import Answer, Blocked, EvaluationTask, Step, Work


@dataclass(frozen=True)
class EagerRules:
    """Settings of the search; defaults are the paper's (sections 3.3 and 4.6).

    Attributes
    ----------
    window : int
        W_R at the start of a query.
    max_window : int
        Largest window that a controller may set.
    window_counts : int
        ``WINDOW_OF_READS`` or ``WINDOW_OF_EXPANSIONS``.
    verify_cap : int
        Most verification reads in flight where the window counts expansions.
    verify : int
        ``VERIFY_EXPANDED``, ``VERIFY_CALIBRATED`` or ``VERIFY_ALL``.
    alpha : float
        Of the calibrated rule.
    full_record : bool
        Whether every read brings the whole record.
    gate, gate_bound, gate_limit : int, int, float
        Policy of ``kernels.gate``; B or U_max; theta or epsilon.
    history : int
        H.
    chunk : int
        Most neighbours per evaluation task; 0 makes a task of each list.
    """

    window: int = 8
    max_window: int = 8
    window_counts: int = q.WINDOW_OF_READS
    verify_cap: int = 8
    verify: int = q.VERIFY_CALIBRATED
    alpha: float = 1.15
    full_record: bool = False
    gate: int = GATE_IMPACT
    gate_bound: int = 128
    gate_limit: float = 1.0
    history: int = 64
    chunk: int = 0


class EagerSearch(GraphSearch):
    """Reads on while evaluations are unfinished, as far as the gate lets it.

    Evaluation is handed to workers as tasks; the driver says when a task is done. The distances are computed when the
    result is merged, which is the same as computing them when the worker does.

    Parameters
    ----------
    index, queries, fill_table, table_entries, list_size, k
        As for ``GraphSearch``.
    rules : EagerRules
        Settings.
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
        rules: EagerRules,
    ):
        outstanding = rules.max_window + (
            rules.verify_cap if rules.window_counts == q.WINDOW_OF_EXPANSIONS else 0
        )
        super().__init__(
            index,
            queries,
            fill_table,
            table_entries,
            list_size=list_size,
            k=k,
            window=outstanding,
            history=rules.history,
            rules={
                q.RULE_VERIFY: rules.verify,
                q.RULE_ALPHA_PPM: round(rules.alpha * 1e6),
                q.RULE_GATE: rules.gate,
                q.RULE_GATE_BOUND: rules.gate_bound,
                q.RULE_GATE_LIMIT_PPM: round(rules.gate_limit * PER_UNIT),
                q.RULE_CHUNK: rules.chunk,
                q.RULE_WINDOW_COUNTS: rules.window_counts,
                q.RULE_VERIFY_CAP: rules.verify_cap,
                q.RULE_FULL_RECORD: int(rules.full_record),
            },
        )
        self._first_window = rules.window
        self._next_task = 0

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query."""
        self._begin(query_index)
        self._state.numbers[q.WINDOW] = self._first_window
        self._state.numbers[q.GATE_ANSWER] = -1
        self._next_task = int(self._state.numbers[q.TASK_TAIL])
        return self._decide(Work(queries=1, table_entries=len(self._state.table), compact=1, insertions=1))

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take in completed reads, merge completed evaluations, then decide once."""
        before = self._state.numbers[WORK].tolist()
        if reads:
            tags, starts = self._locations(reads)
            self._growing(receive, self._index, self._query, self._index.region, tags, starts, len(tags))
        if tasks:
            numbers = np.array(tasks, np.int64)
            self._growing(merge_tasks, self._index, self._query, numbers, len(numbers), True)
        now = self._state.numbers[WORK].tolist()
        lists, neighbors, merged, exact, insertions = (b - a for a, b in zip(before, now, strict=True))
        return self._decide(
            Work(lists=lists, neighbors=neighbors, exact=exact, merged=merged, insertions=insertions)
        )

    def counters(self) -> tuple[int, int, int]:
        """Unfinished evaluations, those generated since the last control point, and W_R (section 3.4)."""
        numbers = self._state.numbers
        return int(numbers[q.UNFINISHED]), int(numbers[q.GENERATED]), int(numbers[q.WINDOW])

    def apply(self, window: int) -> None:
        """Set W_R and begin a new control interval."""
        self._state.numbers[q.WINDOW] = window
        self._state.numbers[q.GENERATED] = 0

    def answer(self) -> Answer:
        """Return the results of the search."""
        count_dropped(self._state)
        answer = super().answer()
        numbers = self._state.numbers
        expansions = int(numbers[q.EXPANSIONS])
        hidden = np.cumsum(self._state.trail[:expansions, q.TRAIL_HIDDEN])
        answer.counts.update(
            requests_merged=int(numbers[q.REQUESTS_MERGED]),
            requests_dropped=int(numbers[q.REQUESTS_DROPPED]),
            gate_closed=int(numbers[q.GATE_CLOSED]),
            hidden_updates=int(hidden.sum()),
        )
        return answer

    def _decide(self, work: Work) -> Step:
        numbers = self._state.numbers
        closed = int(numbers[q.GATE_CLOSED])
        count = self._growing(next_chain, self._index)
        tasks = self._new_tasks()
        work = work._replace(handed_over=len(tasks))
        in_flight, unfinished = int(numbers[q.IN_FLIGHT]), int(numbers[q.UNFINISHED])
        if numbers[q.GATE_CLOSED] > closed:
            blocked = Blocked.GATE
        elif in_flight == 0:
            blocked = Blocked.DRAIN
        else:
            blocked = Blocked.READS
        return Step(
            work,
            self._requests(count),
            tasks,
            done=in_flight == 0 and unfinished == 0,
            blocked=blocked,
        )

    def _new_tasks(self) -> tuple[EvaluationTask, ...]:
        """Tasks that came into being since the last call."""
        tail = int(self._state.numbers[q.TASK_TAIL])
        ring = self._state.tasks
        tasks = []
        for number in range(self._next_task, tail):
            start, stop = ring[number & (len(ring) - 1), q.TASK_START : q.TASK_STOP + 1].tolist()
            tasks.append(EvaluationTask(number, stop - start))
        self._next_task = tail
        return tuple(tasks)
