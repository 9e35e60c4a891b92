"""Draw figure 2a and table 1 of section 2 for results/published/reproduction, from recorded runs alone.

    python scripts/section2_figures.py results/runs [results/reproduction ...]

Looks for runs of the experiments `orderings`, `table1_distvs` and `d_hnsw` in these folders; what has none is left as
it is. The READMEs of the three say which commands make them.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riftsim.config.sweep import load_experiment
from riftsim.plotting.figures import draw
from riftsim.results.store import RunSet, load_runs

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "results/published/reproduction"
_PHOTOS = {"dataset.name": "sift-photos-100k"}
FIGURES: dict[str, tuple[str, Mapping[str, Mapping[str, Any]]]] = {
    "fig02a": (
        "orderings",
        {
            "SIFT, 100 thousand": _PHOTOS,
            "DEEP, 100 thousand": {"dataset.name": "deep-photos-100k"},
            "TEXT, 100 thousand": {"dataset.name": "text-wordnet-100k"},
            "SIFT, 1 million": {"dataset.name": "sift-photos-1m"},
        },
    ),
    "table1-distvs": ("table1_distvs", {"DistVS": {**_PHOTOS, "search.L": 355, "system.queries_per_thread": 1}}),
    "table1-d-hnsw": (
        "d_hnsw",
        {
            "d-HNSW, 32 in flight": {**_PHOTOS, "dataset.split_seed": 0, "load.concurrency": 32},
            "32 nodes, one in flight each": {**_PHOTOS, "dataset.split_seed": 0, "cluster.compute_nodes": 32},
            "arrivals at random, 3,000 per second": {**_PHOTOS, "dataset.split_seed": 0, "load.rate_qps": 3000.0},
        },
    ),
}
"""By name: the experiment, whose first plot it is, and the series."""


def main() -> None:
    """Draw what there are runs of."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path)
    runs = [run for folder in parser.parse_args().results for run in load_runs(folder)]
    for name, (experiment, series) in FIGURES.items():
        own = RunSet([run for run in runs if run.experiment == experiment])
        if any(len(own.where(conditions)) for conditions in series.values()):
            plot = load_experiment(ROOT / "experiments" / experiment / "experiment.yaml").config.plots[0]
            draw(plot.kind, own, PUBLISHED, name=name, names=series, published=plot.published)
            (PUBLISHED / f"{name}.pdf").unlink()


if __name__ == "__main__":
    main()
