"""d-HNSW (arXiv 2505.11783, 2603.13591): whole partitions of an HNSW index are read, deserialised and searched.

Balanced partitions, an HNSW each, lie at passive memory nodes; a representative index at the compute node routes every
query to a few of them. A batch of queries reads each partition it needs once; deserialised partitions stay in a cache.
"""

from functools import partial

import numpy as np

from riftsim.computenode.batches import Batched, BatchNode, BatchSettings
from riftsim.errors import BudgetError, ConfigError
from riftsim.search.partitioned import PartitionSearch, RoutedSearch
from riftsim.systems.context import System, SystemContext
from riftsim.units import format_bytes


def build(
    context: SystemContext,
    *,
    partitions: int,
    routed: int,
    M: int,
    ef_construction: int,
    seed: int,
    batch: int,
    doorbell: int,
    buffers: int,
    deserialize_ps_per_byte: int,
    memory_bytes_per_vector: float | None = None,
) -> System:
    """Build the system; the parameters are the keys of ``DHnswConfig`` in ``config.systems``.

    Raises
    ------
    ConfigError
        More partitions are asked for than there are.
    BudgetError
        The memory budget, or what of it the system may fill, does not hold one deserialised partition beside the
        landing buffers.
    """
    if routed > partitions:
        raise ConfigError(f"system.routed: found {routed}, expected at most system.partitions = {partitions}")
    if partitions > len(context.vectors):
        raise ConfigError(f"system.partitions: found {partitions}, expected at most one per vector")
    index = context.partitions(partitions=partitions, M=M, ef_construction=ef_construction, seed=seed)
    search = PartitionSearch(
        index,
        np.ascontiguousarray(context.queries, np.float32),
        routed,
        context.list_size,
        context.k,
        len(context.remote.region_bases),
    )
    largest = int(index.blob_bytes.max())
    fixed = {"representative index": len(index.representative), "landing buffers": buffers * largest}
    allowed, key = context.memory_budget_bytes, "cluster.memory_budget_gb"
    if memory_bytes_per_vector is not None and memory_bytes_per_vector * len(context.vectors) < allowed:
        allowed, key = int(memory_bytes_per_vector * len(context.vectors)), "system.memory_bytes_per_vector"
    left = allowed - sum(fixed.values())
    cached = min(partitions, left // largest)
    if cached < 1:
        raise BudgetError(
            f"{key}: found {memory_bytes_per_vector if 'system' in key else allowed / 1e9:g}, which does not hold one "
            f"partition of {format_bytes(largest)} beside {format_bytes(sum(fixed.values()))} for landing buffers and "
            "the representative index; expected a larger budget, more partitions or fewer buffers"
        )
    settings = BatchSettings(
        batch=batch,
        doorbell=doorbell,
        buffers=buffers,
        cached=cached,
        deserialize_ps_per_byte=deserialize_ps_per_byte,
    )
    return System(
        "d_hnsw",
        lambda: RoutedSearch(search),
        uses_codes=False,
        memory_items={**fixed, "cached partitions": cached * largest},
        cluster_changes={"make_node": partial(BatchNode, settings=settings)},
        facts={
            "partitions": partitions,
            "cached_partitions": cached,
            "partition_bytes": {"mean": float(index.blob_bytes.mean()), "max": largest},
            "memory_node_bytes": len(index.blobs),
        },
        batched=Batched(search, settings),
    )
