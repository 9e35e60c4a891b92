"""Memory of simulating RiftANN on ten million vectors, with vectors and records mapped from disk.

    python benchmarks/large.py --folder DIR [--json FILE]

Vectors are generated; codes, records and simulation are as ever. What is asked is whether it fits, so by default the
lists of neighbours are drawn at random, which takes seconds and the same memory; ``--graph vamana`` builds them, which
takes the better part of an hour on one core. Needs 4 GB of disk in the folder for the time of the run.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np
from _bench import save, show
from _world import world_of

from riftsim.artifacts import ArtifactStore
from riftsim.assembly.index import SearchIndex
from riftsim.computenode.drivers.compiled import run_compiled
from riftsim.config.schema import ExperimentConfig
from riftsim.index.graph import Graph
from riftsim.index.vamana import build_vamana
from riftsim.memnode.region import build_region
from riftsim.memnode.shards import placement_for
from riftsim.quantize.pq import ProductCodec
from riftsim.rng import stream
from riftsim.workload.datasets import Dataset
from riftsim.workload.groundtruth import GroundTruth
from riftsim.workload.spec import SyntheticSpec
from riftsim.workload.synthetic import synthetic_array, synthetic_blocks

GOAL_GIB = 24e9 / 2**30
QUERIES, K = 200, 10
SPEC = SyntheticSpec(intrinsic_dimension=16, clusters=100)


def peak_gib():
    """Largest resident set of this process so far, mapped pages included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def private_gib():
    """What of the resident set is this process's own and not pages of a file."""
    status = Path("/proc/self/status").read_text().split("RssAnon:")[1]
    return int(status.split()[0]) / 2**20


def mapped_vectors(folder, rows, dimension):
    """Generate vectors into a nameless file and map it."""
    with tempfile.TemporaryFile(dir=folder) as file:
        vectors = np.memmap(file, np.uint8, "w+", shape=(rows, dimension))
        at = 0
        for block in synthetic_blocks(SPEC, dimension, "uint8", rows):
            vectors[at : at + len(block)] = block
            at += len(block)
    return vectors


def random_graph(rows, degree):
    """Make lists of neighbours drawn at random."""
    neighbors, draw = np.empty((rows, degree), np.int32), stream(0, "random graph")
    for first in range(0, rows, 1 << 18):
        part = neighbors[first : first + (1 << 18)]
        part[...] = draw.integers(rows, size=part.shape, dtype=np.int32)
    return Graph(neighbors, np.full(rows, degree, np.int32), 0)


def dataset_of(vectors):
    """Make a data set of vectors and generated queries, whose true neighbours are not known."""
    queries = synthetic_array(SPEC, vectors.shape[1], "uint8", QUERIES, "queries")
    unknown = GroundTruth(np.full((QUERIES, K), -1, np.int32), np.full((QUERIES, K), np.inf, np.float32), "l2")
    rows = np.arange(QUERIES)
    return Dataset(
        "generated", "l2", vectors, queries, queries[:0], unknown, unknown.take(rows[:0]), "", rows, rows[:0]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where vectors and records lie while it runs")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--dimension", type=int, default=128)
    parser.add_argument("--degree", type=int, default=32, help="R")
    parser.add_argument("--build-list", type=int, default=40, help="L of the graph, with --graph vamana")
    parser.add_argument("--graph", choices=("random", "vamana"), default="random")
    parser.add_argument("--concurrency", type=int, default=512)
    parser.add_argument("--queries", type=int, default=1000, help="measured queries")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="where to write every measurement")
    arguments = parser.parse_args()
    rows, degree, steps = arguments.rows, arguments.degree, []

    def done(what, began):
        steps.append({"step": what, "cpu_s": time.process_time() - began, "private_gib": private_gib(),
                      "peak_gib": peak_gib()})  # fmt: skip
        print(what, f"{steps[-1]['cpu_s']:.0f} CPU s", flush=True)
        return time.process_time()

    arguments.folder.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    vectors = mapped_vectors(arguments.folder, rows, arguments.dimension)
    began = done("vectors", began)
    if arguments.graph == "random":
        graph = random_graph(rows, degree)
    else:
        graph, _ = build_vamana(vectors, 0, R=degree, L=arguments.build_list, threads=arguments.threads)
    began = done("graph", began)
    codec = ProductCodec.train(vectors, "l2", 20)
    index = SearchIndex(graph, vectors, None, np.zeros(0, np.uint8), codec, codec.encode(vectors), "", {})
    began = done("codes", began)
    region = build_region(vectors, graph.neighbors, graph.degrees, placement_for("contiguous", rows, 1),
                          arguments.folder)  # fmt: skip
    began = done("records", began)
    config = msgspec.convert(
        {
            "name": "benchmark", "dataset": {"name": "generated"}, "search": {"k": K, "L": 390},
            "system": {"kind": "riftann", "window": 8, "verification": {"kind": "calibrated", "alpha": 1.15}},
        },
        ExperimentConfig,
    )  # fmt: skip
    per_thread = -(-arguments.concurrency // config.cluster.threads)
    simulated = world_of(config, dataset_of(vectors), index, region, ArtifactStore(), 1, per_thread)
    rate, _ = simulated.simulate(run_compiled, arguments.queries, arguments.concurrency)
    done("simulation", began)
    show(("", "CPU s", "private GiB", "peak GiB"), [list(step.values()) for step in steps])
    print(
        f"\n{rows:,} vectors, {region.layout.record_bytes}-byte records, {arguments.concurrency} queries in flight: "
        f"{rate:.0f} simulated queries per CPU s, peak {peak_gib():.1f} GiB of {GOAL_GIB:.1f}, pages of files included"
    )
    save(arguments, {"steps": steps, "qps": rate, "peak_gib": peak_gib(), "goal_gib": GOAL_GIB})


if __name__ == "__main__":
    main()
