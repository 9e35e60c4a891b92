"""Every benchmark in one go, its figures into ``benchmarks/measured``, and the page made of them.

    python benchmarks/all.py --data-dir DIR --peer diskannpy=PYTHON --peer svs=PYTHON --peer faiss=PYTHON \\
        --peer hnswlib=PYTHON --growth-data-dir DIR

Takes about half an hour on an idle machine, most of it for the graph of a million vectors; on another one its times are
not worth much.
"""

import argparse
import os
import subprocess
import sys
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
    parser.add_argument("--only", help="names of benchmarks, by commas")
    arguments = parser.parse_args()
    data = ["--data-dir", arguments.data_dir]
    peers = [word for peer in arguments.peer for word in ("--peer", peer)]
    growth = [*data, "--sizes", "10000,100000"]
    if arguments.growth_data_dir:
        growth = ["--data-dir", arguments.growth_data_dir, "--set", "sift-photos-1m", "--sizes", "10000,100000,1000000"]
    benchmarks = {
        "simulation": data,
        "processes": data,
        "startup": ["--cold"],
        "search": [*data, *peers],
        "growth": [*growth, "--plot", str(HERE.parent / "docs" / "growth.svg")],
        "build": [*data, *peers],
    }
    # Variables that choose an older code path of OpenBLAS are for other purposes than measuring.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    for name in arguments.only.split(",") if arguments.only else benchmarks:
        print(f"\n== {name}", flush=True)
        command = [sys.executable, str(HERE / f"{name}.py"), *benchmarks[name], "--repeats", str(arguments.repeats)]
        subprocess.run([*command, "--json", str(MEASURED / f"{name}.json")], env=environment, check=True)
    subprocess.run([sys.executable, str(PAGE)], check=True)


if __name__ == "__main__":
    main()
