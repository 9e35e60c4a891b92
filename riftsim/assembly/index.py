"""The index of a configuration: graph and codes, built, found in the cache, or read from another tool's file."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from riftsim.artifacts import ArtifactStore
from riftsim.config.schema import CodesFileConfig, ExperimentConfig, IndexFileConfig, PQConfig
from riftsim.errors import ConfigError, DataError
from riftsim.index.diskann_disk_io import read_disk_index
from riftsim.index.diskann_io import read_memory_index
from riftsim.index.graph import Graph, degree_report, repair, unreachable
from riftsim.index.hnsw_io import read_faiss_hnsw, read_hnswlib
from riftsim.index.imported import ImportedIndex
from riftsim.index.store import stored_vamana
from riftsim.quantize.codec import METRIC_CODES, Codec
from riftsim.quantize.diskann_pq import read_codec, read_codes
from riftsim.quantize.store import codes_for
from riftsim.workload.datasets import Dataset, load_dataset

_NORMALISED_TOLERANCE = 1e-5


@dataclass(frozen=True)
class SearchIndex:
    """Graph and codes of a data set, in the index's own row order.

    Attributes
    ----------
    graph : Graph
    vectors : ndarray (rows, d)
    ids : ndarray (rows,) or None
        Row of the data set for each row of the index; None where they are the same.
    hidden : uint8 (rows,) or (0,)
        Rows that route but are not results.
    codec : Codec
    codes : uint8 (rows, code_bytes)
    fingerprint : str
        SHA-256 of vectors and graph.
    facts : dict
    """

    graph: Graph
    vectors: np.ndarray
    ids: np.ndarray | None
    hidden: np.ndarray
    codec: Codec
    codes: np.ndarray
    fingerprint: str
    facts: dict

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """Rows of the index for rows of the data set (integers of any shape); the data set's own where they are the
        same."""
        if self.ids is None:
            return ids
        rows = np.full(int(max(self.ids.max(), ids.max())) + 1, -1, np.int64)
        shown = np.ones(len(self.ids), bool) if not len(self.hidden) else self.hidden == 0
        rows[self.ids[shown]] = np.flatnonzero(shown)
        return rows[ids]


def load_configured_dataset(config: ExperimentConfig, data_dir: str | Path | None, store: ArtifactStore) -> Dataset:
    """Load the data set of a configuration, its ground truth at least k deep."""
    asked = config.dataset
    return load_dataset(asked.name, asked.n, asked.queries, asked.split_seed, data_dir, store, depth=config.search.k)


def dataset_facts(dataset: Dataset) -> dict:
    """What a run records of its data set."""
    return {
        "name": dataset.name,
        "n": dataset.n,
        "dimension": dataset.dimension,
        "dtype": str(dataset.base.dtype),
        "metric": dataset.metric,
        "queries": len(dataset.queries),
        "calibration_queries": len(dataset.calibration),
        "fingerprint": dataset.fingerprint,
    }


def load_search_index(config: ExperimentConfig, dataset: Dataset, store: ArtifactStore) -> SearchIndex:
    """Build, find or read graph and codes."""
    metric = METRIC_CODES[dataset.metric]
    asked = config.index
    ids, hidden, vectors, fingerprint = None, np.zeros(0, np.uint8), dataset.base, dataset.fingerprint
    if isinstance(asked, IndexFileConfig):
        imported = _import(asked, dataset)
        graph, vectors = imported.graph, _imported_vectors(imported, dataset)
        ids = imported.ids.astype(np.int32)
        if imported.routing_only.any():
            hidden = imported.routing_only.astype(np.uint8)
        fingerprint = _rows_fingerprint(imported, dataset)
        index_facts = {"source": imported.source, "degrees": degree_report(graph).facts()}
    else:
        stored = stored_vamana(
            dataset.base,
            metric,
            fingerprint=dataset.fingerprint,
            R=asked.R,
            L=asked.L,
            alpha=asked.alpha,
            slack=asked.slack,
            seed=config.seed if asked.seed is None else asked.seed,
            store=store,
        )
        graph, index_facts = stored.graph, dict(stored.facts)
        lost = len(unreachable(graph))
        if lost:
            graph, _ = repair(graph, dataset.base, metric)
        index_facts["repaired_nodes"] = lost
    index_facts["fingerprint"] = _fingerprint(graph)
    codec, codes = _codes(config, dataset, fingerprint, vectors, store)
    both = hashlib.sha256(f"{fingerprint}/{index_facts['fingerprint']}".encode()).hexdigest()
    return SearchIndex(graph, vectors, ids, hidden, codec, codes, both, {"index": index_facts, "codes": codec.facts})


def _fingerprint(graph: Graph) -> str:
    """SHA-256 of what a search sees of a graph."""
    digest = hashlib.sha256(str(graph.start).encode())
    for array in (graph.degrees, graph.neighbors):
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()


def _rows_fingerprint(imported: ImportedIndex, dataset: Dataset) -> str:
    """SHA-256 of the vectors behind an imported index's rows: which row of the data set each is, or its own vector."""
    digest = hashlib.sha256(dataset.fingerprint.encode())
    digest.update(np.where(imported.routing_only, -1, imported.ids).astype("<i8"))
    if imported.routing_only.any():
        digest.update(np.ascontiguousarray(imported.vectors[imported.routing_only]))
    return digest.hexdigest()


def _codes(
    config: ExperimentConfig, dataset: Dataset, fingerprint: str, vectors: np.ndarray, store: ArtifactStore
) -> tuple[Codec, np.ndarray]:
    """Train, find or read the compact codes."""
    asked = config.codes
    if not isinstance(asked, CodesFileConfig):
        settings = msgspec.to_builtins(asked)
        if isinstance(asked, PQConfig) and asked.seed is None:
            settings["seed"] = config.seed
        return codes_for(fingerprint, vectors, dataset.metric, settings, store)
    codec = read_codec(asked.pivots, dataset.metric)
    if codec.dimension != dataset.dimension:
        raise DataError(
            f"{asked.pivots}: found a quantiser of dimension {codec.dimension}, expected {dataset.dimension} as in "
            f"'{dataset.name}'"
        )
    if asked.codes is not None:
        return codec, read_codes(asked.codes, codec, len(vectors))
    return codec, codec.encode(vectors)


def _import(asked: IndexFileConfig, dataset: Dataset) -> ImportedIndex:
    dtype = dataset.base.dtype
    if asked.format == "diskann_disk":
        disk = read_disk_index(asked.path, dtype)
        if disk.entry_rows is not None and len(disk.entry_rows) > 1:
            raise ConfigError(
                f"index.path: {asked.path} is a sharded build with {len(disk.entry_rows)} entry points; expected one"
            )
        imported = disk.index
    elif asked.format == "diskann":
        imported = read_memory_index(asked.path, dtype, dataset.metric)
    elif asked.format == "hnswlib":
        imported = read_hnswlib(asked.path, dtype, dataset.metric)
    else:
        imported = read_faiss_hnsw(asked.path)
    if imported.metric is not None and imported.metric != dataset.metric:
        raise ConfigError(
            f"index.path: {asked.path} is of metric '{imported.metric}', the data set '{dataset.name}' of "
            f"'{dataset.metric}'"
        )
    shown = imported.ids[~imported.routing_only]
    if len(shown) and (shown.min() < 0 or shown.max() >= dataset.n):
        raise DataError(
            f"{asked.path}: found external ids {shown.min()} to {shown.max()}, expected rows of the data set "
            f"'{dataset.name}', 0 to {dataset.n - 1}"
        )
    return imported


def _imported_vectors(imported: ImportedIndex, dataset: Dataset) -> np.ndarray:
    """The vectors of an imported index: those of the data set, which must be the same, and the routing-only ones."""
    shown = ~imported.routing_only
    vectors = imported.vectors
    if vectors is None:
        if imported.routing_only.any():
            raise DataError(f"{imported.source}: found routing-only rows, but no vectors for them")
        return np.ascontiguousarray(dataset.base[imported.ids])
    if vectors.dtype != dataset.base.dtype or vectors.shape[1] != dataset.dimension:
        raise DataError(
            f"{imported.source}: found {vectors.dtype} vectors of dimension {vectors.shape[1]}, expected "
            f"{dataset.base.dtype} of {dataset.dimension} as in '{dataset.name}'"
        )
    rows = np.flatnonzero(shown)
    # Tools normalise for cosine themselves, and round differently.
    tolerance = _NORMALISED_TOLERANCE if dataset.metric == "cosine" else 0
    off = np.abs(vectors[rows].astype(np.float64) - dataset.base[imported.ids[rows]])
    differing = ~(off <= tolerance).all(axis=1)
    if differing.any():
        row = int(rows[np.argmax(differing)])
        raise DataError(
            f"{imported.source}: row {row} (id {imported.ids[row]}) is not the vector that '{dataset.name}' has there: "
            "the index is of other vectors"
        )
    return vectors
