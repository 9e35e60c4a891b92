"""What the pieces of a search take on this machine, for the CPU section of a hardware profile.

Every function returns the nanoseconds of one operation over several runs. Random rows come from arrays far larger than
the caches where ``array_mib`` is large, as the codes of 100 million vectors are.
"""

import time
from collections.abc import Callable

import numpy as np

from riftsim.computenode.worker_threads import WorkerThreads
from riftsim.constants import SHORT_CODE_BYTES
from riftsim.kernels import probes
from riftsim.kernels.codes import CODE_FULL, CODE_PQ, CODE_SQ8, fill_table
from riftsim.kernels.handles import index_handle, state_handle
from riftsim.kernels.placement import PLACED_CONTIGUOUSLY
from riftsim.kernels.traversal import RemoteIndex
from riftsim.rng import stream
from riftsim.search.messages import EvaluationTask
from riftsim.search.state import new_state

RUNS = 15
DIMENSION = 128


def samples_ns(call: Callable[[], object], operations: int) -> np.ndarray:
    """CPU time of one operation in each of several calls, ns; float64 (RUNS,)."""
    call()
    times = []
    for _ in range(RUNS):
        begin = time.process_time_ns()
        call()
        times.append(time.process_time_ns() - begin)
    return np.array(times) / operations


def clock_ghz() -> np.ndarray:
    """Clock of the core, from a chain of dependent steps of 4 cycles."""
    count = 20_000_000
    return 4.0 / samples_ns(lambda: probes.multiply_chain(count, 1), count)


def compact_ns(kind: int, code_bytes: int, array_mib: int) -> np.ndarray:
    """One compact distance at a random place; scalar codes and uint8 vectors have a dimension per byte."""
    generator = stream(0, "cpu costs")
    n = (array_mib << 20) // code_bytes
    codes = generator.integers(0, 256, n * code_bytes, dtype=np.uint8)
    table = generator.random(256 * code_bytes, dtype=np.float32)
    ids = generator.integers(0, n, 200_000).astype(np.int32)
    dimension = DIMENSION if kind == CODE_PQ else code_bytes
    query = np.zeros(dimension, np.uint8)
    return samples_ns(
        lambda: probes.compact_distances(kind, 0, table, query, codes, code_bytes, dimension, ids), len(ids)
    )


def exact_ns(row_bytes: int, array_mib: int) -> np.ndarray:
    """One exact distance of uint8 vectors at random places of an array."""
    generator = stream(1, "cpu costs")
    n = max(1, (array_mib << 20) // row_bytes)
    rows = generator.integers(0, 256, n * row_bytes, dtype=np.uint8)
    ids = generator.integers(0, n, 200_000).astype(np.int32)
    query = rows[:row_bytes].copy()
    return samples_ns(lambda: probes.exact_distances(0, query, rows, row_bytes, row_bytes, ids), len(ids))


def insertion_ns(list_size: int) -> np.ndarray:
    """One insertion into a full candidate list."""
    generator = stream(2, "cpu costs")
    # Falling distances: every candidate enters, at a random place of the nearer half of what is there.
    distances = np.linspace(2.0, 1.0, 50_000, dtype=np.float32) * (
        0.75 + 0.5 * generator.random(50_000, dtype=np.float32)
    )
    keys = np.zeros(list_size, np.uint64)
    entered = probes.insertions(keys, distances)
    all_ns = samples_ns(lambda: probes.insertions(keys, distances), 1)
    # One number is taken off all samples: the difference of two samples would be mostly noise.
    return (all_ns - (len(distances) - entered) * refusal_ns(list_size).min()) / entered


def refusal_ns(list_size: int) -> np.ndarray:
    """One candidate that a full list refuses: what merging costs beside insertions."""
    keys = np.zeros(list_size, np.uint64)
    refused = np.full(50_000, 9.0, np.float32)
    refused[:list_size] = 1.0
    return samples_ns(lambda: probes.insertions(keys, refused), len(refused))


def lookup_ns() -> np.ndarray:
    """One id looked up in a table of 16,384 places that is up to half full."""
    ids = stream(3, "cpu costs").integers(0, 8192, 60_000).astype(np.int32) * 7919
    table = np.full(16_384, -1, np.int32)

    def call():
        table[:] = -1
        probes.lookups(table, ids)

    return samples_ns(call, len(ids))


def table_entry_ns(chunks: int) -> np.ndarray:
    """One entry of a product quantiser's distance table."""
    generator = stream(4, "cpu costs")
    starts = np.linspace(0, DIMENSION, chunks + 1).astype(np.int32)
    parameters = generator.random(DIMENSION * 257, dtype=np.float32)
    table = np.zeros(chunks * 256, np.float32)
    query = np.zeros(DIMENSION, np.uint8)
    return samples_ns(lambda: fill_table(CODE_PQ, 0, query, DIMENSION, starts, parameters, table), len(table))


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


def query_and_list_ns() -> tuple[np.ndarray, np.ndarray]:
    """Setting up a query with ``PLACES`` places for seen nodes, and taking an adjacency list apart.

    The records fill a few MiB: the NIC writes what it reads into the last-level cache, not into the core's own. Looking
    the neighbours up is priced apart.
    """
    index = records(16_384)
    state = new_state(list_size=100, k=10, window=8, degree=DEGREE, table_entries=20 * 256, rules={})
    state = state._replace(node_ids=np.full(PLACES, -1, np.int32), node_status=np.zeros(PLACES, np.uint8))
    words, at = state_handle(state), index_handle(index)
    query = np.zeros(128, np.uint8)
    setup_ns = samples_ns(lambda: probes.begin_queries(words, at, query, 2000), 2000)
    nodes = stream(6, "cpu costs").integers(0, 16_384, 400 * SEARCH)
    stops = np.arange(1, 401) * SEARCH
    whole_ns = samples_ns(lambda: probes.replay_lists(words, at, nodes, stops), len(nodes))
    return setup_ns, whole_ns - setup_ns.min() / SEARCH - DEGREE * lookup_ns().min()


def handover_ns(samples: int = 300) -> np.ndarray:
    """A task without anything to evaluate on its way to a worker thread and back; wall time, float64 (samples,).

    Through the worker threads of live runs, so what Python does for a task is part of it.
    """
    index = records(64)
    state = new_state(list_size=8, k=1, window=1, degree=DEGREE, table_entries=20 * 256, rules={})
    queries = np.zeros((1, DIMENSION), np.uint8)
    pool = WorkerThreads(index_handle(index), queries, slots=1, workers=1)
    task, out, times = (EvaluationTask(0, 0),), np.zeros((4, 2), np.int64), []
    try:
        pool.open_slot(0, owner=0, state=state_handle(state), query=0, allowance=1)
        for _ in range(samples):
            begin = time.perf_counter_ns()
            pool.submit(0, task)
            while not pool.collect(0, out):
                pass
            times.append(time.perf_counter_ns() - begin)
    finally:
        pool.close()
    return np.array(times, dtype=float)


def cpu_figures(array_mib: int) -> dict[str, np.ndarray]:
    """Measure everything.

    Parameters
    ----------
    array_mib : int
        Size of the arrays whose rows are looked up at random.

    Returns
    -------
    dict of str to ndarray
        Nanoseconds per operation (GHz for the clock), float64 (RUNS,). ``_cached``: in an array of 1 MiB.
    """
    figures = {
        "clock_ghz": clock_ghz(),
        "compact_pq20_ns": compact_ns(CODE_PQ, 20, array_mib),
        "compact_pq20_cached_ns": compact_ns(CODE_PQ, 20, 1),
        "compact_pq64_ns": compact_ns(CODE_PQ, 64, array_mib),
        "compact_pq64_cached_ns": compact_ns(CODE_PQ, 64, 1),
        "compact_sq8_128_ns": compact_ns(CODE_SQ8, 128, array_mib),
        "compact_sq8_128_cached_ns": compact_ns(CODE_SQ8, 128, 1),
        "compact_sq8_512_ns": compact_ns(CODE_SQ8, 512, array_mib),
        "compact_sq8_512_cached_ns": compact_ns(CODE_SQ8, 512, 1),
        "compact_full_128_ns": compact_ns(CODE_FULL, 128, array_mib),
        "compact_full_128_cached_ns": compact_ns(CODE_FULL, 128, 1),
        "compact_full_512_ns": compact_ns(CODE_FULL, 512, array_mib),
        "compact_full_512_cached_ns": compact_ns(CODE_FULL, 512, 1),
        "exact_128_cached_ns": exact_ns(128, 1),
        "exact_512_cached_ns": exact_ns(512, 1),
        "exact_128_random_ns": exact_ns(128, array_mib),
        "exact_512_random_ns": exact_ns(512, array_mib),
        "insertion_l100_ns": insertion_ns(100),
        "insertion_l400_ns": insertion_ns(400),
        "refusal_ns": refusal_ns(100),
        "lookup_ns": lookup_ns(),
        "table_entry_ns": table_entry_ns(20),
    }
    figures["query_setup_ns"], figures["list_ns"] = query_and_list_ns()
    return figures


def cpu_constants(figures: dict[str, float]) -> dict[str, tuple[float, str]]:
    """The constants of a profile that follow from one value of each figure.

    Returns
    -------
    dict of str to (float, str)
        Value in ns by key of the CPU section, never negative, and the figures that it comes from.
    """
    per_byte = max(0.0, (figures["exact_512_cached_ns"] - figures["exact_128_cached_ns"]) / 384)
    exact = figures["exact_128_cached_ns"]
    exact_of = "128 and 512 uint8 in cache"
    found = {
        **_code_prices(figures, "compact", "product codes", "pq", SHORT_CODE_BYTES["pq"], 64),
        **_code_prices(figures, "sq8", "scalar codes", "sq8_", SHORT_CODE_BYTES["sq8"], 512),
        **_code_prices(figures, "full", "uint8 vectors as codes", "full_", SHORT_CODE_BYTES["full"], 512),
        "exact_distance_base_ns": (exact - 128 * per_byte, f"{exact_of}, extrapolated to 0"),
        "exact_distance_per_byte_ns": (per_byte, exact_of),
        "local_record_miss_ns": (figures["exact_128_random_ns"] - exact, "128 bytes at random places, less in cache"),
        "insertion_ns": (figures["insertion_l100_ns"], "into a full list of 100"),
        "offer_ns": (figures["refusal_ns"], "a candidate that a full list refuses"),
        "neighbor_ns": (figures["lookup_ns"], "one id in a table of 16,384 places"),
        "table_entry_ns": (figures["table_entry_ns"], "5,120 entries, 20 chunks of 128 dimensions"),
        "query_setup_ns": (figures["query_setup_ns"], "a state with 16,384 places for seen nodes"),
        "list_ns": (figures["list_ns"], "taking an adjacency list apart, its look-ups priced apart"),
    }
    return {key: (max(0.0, value), source) for key, (value, source) in found.items()}


def _code_prices(
    figures: dict[str, float], key: str, name: str, figure: str, short: int, long: int
) -> dict[str, tuple[float, str]]:
    """Prices of one kind of codes from those of two lengths in bytes, in cache and at random places."""
    cached, missed = (
        [figures[f"compact_{figure}{size}{where}_ns"] for size in (short, long)] for where in ("_cached", "")
    )
    missed = [all_ns - cached_ns for all_ns, cached_ns in zip(missed, cached, strict=True)]
    per_byte, more_missed = (max(0.0, (pair[1] - pair[0]) / (long - short)) for pair in (cached, missed))
    both = f"{name} of {short} and {long} bytes"
    return {
        f"{key}_distance_base_ns": (cached[0] - short * per_byte, f"{both} in cache, extrapolated to 0"),
        f"{key}_distance_per_byte_ns": (per_byte, f"{both} in cache"),
        f"{key}_miss_ns": (missed[0], f"{name} of {short} bytes at random places, less in cache"),
        f"{key}_miss_per_byte_ns": (more_missed, f"{both} at random places, less in cache"),
    }
