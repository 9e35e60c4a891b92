"""Section 2: DistVS over threads and d-HNSW's parts (table 1), and nodes packed by graph orderings (figure 2a)."""

from dataclasses import replace

from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import measures, metric, of_runs, rate_ratio
from riftsim.reproduction.scoring import Value
from riftsim.reproduction.studies import partitioned, repeated
from riftsim.results.store import Run

_DISTVS = "table1_distvs"
_ORDERINGS = ("fennel", "starling", "label-propagation")
_PACK = 4
"""Nodes of a pack: 2 KiB of SIFT records, twice what figure 2b says is cheap to read."""


def _distvs(lab: Lab, threads: int, memory_threads: int) -> list[Run]:
    """The runs of DistVS with so many threads in all, and of these at the memory node."""
    settings = {"cluster__threads": threads, "system__memory_threads": memory_threads}
    return repeated(lab, _DISTVS, "SIFT", measured_queries=lab.level.work_queries, **settings)


def _on(value: Value) -> Value:
    return replace(value, on="equal work: the list size at which 26 + 6 threads give M18, on 100 thousand vectors")


@measures("M18", _DISTVS)
def distvs(lab: Lab) -> list[Value]:
    """Rate of DistVS with 26 + 6 threads; its work per query is fitted to it (M18)."""
    return [_on(metric(_distvs(lab, 32, 6), "qps", 1e-3))]


@measures("M19", _DISTVS)
def distvs_computes_more(lab: Lab) -> list[Value]:
    """With 6 more threads at the compute node (M19)."""
    return [_on(metric(_distvs(lab, 38, 6), "qps", 1e-3))]


@measures("M20", _DISTVS)
def distvs_remembers_more(lab: Lab) -> list[Value]:
    """With 6 more threads at the memory node (M20)."""
    return [_on(metric(_distvs(lab, 38, 12), "qps", 1e-3))]


@measures("M21", _DISTVS)
def distvs_busy(lab: Lab) -> list[Value]:
    """Share of the time that the memory node's threads work, 26 + 6 (M21)."""
    return [_on(metric(_distvs(lab, 32, 6), "memory_utilisation"))]


@measures("M29", _DISTVS)
def distvs_gains(lab: Lab) -> list[Value]:
    """Gain of 6 threads more at either end (M29)."""
    base = _distvs(lab, 32, 6)
    return [_on(rate_ratio(_distvs(lab, 38, memory), base)) for memory in (6, 12)]


@measures("M24", "d_hnsw")
def partition_share(lab: Lab) -> list[Value]:
    """Share of d-HNSW's latency that is transfer, deserialisation and search of partitions, at 0.90 (M24)."""
    return [of_runs(partitioned(lab, "SIFT", 0.90), _partition_share)]


def _partition_share(run: Run) -> float:
    batches = run.facts["batches"]
    return 1 - sum(each["routing_ps"] for each in batches) / sum(each["batch_ps"] for each in batches)


@measures("M08", "orderings")
def packed(lab: Lab) -> list[Value]:
    """Best visit hit rate over Fennel, Starling and label propagation (M08)."""
    settings = {"search__L": lab.point("SIFT", "0.95"), "system__pack": _PACK}
    found = {
        name: metric(list(lab.runs("orderings", "SIFT", system__ordering=name, **settings)), "visit_hit_rate")
        for name in _ORDERINGS
    }
    best = max(found, key=lambda name: found[name].value)
    return [replace(found[best], on=f"packs of {_PACK}, {best}; 0.95 recall of verify-all")]
