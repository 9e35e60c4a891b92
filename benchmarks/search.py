"""Queries per CPU second of searching in memory at equal recall@10, beside diskannpy's.

    python benchmarks/search.py --data-dir DIR --peer-python PEER/bin/python

Each searches the graph it built (R=64, L=100). Runs alternate; medians per list size L; between list sizes the
logarithm of the throughput is interpolated over recall.
"""

import tempfile

import numpy as np
from _peers import cpu_seconds, median_curve, options, read_set, recall, run_diskann, save, set_folder, show

from riftsim.index.search import search_batch
from riftsim.index.vamana import build_vamana

SEARCH_L = (10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 50, 60, 80, 120)
TARGETS = (0.95, 0.99)
R, L_BUILD = 64, 100


def ours(base, graph, queries, truth, threads):
    """Return recall and throughput by L."""
    curve = []
    for L in SEARCH_L:
        spent, (ids, _, _) = cpu_seconds(
            lambda L=L: search_batch(
                base, base.shape[1], 0, graph.neighbors, graph.degrees, graph.start, queries, L, 10, threads=threads
            )
        )
        curve.append({"L": L, "recall": recall(ids, truth), "qps": len(queries) / spent})
    return curve


def at_recall(curve, target):
    """Throughput at a recall, NaN outside the curve."""
    recalls, logs = [point["recall"] for point in curve], [np.log(point["qps"]) for point in curve]
    return float(np.exp(np.interp(target, recalls, logs, left=np.nan, right=np.nan)))


def main():
    arguments = options(__doc__.splitlines()[0]).parse_args()
    folder = set_folder(arguments)
    base, queries, truth = read_set(folder, arguments.rows)
    graph, _ = build_vamana(base, 0, R=R, L=L_BUILD, threads=arguments.threads)
    ours(base, graph, queries[:2], truth[:2], 1)  # compiles, or loads the compiled kernels
    own, peer = [], []
    with tempfile.TemporaryDirectory() as index:
        for turn in range(arguments.repeats):
            own.append(ours(base, graph, queries, truth, arguments.threads))
            if arguments.peer_python:
                job = {
                    "build": turn == 0, "set": str(folder), "rows": arguments.rows, "folder": index, "R": R,
                    "L": L_BUILD, "threads": arguments.threads, "search_L": SEARCH_L,
                }  # fmt: skip
                peer.append(run_diskann(arguments.peer_python, job))
    curve = median_curve(own)
    peer_curve = median_curve([run["curve"] for run in peer]) if peer else None
    rows = []
    for target in TARGETS:
        qps = at_recall(curve, target)
        peer_qps = at_recall(peer_curve, target) if peer else "-"
        rows.append([target, qps, peer_qps, qps / peer_qps if peer else "-"])
    show(("recall@10", "queries/CPU s", "diskannpy", "ratio"), rows)
    print()
    show(("L", "recall@10", "queries/CPU s"), [[point["L"], point["recall"], point["qps"]] for point in curve])
    results = {"curve": curve, "peer_curve": peer_curve, "runs": own, "peer_runs": [run["curve"] for run in peer]}
    save(arguments.json, arguments, results, peer[0]["version"] if peer else None)


if __name__ == "__main__":
    main()
