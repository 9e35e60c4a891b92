"""The record cache of a configuration."""

from dataclasses import replace

import numpy as np

from riftsim.assembly.index import SearchIndex
from riftsim.config.blocks import PluginConfig
from riftsim.config.schema import ExperimentConfig
from riftsim.errors import ConfigError
from riftsim.memnode.region import Region
from riftsim.search.cached import CachedSearch
from riftsim.search.eager import EagerSearch
from riftsim.search.rounds import RoundSearch
from riftsim.storage.record_cache import RecordCache, cache_order, fill_cache, hops_from, visits
from riftsim.systems.context import System, SystemContext
from riftsim.workload.datasets import Dataset


def with_record_cache(
    config: ExperimentConfig,
    dataset: Dataset,
    index: SearchIndex,
    context: SystemContext,
    region: Region,
    system: System,
) -> System:
    """Let a system read cached records from local memory, if the configuration has a cache."""
    asked = config.cluster.record_cache
    if asked.kind == "none":
        return system
    reads_records = system.with_cache or isinstance(system.new_program(), RoundSearch | EagerSearch)
    if not reads_records or isinstance(config.system, PluginConfig):
        raise ConfigError(
            f"cluster.record_cache.kind: found '{asked.kind}', but system '{system.name}' does not read records as the "
            "built-in remote systems do; expected 'none'"
        )
    cache = _filled(config, dataset, index, context, region)
    facts = {"kind": asked.kind, "records": cache.records, "share": cache.records / len(index.vectors)}
    inner = system.new_program
    cached_program = (
        system.with_cache(cache.cached) if system.with_cache else lambda: CachedSearch(inner(), cache.cached)
    )
    return replace(
        system,
        new_program=cached_program,
        memory_items={**system.memory_items, **cache.items},
        facts={**system.facts, "record_cache": facts},
    )


def _filled(
    config: ExperimentConfig, dataset: Dataset, index: SearchIndex, context: SystemContext, region: Region
) -> RecordCache:
    asked = config.cluster.record_cache
    left = round(asked.code_and_record_gb * 1e9) - index.codes.nbytes
    if left < 0:
        raise ConfigError(
            f"cluster.record_cache.code_and_record_gb: found {asked.code_and_record_gb:g}, but the compact codes alone "
            f"take {index.codes.nbytes / 1e9:g}"
        )
    hops = hops_from(index.graph.start, index.graph.neighbors, index.graph.degrees)
    counts = None
    if asked.kind == "visits":
        if not len(dataset.calibration):
            raise ConfigError(
                f"cluster.record_cache.kind: '{dataset.name}' has no calibration queries; expected 'hops'"
            )
        queries = np.array(dataset.calibration, order="C")
        search = context.new_search(RoundSearch, queries=queries, beam_width=1)
        counts = visits(search, len(queries), len(index.vectors))
    return fill_cache(cache_order(hops, counts), region.layout.record_bytes, left)
