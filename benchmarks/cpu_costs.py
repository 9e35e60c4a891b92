"""What the pieces of a search take on this machine, for the CPU section of a hardware profile.

    python benchmarks/cpu_costs.py [--json FILE] [--codes-mib 512]

Prints nanoseconds per operation (the least of several runs: everything else on the machine only adds), the clock that
the core ran at, and the constants that follow for a profile. Random rows come from arrays far larger than the caches,
as the codes of 100 million vectors are.
"""

import argparse
import json
import time

import numpy as np

from riftsim.kernels import probes
from riftsim.kernels.codes import CODE_PQ, fill_table
from riftsim.kernels.handles import index_handle, state_handle
from riftsim.kernels.placement import PLACED_CONTIGUOUSLY
from riftsim.kernels.traversal import RemoteIndex
from riftsim.rng import stream
from riftsim.search.state import new_state

RUNS = 15
DIMENSION = 128


def least_ns(call, operations: int) -> float:
    """Least CPU time of one operation over several calls, ns."""
    call()
    times = []
    for _ in range(RUNS):
        begin = time.process_time_ns()
        call()
        times.append(time.process_time_ns() - begin)
    return min(times) / operations


def clock_ghz() -> float:
    """Clock of the core, from a chain of dependent steps of 4 cycles."""
    count = 20_000_000
    return 4.0 / least_ns(lambda: probes.multiply_chain(count, 1), count)


def compact_ns(code_bytes: int, array_mib: int) -> float:
    """One compact distance of a product code at a random place."""
    generator = stream(0, "cpu costs")
    n = (array_mib << 20) // code_bytes
    codes = generator.integers(0, 256, n * code_bytes, dtype=np.uint8)
    table = generator.random(code_bytes * 256, dtype=np.float32)
    ids = generator.integers(0, n, 200_000).astype(np.int32)
    query = np.zeros(DIMENSION, np.uint8)
    return least_ns(
        lambda: probes.compact_distances(CODE_PQ, 0, table, query, codes, code_bytes, DIMENSION, ids), len(ids)
    )


def exact_ns(row_bytes: int, array_mib: int) -> float:
    """One exact distance of uint8 vectors at random places of an array."""
    generator = stream(1, "cpu costs")
    n = max(1, (array_mib << 20) // row_bytes)
    rows = generator.integers(0, 256, n * row_bytes, dtype=np.uint8)
    ids = generator.integers(0, n, 200_000).astype(np.int32)
    query = rows[:row_bytes].copy()
    return least_ns(lambda: probes.exact_distances(0, query, rows, row_bytes, row_bytes, ids), len(ids))


def insertion_ns(list_size: int) -> float:
    """One insertion into a full candidate list."""
    generator = stream(2, "cpu costs")
    # Falling distances: every candidate enters, at a random place of the nearer half of what is there.
    distances = np.linspace(2.0, 1.0, 50_000, dtype=np.float32) * (
        0.75 + 0.5 * generator.random(50_000, dtype=np.float32)
    )
    keys = np.zeros(list_size, np.uint64)
    entered = probes.insertions(keys, distances)
    all_ns = least_ns(lambda: probes.insertions(keys, distances), 1)
    refused = np.full(50_000, 9.0, np.float32)
    refused[:list_size] = 1.0
    refused_ns = least_ns(lambda: probes.insertions(keys, refused), len(refused))
    return (all_ns - (len(distances) - entered) * refused_ns) / entered


def refusal_ns(list_size: int) -> float:
    """One candidate that a full list refuses: what merging costs beside insertions."""
    keys = np.zeros(list_size, np.uint64)
    refused = np.full(50_000, 9.0, np.float32)
    refused[:list_size] = 1.0
    return least_ns(lambda: probes.insertions(keys, refused), len(refused))


def lookup_ns() -> float:
    """One id looked up in a table of 16,384 places that is up to half full."""
    ids = stream(3, "cpu costs").integers(0, 8192, 60_000).astype(np.int32) * 7919
    table = np.full(16_384, -1, np.int32)

    def call():
        table[:] = -1
        probes.lookups(table, ids)

    return least_ns(call, len(ids))


def table_entry_ns(chunks: int) -> float:
    """One entry of a product quantiser's distance table."""
    generator = stream(4, "cpu costs")
    starts = np.linspace(0, DIMENSION, chunks + 1).astype(np.int32)
    parameters = generator.random(DIMENSION * 257, dtype=np.float32)
    table = np.zeros(chunks * 256, np.float32)
    query = np.zeros(DIMENSION, np.uint8)
    return least_ns(lambda: fill_table(CODE_PQ, 0, query, DIMENSION, starts, parameters, table), len(table))


DEGREE = 96
PLACES = 16_384
SEARCH = 40


def records(n: int) -> RemoteIndex:
    """Records of 128 random bytes and ``DEGREE`` random neighbours each, with codes of 20 bytes."""
    generator = stream(5, "cpu costs")
    rows = np.zeros((n, 128 + 4 + 4 * DEGREE), np.uint8)
    rows[:, :128] = generator.integers(0, 256, (n, 128), dtype=np.uint8)
    lists = rows[:, 128:].view("<i4")
    lists[:, 0] = DEGREE
    lists[:, 1:] = generator.integers(0, n, (n, DEGREE))
    return RemoteIndex(
        codes=generator.integers(0, 256, n * 20, dtype=np.uint8),
        code_kind=CODE_PQ,
        code_bytes=20,
        metric=0,
        dimension=128,
        vector_bytes=128,
        degree=DEGREE,
        region=rows.reshape(-1),
        region_bases=np.zeros(1, np.int64),
        placement=np.array([PLACED_CONTIGUOUSLY, 0, 0, n, n, 1, 0, n], np.int64),
        positions=np.zeros(0, np.int32),
        hidden=np.zeros(0, np.uint8),
        start=0,
    )


def query_and_list_ns() -> tuple[float, float]:
    """Setting up a query with ``PLACES`` places for seen nodes, and taking an adjacency list apart.

    The records fill a few MiB: the NIC writes what it reads into the last-level cache, not into the core's own. Looking
    the neighbours up is priced apart.
    """
    index = records(16_384)
    # L such that the table of seen nodes has PLACES places.
    state = new_state(list_size=PLACES // DEGREE, k=10, window=8, degree=DEGREE, table_entries=20 * 256, rules={})
    assert len(state.node_ids) == PLACES
    words, at = state_handle(state), index_handle(index)
    query = np.zeros(128, np.uint8)
    setup_ns = least_ns(lambda: probes.begin_queries(words, at, query, 2000), 2000)
    nodes = stream(6, "cpu costs").integers(0, 16_384, 400 * SEARCH)
    stops = np.arange(1, 401) * SEARCH
    whole_ns = least_ns(lambda: probes.replay_lists(words, at, nodes, stops), len(nodes))
    return setup_ns, whole_ns - setup_ns / SEARCH - DEGREE * lookup_ns()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", help="write the figures to this file too")
    parser.add_argument("--codes-mib", type=int, default=512, help="size of the arrays of random rows (default 512)")
    options = parser.parse_args()
    large, small = options.codes_mib, 1
    figures = {
        "clock_ghz": clock_ghz(),
        "compact_pq20_ns": compact_ns(20, large),
        "compact_pq20_cached_ns": compact_ns(20, small),
        "compact_pq64_ns": compact_ns(64, large),
        "compact_pq64_cached_ns": compact_ns(64, small),
        "exact_128_cached_ns": exact_ns(128, small),
        "exact_512_cached_ns": exact_ns(512, small),
        "exact_128_random_ns": exact_ns(128, large),
        "exact_512_random_ns": exact_ns(512, large),
        "insertion_l100_ns": insertion_ns(100),
        "insertion_l400_ns": insertion_ns(400),
        "refusal_ns": refusal_ns(100),
        "lookup_ns": lookup_ns(),
        "table_entry_ns": table_entry_ns(20),
    }
    figures["query_setup_ns"], figures["list_ns"] = query_and_list_ns()
    per_byte = (figures["exact_512_cached_ns"] - figures["exact_128_cached_ns"]) / 384
    compact_per_byte = (figures["compact_pq64_cached_ns"] - figures["compact_pq20_cached_ns"]) / 44
    figures["profile"] = {
        "compact_distance_base_ns": figures["compact_pq20_cached_ns"] - 20 * compact_per_byte,
        "compact_miss_ns": figures["compact_pq20_ns"] - figures["compact_pq20_cached_ns"],
        "compact_distance_per_byte_ns": compact_per_byte,
        "exact_distance_base_ns": figures["exact_128_cached_ns"] - 128 * per_byte,
        "exact_distance_per_byte_ns": per_byte,
        "local_record_miss_ns": figures["exact_128_random_ns"] - figures["exact_128_cached_ns"],
        "insertion_ns": figures["insertion_l100_ns"],
        "offer_ns": figures["refusal_ns"],
        "neighbor_ns": figures["lookup_ns"],
        "table_entry_ns": figures["table_entry_ns"],
        "query_setup_ns": figures["query_setup_ns"],
        "list_ns": figures["list_ns"],
    }
    for name, value in figures.items():
        for key, inner in value.items() if isinstance(value, dict) else [(name, value)]:
            print(f"{key:32s} {inner:9.3f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
