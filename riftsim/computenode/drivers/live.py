"""The live driver: the same searches over real reads, on a real clock."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass

import numpy as np

from riftsim.computenode.balancing import Balancing, ControlPoints
from riftsim.computenode.drivers.event_loop import EventLoop
from riftsim.computenode.drivers.sim import SimulatedRun, outcome_of
from riftsim.computenode.engine import CpuBudget
from riftsim.computenode.live_load import LiveLoad
from riftsim.computenode.worker_threads import WorkerThreads
from riftsim.search.messages import Program
from riftsim.transport.port import ReadPort
from riftsim.units import PS_PER_NS

Connect = Callable[[int, int], ReadPort]
"""``connect(slots, slot_bytes)``: a port with room for so many reads of so many bytes, for one event loop."""


@dataclass(frozen=True)
class LiveNode:
    """How a live compute node is run.

    Attributes
    ----------
    budget : CpuBudget
        Evaluation workers, and most queries in flight: ``main_threads * queries_per_thread``.
    balancing : Balancing
    event_loops : int
        Threads that drive queries.
    signal_last_only : bool
        Whether only the last read of a chain asks for a completion entry.
    deadline_s : float
        Longest time that a query may take.
    """

    budget: CpuBudget
    balancing: Balancing
    event_loops: int = 1
    signal_last_only: bool = False
    deadline_s: float = 10.0


def run_live(
    node: LiveNode,
    connect: Connect,
    new_program: Callable[[], Program],
    *,
    record_bytes: int,
    queries: int,
    warmup: int,
    measured: int,
    concurrency: int | None = None,
    arrivals_ps: np.ndarray | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> SimulatedRun:
    """Search over real reads.

    Parameters
    ----------
    node : LiveNode
    connect : callable
        Makes the port of an event loop.
    new_program : callable
        Makes a search program that can take records from a landing buffer (``GraphSearch.land_in``).
    record_bytes : int
        The longest read.
    queries, warmup, measured, concurrency, arrivals_ps, on_progress
        As for ``run_simulated``.

    Returns
    -------
    SimulatedRun
        The measured queries, with times in ps as in simulation.

    Raises
    ------
    TransportError
        If a read fails for which no other memory node is left, or a query exceeds its deadline: names memory node,
        queue pair, work request and status. Every port is closed and every thread has ended.
    """
    most = node.budget.main_threads * node.budget.queries_per_thread
    in_flight = most if concurrency is None else min(most, concurrency)
    loops_wanted = min(node.event_loops, in_flight)
    per_loop = -(-in_flight // loops_wanted)
    load = LiveLoad(
        queries=queries,
        warmup=warmup,
        measured=measured,
        concurrency=concurrency,
        arrivals_ps=arrivals_ps,
        on_progress=on_progress,
    )
    programs = [[new_program() for _ in range(per_loop)] for _ in range(loops_wanted)]
    first = programs[0][0]
    with ExitStack() as parts:
        pool = None
        if hasattr(first, "leave_evaluation"):
            pool = WorkerThreads(first.index_handle, first.queries, per_loop * loops_wanted, node.budget.workers)
            parts.callback(pool.close)
        clock, control_points = _Clock(), ControlPoints(node.balancing.interval)
        loops = []
        for number in range(loops_wanted):
            port = connect(per_loop * first.landing_slots, slot_bytes_for(record_bytes))
            parts.callback(port.close)
            loops.append(
                EventLoop(
                    number,
                    port,
                    programs[number],
                    load=load,
                    pool=pool,
                    first_slot=number * per_loop,
                    balancing=node.balancing,
                    control_points=control_points,
                    helps=node.budget.main_threads_help,
                    signal_last_only=node.signal_last_only,
                    deadline_s=node.deadline_s,
                    now_ps=clock.now_ps,
                )
            )
        clock.start()
        _run_all(loops)
    return outcome_of(
        load.finished,
        measured,
        closed_loops=concurrency,
        windows=None,
        trace=None,
        facts=_facts(loops, node, per_loop),
    )


def slot_bytes_for(longest_read_bytes: int) -> int:
    """Return the bytes of a landing slot: whole cache lines of 64 bytes, so that no two slots share one."""
    return -(-longest_read_bytes // 64) * 64


class _Clock:
    """Time since the start of the load, ps."""

    def start(self) -> None:
        self._start_ns = time.perf_counter_ns()

    def now_ps(self) -> int:
        return (time.perf_counter_ns() - self._start_ns) * PS_PER_NS


def _run_all(loops: list[EventLoop]) -> None:
    """Run the event loops, the first on this thread; the first error stops them all."""
    errors: list[BaseException] = []

    def guarded(loop: EventLoop) -> None:
        try:
            loop.run()
        except BaseException as error:
            errors.append(error)
            for other in loops:
                other.stopped = True

    threads = [
        threading.Thread(target=guarded, args=(loop,), name=f"event-loop-{number}", daemon=True)
        for number, loop in enumerate(loops[1:], 1)
    ]
    for thread in threads:
        thread.start()
    guarded(loops[0])
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _facts(loops: list[EventLoop], node: LiveNode, per_loop: int) -> dict:
    costs = [asdict(loop.costs) for loop in loops]
    total = {name: sum(each[name] for each in costs) for name in costs[0]}
    total["reads"] = sum(loop.pipeline.posted for loop in loops)
    total["doorbells"] = sum(loop.pipeline.doorbells for loop in loops)
    seen = max(1, total["polls"] - total["empty_polls"])
    return {
        "event_loops": len(loops),
        "queries_in_flight": len(loops) * per_loop,
        "workers": node.budget.workers,
        "python": {
            **total,
            "posting_ns_per_read": total["posting_ns"] / max(1, total["reads"]),
            "polling_ns_per_read": total["polling_ns"] / max(1, total["reads"]),
            "polling_ns_per_poll": total["polling_ns"] / seen,
        },
        "failures": [str(failure) for loop in loops for failure in loop.pipeline.failures],
    }
