"""Impact-aware asynchronous search as a program (RiftANN, sections 3.2 and 3.3)."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from riftsim.errors import ConfigError, PluginError, ProtocolError
from riftsim.kernels import query as q
from riftsim.kernels.calls import count_dropped, merge_tasks, next_chain, receive
from riftsim.kernels.candidates import unpack
from riftsim.kernels.engine_tables import SEARCH_EAGER
from riftsim.kernels.gate import GATE_IMPACT, GATE_ORACLE, PER_UNIT
from riftsim.kernels.traversal import RemoteIndex
from riftsim.search.graph_search import WORK, FillTable, GraphSearch, alpha_ppm
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
        ``VERIFY_EXPANDED``, ``VERIFY_CALIBRATED``, ``VERIFY_ALL`` or ``VERIFY_ORACLE``.
    alpha : float
        Of the calibrated rule.
    verify_evicted : bool
        Whether a candidate may be verified only once it left the candidate list and will not be expanded.
    full_record : bool
        Whether every read brings the whole record.
    gate, gate_bound, gate_limit : int, int, float
        Policy of ``kernels.gate``; B, U_max, or most hidden updates of the oracle; theta or epsilon.
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
    verify_evicted: bool = False
    full_record: bool = False
    gate: int = GATE_IMPACT
    gate_bound: int = 128
    gate_limit: float = 1.0
    history: int = 64
    chunk: int = 0


class GateView(NamedTuple):
    """What a gate policy may see of a query."""

    unfinished: int
    """U: evaluations queued or running."""
    inserted: int
    """Of the recent completed evaluations, those that inserted into the candidate list."""
    completed: int
    """Recent completed evaluations, at most H."""
    expansions: int
    """Expansions so far."""


class VerificationView(NamedTuple):
    """What a verification policy may see of a query."""

    tau: float
    """k-th best exact distance so far, Euclidean under squared L2; infinite before there are k results."""
    exact: int
    """Exact distances computed so far."""
    expansions: int
    """Expansions so far."""
    inserted: int
    """Of the recent completed evaluations, those that inserted into the candidate list."""
    completed: int
    """Recent completed evaluations, at most H."""


class EagerSearch(GraphSearch):
    """Reads on while evaluations are unfinished, as far as the gate lets it.

    Evaluation is handed to workers as tasks; the driver says when a task is done. The distances are computed when the
    result is merged, which is the same as computing them when the worker does, unless real workers are there
    (``leave_evaluation``).

    Parameters
    ----------
    index, queries, fill_table, table_entries, list_size, k
        As for ``GraphSearch``.
    rules : EagerRules
        Settings.
    gate_policy : callable or None
        A gate in Python, with ``rules.gate`` = ``GATE_EXTERNAL``: given a ``GateView``, whether expansions may start.
        It is asked once per decision, and is open whatever it says when nothing is unfinished.
    verification_policy : callable or None
        A verification rule in Python, with ``rules.verify`` = ``VERIFY_CALIBRATED``: given a ``VerificationView``, the
        factor alpha of the coming decision.
    true_ids : integers (q, k) or None
        For ``VERIFY_ORACLE``.
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
        gate_policy: Callable[["GateView"], bool] | None = None,
        verification_policy: Callable[["VerificationView"], float] | None = None,
        true_ids: np.ndarray | None = None,
    ):
        if rules.gate == GATE_ORACLE and rules.full_record:
            # Kept lists are taken in where no query is at hand to look at their distances ahead.
            raise ConfigError("record_reads: found 'full-record' under the gate 'oracle', expected 'state-driven'")
        if not 1 <= rules.window <= rules.max_window:
            raise ConfigError(f"window: found {rules.window}, expected 1 to max_window = {rules.max_window}")
        outstanding = rules.max_window + (rules.verify_cap if rules.window_counts == q.WINDOW_OF_EXPANSIONS else 0)
        super().__init__(
            index,
            queries,
            fill_table,
            table_entries,
            list_size=list_size,
            k=k,
            window=outstanding,
            history=rules.history,
            true_ids=true_ids,
            rules={
                q.RULE_VERIFY: rules.verify,
                q.RULE_ALPHA_PPM: alpha_ppm(rules.alpha),
                q.RULE_GATE: rules.gate,
                q.RULE_GATE_BOUND: rules.gate_bound,
                q.RULE_GATE_LIMIT_PPM: round(rules.gate_limit * PER_UNIT),
                q.RULE_CHUNK: rules.chunk,
                q.RULE_WINDOW_COUNTS: rules.window_counts,
                q.RULE_VERIFY_CAP: rules.verify_cap,
                q.RULE_FULL_RECORD: int(rules.full_record),
                q.RULE_VERIFY_EVICTED: int(rules.verify_evicted and rules.verify != q.VERIFY_ORACLE),
            },
        )
        self._first_window = rules.window
        self._max_window = rules.max_window
        self._gate_policy = gate_policy
        self._verification_policy = verification_policy
        self._next_task = 0
        self._evaluates = True

    @property
    def compiled_kind(self) -> int | None:
        """Which search of the compiled engine this is; None with a gate in Python."""
        return None if self.python_policy else SEARCH_EAGER

    @property
    def python_policy(self) -> Callable | None:
        """The policy in Python, if there is one: a search with one has no kernel for all that it decides."""
        return self._gate_policy or self._verification_policy

    def leave_evaluation(self, growth: Callable[[], AbstractContextManager]) -> None:
        """Only merge from now on: workers compute the distances of a task before it is told as completed.

        Parameters
        ----------
        growth : callable
            Gives a context in which no worker touches the state, to enlarge its arrays in.
        """
        self._evaluates = False
        self._growth = growth

    def prepare(self, query_index: int) -> None:
        """Empty the state and enter the start node; the first decision is the caller's."""
        self._begin(query_index)
        self._state.numbers[q.WINDOW] = self._first_window
        self._state.numbers[q.GATE_ANSWER] = -1

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query."""
        self.prepare(query_index)
        self._next_task = int(self._state.numbers[q.TASK_TAIL])
        return self._decide(Work(queries=1, table_entries=len(self._state.table), compact=1, insertions=1))

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take in completed reads, merge completed evaluations, then decide once."""
        self._require_in_flight(reads)
        self._require_open(tasks)
        before = self._state.numbers[WORK].copy()
        if reads:
            tags, starts = self._locations(reads)
            self._growing(receive, self._index_handle, self._query, tags, starts, len(tags))
        if tasks:
            numbers = np.array(tasks, np.int64)
            self._growing(merge_tasks, self._index_handle, self._query, numbers, len(numbers), self._evaluates)
        step = self._decide(Work())
        # After the decision, which takes in lists itself where they came with whole records.
        lists, neighbors, merged, exact, insertions = (self._state.numbers[WORK] - before).tolist()
        work = step.work._replace(lists=lists, neighbors=neighbors, exact=exact, merged=merged, insertions=insertions)
        return step._replace(work=work)

    def _require_open(self, tasks: list[int]) -> None:
        """Refuse tasks that were never handed over, or that completed before or twice, before anything changes."""
        numbers, ring = self._state.numbers, self._state.tasks
        for number in tasks:
            known = numbers[q.TASK_HEAD] <= number < numbers[q.TASK_TAIL]
            if not known or ring[number & (len(ring) - 1), q.TASK_MERGED]:
                raise ProtocolError(f"evaluation task {number} completed, but no such task is open")
        if len(set(tasks)) < len(tasks):
            raise ProtocolError(f"evaluation tasks {tasks} completed; expected every number once")

    def counters(self) -> tuple[int, int, int]:
        """Unfinished evaluations, those generated since the last control point, and W_R (section 3.4)."""
        numbers = self._state.numbers
        return int(numbers[q.UNFINISHED]), int(numbers[q.GENERATED]), int(numbers[q.WINDOW])

    def apply(self, window: int) -> None:
        """Set W_R and begin a new control interval."""
        if not 1 <= window <= self._max_window:
            raise ProtocolError(f"a controller set a window of {window} reads, expected 1 to {self._max_window}")
        self._state.numbers[q.WINDOW] = window
        self._state.numbers[q.GENERATED] = 0

    def answer(self) -> Answer:
        """Return the results of the search."""
        count_dropped(self._handle)
        answer = super().answer()
        numbers = self._state.numbers
        answer.counts.update(
            requests_merged=int(numbers[q.REQUESTS_MERGED]),
            requests_dropped=int(numbers[q.REQUESTS_DROPPED]),
            gate_closed=int(numbers[q.GATE_CLOSED]),
            hidden_updates=int(answer.trail[:, q.TRAIL_HIDDEN].sum()),
        )
        return answer

    def _ask_gate(self) -> None:
        """Let a policy in Python answer for the coming decision."""
        numbers = self._state.numbers
        view = GateView(
            unfinished=int(numbers[q.UNFINISHED]),
            inserted=int(numbers[q.RECENT_INSERTED]),
            completed=int(numbers[q.RECENT]),
            expansions=int(numbers[q.EXPANSIONS]),
        )
        numbers[q.GATE_ANSWER] = int(bool(self._gate_policy(view)))

    def _ask_verification(self) -> None:
        """Let a policy in Python set alpha for the coming decision."""
        numbers, results = self._state.numbers, self._state.results
        found = int(numbers[q.RESULT_SIZE])
        _, distances = unpack(results[-1:], 1 if found == len(results) else 0)
        view = VerificationView(
            tau=math.sqrt(max(0.0, float(distances[0]))),
            exact=int(numbers[q.EXACT_EVALUATIONS]),
            expansions=int(numbers[q.EXPANSIONS]),
            inserted=int(numbers[q.RECENT_INSERTED]),
            completed=int(numbers[q.RECENT]),
        )
        alpha = float(self._verification_policy(view))
        if not 0.0 <= alpha < 1e6:
            raise PluginError(f"a verification policy answered {alpha}, expected a factor from 0 to a million")
        self._state.rules[q.RULE_ALPHA_PPM] = alpha_ppm(alpha)

    def _decide(self, work: Work) -> Step:
        numbers = self._state.numbers
        if self._gate_policy:
            self._ask_gate()
        if self._verification_policy:
            self._ask_verification()
        closed = int(numbers[q.GATE_CLOSED])
        count = self._growing(next_chain, self._index_handle)
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
