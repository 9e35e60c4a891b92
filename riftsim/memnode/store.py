"""Regions that are kept on disk, once for all runs on the same index and placement, and mapped by each."""

import hashlib

import numpy as np

from riftsim.artifacts import Artifact, ArtifactStore
from riftsim.memnode.layout import RecordLayout
from riftsim.memnode.region import Region, build_region
from riftsim.memnode.shards import Placement
from riftsim.units import MIB

MAPPED_FROM_BYTES = 256 * MIB
"""Smaller regions are laid out in memory for each run: that takes less time than a query set, and random reads of
anonymous memory are faster, because it may lie on huge pages."""


def stored_region(
    vectors: np.ndarray,
    neighbors: np.ndarray,
    degrees: np.ndarray,
    placement: Placement,
    *,
    fingerprint: str,
    store: ArtifactStore,
    mapped_from_bytes: int = MAPPED_FROM_BYTES,
) -> Region:
    """Lay out the records of an index, or map them where they have been laid out before.

    Parameters
    ----------
    vectors, neighbors, degrees, placement
        As for ``build_region``.
    fingerprint : str
        Content hash of vectors and graph; with the placement it is the key.
    store : ArtifactStore
        Where mapped regions lie. Processes that map the same one share its memory.
    mapped_from_bytes : int
        Size from which a region is mapped.

    Returns
    -------
    Region

    Raises
    ------
    DataError
        If the arrays are not of one index.
    IndexFileError
        If the stored region is damaged; names the file and what to remove.
    """
    layout = RecordLayout(vectors.shape[1], vectors.dtype, neighbors.shape[1])
    if len(vectors) * layout.record_bytes < mapped_from_bytes:
        return build_region(vectors, neighbors, degrees, placement)
    recipe = {
        "index": fingerprint,
        "placement": hashlib.sha256(placement.parameters.tobytes() + placement.positions.tobytes()).hexdigest(),
        "vector_bytes": layout.vector_bytes,
        "degree": layout.degree,
    }

    def make() -> Artifact:
        region = build_region(vectors, neighbors, degrees, placement, store.root / "scratch")
        return Artifact({"records": region.buffer})

    kept = store.get_or_make("region", recipe, make)
    return Region(kept.arrays["records"], layout, placement)
