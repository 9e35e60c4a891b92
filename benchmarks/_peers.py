"""What the benchmarks share: vector files, timing, tables, and running a peer in a virtual environment of its own.

Run as a program by the peer's interpreter, this file does one job on diskannpy. It therefore needs numpy only.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

SUFFIXES = {".u8bin": np.uint8, ".i8bin": np.int8, ".fbin": np.float32}


def read_vectors(path, rows=None):
    """Read a big-ann file (u4 n, u4 d, values); with ``rows`` only its first rows."""
    n, d = np.fromfile(path, np.uint32, 2).tolist()
    rows = n if rows is None else min(rows, n)
    return np.fromfile(path, SUFFIXES[Path(path).suffix], rows * d, offset=8).reshape(rows, d)


def read_set(folder, rows):
    """Read base vectors, queries and the true ids of a set that holds ``gt_<rows>.ibin``."""
    folder = Path(folder)
    base, queries = (next(p for p in folder.glob(f"{name}.*bin") if p.suffix in SUFFIXES) for name in ("base", "query"))
    truth = np.fromfile(folder / f"gt_{rows}.ibin", np.int32)
    count, k = truth[:2]
    return read_vectors(base, rows), read_vectors(queries), truth[2 : 2 + count * k].reshape(count, k)


def recall(ids, truth, k=10):
    """Mean share of the true k nearest among the first k returned."""
    hits = [len(np.intersect1d(found[:k], true[:k])) for found, true in zip(ids, truth, strict=True)]
    return float(np.mean(hits) / k)


def cpu_seconds(call):
    """Return the CPU seconds of all threads of this process during a call, and what it returned."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def diskann_job(job):
    """Build with, or search by, diskannpy. Runs in the peer's interpreter."""
    import diskannpy

    base, queries, truth = read_set(job["set"], job["rows"])
    seconds = {}
    if job["build"]:
        seconds["build"], _ = cpu_seconds(
            lambda: diskannpy.build_memory_index(
                data=base, distance_metric="l2", index_directory=job["folder"], complexity=job["L"],
                graph_degree=job["R"], num_threads=job["threads"], alpha=1.2, use_pq_build=False, num_pq_bytes=0,
                use_opq=False,
            )
        )  # fmt: skip
    index = diskannpy.StaticMemoryIndex(
        index_directory=job["folder"], num_threads=job["threads"], initial_search_complexity=max(job["search_L"])
    )
    curve = []
    for L in job["search_L"]:
        spent, found = cpu_seconds(lambda L=L: index.batch_search(queries, 10, L, job["threads"]))
        curve.append({"L": L, "recall": recall(found.identifiers, truth), "qps": len(queries) / spent})
    return {"seconds": seconds, "curve": curve, "version": _version("diskannpy")}


def run_diskann(python, job):
    """Do ``diskann_job`` with the interpreter ``python`` and return its result."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS_", "PYTHONPATH"))
    }
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [python, __file__, json.dumps(job), str(answer)]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=sys.stderr)
        return json.loads(answer.read_text())


def options(description):
    """Return the parser with the options that every benchmark takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data-dir", default=os.environ.get("RIFTSIM_DATA_DIR"), help="default: $RIFTSIM_DATA_DIR")
    parser.add_argument("--set", default="sift-photos-100k", help="folder of the vector set")
    parser.add_argument("--rows", type=int, default=100_000, help="base vectors, as in gt_<rows>.ibin")
    parser.add_argument("--peer-python", help="interpreter that has diskannpy; without it only riftsim runs")
    parser.add_argument("--repeats", type=int, default=3, help="interleaved runs, of which medians are taken")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="where to write every measurement")
    return parser


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
        {
            "L": points[0]["L"],
            "recall": median(p["recall"] for p in points),
            "qps": median(p["qps"] for p in points),
        }
        for points in zip(*curves, strict=True)
    ]


def show(header, rows):
    """Print a table."""
    cells = [
        list(header),
        *[[f"{value:.4g}" if isinstance(value, float) else str(value) for value in row] for row in rows],
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def save(path, arguments, results, peer_version):
    """Write measurements, command and machine as JSON."""
    if not path:
        return
    model = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), "unknown")
    facts = {
        "machine": {"cpu": model, "processors": os.cpu_count(), "python": platform.python_version()},
        "versions": {"numpy": np.__version__, "numba": _version("numba"), "diskannpy": peer_version},
        "set": arguments.set,
        "rows": arguments.rows,
        "repeats": arguments.repeats,
        "threads": arguments.threads,
        "results": results,
    }
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(facts, indent=1) + "\n")


def _cpuinfo():
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def _version(package):
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(diskann_job(json.loads(sys.argv[1]))))
