"""The groups of runs that several claims share: systems at equal recall, gates, windows, bursts."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riftsim.config.document import BUNDLED
from riftsim.config.sweep import load_experiment
from riftsim.errors import RiftsimError
from riftsim.reproduction.groups import by, by_gate
from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.results.store import Run
from riftsim.workload.spec import read_spec

CALIBRATED = {"kind": "calibrated"}

SYSTEMS = "fig08_fig09_systems"
KINDS = {"DistVS": "distvs", "PipeANN": "pipeann", "DiskANN": "diskann", "d-HNSW": "d_hnsw"}
"""Baselines of the paper, and the kinds of system that stand for them in `fig08_fig09_systems`."""

IN_FLIGHT = {"riftann": 22, "distvs": 45}
"""Queries in flight that follow from latency x throughput of the paper (O20; of DistVS B02 x B06); 32 threads of all
others have one each."""

SLOW = ("distvs", "pipeann", "diskann", "cxl_ann")
"""Kinds that only the SimPy engine runs: the fewer queries of the level, on its first split."""

SATURATING = {"distvs": (300, 6000), "d_hnsw": (5000, 10_000)}
"""Queries in flight that keep every thread busy, and measured ones: DistVS admits 208, which begin and end together, so
that the rate is that of many rounds of them; d-HNSW takes whole batches. Of all others 64 for 32 threads."""

GB_PER_VECTOR = 240e-9
"""The paper's 24 GB of a compute node for 100 M vectors."""

_MOST_ROUTED = 64
"""Partitions; matching looks no further."""


def blocks(lab: Lab, experiment: str) -> list[dict[str, Any]]:
    """Return the systems that an experiment sweeps, as they stand in its file.

    Raises
    ------
    NotMeasured
        The file is not there or not sound.
    """
    try:
        return _swept_systems(lab.experiments / experiment / "experiment.yaml")
    except RiftsimError as error:
        raise NotMeasured(f"experiments/{experiment}: {str(error).partition(chr(10))[0]}") from None


@functools.cache
def _swept_systems(path: Path) -> list[dict[str, Any]]:
    return load_experiment(path).config.sweep["system"]


def block(lab: Lab, experiment: str, kind: str) -> dict[str, Any]:
    """Return the one system of a kind that an experiment sweeps.

    Raises
    ------
    NotMeasured
        There is none, or several, of which a kind does not tell which is meant.
    """
    found = [system for system in blocks(lab, experiment) if system["kind"] == kind]
    if len(found) != 1:
        raise NotMeasured(f"experiments/{experiment}: found {len(found)} systems of kind {kind!r}, expected one")
    return found[0]


def repeated(lab: Lab, experiment: str, dataset: str | Mapping[str, Any], **settings: Any) -> list[Run]:
    """Return the runs of an experiment over the level's splits."""
    return [
        run for seed in lab.level.seeds for run in lab.runs(experiment, dataset, dataset__split_seed=seed, **settings)
    ]


def at_recall(lab: Lab, experiment: str, dataset: str, recall: float, **settings: Any) -> list[Run]:
    """Return the runs of one configuration at the smallest L that reaches a recall on the first split, over splits."""
    settings = {"measured_queries": lab.level.queries, **settings}
    L = lab.matched(experiment, dataset, recall, dataset__split_seed=lab.level.seeds[0], **settings)
    return repeated(lab, experiment, dataset, search__L=L, **settings)


def system(lab: Lab, dataset: str, kind: str, recall: float = 0.90, *, splits: int = 1, **settings: Any) -> list[Run]:
    """Return the runs of a system of figures 8 and 9 at a recall: at its smallest L, or of d-HNSW, with the fewest
    partitions. The level's splits; of `SLOW` kinds ``splits`` of them, with the fewer queries of the level.

    Raises
    ------
    NotMeasured
        There is no such system in the experiment.
    """
    if kind == KINDS["d-HNSW"]:
        return partitioned(lab, dataset, recall)
    settings = {"system": block(lab, SYSTEMS, kind), "load__concurrency": IN_FLIGHT.get(kind, 32), **settings}
    if kind not in SLOW:
        return at_recall(lab, SYSTEMS, dataset, recall, **settings)
    settings["measured_queries"] = lab.level.work_queries
    L = lab.matched(SYSTEMS, dataset, recall, dataset__split_seed=lab.level.seeds[0], **settings)
    return [
        run
        for seed in lab.level.seeds[:splits]
        for run in lab.runs(SYSTEMS, dataset, search__L=L, dataset__split_seed=seed, **settings)
    ]


def saturated(lab: Lab, dataset: str, kind: str, recall: float = 0.90, **settings: Any) -> Run:
    """Return the run of a system as in `system`, on the first split, with more queries in flight than it takes on."""
    found = system(lab, dataset, kind, recall, **settings)[0].parameters
    least = lab.level.work_queries if kind in SLOW else lab.level.queries
    flights, queries = SATURATING.get(kind, (64, least))
    more = {"load__concurrency": flights, "dataset__split_seed": lab.level.seeds[0]}
    if kind == KINDS["d-HNSW"]:
        more |= {"system__routed": found["system.routed"], "cluster__memory_budget_gb": scaled_budget_gb(lab, dataset)}
        return lab.runs("d_hnsw", dataset, **more, measured_queries=queries).runs[0]
    settings = {"system": block(lab, SYSTEMS, kind), "search__L": found["search.L"], **settings, **more}
    return lab.runs(SYSTEMS, dataset, measured_queries=queries, **settings).runs[0]


def beside(
    lab: Lab, dataset: str, kind: str, recall: float = 0.90, *, splits: int = 1, **settings: Any
) -> tuple[list[Run], list[Run]]:
    """Return the runs of RiftANN and those of another system (as in `system`) at a recall, over the same queries."""
    other = system(lab, dataset, kind, recall, splits=splits, **settings)
    own = system(lab, dataset, "riftann", recall)
    if kind not in SLOW:
        return own, other
    few: dict[str, Any] = {"system": block(lab, SYSTEMS, "riftann"), "load__concurrency": IN_FLIGHT["riftann"]}
    few |= {"search__L": own[0].parameters["search.L"], "measured_queries": lab.level.work_queries}
    seeds = lab.level.seeds[:splits]
    return [run for seed in seeds for run in lab.runs(SYSTEMS, dataset, dataset__split_seed=seed, **few)], other


def partitioned(lab: Lab, dataset: str, recall: float) -> list[Run]:
    """Return the runs of d-HNSW with the fewest routed partitions that reach a recall on the first split.

    Its memory is the paper's 24 GB for 100 M vectors: 240 bytes per vector.
    """
    settings = {"measured_queries": lab.level.queries, "cluster__memory_budget_gb": scaled_budget_gb(lab, dataset)}

    first = {**settings, "dataset__split_seed": lab.level.seeds[0]}
    routed = lab.matched("d_hnsw", dataset, recall, key="system.routed", least=1, most=_MOST_ROUTED, **first)
    return repeated(lab, "d_hnsw", dataset, system__routed=routed, **settings)


def vectors(lab: Lab, dataset: str) -> int:
    """Return the number of vectors of one of the level's sets."""
    chosen = lab.of_set(dataset)
    return chosen.get("dataset.n") or read_spec(BUNDLED / "datasets" / f"{chosen['dataset.name']}.yaml").n


def scaled_budget_gb(lab: Lab, dataset: str) -> float:
    """Return the paper's memory of a compute node, scaled with the number of vectors."""
    return GB_PER_VECTOR * vectors(lab, dataset)


def section2(lab: Lab, kind: str, recall: float = 0.95) -> list[Run]:
    """Return the runs of a system of section 2, with its high-precision codes, on SIFT."""
    return at_recall(lab, "fig01_remote_cost", "SIFT", recall, system=block(lab, "fig01_remote_cost", kind))


def point_settings(lab: Lab, dataset: str, point: str) -> dict[str, Any]:
    """Return L and number of queries of an operating point."""
    queries = lab.level.work_queries if point == "work" else lab.level.queries
    return {"search__L": lab.point(dataset, point), "measured_queries": queries}


def gates(lab: Lab, dataset: str, point: str) -> dict[str, list[Run]]:
    """Return the runs of every gate setting of section 4.6 at an operating point."""
    return by_gate(repeated(lab, "admission_policies", dataset, **point_settings(lab, dataset, point)))


def windows(lab: Lab, point: str) -> dict[int, list[Run]]:
    """Return the runs of windows 1 and 8 of section 4.5."""
    settings = {**point_settings(lab, "SIFT", point), "system__window_counts": "expansions"}
    return {window: repeated(lab, "fig12b_window", "SIFT", system__window=window, **settings) for window in (1, 8)}


def read_modes(lab: Lab, point: str) -> tuple[list[Run], list[Run]]:
    """Return the runs with state-driven reads and those with whole records."""
    groups = by(repeated(lab, "full_record", "SIFT", **point_settings(lab, "SIFT", point)), "system.record_reads")
    return groups["state-driven",], groups["full-record",]


def verification(lab: Lab, dataset: str, point: str, rule: Mapping[str, Any]) -> list[Run]:
    """Return the runs of a verification rule, without a clock, over splits."""
    settings = {"search__L": lab.point(dataset, point), "system__verification": dict(rule)}
    if point == "work":
        settings["dataset__queries"] = min(200, lab.level.queries)
    return repeated(lab, "fig12a_verification", dataset, **settings)


def wider_alpha(lab: Lab, dataset: str, more: float) -> list[Run]:
    """Return the runs whose alpha is the calibrated one of their split and so much more (or less)."""
    runs = []
    for seed in lab.level.seeds:
        alpha = max(1.0, round(lab.calibration(dataset, seed)["alpha"] + more, 4))
        settings = {"search__L": lab.point(dataset, "0.95"), "dataset__split_seed": seed}
        rule = {"kind": "calibrated", "alpha": alpha}
        runs += lab.runs("fig12a_verification", dataset, system__verification=rule, **settings)
    return runs


def breakdown(lab: Lab, recall: float, steps: slice = slice(None)) -> list[list[Run]]:
    """Return the runs of the four steps of section 4.4, or some of them, each at its own smallest L."""
    chosen = blocks(lab, "fig11_breakdown")[steps]
    return [at_recall(lab, "fig11_breakdown", "SIFT", recall, system=step) for step in chosen]


def bursts(lab: Lab, point: str = "0.95") -> tuple[list[Run], list[Run]]:
    """Return the runs of a burst under Adaptive and Fixed, over seeds of the arrivals."""
    L = lab.point("SIFT", point)
    loop = lab.runs(
        "fig13_gate",
        "SIFT",
        search__L=L,
        system__gate={"kind": "impact-aware"},
        measured_queries=lab.level.queries,
    )
    rate = loop.runs[0].metrics(["qps"])["qps"] * lab.level.burst_share / 2
    length_ms = round(lab.level.arrivals / rate * 1e3, 2)
    phases = {f"load__{phase}_ms": length_ms for phase in ("before", "burst", "after")}
    sample_us = max(2.0, round(length_ms * 1e3 / 200))
    runs = [
        run
        for seed in lab.level.seeds
        for run in lab.runs(
            "fig14_burst",
            "SIFT",
            search__L=L,
            seed=seed,
            index__seed=0,
            codes__seed=0,
            load__rate_qps=round(rate),
            driver__sample_us=sample_us,
            **phases,
        )
    ]
    groups = by(runs, "system.balancing.kind")
    return groups["adaptive",], groups["fixed",]


def cluster(lab: Lab, compute_nodes: int, memory_nodes: int, threads: int = 32) -> list[Run]:
    """Return the runs of a cluster of section 4.8 at 0.90 recall."""
    file = "experiment.yaml" if threads == 32 else f"threads{threads}.yaml"
    shape = {"compute_nodes": compute_nodes, "memory_nodes": memory_nodes, "threads": threads}
    settings = {"search__L": lab.point("SIFT", "0.90"), "measured_queries": 2 * lab.level.queries}
    return repeated(lab, "table3_scaling", "SIFT", file=file, cluster=shape, **settings)
