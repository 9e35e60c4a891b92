"""Every benchmark in one go, its figures into ``benchmarks/measured``, and the page made of them.

    python benchmarks/all.py --data-dir DIR --growth-data-dir DIR --peer diskannpy=PYTHON --peer svs=PYTHON \\
        --peer faiss=PYTHON --peer hnswlib=PYTHON

Takes less than half an hour on an idle machine, and once some minutes more for the graph of a million vectors; on a
busy one its times are not worth much. Earlier figures are removed first, so that a page is of one go; with
``--resume`` those that are there stay and what is missing is measured. A benchmark that fails does not stop the
others, nor a library the others of its benchmark; both are named at the end.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
MEASURED = HERE / "measured"
PAGE = HERE.parent / "scripts" / "update_performance_page.py"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", required=True, help="folder of sift-photos-100k")
    parser.add_argument("--growth-data-dir", help="folder of sift-photos-1m; without it growth ends at 100,000 vectors")
    parser.add_argument("--peer", action="append", default=[], metavar="LIBRARY=PYTHON", help="repeatable")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="names of benchmarks, by commas; the figures of the others stay")
    parser.add_argument("--resume", action="store_true", help="measure only what is not in benchmarks/measured")
    parser.add_argument("--keep", default="benchmark-indices", help="folder for the indices that the libraries build")
    arguments = parser.parse_args()
    repeats = ["--repeats", str(arguments.repeats)]
    data = ["--data-dir", arguments.data_dir, *repeats]
    libraries = [*data, "--keep", arguments.keep, *(word for peer in arguments.peer for word in ("--peer", peer))]
    growth = [*data, "--sizes", "10000,100000"]
    if arguments.growth_data_dir:
        of_a_million = ["--set", "sift-photos-1m", "--sizes", "10000,100000,1000000"]
        growth = ["--data-dir", arguments.growth_data_dir, *of_a_million, *repeats]
    benchmarks = {
        "simulation": data,
        "processes": data,
        "startup": ["--cold", *repeats],
        "growth": [*growth, "--plot", str(HERE.parent / "docs" / "growth.svg")],
        "build": libraries,
        "search": libraries,  # the indices that ``build`` has kept
        "large": ["--folder", arguments.keep],
    }
    chosen = arguments.only.split(",") if arguments.only else list(benchmarks)
    if unknown := set(chosen) - set(benchmarks):
        parser.error(f"--only: found {', '.join(sorted(unknown))}, expected some of {', '.join(benchmarks)}")
    if arguments.resume:
        chosen = [name for name in chosen if not (MEASURED / f"{name}.json").exists()]
    for name in chosen:
        (MEASURED / f"{name}.json").unlink(missing_ok=True)
    # Variables that choose an older code path of OpenBLAS are for other purposes than measuring.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    failures = []
    for name in chosen:
        print(f"\n== {name}", flush=True)
        path, began = MEASURED / f"{name}.json", time.monotonic()
        command = [sys.executable, str(HERE / f"{name}.py"), *benchmarks[name], "--json", str(path)]
        code = subprocess.run(command, env=environment).returncode
        print(f"{name} took {time.monotonic() - began:.0f} s", flush=True)
        if code or not path.exists():
            failures.append(f"{name}.py ended with {code}")
        else:
            failed = json.loads(path.read_text())["failed"]
            failures += [f"{name}.py left out {library}: {why}" for library, why in failed.items()]
    subprocess.run([sys.executable, str(PAGE)], env=environment, check=True)
    if failures:
        sys.exit("\n" + "\n".join(failures) + "\nrun again with --resume, or with --only NAME")


if __name__ == "__main__":
    main()
