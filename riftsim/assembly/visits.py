"""Which nodes the queries of a configuration visit."""

from pathlib import Path

import numpy as np

from riftsim.artifacts import ArtifactStore
from riftsim.assembly.index import SearchIndex, load_configured_dataset, load_search_index
from riftsim.assembly.system import lay_out, search_context
from riftsim.config.schema import ExperimentConfig
from riftsim.search.rounds import RoundSearch
from riftsim.storage.record_cache import visited


def visited_nodes(
    config: ExperimentConfig, *, data_dir: str | Path | None = None, artifacts: ArtifactStore | None = None
) -> tuple[SearchIndex, list[np.ndarray]]:
    """Search for every evaluated query, one node at a time, by the configured codes and list.

    Parameters
    ----------
    config : ExperimentConfig
        Data set, index, codes and L count.
    data_dir, artifacts
        As for ``run_point``.

    Returns
    -------
    (SearchIndex, list of ndarray)
        The index, and the rows of it that each query expanded.
    """
    store = artifacts or ArtifactStore()
    dataset = load_configured_dataset(config, data_dir, store)
    index = load_search_index(config, dataset, store)
    context = search_context(config, dataset, index, lay_out(config, index, store), store)
    search = context.new_search(RoundSearch, beam_width=1)
    return index, list(visited(search, len(context.queries)))
