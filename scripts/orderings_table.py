"""Make the table of visit hit rates of co-packed nodes (claim M08), for experiments/orderings/README.md.

    python scripts/orderings_table.py [--set dataset.name=sift-photos-100k ...] [--data-dir DIR] [--packs 2 4 8 16]

Prints a table in Markdown: for each ordering and size of a pack, the share of the nodes that come with a visited one
which the same query visits too.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from riftsim.assembly.visits import visited_nodes
from riftsim.config.sweep import load_experiment
from riftsim.index import orderings
from riftsim.rng import stream

EXPERIMENT = Path(__file__).resolve().parents[1] / "experiments/orderings/experiment.yaml"


def table(graph, visited: list[np.ndarray], packs: list[int]) -> str:
    """The rows of every ordering over the sizes of packs."""
    starts, others = orderings.both_ways(graph)
    n = len(graph.degrees)
    makers: dict[str, Callable[[int], np.ndarray]] = {
        "random": lambda pack: orderings.in_order(n, pack, stream(0, "random packs").permutation(n)),
        "order of the data": lambda pack: orderings.in_order(n, pack),
        "Fennel": lambda pack: orderings.fennel(starts, others, pack),
        "Fennel, neighbours alone": lambda pack: orderings.fennel(starts, others, pack, price=0.0),
        "Starling": lambda pack: orderings.starling(starts, others, pack),
        "label propagation": lambda pack: orderings.label_propagation(starts, others, pack),
    }
    lines = ["| ordering | " + " | ".join(f"{pack} nodes" for pack in packs) + " |", "|---" * (len(packs) + 1) + "|"]
    for name, make in makers.items():
        cells = []
        for pack in packs:
            hits, came = orderings.visit_hits(make(pack), visited)
            cells.append(f"{hits / came:.4f}" if came else "-")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Read the arguments, search, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for riftsim run")
    parser.add_argument("--data-dir", default=None)
    parser.add_argument("--packs", type=int, nargs="+", default=[2, 4, 8, 16])
    arguments = parser.parse_args()
    for point in load_experiment(EXPERIMENT, arguments.set).points:
        index, visited = visited_nodes(point.config, data_dir=arguments.data_dir)
        mean = np.mean([len(nodes) for nodes in visited])
        shown = f"L={point.config.search.L}, {mean:.1f} visits of {len(index.vectors)} nodes in the mean"
        print(f"{point.config.dataset.name}, {shown}, {len(visited)} queries\n")
        print(table(index.graph, visited, arguments.packs) + "\n", flush=True)


if __name__ == "__main__":
    main()
