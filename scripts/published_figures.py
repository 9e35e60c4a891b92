"""Draw figures of results/published/reproduction from recorded runs alone.

    python scripts/published_figures.py results/reproduction [results/runs ...] [--only fig02a table3 ...]

Looks in these folders for runs of each figure's experiment; a figure of which there are no runs is left as it is. Of
runs whose settings are equal (under prices that have changed since, say) the latest counts. `riftsim reproduce --full`
makes the runs, but for figure 2a: its README says how.
"""

import argparse
import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from riftsim.config.sweep import load_experiment
from riftsim.plotting.figures import draw
from riftsim.results.store import Run, RunSet, load_runs

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "results/published/reproduction"
_PHOTOS = {"dataset.name": "sift-photos-100k"}
_MILLION = {"hardware": "connectx5-100g", "dataset.n": 1_000_000}
_FIRST_SPLIT = {**_PHOTOS, "dataset.split_seed": 0}
_WORK = {**_PHOTOS, "search.L": 394}  # 405 expansions
_RECALL = {**_PHOTOS, "search.L": 18}  # 0.95 under verify-all
_STEPS = {
    "Remote-Vamana": {"system.kind": "remote_vamana"},
    "+ calibrated pipeline": {"system.gate.kind": "wait-all"},
    "+ impact-aware traversal": {"system.gate.kind": "impact-aware", "system.balancing.kind": "fixed"},
    "+ pipeline balancing": {"system.gate.kind": "impact-aware", "system.balancing.kind": "adaptive"},
}
_BILLION = {
    "RiftANN": {**_MILLION, "system.balancing.kind": "adaptive", "load.concurrency": 30},
    "DistVS": {**_MILLION, "system.kind": "distvs"},
    "PipeANN": {**_MILLION, "system.kind": "pipeann"},
    "DiskANN": {**_MILLION, "system.kind": "diskann"},
}


@dataclasses.dataclass(frozen=True)
class Figure:
    """A published figure.

    Attributes
    ----------
    experiment : str
        Whose runs it shows.
    kind : str
    series : mapping
        Names of the curves, each with the dotted keys and values of its runs.
    """

    experiment: str
    kind: str
    series: Mapping[str, Mapping[str, Any]]


FIGURES = {
    "fig01": Figure(
        "fig01_remote_cost",
        "breakdown",
        {
            "In-memory Vamana": {**_PHOTOS, "system.kind": "in_memory_vamana", "search.L": 12},
            "Remote-Vamana": {**_PHOTOS, "system.kind": "remote_vamana", "search.L": 13},
        },
    ),
    "fig02a": Figure(
        "orderings",
        "visit-hit-rate",
        {
            "SIFT, 100 thousand": _PHOTOS,
            "DEEP, 100 thousand": {"dataset.name": "deep-photos-100k"},
            "TEXT, 100 thousand": {"dataset.name": "text-wordnet-100k"},
            "SIFT, 1 million": {"dataset.name": "sift-photos-1m"},
        },
    ),
    "async-vamana": Figure(
        "async_vamana",
        "breakdown",
        {
            "Remote-Vamana": {**_PHOTOS, "system.kind": "remote_vamana"},
            "Async-Vamana": {**_PHOTOS, "system.kind": "async_vamana"},
        },
    ),
    "table1-distvs": Figure(
        "table1_distvs", "thread-split", {"DistVS": {**_PHOTOS, "search.L": 355, "system.queries_per_thread": 1}}
    ),
    "table1-d-hnsw": Figure(
        "d_hnsw",
        "recall-price",
        {
            "d-HNSW, 32 in flight": {**_FIRST_SPLIT, "load.concurrency": 32},
            "32 nodes, one in flight each": {**_FIRST_SPLIT, "cluster.compute_nodes": 32},
            "arrivals at random, 3,000 per second": {**_FIRST_SPLIT, "load.rate_qps": 3000.0},
        },
    ),
    "fig10-latency": Figure("scale", "recall-latency", _BILLION),
    "fig10-throughput": Figure("scale", "recall-qps", _BILLION),
    "fig11-throughput": Figure("fig11_breakdown", "recall-qps", _STEPS),
    "fig11-breakdown": Figure("fig11_breakdown", "breakdown", _STEPS),
    "full-record": Figure(
        "full_record",
        "breakdown",
        {
            "Whole records": {**_PHOTOS, "system.record_reads": "full-record"},
            "State-driven reads": {**_PHOTOS, "system.record_reads": "state-driven"},
        },
    ),
    "fig13b": Figure(
        "admission_policies",
        "hidden-updates",
        {
            "Impact-aware": {**_WORK, "system.gate.kind": "impact-aware", "system.gate.epsilon": 1.0},
            "U-only (B=32)": {**_WORK, "system.gate.kind": "u-only", "system.gate.bound": 32},
            "ρ-only (θ=0.05)": {**_WORK, "system.gate.kind": "rho-only", "system.gate.theta": 0.05},
            "Ungated": {**_WORK, "system.gate.kind": "ungated"},
        },
    ),
    "fig14-sensitivity": Figure("fig14_sensitivity", "sensitivity", {"Adaptive": _RECALL}),
    "table3": Figure("table3_scaling", "scaling", {}),
}
"""By name of the files."""


def latest(runs: Iterable[Run]) -> RunSet:
    """Keep the latest of runs that have every setting in common."""
    runs = list(runs)
    by_age = sorted(runs, key=lambda run: run.manifest["started"])
    kept = {json.dumps(run.parameters, sort_keys=True): run.path for run in by_age}
    return RunSet([run for run in runs if run.path in kept.values()])


def main() -> None:
    """Draw what there are runs of."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=list(FIGURES), metavar="NAME")
    options = parser.parse_args()
    runs = [run for folder in options.results for run in load_runs(folder)]
    for name in options.only:
        figure = FIGURES[name]
        own = latest(run for run in runs if run.experiment == figure.experiment)
        if not any(len(own.where(conditions)) for conditions in figure.series.values() or [{}]):
            continue
        plots = load_experiment(ROOT / "experiments" / figure.experiment / "experiment.yaml").config.plots
        published = next((plot.published for plot in plots if plot.kind == figure.kind), None)
        formats = ("png", "svg")
        draw(figure.kind, own, PUBLISHED, name=name, names=figure.series, published=published, formats=formats)


if __name__ == "__main__":
    main()
