"""Stands in for the simulator in tests of the runner and the command line; importable by worker processes.

What a point does is told by its seed, so that the tests need no shared state: see ``run_point``.
"""

import os
import sys
import threading
from pathlib import Path

import numpy as np

from riftsim.errors import DataError
from riftsim.results.recorder import PointResult

FAILS, CRASHES, BUG, HANGS, HANGS_ONCE, FAILS_ONCE = 1, 2, 3, 4, 6, 7
QUERIES, K = 20, 10
PARTS = ("evaluation", "wait", "gate", "drain", "posting", "polling")


def run_point(config, *, data_dir, artifacts):
    """Return made-up numbers; fail, crash or hang if the seed says so."""
    if config.seed == FAILS:
        raise DataError("vectors.fvecs: row 3: found NaN, expected a finite number")
    if config.seed == CRASHES:
        os._exit(7)
    if config.seed == BUG:
        raise ZeroDivisionError("a bug")
    if config.seed == HANGS:
        print("hanging", file=sys.stderr, flush=True)
        threading.Event().wait()
    if config.seed == HANGS_ONCE and _first_time("hung"):
        threading.Event().wait()
    if config.seed == FAILS_ONCE and _first_time("failed"):
        raise DataError("a file system that went away for a moment")
    rng = np.random.default_rng(config.search.L)
    parts = {name: rng.integers(1_000_000, 5_000_000, QUERIES) for name in PARTS}
    queries = {f"{name}_ps": values for name, values in parts.items()}
    queries |= {
        "query": np.arange(QUERIES),
        "queue_ps": np.zeros(QUERIES, np.int64),
        "arrival_ps": np.zeros(QUERIES, np.int64),
        "end_ps": sum(parts.values()),
        "recall": np.full(QUERIES, 1 - 1 / config.search.L),
        "recall_ties": np.full(QUERIES, 1 - 1 / config.search.L),
        "bytes_read": np.full(QUERIES, 1024 * config.search.L),
        "reads_record": np.full(QUERIES, config.search.L),
        "reads_vector": np.zeros(QUERIES, np.int64),
        "reads_adjacency": np.zeros(QUERIES, np.int64),
    }
    ids = np.tile(np.arange(K, dtype=np.int32), (QUERIES, 1))
    return PointResult(queries, ids, ids.astype(np.float32), None, {"driver": "sim", "pid": os.getpid()})


def _first_time(what):
    """Whether this has not happened yet; leaves the number of the process where it happens."""
    marker = Path(f"{os.environ['FAKE_ENGINE_LOG']}.{what}")
    if marker.exists():
        return False
    marker.write_text(str(os.getpid()), encoding="utf-8")
    return True


def prepare(config, *, data_dir, artifacts, disk_index=None):
    """Leave a line for each call in the file that the environment names, and nothing but a name as an index."""
    if disk_index:
        Path(f"{disk_index}_disk.index").touch()
    with Path(os.environ["FAKE_ENGINE_LOG"]).open("a", encoding="utf-8") as log:
        print(config.dataset.name, config.index.R, file=log)
    if config.index.R == 13:
        raise DataError("no vectors for R=13")
    return {"index": {"R": config.index.R, "cpu_s": 0.5}}
