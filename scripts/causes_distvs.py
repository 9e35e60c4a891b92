"""Why DistVS gains from further threads what it does (M19, M20, M29): runs of which each changes one thing, for
docs/results/systems.md. After each change the work per query is fitted anew to M18, which may calibrate."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from causes import Change
from pages import table

from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.measuring import metric

SET = "SIFT"
EXPERIMENT = "table1_distvs"
FITTED_KQPS = 13.8
"""M18: 26 threads at the compute node and 6 at the memory node."""
TOLERANCE = 0.01
"""Of the fitted rate."""
FIRST = 355
"""L, as in table 1."""
_TRIES = 8
POINTS = {"base": (32, 6), "compute": (38, 6), "memory": (38, 12)}
"""Threads in all, and of them at the memory node."""


@dataclass(frozen=True)
class DistVsChange(Change):
    """One change against DistVS of table 1.

    Attributes
    ----------
    queries : tuple of int
        Of runs that look for the list size, and of those that are shown.
    """

    queries: tuple[int, int] = (200, 600)


_ALL = {"system__intake": "all"}
CHANGES = (
    DistVsChange("as in table 1: one query per thread"),
    DistVsChange(
        "threads of a machine slow each other, 4.4 % each", constants={"cpu.per_thread_slowdown_permille": 44}
    ),
    DistVsChange("codes of 64 bytes", {"codes__bytes": 64}),
    DistVsChange("messages cost four times as much", factors={"posting": 4, "polling": 4}),
    *(
        DistVsChange(f"{name} times the propagation and NIC delay", factors={"propagation, NIC pipelines": times})
        for name, times in (("six", 6), ("eight", 8), ("ten", 10), ("twelve", 12), ("twenty", 20))
    ),
    DistVsChange("each thread of the memory node has connections of its own", {"system__connections": "dealt"}),
    DistVsChange("a thread takes all calls that wait, for the price of one", _ALL),
    *(
        DistVsChange(
            f"the same, and messages cost {name} times as much{slowed}",
            _ALL,
            factors=dict.fromkeys(("posting", "polling"), times),
            constants={"cpu.per_thread_slowdown_permille": permille} if permille else {},
        )
        for name, times, permille, slowed in (
            ("ten", 10, 0, ""),
            ("twenty", 20, 0, ""),
            ("ten", 10, 29, ", threads slow each other, 2.9 % each"),
        )
    ),
    DistVsChange("a beam of 16", {"system__beam_width": 16}),
    DistVsChange(
        "eight queries per thread", {"system__queries_per_thread": 8, "load__concurrency": 300}, queries=(600, 1200)
    ),
)


def rows(lab: Lab) -> Iterator[Callable[[], dict[str, Any]]]:
    """Return what measures each change."""
    for change in CHANGES:
        yield lambda change=change: _row(lab, change)


def _row(lab: Lab, change: DistVsChange) -> dict[str, Any]:
    settings = {**change.settings, "dataset__split_seed": lab.level.seeds[0], **change.hardware(lab)}
    L = _fitted(lab, {**settings, **_threads("base"), "measured_queries": change.queries[0]})
    found: dict[str, Any] = {"what": change.what, "L": L}
    for name in POINTS:
        own = {**settings, **_threads(name), "search__L": L}
        runs = list(lab.runs(EXPERIMENT, SET, measured_queries=change.queries[1], **own))
        found |= {f"qps_{name}": metric(runs, "qps").value, f"busy_{name}": metric(runs, "memory_utilisation").value}
        found |= {f"latency_us_{name}": metric(runs, "latency_mean_us").value}
    return found | {f"gain_{name}": found[f"qps_{name}"] / found["qps_base"] for name in ("compute", "memory")}


def _threads(name: str) -> dict[str, int]:
    threads, memory = POINTS[name]
    return {"cluster__threads": threads, "system__memory_threads": memory}


def _fitted(lab: Lab, settings: dict[str, Any]) -> int:
    """A list size that gives M18's rate within `TOLERANCE`: work, and time, grow almost as the list."""
    L = FIRST
    for _ in range(_TRIES):
        found = lab.runs(EXPERIMENT, SET, search__L=L, **settings).runs[0].metrics(["qps"])["qps"] / 1e3 / FITTED_KQPS
        if abs(found - 1) <= TOLERANCE:
            return L
        L = max(10, round(L * found))
    raise NotMeasured(f"{EXPERIMENT}: no list size gives {FITTED_KQPS} KQPS; the last was {L}")


def as_table(found: list[dict[str, Any]]) -> str:
    """The changes beside the paper's numbers."""
    titles = ["what is changed", "L", "26 + 6: KQPS (fitted)", "memory node busy", "32 + 6: KQPS", "gain"]
    titles += ["26 + 12: KQPS", "gain", "memory node busy"]
    lines = [["the paper (M18 to M21, M29)", "", "13.8", "0.98", "15.2", "1.10", "22.4", "1.62", ""]]
    lines += [
        [
            row["what"],
            f"{row['L']:.0f}",
            f"{row['qps_base'] / 1e3:.2f}",
            f"{row['busy_base']:.3f}",
            f"{row['qps_compute'] / 1e3:.2f}",
            f"{row['gain_compute']:.2f}",
            f"{row['qps_memory'] / 1e3:.2f}",
            f"{row['gain_memory']:.2f}",
            f"{row['busy_memory']:.3f}",
        ]
        for row in found
    ]
    return table(titles, lines if found else [])
