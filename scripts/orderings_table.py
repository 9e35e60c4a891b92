"""Make the table of visit hit rates of co-packed nodes (claim M08), for experiments/orderings/README.md.

    python scripts/orderings_table.py [--set dataset.name=sift-photos-100k ...] [--data-dir DIR] [--packs 2 4 8 16]

Prints a table in Markdown for each list size of the experiment, which share one graph: for each ordering and size of a
pack, the share of the nodes that come with a visited one which the same query visits too.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from riftsim.assembly.visits import visited_nodes
from riftsim.config.sweep import load_experiment
from riftsim.index import orderings
from riftsim.index.graph import Graph
from riftsim.rng import stream

EXPERIMENT = Path(__file__).resolve().parents[1] / "experiments/orderings/experiment.yaml"


def packings(graph: Graph, packs: list[int]) -> Iterator[tuple[str, int, np.ndarray]]:
    """Name, size of a pack and packs of every ordering of a graph."""
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
    for name, make in makers.items():
        for pack in packs:
            yield name, pack, make(pack)


def table(rates: dict[str, dict[int, float]], packs: list[int]) -> str:
    """A row per ordering, a column per size of a pack."""
    lines = ["| ordering | " + " | ".join(f"{pack} nodes" for pack in packs) + " |", "|---" * (len(packs) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{row[pack]:.4f}" for pack in packs) + " |" for name, row in rates.items()]
    return "\n".join(lines)


def main() -> None:
    """Read the arguments, search, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for riftsim run")
    parser.add_argument("--data-dir", default=None)
    parser.add_argument("--packs", type=int, nargs="+", default=[2, 4, 8, 16])
    arguments = parser.parse_args()
    points = [point.config for point in load_experiment(EXPERIMENT, arguments.set).points]
    searched = [visited_nodes(config, data_dir=arguments.data_dir) for config in points]
    rates: list[dict[str, dict[int, float]]] = [{} for _ in points]
    for name, pack, part in packings(searched[0][0].graph, arguments.packs):
        for row, (_, visited) in zip(rates, searched, strict=True):
            hits, came = orderings.visit_hits(part, visited)
            row.setdefault(name, {})[pack] = hits / came
    for config, row, (index, visited) in zip(points, rates, searched, strict=True):
        mean = np.mean([len(nodes) for nodes in visited])
        shown = f"L={config.search.L}, {mean:.1f} visits of {len(index.vectors)} nodes in the mean"
        print(f"{config.dataset.name}, {shown}, {len(visited)} queries\n\n{table(row, arguments.packs)}\n")


if __name__ == "__main__":
    main()
