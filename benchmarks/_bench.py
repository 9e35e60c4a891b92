"""What the benchmarks share: options, jobs in other interpreters, tables, and JSON with machine and versions."""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

import numpy as np
from _libraries import LIBRARIES, cpu_seconds, read_set, recall

__all__ = ["cpu_seconds", "median", "options", "read_set", "recall", "run_jobs", "save", "set_folder", "show"]

# Each pins the threads of one kind of runtime; the libraries are told their number as well.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

NOT_FACTS = ("json", "peer", "data_dir", "folder", "keep", "plot")
"""Options that say where something lies."""


def options(description):
    """Return the parser with the options that every benchmark takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data-dir", default=os.environ.get("RIFTSIM_DATA_DIR"), help="default: $RIFTSIM_DATA_DIR")
    parser.add_argument("--set", default="sift-photos-100k", help="folder of the vector set")
    parser.add_argument("--rows", type=int, default=100_000, help="base vectors, as in gt_<rows>.ibin")
    parser.add_argument(
        "--peer", action="append", default=[], metavar="LIBRARY=PYTHON",
        help=f"interpreter that has a library ({', '.join(LIBRARIES)}); repeatable",
    )  # fmt: skip
    parser.add_argument("--repeats", type=int, default=3, help="interleaved runs, of which medians are taken")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="where to write every measurement")
    return parser


def interpreters(arguments):
    """Interpreter by library, riftsim's own first."""
    found = {"riftsim": sys.executable}
    for peer in arguments.peer:
        name, _, path = peer.partition("=")
        if name not in LIBRARIES or not Path(path).exists():
            sys.exit(f"--peer {peer}: expected LIBRARY=PYTHON with one of {', '.join(LIBRARIES)} and its interpreter")
        found[name] = path
    return found


def run_jobs(pythons, failed, make_job, threads):
    """Answers by library of one turn; one that fails is reported, noted in ``failed``, and left out from then on."""
    answers = {}
    for name, python in pythons.items():
        if name in failed:
            continue
        try:
            answers[name] = run_job(python, make_job(name), threads)
        except (subprocess.CalledProcessError, OSError) as error:
            if name == "riftsim":
                raise
            failed[name] = str(error)
            print(f"{name} failed and is left out: {error}", file=sys.stderr, flush=True)
    return answers


def run_job(python, job, threads):
    """Do a job of ``_libraries`` with an interpreter, threads pinned, and return its answer."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    environment |= dict.fromkeys(THREAD_VARIABLES, str(threads))
    if job["library"] != "riftsim":
        environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder, "job.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(job))
        command = [python, str(Path(__file__).with_name("_libraries.py")), str(asked), str(answer)]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=sys.stderr)
        return json.loads(answer.read_text())


def set_folder(arguments):
    """Return the folder of the vector set, or exit with what is missing."""
    if not arguments.data_dir:
        sys.exit("no vectors: give --data-dir or set RIFTSIM_DATA_DIR to the folder of the vector sets")
    folder = Path(arguments.data_dir) / arguments.set
    if not (folder / f"gt_{arguments.rows}.ibin").exists():
        sys.exit(f"{folder}: found no gt_{arguments.rows}.ibin, expected it for --rows {arguments.rows}")
    return folder


def median_curve(curves):
    """Take the medians over runs of curves with the same L."""
    return [
        {"L": points[0]["L"], **{key: median(point[key] for point in points) for key in ("recall", "qps")}}
        for points in zip(*curves, strict=True)
    ]


def at_recall(curve, target):
    """Throughput at a recall, its logarithm interpolated between list sizes; that of the smallest list where it reaches
    more, NaN where no list reaches it."""
    recalls, logs = [point["recall"] for point in curve], [np.log(point["qps"]) for point in curve]
    return float(np.exp(np.interp(target, recalls, logs, right=np.nan)))


def show(header, rows):
    """Print a table."""
    cells = [
        list(header),
        *[[f"{value:.4g}" if isinstance(value, float) else str(value) for value in row] for row in rows],
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def save(arguments, results, versions=None, failed=None):
    """Print threads and load, and write measurements, options, versions, machine and what failed as JSON."""
    load = os.getloadavg()[0]
    print(f"\n{arguments.threads} thread(s); {load:.1f} processes were running or waiting in the last minute")
    if not arguments.json:
        return
    facts = {
        "machine": {
            "cpu": _cpu(), "processors": os.cpu_count(), "python": platform.python_version(), "load_average": load,
        },
        "versions": {name: _version(name) for name in ("riftsim", "numpy", "numba", "simpy")} | (versions or {}),
        "options": {name: value for name, value in vars(arguments).items() if name not in NOT_FACTS},
        "failed": failed or {},
        "results": results,
    }  # fmt: skip
    Path(arguments.json).parent.mkdir(parents=True, exist_ok=True)
    Path(arguments.json).write_text(json.dumps(facts, indent=1, default=str) + "\n")


def _cpu():
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None
