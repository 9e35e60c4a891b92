"""Section 2: DistVS over threads and d-HNSW's parts (table 1), and nodes packed by graph orderings (figure 2a)."""

import json
from dataclasses import replace

from riftsim.assembly.visits import visited_nodes
from riftsim.config.canonical import config_hash
from riftsim.config.sweep import load_experiment
from riftsim.files import atomic_write
from riftsim.index import orderings
from riftsim.index.graph import Graph
from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.measuring import exactly, measures, metric, of_runs, rate_ratio
from riftsim.reproduction.scoring import Value
from riftsim.reproduction.studies import partitioned, repeated
from riftsim.results.store import Run

_DISTVS = "table1_distvs"
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
    return [_on(of_runs(_distvs(lab, 32, 6), memory_busy))]


@measures("M29", _DISTVS)
def distvs_gains(lab: Lab) -> list[Value]:
    """Gain of 6 threads more at either end (M29)."""
    base = _distvs(lab, 32, 6)
    return [_on(rate_ratio(_distvs(lab, 38, memory), base)) for memory in (6, 12)]


def memory_busy(run: Run) -> float:
    """Return the share of the time that the memory node's threads work."""
    threads = run.facts["memory_threads"]
    span_ps = run.facts["network"]["span_ps"]
    return sum(each["busy_ps"] for each in threads) / (span_ps * sum(each["threads"] for each in threads))


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
    rates = _hit_rates(lab, "SIFT")
    best = max(rates, key=lambda name: rates[name])
    return [exactly(rates[best], on=f"packs of {_PACK}, {best}; 0.95 recall of verify-all")]


def _hit_rates(lab: Lab, dataset: str) -> dict[str, float]:
    """Visit hit rate by ordering; kept beside the runs."""
    settings = {**lab.of_set(dataset), "search.L": lab.point(dataset, "0.95")}
    config = load_experiment(lab.experiments / "orderings" / "experiment.yaml", settings).points[0].config
    path = lab.out / "orderings" / f"{config_hash(config)}-{_PACK}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    if not lab.may_run:
        raise NotMeasured(f"orderings of {dataset}: not counted")
    index, visited = visited_nodes(config, data_dir=lab.data_dir)
    rates = {}
    for name, part in _packs(index.graph).items():
        hits, came = orderings.visit_hits(part, visited)
        rates[name] = hits / came
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as partial:
        partial.write_text(json.dumps(rates, indent=1) + "\n", encoding="utf-8")
    return rates


def _packs(graph: Graph) -> dict:
    edges = orderings.both_ways(graph)
    return {
        "Fennel": orderings.fennel(*edges, _PACK),
        "Starling": orderings.starling(*edges, _PACK),
        "label propagation": orderings.label_propagation(*edges, _PACK),
    }
