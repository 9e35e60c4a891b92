"""What it takes to make a faiss HNSW index of a partition's serialised bytes: `deserialize_ps_per_byte` of d_hnsw.

python benchmarks/deserialization.py

Prints CPU time per byte for partitions of several sizes, in ps (the least of several runs: everything else on the
machine only adds), and the processor.
"""

import time

import faiss
import numpy as np

from riftsim.results.provenance import machine
from riftsim.rng import stream

SIZES = (1_000, 6_250, 25_000)
"""Vectors in a partition."""
DIMENSION = 128
NEIGHBORS = 48
REPETITIONS = 15


def serialised(vectors: int) -> np.ndarray:
    """An HNSW of random vectors, serialised: the time depends on sizes, not on what the vectors are."""
    index = faiss.IndexHNSWFlat(DIMENSION, NEIGHBORS)
    index.hnsw.efConstruction = 40
    index.add(stream(0, "deserialization").random((vectors, DIMENSION), np.float32))
    return faiss.serialize_index(index)


def main() -> None:
    """Measure and print."""
    print(machine())
    for vectors in SIZES:
        blob = serialised(vectors)
        times_ns = []
        for _ in range(REPETITIONS):
            began_ns = time.process_time_ns()
            faiss.deserialize_index(blob)
            times_ns.append(time.process_time_ns() - began_ns)
        per_byte_ps = min(times_ns) * 1000 / len(blob)
        print(f"{vectors:>7} vectors, {len(blob):>10} bytes: {per_byte_ps:6.0f} ps/byte")


if __name__ == "__main__":
    main()
