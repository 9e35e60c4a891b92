"""Why the factors between systems differ from the paper's: runs of which each changes one thing, for
docs/results/systems.md. scripts/systems_tables.py runs them and makes the tables."""

import dataclasses
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import causes_distvs
import causes_partitions
from pages import table

from riftsim.plotting.series import SYSTEM_NAMES
from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.levels import FULL, QUICK
from riftsim.reproduction.measuring import metric, rate_ratio, ratio
from riftsim.reproduction.side_by_side import cpu_share, reads
from riftsim.reproduction.studies import IN_FLIGHT, SYSTEMS, beside, block, system, vectors
from riftsim.results.store import Run

log = logging.getLogger("systems")
SET = "SIFT"


@dataclass(frozen=True)
class Cause:
    """One change against the comparison at 0.90 recall.

    Attributes
    ----------
    what : str
    other, own : dict
        Settings of the other system and of RiftANN, by dotted key with two underscores for a dot.
    system : dict
        Keys of the other system's block.
    matches : bool
        Whether the change alters what is found, so that the other system needs a list size of its own.
    works : bool
        RiftANN expands the paper's 405 nodes instead of what 0.90 recall needs.
    other_reads : float
        Reads per query that the other system makes instead, if not 0.
    """

    what: str
    other: dict[str, Any] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)
    system: dict[str, Any] = field(default_factory=dict)
    matches: bool = False
    works: bool = False
    other_reads: float = 0.0


_ONE = {"load__concurrency": 1}
_OF_DRIVES = (
    Cause("as compared"),
    Cause("one query in flight on both sides", _ONE, _ONE),
    Cause("a drive without limits (unlimited-ssd)", system={"drive": "unlimited-ssd"}),
    Cause("a drive without latency (instant-ssd)", system={"drive": "instant-ssd"}),
    Cause("RiftANN expands 405 nodes, as in the paper", works=True),
)
DRIVES: dict[str, tuple[Cause, ...]] = {
    "pipeann": (
        *_OF_DRIVES,
        Cause("405 nodes; PipeANN reads 41, as its README at 0.91", works=True, other_reads=41.0),
        Cause("PipeANN with its own codes of 32 bytes", {"codes__bytes": 32}, matches=True),
        Cause("at most 8 reads in flight per query", system={"max_width": 8}, matches=True),
        Cause("no in-memory index for entry points", system={"entry_share": 0.0}),
    ),
    "diskann": (
        *_OF_DRIVES,
        Cause("a beam of 4", system={"beam_width": 4}, matches=True),
        Cause("a tenth of the nodes cached", system={"cached_nodes": 10_000}),
    ),
}
"""Changes by the system that is compared."""

BEAMS = (1, 2, 4, 8, 16)
MILLION = dataclasses.replace(FULL, name="million", sets={SET: {"dataset.name": "sift-photos-1m"}}, seeds=(0,))
"""The million vectors of SIFT, on one split."""


def rows(lab: Lab, groups: Iterable[str]) -> list[dict[str, Any]]:
    """Measure what can be measured of some of `GROUPS`; what cannot is said."""
    found: list[dict[str, Any]] = []
    for group in groups:
        for one in GROUPS[group](lab):
            try:
                found.append({"group": group, **one()})
            except NotMeasured as reason:
                log.warning("cause (%s): %s", group, reason)
    return found


# ---------------------------------------------------------------- drives: O05, O06, O12, O13


def _drives(lab: Lab) -> Iterator[Callable[[], dict[str, Any]]]:
    for kind, causes in DRIVES.items():
        for cause in causes:
            yield lambda kind=kind, cause=cause: _beside_riftann(lab, kind, cause)


def _beside_riftann(lab: Lab, kind: str, cause: Cause) -> dict[str, Any]:
    common = {"measured_queries": lab.level.work_queries, "dataset__split_seed": lab.level.seeds[0]}
    own = {"system": block(lab, SYSTEMS, "riftann"), "load__concurrency": IN_FLIGHT["riftann"], **common, **cause.own}
    own_L = lab.point(SET, "work") if cause.works else system(lab, SET, "riftann")[0].parameters["search.L"]
    other = {"system": block(lab, SYSTEMS, kind) | cause.system, "load__concurrency": 32, **common, **cause.other}
    if cause.other_reads:
        L = lab.matched(SYSTEMS, SET, cause.other_reads, of="reads", **other)
    elif cause.matches:
        L = lab.matched(SYSTEMS, SET, 0.90, **other)
    else:
        L = system(lab, SET, kind)[0].parameters["search.L"]
    ours, theirs = (
        list(lab.runs(SYSTEMS, SET, search__L=size, **settings)) for size, settings in ((own_L, own), (L, other))
    )
    found: dict[str, Any] = {"system": kind, "what": cause.what, "L": L, "riftann_L": own_L}
    for prefix, runs in (("", theirs), ("riftann_", ours)):
        found |= {f"{prefix}{name}": metric(runs, name).value for name in ("recall", "latency_mean_us", "qps")}
        found |= {f"{prefix}reads": reads(runs[0]), f"{prefix}cpu_share": cpu_share(runs[0])}
    found |= {"drive_busy": _drive_busy(theirs[0])}
    return found | _ratios(theirs, ours)


def _ratios(theirs: list[Run], ours: list[Run]) -> dict[str, float]:
    """Latency of the other system over RiftANN's, and RiftANN's rate over the other's."""
    found = {}
    for name, value in (("latency_ratio", ratio(theirs, ours)), ("rate_ratio", rate_ratio(ours, theirs))):
        found |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
    return found


def _drive_busy(run: Run) -> float:
    """Share of the time in which the controller of the drive takes reads: 1 at its highest rate."""
    network = run.facts["network"]
    return network["drives"][0]["busy_ps"]["controller"] / network["span_ps"]


# ---------------------------------------------------------------- sizes: B02, B03, B06, B07


def _sizes(lab: Lab) -> Iterator[Callable[[], dict[str, Any]]]:
    for level in (QUICK, FULL, MILLION):
        other = Lab(level, lab.out, data_dir=lab.data_dir, may_run=lab.may_run, say=log.info)
        for kind in ("distvs", "pipeann", "diskann"):
            yield lambda lab=other, kind=kind: _at_size(lab, kind)


def _at_size(lab: Lab, kind: str) -> dict[str, Any]:
    ours, theirs = beside(lab, SET, kind)
    found: dict[str, Any] = {"other": kind, "n": vectors(lab, SET)}
    for prefix, runs in (("", theirs), ("riftann_", ours)):
        found |= {f"{prefix}{name}": metric(runs, name).value for name in ("recall", "latency_mean_us", "qps")}
        found |= {f"{prefix}reads": reads(runs[0]), f"{prefix}expansions": metric(runs, "expansions").value}
    return found | _ratios(theirs, ours)


# ---------------------------------------------------------------- rounds: M14


def _rounds(lab: Lab) -> Iterator[Callable[[], dict[str, Any]]]:
    for beam in BEAMS:
        yield lambda beam=beam: _overlap(lab, f"beam of {beam}", beam)
    yield lambda: _overlap(lab, "beam of 4, 405 expansions", 4, expansions=405.0)
    yield lambda: _overlap(lab, "beam of 4, codes of 20 bytes", 4, codes={"kind": "pq", "bytes": 20})
    yield lambda: _overlap(lab, "beam of 4, one query in flight", 4, load__concurrency=1)


def _overlap(lab: Lab, what: str, beam: int, *, expansions: float = 0.0, **settings: Any) -> dict[str, Any]:
    settings = {"measured_queries": lab.level.work_queries, "dataset__split_seed": lab.level.seeds[0], **settings}
    goal: dict[str, Any] = {"target": expansions, "of": "expansions"} if expansions else {"target": 0.95}
    remote = {"kind": "remote_vamana", "beam_width": beam}
    L = lab.matched("async_vamana", SET, system=remote, least=max(10, beam), **goal, **settings)
    one, two = (
        list(lab.runs("async_vamana", SET, search__L=L, system=chosen, **settings))
        for chosen in (remote, {**remote, "kind": "async_vamana"})
    )
    found = {"what": what, "L": L, "wait_share": metric(one, "wait_share").value}
    names = ("recall", "latency_mean_us", "expansions", "hops")
    found |= {name: metric(one, name).value for name in names}
    found["other_latency_mean_us"] = metric(two, "latency_mean_us").value
    over = ratio(one, two)
    found |= {"latency_ratio": over.value, "latency_ratio_low": over.low, "latency_ratio_high": over.high}
    return found | {"all_hidden": 1 / (1 - found["wait_share"])}


GROUPS: dict[str, Callable[[Lab], Iterator[Callable[[], dict[str, Any]]]]] = {
    "drives": _drives,
    "sizes": _sizes,
    "rounds": _rounds,
    "distvs": causes_distvs.rows,
    "partitions": causes_partitions.rows,
}


# ---------------------------------------------------------------- as text


def cause_table(found: list[dict[str, Any]], name: str) -> str:
    """Return the table of a group, or of the changes of one system on a drive."""
    if name in DRIVES:
        return _drives_table([row for row in found if row.get("system") == name], SYSTEM_NAMES[name])
    tables = {"sizes": _sizes_table, "rounds": _rounds_table}
    tables |= {"distvs": causes_distvs.as_table, "partitions": causes_partitions.as_table}
    return tables[name]([row for row in found if row["group"] == name])


def _ratio(row: dict[str, Any], name: str, digits: int = 2) -> str:
    """A ratio with its interval."""
    value, low, high = (row[f"{name}_ratio{end}"] for end in ("", "_low", "_high"))
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _drives_table(own: list[dict[str, Any]], name: str) -> str:
    titles = ["what is changed", f"{name}: recall", "reads", "µs", "KQPS", "drive busy", "RiftANN: µs", "KQPS"]
    titles += [f"latency, {name} over RiftANN", f"rate, RiftANN over {name}"]
    lines = [
        [
            row["what"],
            f"{row['recall']:.3f}",
            f"{row['reads']:.1f}",
            f"{row['latency_mean_us']:,.0f}",
            f"{row['qps'] / 1e3:,.1f}",
            f"{row['drive_busy']:.2f}",
            f"{row['riftann_latency_mean_us']:,.0f}",
            f"{row['riftann_qps'] / 1e3:,.1f}",
            _ratio(row, "latency"),
            _ratio(row, "rate"),
        ]
        for row in own
    ]
    return table(titles, lines)


def _sizes_table(own: list[dict[str, Any]]) -> str:
    titles = ["vectors", "system", "its expansions", "µs", "KQPS", "RiftANN: expansions", "µs", "KQPS"]
    titles += ["latency over RiftANN", "RiftANN's rate over its"]
    lines = [
        [
            f"{row['n']:,}",
            SYSTEM_NAMES[row["other"]],
            f"{row['expansions']:.1f}",
            f"{row['latency_mean_us']:,.0f}",
            f"{row['qps'] / 1e3:,.1f}",
            f"{row['riftann_expansions']:.1f}",
            f"{row['riftann_latency_mean_us']:,.0f}",
            f"{row['riftann_qps'] / 1e3:,.1f}",
            _ratio(row, "latency"),
            _ratio(row, "rate"),
        ]
        for row in own
    ]
    return table(titles, lines)


def _rounds_table(own: list[dict[str, Any]]) -> str:
    titles = ["what", "recall", "expansions", "rounds", "Remote-Vamana, µs", "exposed wait", "asynchronous, µs"]
    titles += ["Remote over asynchronous", "if all wait were hidden"]
    lines = [
        [
            row["what"],
            f"{row['recall']:.3f}",
            f"{row['expansions']:.1f}",
            f"{row['hops']:.1f}",
            f"{row['latency_mean_us']:.1f}",
            f"{row['wait_share']:.3f}",
            f"{row['other_latency_mean_us']:.1f}",
            _ratio(row, "latency", 3),
            f"{row['all_hidden']:.2f}",
        ]
        for row in own
    ]
    return table(titles, lines)
