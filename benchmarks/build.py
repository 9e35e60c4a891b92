"""CPU time and memory of building an index, and its recall@10 at equal list sizes, beside other libraries.

    python benchmarks/build.py --data-dir DIR --peer diskannpy=PYTHON --peer svs=PYTHON --peer faiss=PYTHON

Runs alternate, each in a process of its own. CPU time is that of all threads during the build alone; kernels are
compiled before. Vamana graphs have R and L as given and alpha 1.2; HNSW has M = R / 2 and efConstruction = L.
"""

import shutil
import tempfile
from pathlib import Path

from _bench import interpreters, median, options, run_jobs, save, set_folder, show

SEARCH_L = (10, 20, 40, 80, 160)


def main():
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--points", default="64:100", help="R:L of each build, e.g. 64:100,96:128")
    parser.add_argument("--keep", type=Path, help="folder for the last build of each, for search.py")
    arguments = parser.parse_args()
    folder, pythons = set_folder(arguments), interpreters(arguments)
    results, rows, versions, failed = [], [], {}, {}
    temporary = tempfile.TemporaryDirectory()
    root = arguments.keep or Path(temporary.name)
    for point in arguments.points.split(","):
        R, L = map(int, point.split(":"))

        def job(name, R=R, L=L):
            shutil.rmtree(root / name, ignore_errors=True)
            (root / name).mkdir(parents=True)
            return {
                "library": name, "build": True, "set": str(folder), "rows": arguments.rows, "folder": str(root / name),
                "R": R, "L": L, "threads": arguments.threads, "search_L": SEARCH_L,
            }  # fmt: skip

        turns = [run_jobs(pythons, failed, job, arguments.threads) for _ in range(arguments.repeats)]
        own = [turn["riftsim"]["build_cpu_s"] for turn in turns]
        for name in pythons:
            if name in failed:
                continue
            each = [turn[name] for turn in turns]
            seconds = [run["build_cpu_s"] for run in each]
            recalls = [median(run["curve"][at]["recall"] for run in each) for at in range(len(SEARCH_L))]
            memory = median(run["memory_mib"] - run["memory_before_mib"] for run in each)
            ratio = median(a / b for a, b in zip(own, seconds, strict=True))
            versions[name] = each[0]["version"]
            rows.append([name, R, L, median(seconds), ratio, round(memory), *recalls])
            results.append(
                {
                    "library": name,
                    "R": R,
                    "L": L,
                    "cpu_s": seconds,
                    "riftsim_over_it": ratio,
                    "memory_mib": memory,
                    "search_L": SEARCH_L,
                    "recall": recalls,
                }
            )
    show(("", "R", "L", "CPU s", "riftsim / it", "MiB more", *(f"L={L}" for L in SEARCH_L)), rows)
    save(arguments, results, versions, failed)


if __name__ == "__main__":
    main()
