"""Vamana graphs found again by the hash of what they were built from."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from riftsim.artifacts import Artifact, ArtifactStore
from riftsim.index.graph import Graph, degree_report, validate
from riftsim.index.vamana import ALGORITHM, build_vamana


@dataclass(frozen=True)
class StoredGraph:
    """A graph and how it came to be.

    Attributes
    ----------
    graph : Graph
    facts : dict
        ``build`` (``BuildReport``), ``degrees`` (``DegreeReport``), ``start``, and ``cached``: whether it was there.
    """

    graph: Graph
    facts: dict


def stored_vamana(
    vectors: np.ndarray,
    metric: int,
    *,
    fingerprint: str,
    R: int,
    L: int,
    alpha: float = 1.2,
    slack: float = 1.3,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    store: ArtifactStore | None = None,
) -> StoredGraph:
    """Load the graph of these vectors and parameters from the cache, or build and keep it.

    Parameters
    ----------
    fingerprint : str
        Content hash of ``vectors``; with the metric, the parameters and the version of the algorithm it is the key. The
        number of threads is not part of it: it does not change the graph.
    store : ArtifactStore, optional
        The user's cache by default.

    Other parameters are those of ``build_vamana``.

    Raises
    ------
    IndexFileError
        The cached graph is damaged; names the file and how to have it made anew.
    """
    recipe = {
        "algorithm": ALGORITHM, "vectors": fingerprint, "n": len(vectors), "metric": metric, "R": R, "L": L,
        "alpha": float(alpha), "slack": float(slack), "seed": seed,
    }  # fmt: skip

    def make():
        graph, report = build_vamana(
            vectors, metric, R=R, L=L, alpha=alpha, slack=slack, seed=seed, threads=threads, progress=progress
        )
        facts = {"build": report.facts(), "degrees": degree_report(graph).facts(), "start": graph.start}
        return Artifact({"neighbors": graph.neighbors, "degrees": graph.degrees}, facts)

    store = ArtifactStore() if store is None else store
    artifact = store.get_or_make("vamana", recipe, make)
    graph = Graph(artifact.arrays["neighbors"], artifact.arrays["degrees"], artifact.facts["start"])
    validate(graph, str(store.folder("vamana", recipe)))
    return StoredGraph(graph, artifact.facts)
