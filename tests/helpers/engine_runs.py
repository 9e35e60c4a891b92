"""One run by both engines, compared in everything that they give."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from riftsim.calendar import Calendar, EventKind
from riftsim.computenode.drivers.compiled import decoded_events, run_compiled
from riftsim.computenode.drivers.sim import SimulatedCluster, SimulatedRun, run_simulated
from riftsim.kernels.engine_trace import VALUES
from riftsim.systems.context import System

TIMES = ("arrival_ps", "start_ps", "end_ps", "evaluation_ps", "posting_ps", "polling_ps", "waited_ps")
PLACES = ("ordinal", "query", "compute_node", "thread", "blocked", "idle_from_ps", "lists", "defer_ratio", "allowance")


class RecordingCalendar(Calendar):
    """A calendar that writes down every event that it runs.

    Attributes
    ----------
    log : list of tuple of int
        Time, delta round, kind, compute node, query and tag, in the order in which they ran.
    """

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[int, int, int, int, int, int]] = []
        self._round = 0

    def at(
        self, time_ps: int, kind: int, node: int, query: int, tag: int, action: Callable[[Any], None], argument: Any
    ) -> None:
        """Schedule ``action(argument)``, see ``Calendar.at``."""
        delta_round = self._round + 1 if time_ps == self.now else 0
        place = (time_ps, delta_round, int(kind), node, query, tag)
        super().at(time_ps, kind, node, query, tag, self._recorded, (place, action, argument))

    def _recorded(self, event: tuple) -> None:
        place, action, argument = event
        self._round = place[1]
        self.log.append(place)
        action(argument)


def run_both(cluster: SimulatedCluster, system: System, **load) -> tuple[SimulatedRun, SimulatedRun]:
    """Simulate with SimPy and with the compiled loop, and require that nothing differs."""
    cluster = replace(cluster, **system.cluster_changes)
    calendar, blocks = RecordingCalendar(), []
    load = {"traced": range(load["warmup"], load["warmup"] + load["measured"]), **load}
    expected = run_simulated(cluster, system.new_program, calendar=calendar, **load)
    found = run_compiled(cluster, system.new_program, event_log=blocks, **load)
    assert_same_events(decoded_events(blocks), np.array(calendar.log, np.int64).reshape(-1, 6))
    assert_same_trace(found.trace, expected.trace)
    assert_same_run(found, expected)
    return found, expected


def assert_same_events(found: np.ndarray, expected: np.ndarray) -> None:
    """Require equal event logs; says which event is the first that differs."""
    shorter = min(len(found), len(expected))
    differing = np.flatnonzero((found[:shorter] != expected[:shorter]).any(axis=1))
    if len(differing) or len(found) != len(expected):
        at = int(differing[0]) if len(differing) else shorter
        raise AssertionError(f"event {at} differs: compiled {_named(found, at)}, SimPy {_named(expected, at)}")


def assert_same_trace(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Require that the same was written down of the traced queries; says which row is the first that differs."""
    own, other = np.concatenate(found), np.concatenate(expected)
    if np.array_equal(own, other):
        return
    for at, (row, expected_row) in enumerate(zip_longest(_rows(own), _rows(other), fillvalue="nothing more")):
        assert row == expected_row, f"row {at} of the trace differs: compiled {row}, SimPy {expected_row}"


def _rows(words: np.ndarray) -> Iterator[list[int]]:
    """Kind, query, number and values of each row that was written down."""
    words = words.tolist()
    while words:
        first, length = words[0], 1 + VALUES[words[0] & 15]
        yield [first & 15, first >> 32, first >> 4 & 0xFFFFFFF, *words[1:length]]
        words = words[length:]


def _named(log: np.ndarray, at: int) -> str:
    if at >= len(log):
        return "has ended"
    time_ps, delta_round, kind, node, query, tag = log[at].tolist()
    return f"{EventKind(kind).name} at {time_ps} ps, round {delta_round}, node {node}, query {query}, tag {tag}"


def assert_same_run(found: SimulatedRun, expected: SimulatedRun) -> None:
    """Require equal answers, times, counters and samples."""
    assert len(found.runs) == len(expected.runs)
    for own, other in zip(found.runs, expected.runs, strict=True):
        for name in PLACES + TIMES:
            assert getattr(own, name) == getattr(other, name), (name, own.ordinal)
        assert own.answer.counts == other.answer.counts, own.ordinal
        assert np.array_equal(own.answer.ids, other.answer.ids), own.ordinal
        assert np.array_equal(own.answer.distances, other.answer.distances), own.ordinal
        assert (own.answer.trail is None) == (other.answer.trail is None)
        if own.answer.trail is not None:
            assert np.array_equal(own.answer.trail, other.answer.trail), own.ordinal
    assert found.facts == expected.facts
    assert found.throughput_qps == expected.throughput_qps
    assert (found.windows is None) == (expected.windows is None)
    if found.windows is not None:
        assert found.windows.keys() == expected.windows.keys()
        for name, column in expected.windows.items():
            assert np.array_equal(found.windows[name], column, equal_nan=column.dtype.kind == "f"), name
