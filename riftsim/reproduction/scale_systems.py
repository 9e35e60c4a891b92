"""The scale study of systems beside each other: latencies and their ratios on growing prefixes of one set."""

from typing import Any

from riftsim.reproduction import studies
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.scale import EXPERIMENT, FLIGHTS, Row, at_each, sized
from riftsim.reproduction.studies import KINDS, SYSTEMS, block

FILE = "systems.yaml"
OTHERS = tuple(KINDS[name] for name in ("DistVS", "PipeANN", "DiskANN"))
"""Systems of figure 10 beside RiftANN."""

IN_FLIGHT = {"riftann": FLIGHTS[1], "distvs": studies.IN_FLIGHT["distvs"], "pipeann": 32, "diskann": 32}
"""Queries in flight on SIFT1B: latency x throughput of the paper is 30.6, 44.6, 31.8 and 29.7."""


def study(lab: Lab, recall: str) -> list[Row]:
    """Measure the systems of figure 10 for every size that the level asks for and the data has.

    Parameters
    ----------
    lab : Lab
    recall : {"0.90", "0.95"}
        Which each system reaches with its own smallest L at each size.

    Returns
    -------
    list of dict
        One per size: ``n``, and of each kind of system ``<kind>_L``, ``<kind>_expansions`` and ``<kind>_us``, the mean
        latency; ``<kind>_over_riftann``, the ratio of latencies over the same queries.

    Raises
    ------
    NotMeasured
        Fewer than four sizes are there.
    """
    return at_each(lab.sizes_of(lab.level.system_sizes), lambda size: _at(lab, size, recall))


def _at(lab: Lab, size: int, recall: str) -> Row:
    dataset = sized(lab, size)
    row: Row = {"n": size, "dataset": dataset["dataset.name"], "target": recall}
    for kind in IN_FLIGHT:
        row |= _of(lab, dataset, kind, float(recall))
    return row | {f"{kind}_over_riftann": row[f"{kind}_us"] / row["riftann_us"] for kind in OTHERS}


def _of(lab: Lab, dataset: dict[str, Any], kind: str, recall: float) -> dict[str, float]:
    settings = {"system": block(lab, SYSTEMS, kind), "load__concurrency": IN_FLIGHT[kind]}
    settings |= {"file": FILE, "measured_queries": lab.level.work_queries}
    L = lab.matched(EXPERIMENT, dataset, recall, **settings)
    found = lab.runs(EXPERIMENT, dataset, search__L=L, **settings).runs[0].metrics(["latency_mean_us", "expansions"])
    return {f"{kind}_L": L, f"{kind}_us": found["latency_mean_us"], f"{kind}_expansions": found["expansions"]}
