"""Queries per CPU second of searching in memory at equal recall@10, beside other libraries.

    python benchmarks/search.py --data-dir DIR --peer diskannpy=PYTHON --peer svs=PYTHON --peer faiss=PYTHON

Each searches the index that it built (R=64, L=100; HNSW M=32, efConstruction=100). Runs alternate; medians of three
passes, then of the runs, per list size L; between list sizes the logarithm of the throughput is interpolated over
recall.
"""

import math
import tempfile
from pathlib import Path

from _bench import at_recall, interpreters, median, median_curve, options, run_jobs, save, set_folder, show

SEARCH_L = (10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 50, 60, 80, 120)
TARGETS = (0.90, 0.95, 0.99)
R, L_BUILD = 64, 100
PASSES = 3
"""Over the list sizes in one process; one of them takes a tenth of a second, which any interruption shows in."""


def main():
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="folder for the indices, to use them again")
    arguments = parser.parse_args()
    folder, pythons = set_folder(arguments), interpreters(arguments)
    failed = {}
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.keep or Path(temporary)

        def job(name):
            index = root / name
            index.mkdir(parents=True, exist_ok=True)
            build = not any(index.iterdir())
            return {
                "library": name, "build": build, "set": str(folder), "rows": arguments.rows, "folder": str(index),
                "R": R, "L": L_BUILD, "threads": arguments.threads, "search_L": SEARCH_L,
                "passes": PASSES,
            }  # fmt: skip

        turns = [run_jobs(pythons, failed, job, arguments.threads) for _ in range(arguments.repeats)]
    rows, results = [], {}
    versions = {name: turns[0][name]["version"] for name in pythons if name not in failed}
    runs = {name: [turn[name]["curve"] for turn in turns] for name in versions}
    for name, curves in runs.items():
        curve, row = median_curve(curves), [name]
        results[name] = {"curve": curve, "at": {}}
        for target in TARGETS:
            ratios = [
                at_recall(own, target) / at_recall(other, target)
                for own, other in zip(runs["riftsim"], curves, strict=True)
            ]
            qps, ratio = at_recall(curve, target), median(ratios)
            row += [qps, ratio]
            if not math.isnan(qps):
                results[name]["at"][str(target)] = {"qps": qps, "riftsim_over_it": ratio, "ratios": ratios}
        rows.append(row)
    show(("queries / CPU s", *(title for t in TARGETS for title in (f"recall {t}", "riftsim / it"))), rows)
    save(arguments, results, versions, failed)


if __name__ == "__main__":
    main()
