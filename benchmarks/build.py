"""CPU time of building a Vamana graph, and how well it is searched, beside diskannpy's.

    python benchmarks/build.py --data-dir DIR --peer-python PEER/bin/python

Runs alternate. CPU time is that of all threads of the process during the build alone; kernels are compiled before.
"""

import tempfile
from statistics import median

from _peers import cpu_seconds, options, read_set, recall, run_diskann, save, set_folder, show

from riftsim.index.search import search_batch
from riftsim.index.vamana import build_vamana

SEARCH_L = (10, 20, 40, 80, 100, 160)


def ours(base, queries, truth, R, L, threads):
    """Build once; return CPU seconds, recall by L, and the report."""
    seconds, (graph, report) = cpu_seconds(lambda: build_vamana(base, 0, R=R, L=L, threads=threads))
    recalls = []
    for width in SEARCH_L:
        ids, _, _ = search_batch(
            base, base.shape[1], 0, graph.neighbors, graph.degrees, graph.start, queries, width, 10, threads=threads
        )
        recalls.append(recall(ids, truth))
    return seconds, recalls, report


def main():
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--points", default="64:100,96:128", help="R:L of each build")
    arguments = parser.parse_args()
    folder = set_folder(arguments)
    base, queries, truth = read_set(folder, arguments.rows)
    build_vamana(base[:200].copy(), 0, R=8, L=8, threads=1)  # compiles, or loads the compiled kernels
    results, rows, peer_version = [], [], None
    for point in arguments.points.split(","):
        R, L = map(int, point.split(":"))
        own, peer = [], []
        for _ in range(arguments.repeats):
            own.append(ours(base, queries, truth, R, L, arguments.threads))
            if arguments.peer_python:
                with tempfile.TemporaryDirectory() as index:
                    job = {
                        "build": True, "set": str(folder), "rows": arguments.rows, "folder": index, "R": R, "L": L,
                        "threads": arguments.threads, "search_L": SEARCH_L,
                    }  # fmt: skip
                    peer.append(run_diskann(arguments.peer_python, job))
        seconds, recalls, report = median(run[0] for run in own), own[0][1], own[0][2]
        result = {
            "R": R, "L": L, "cpu_s": [run[0] for run in own], "search_L": SEARCH_L, "recall": recalls,
            "report": report.facts(),
        }  # fmt: skip
        row = [R, L, seconds, "-", "-", report.mean_degree, report.unreachable_before_repair, "-"]
        if peer:
            peer_version = peer[0]["version"]
            peer_seconds = median(run["seconds"]["build"] for run in peer)
            peer_recalls = [median(run["curve"][at]["recall"] for run in peer) for at in range(len(SEARCH_L))]
            lowest = min(a - b for a, b in zip(recalls, peer_recalls, strict=True))
            row[3], row[4], row[7] = peer_seconds, seconds / peer_seconds, f"{lowest:+.4f}"
            result["peer_cpu_s"] = [run["seconds"]["build"] for run in peer]
            result["peer_recall"] = peer_recalls
        rows.append(row)
        results.append(result)
    show(("R", "L", "CPU s", "diskannpy", "ratio", "degree", "unreachable", "lowest recall difference"), rows)
    save(arguments.json, arguments, results, peer_version)


if __name__ == "__main__":
    main()
