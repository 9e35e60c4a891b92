"""From a new process to its first simulated query, with warm caches and with none.

    python benchmarks/startup.py [--cold]

The bundled set of 10,000 vectors, RiftANN. Wall time is from before the process is started to the end of the query;
CPU time is that of the process. ``--cold`` lets it compile every kernel and build graph and codes as on a new machine.
"""

import os
import subprocess
import sys
import tempfile
import time

from _bench import median, options, save, show

FIRST_QUERY = """
import time
from riftsim.assembly import run_point
from riftsim.config.sweep import load_experiment
plan = {"name": "start", "dataset": {"name": "sift-photos-10k"}, "system": {"kind": "riftann"}, "measured_queries": 1,
        "load": {"kind": "closed", "concurrency": 1}, "search": {"k": 10, "L": 40}}
run_point(load_experiment(plan).points[0].config)
print(time.process_time(), flush=True)
"""


def first_query(environment):
    """Wall and CPU seconds to the first query of a new process."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", FIRST_QUERY],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    cpu_s = float(process.stdout.readline())
    wall_s = time.perf_counter() - began
    process.communicate()
    return {"wall_s": wall_s, "cpu_s": cpu_s}


def main():
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--cold", action="store_true", help="measure once without caches too")
    arguments = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a warm start finds the modules' bytecode as well
    first_query(environment)
    results = {"warm": [first_query(environment) for _ in range(max(5, arguments.repeats))]}
    if arguments.cold:
        with tempfile.TemporaryDirectory() as folder:
            results["cold"] = [first_query(environment | {"RIFTSIM_CACHE_DIR": folder})]
    show(
        ("caches", "wall s", "CPU s"),
        [[name, *(median(run[key] for run in runs) for key in ("wall_s", "cpu_s"))] for name, runs in results.items()],
    )
    save(arguments, results)


if __name__ == "__main__":
    main()
