"""Make the tables of visit hit rates of co-packed nodes, for experiments/orderings/README.md, from recorded runs.

    python scripts/orderings_table.py results/runs/orderings

Prints a table in Markdown for each data set and list size: for each ordering and size of a pack, the share of the nodes
that come with a visited one which the same query visits too.
"""

import argparse
from pathlib import Path

from pages import table

from riftsim.results.store import Run, load_runs


def rates_table(runs: list[Run]) -> str:
    """A row per ordering, a column per size of a pack."""
    rates: dict[str, dict[int, float]] = {}
    for run in runs:
        ordering, pack = (run.parameters[f"system.{key}"] for key in ("ordering", "pack"))
        rates.setdefault(ordering, {})[pack] = run.metrics(["visit_hit_rate"])["visit_hit_rate"]
    packs = sorted({pack for row in rates.values() for pack in row})
    lines = [[name, *(f"{row[pack]:.4f}" if pack in row else "" for pack in packs)] for name, row in rates.items()]
    return table(["ordering", *(f"{pack} nodes" for pack in packs)], lines)


def main() -> None:
    """Read the arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder of runs of experiments/orderings")
    groups: dict[tuple[str, int], list[Run]] = {}
    for run in load_runs(parser.parse_args().results):
        groups.setdefault((run.parameters["dataset.name"], run.parameters["search.L"]), []).append(run)
    for (name, L), runs in sorted(groups.items()):
        found = runs[0].metrics(["expansions", "recall"])
        shown = f"L={L}, {found['expansions']:.1f} visits in the mean, recall {found['recall']:.3f}"
        print(f"{name}, {shown}, {len(runs[0].queries)} queries\n\n{rates_table(runs)}\n")


if __name__ == "__main__":
    main()
