"""The simulation driver with the event loop compiled: the same events, decisions and numbers as ``drivers.sim``.

The loop runs in ``kernels.engine_loop`` and comes back for what Python does: making and filling the state of a query
that starts, giving a state more room, taking the answer of a measured query, taking a sample.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from riftsim.calendar import EventKind
from riftsim.computenode.drivers import compiled_tables as tables_of
from riftsim.computenode.drivers.sim import SimulatedCluster, SimulatedRun, outcome_of
from riftsim.computenode.drivers.state_blocks import StateBlocks
from riftsim.computenode.run import QueryRun
from riftsim.computenode.sampler import columns_of
from riftsim.controller.defer_ratio import DeferRatio
from riftsim.controller.fixed import Fixed
from riftsim.errors import ConfigError, ProtocolError
from riftsim.kernels import engine_loop as loop
from riftsim.kernels import engine_tables as t
from riftsim.kernels import query as q
from riftsim.kernels.engine_admission import begin_load
from riftsim.search.messages import Answer, Blocked
from riftsim.search.state import laid_out_bytes


class CompiledProgram(Protocol):
    """What the engine needs of a search program beside its transitions, which are kernels."""

    compiled_kind: int | None
    """``SEARCH_...`` of ``kernels.engine_tables``; None if a policy of the search is in Python."""

    def prepare(self, query_index: int) -> None:
        """Begin a query, without a decision."""

    def move_state(self, memory: np.ndarray) -> None:
        """Move the state into one piece of memory."""

    def answer(self) -> Answer:
        """Return the results of the query that has ended."""


def python_policy(cluster: SimulatedCluster, program: object) -> str | None:
    """Name what keeps a run from the compiled engine: a search, gate or controller in Python; None if nothing does."""
    if cluster.drive:
        return "the model of SSDs"
    if cluster.budget.workers_first:
        return "the turn of workers on a shared core"
    if not hasattr(program, "compiled_kind"):
        return f"the search {type(program).__name__}"
    if program.compiled_kind is None:
        return f"the policy {type(program.python_policy).__name__}"
    controller = cluster.balancing.controller
    if type(controller) not in (Fixed, DeferRatio):
        return f"the controller {type(controller).__name__}"
    return None


def run_compiled(
    cluster: SimulatedCluster,
    new_program: Callable[[], CompiledProgram],
    *,
    queries: int,
    warmup: int,
    measured: int,
    concurrency: int | None = None,
    arrivals_ps: np.ndarray | None = None,
    sample_ps: int = 0,
    seed: int = 0,
    on_progress: Callable[[int], None] | None = None,
    event_log: list[np.ndarray] | None = None,
    traced: range | None = None,
) -> SimulatedRun:
    """Simulate a load on a cluster; parameters and results as for ``drivers.sim.run_simulated``.

    Parameters
    ----------
    event_log : list or None
        Filled with the events in the order in which they ran: blocks for ``decoded_events``.

    Raises
    ------
    ConfigError
        If a policy is in Python; names it.
    """
    obstacle = python_policy(cluster, program := new_program())
    if obstacle:
        raise ConfigError(
            f"driver.engine: the compiled engine needs kernels for every policy, but {obstacle} is Python"
        )
    engine = _Engine(
        cluster,
        program,
        new_program,
        queries=queries,
        warmup=warmup,
        measured=measured,
        concurrency=concurrency,
        arrivals_ps=arrivals_ps,
        sample_ps=sample_ps,
        seed=seed,
        event_log=event_log,
        traced=traced,
    )
    return engine.run(on_progress)


def decoded_events(event_log: list[np.ndarray]) -> np.ndarray:
    """Time, delta round, kind, compute node, query and tag of recorded events: int64 (events, 6)."""
    time_ps, order, place = np.concatenate([np.zeros((0, 3), np.int64), *event_log]).T
    kind, query, tag = (order >> 16) & 0xFF, place >> 32, place & 0xFFFFFFFF
    # The network knows a read by the number of its query's arrival above the tag within the query.
    tag = np.where(kind <= EventKind.DOORBELL, query << 24 | tag, tag)
    return np.column_stack([time_ps, order >> 24, kind, order & 0xFFFF, query, tag])


class _Engine:
    """One run of the compiled engine."""

    def __init__(
        self,
        cluster: SimulatedCluster,
        program: CompiledProgram,
        new_program: Callable[[], CompiledProgram],
        *,
        queries: int,
        warmup: int,
        measured: int,
        concurrency: int | None,
        arrivals_ps: np.ndarray | None,
        sample_ps: int,
        seed: int,
        event_log: list[np.ndarray] | None,
        traced: range | None,
    ):
        self._new_program = new_program
        self._spare = [program]
        self._programs: list[CompiledProgram] = []
        self._blocks = StateBlocks()
        self._log = event_log
        self._trace: list[np.ndarray] | None = [] if traced else None
        self._measured = measured
        self._concurrency = concurrency or 0
        self._samples: list[tuple] | None = [] if sample_ps else None
        self._reads = program.compiled_kind != t.SEARCH_LOCAL
        settings = tables_of.settings_of(cluster)
        settings[[t.SEARCH, t.WARMUP, t.MEASURED, t.QUERIES]] = program.compiled_kind, warmup, measured, queries
        settings[[t.CLOSED, t.SAMPLE_PS, t.SEED]] = arrivals_ps is None, sample_ps, seed & 0xFFFFFFFF
        if self._reads:
            settings[[t.SLOT_READS, t.TABLE_ENTRIES]] = len(program.state.flight_tags), len(program.state.table)
            self._queries, self._index = program.queries, program.index_handle
            settings[[t.REGION, t.REGION_BYTES]] = program.index.region.ctypes.data, len(program.index.region)
            local_work = np.zeros((0, t.WORK_COLUMNS), np.int64)
        else:
            settings[t.SLOT_READS] = 1
            self._queries, self._index = program.queries, np.zeros(t.WORK_COLUMNS, np.int64)
            local_work = np.array([program.work_of(query) for query in range(queries)], np.int64)
        self._tables = tables_of.new_tables(
            settings,
            work_prices=cluster.cpu.work_prices,
            prices=tables_of.read_prices(cluster.profile.network, program.index if self._reads else None),
            concurrency=self._concurrency,
            times=np.zeros(0, np.int64) if arrivals_ps is None else np.ascontiguousarray(arrivals_ps, np.int64),
            local_work=local_work,
            handle_words=len(program.handle) if self._reads else 1,
            logged=event_log is not None,
            traced=traced,
        )
        if traced:
            tables_of.fit_trace(self._tables)
            self._tables[t.TRACE] = tables_of.room_for_trace(self._tables)
        self._handle = t.tables_handle(self._tables)

    def run(self, on_progress: Callable[[int], None] | None) -> SimulatedRun:
        """Run to the end."""
        run = self._tables[t.RUN]
        finished: list[QueryRun] = []
        begin_load(self._handle, self._concurrency)
        while (answer := loop.run_events(self._handle, self._queries, self._index)) != loop.OVER:
            if answer == loop.START:
                self._prepare(int(run[t.ASKED_SLOT]), int(run[t.ASKED_QUERY]))
            elif answer == loop.ENDED:
                finished.append(self._ended(int(run[t.ASKED_ROW]), int(run[t.ASKED_SLOT])))
                if on_progress:
                    on_progress(len(finished))
            elif answer == loop.SAMPLE:
                self._sample()
            elif answer == loop.LOG_FULL:
                self._take_log()
            elif answer == loop.TRACE_FULL:
                self._take_trace()
            elif answer == loop.SAME_PLACE:
                raise ProtocolError(f"two events have the same place in the order at {run[t.LAST_TIME]} ps")
            else:
                self._grow(answer)
        self._take_log()
        self._take_trace()
        return outcome_of(
            finished,
            self._measured,
            closed_loops=self._concurrency * int(self._tables[t.SETTINGS][t.COMPUTE_NODES]),
            windows=None if self._samples is None else columns_of(self._samples),
            facts={
                "events": int(run[t.EXECUTED]),
                "network": tables_of.network_counters(self._tables),
                "worker_busy_ps": self._tables[t.NODES][:, t.POOL_BUSY_PS].tolist(),
            },
            trace=self._trace,
        )

    def _prepare(self, slot: int, query: int) -> None:
        while len(self._programs) <= slot:
            program = self._spare.pop() if self._spare else self._new_program()
            if self._reads:
                program.move_state(self._blocks.take(laid_out_bytes(program.state)))
            self._programs.append(program)
        program = self._programs[slot]
        program.prepare(query)
        self._show(slot)
        self._tables[t.RUN][t.PREPARED] = slot

    def _show(self, slot: int) -> None:
        """Let the kernels see the present arrays of a query's state."""
        if self._reads:
            self._tables[t.HANDLES][slot] = self._programs[slot].handle

    def _ended(self, row: int, slot: int) -> QueryRun:
        values = self._tables[t.RESULTS][row].tolist()
        program = self._programs[slot]
        if not self._reads:
            program.prepare(values[t.S_QUERY])
        per_node = int(self._tables[t.SETTINGS][t.THREADS_PER_NODE])
        generated = values[t.S_DEFER_GENERATED]
        return QueryRun(
            ordinal=values[t.S_ORDINAL],
            query=values[t.S_QUERY],
            compute_node=values[t.S_NODE],
            arrival_ps=values[t.S_ARRIVAL],
            thread=values[t.S_THREAD] % per_node,
            slot=slot,
            start_ps=values[t.S_START],
            end_ps=values[t.S_END],
            evaluation_ps=values[t.S_EVALUATION],
            posting_ps=values[t.S_POSTING],
            polling_ps=values[t.S_POLLING],
            waited_ps=values[t.S_WAITED : t.S_WAITED + len(Blocked)],
            idle_from_ps=values[t.S_IDLE_FROM],
            blocked=Blocked(values[t.S_BLOCKED]),
            answer=program.answer(),
            allowance=int(self._tables[t.ALLOWANCE][slot]),
            lists=values[t.S_LISTS],
            defer_ratio=values[t.S_DEFER_UNFINISHED] / generated if generated else 0.0,
        )

    def _sample(self) -> None:
        tables = self._tables
        for number, node in enumerate(tables[t.NODES]):
            slots = tables[t.ACTIVE][number, : node[t.ACTIVE_COUNT]]
            window = ratio = unfinished = np.nan
            if len(slots) and tables[t.SETTINGS][t.SEARCH] == t.SEARCH_EAGER:
                numbers = np.array([self._programs[slot].state.numbers for slot in slots])
                window, unfinished = np.mean(numbers[:, q.WINDOW]), np.mean(numbers[:, q.UNFINISHED])
                at_control = tables[t.SLOTS][slots]
                generated = at_control[:, t.S_DEFER_GENERATED]
                ratios = at_control[:, t.S_DEFER_UNFINISHED] / np.maximum(generated, 1)
                ratio = np.mean(np.where(generated > 0, ratios, 0.0))
            self._samples.append(
                (
                    tables[t.RUN][t.NOW],
                    number,
                    node[t.WAIT_TAIL] - node[t.WAIT_HEAD],
                    len(slots),
                    node[t.BUSY_THREADS],
                    node[t.POOL_BUSY],
                    node[t.POOL_TAIL] - node[t.POOL_HEAD],
                    window,
                    np.mean(tables[t.ALLOWANCE][slots]) if len(slots) else np.nan,
                    ratio,
                    unfinished,
                )
            )

    def _take_log(self) -> None:
        run = self._tables[t.RUN]
        if self._log is not None:
            self._log.append(self._tables[t.LOG][: run[t.LOGGED]].copy())
        run[t.LOGGED] = 0

    def _take_trace(self) -> None:
        run = self._tables[t.RUN]
        if self._trace is not None:
            self._trace.append(self._tables[t.TRACE][: run[t.TRACED]])
            self._tables[t.TRACE] = tables_of.room_for_trace(self._tables)
            self._handle = t.tables_handle(self._tables)
        run[t.TRACED] = 0

    def _grow(self, demand: int) -> None:
        """Give a table, or the state of a query, twice the room."""
        tables = self._tables
        if demand in (q.GROW_NODES, q.GROW_PENDING, q.GROW_TRAIL, q.GROW_KEPT):
            slot = int(tables[t.RUN][t.ASKED_SLOT])
            self._programs[slot].grow(demand)
            self._show(slot)
            return
        if demand == loop.GROW_HEAP:
            tables[t.HEAP] = np.concatenate([tables[t.HEAP], tables_of.empty_heap(len(tables[t.HEAP]))])
        elif demand == loop.GROW_POOL:
            for which in (t.POOL_SLOTS, t.POOL_NUMBERS):
                tables[which] = tables_of.widened(tables[which])
        elif demand == loop.GROW_EVALUATED:
            tables[t.EVALUATED] = tables_of.widened(tables[t.EVALUATED])
            if tables[t.SCRATCH].shape[1] < tables[t.EVALUATED].shape[1] // 2:
                tables[t.SCRATCH] = tables_of.widened(tables[t.SCRATCH])
        else:
            raise ProtocolError(f"the compiled engine stopped with {demand}: a completed read or task is not open")
        if self._trace is not None:
            tables_of.fit_trace(tables)
        self._handle = t.tables_handle(tables)
