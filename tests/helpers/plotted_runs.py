"""Made-up runs with known numbers, for figures to draw."""

import hashlib
import json

import numpy as np
from matplotlib import rc_context

from riftsim.plotting import style
from riftsim.results.recorder import PointResult, write_run

QUERIES = 400
MS = 1_000_000_000


def record(
    root,
    *,
    latency_us=100.0,
    recall=0.95,
    reads=40,
    facts=None,
    windows=None,
    L=20,
    seed=0,
    cluster=None,
    concurrency=22,
    wait_us=10.0,
    counts=None,
    **system,
):
    """A made-up run, of RiftANN by default, with one latency, one recall and one of each count for all queries."""
    config = {
        "name": "fake",
        "seed": seed,
        "search": {"k": 10, "L": L},
        "system": {"kind": "riftann", **system},
        "cluster": {"compute_nodes": 1, "memory_nodes": 1, "threads": 32, **(cluster or {})},
        "load": {"kind": "closed", "concurrency": concurrency},
    }
    digest = hashlib.sha256(json.dumps(config).encode()).hexdigest()
    arrival = np.arange(QUERIES) * (30 * MS // QUERIES) + 7 * MS
    latency = np.broadcast_to(latency_us, QUERIES) * 1e6
    columns = {
        "query": np.arange(QUERIES),
        "arrival_ps": arrival,
        "end_ps": arrival + latency.astype(np.int64),
        "recall": np.full(QUERIES, recall),
        "reads_record": np.full(QUERIES, reads // 2),
        "reads_vector": np.full(QUERIES, reads - reads // 2),
        "expansions": np.full(QUERIES, 30),
        "hidden_updates": np.full(QUERIES, 15),
        "reads_adjacency": np.zeros(QUERIES, np.int64),
        "chains": np.full(QUERIES, 20),
        "wait_ps": np.full(QUERIES, int(wait_us * 1e6)),
        "evaluation_ps": np.full(QUERIES, 60_000_000),
        "gate_ps": np.full(QUERIES, 4_000_000),
        "drain_ps": np.full(QUERIES, 1_000_000),
    }
    columns |= {name: np.full(QUERIES, value) for name, value in (counts or {}).items()}
    shape = (QUERIES, 10)
    facts = {"driver": "sim", "qps": 22e6 / float(np.mean(latency_us)), **(facts or {})}
    result = PointResult(columns, np.zeros(shape, np.int32), np.zeros(shape, np.float32), windows, facts)
    return write_run(root, "fake", digest[:12], config, digest, result, {})


def rendered(drawing):
    with rc_context(style.RC):
        figure = drawing.render()
        figure.draw_without_rendering()
    return figure
