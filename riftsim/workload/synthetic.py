"""Generated vectors of a set intrinsic dimension, for tests of scale.

A vector lies in one of ``clusters`` Gaussian clusters. The points of a cluster fill a linear patch: ``m`` (the
intrinsic dimension) latent coordinates, carried into ``d`` dimensions by orthonormal axes of its own. Locally the data
so look m-dimensional, and patches of different clusters cross at random angles. Rows are drawn in blocks of fixed size,
each from its own stream: any part can be made alone, and the first rows do not depend on how many follow.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from riftsim.errors import ConfigError
from riftsim.files import map_scratch
from riftsim.rng import stream
from riftsim.workload.spec import SyntheticSpec

BLOCK_ROWS = 32_768
_REACH = 4.0
"""Standard deviations of one coordinate that fit the integer range; what lies beyond is clipped."""
_INTEGER = {"uint8": (127.5, 127.5, 0, 255), "int8": (127.0, 0.0, -127, 127)}


def synthetic_blocks(
    spec: SyntheticSpec, dimension: int, dtype: str, rows: int, role: str = "base"
) -> Iterator[np.ndarray]:
    """Generate vectors block by block, in memory for one block only.

    Parameters
    ----------
    spec : SyntheticSpec
        Intrinsic dimension, clusters, spread and seed.
    dimension : int
        Of the vectors, at least the intrinsic one.
    dtype : {"uint8", "int8", "float32"}
        Integers are scaled so that 4 standard deviations fit the range.
    rows : int
        How many vectors.
    role : str
        ``"base"`` or ``"queries"``: independent draws from the same clusters.

    Yields
    ------
    ndarray, shape (at most BLOCK_ROWS, dimension)
        Vectors.

    Raises
    ------
    ConfigError
        If the intrinsic dimension exceeds the dimension, or the type cannot be generated.
    """
    m = spec.intrinsic_dimension
    if m > dimension:
        raise ConfigError(f"synthetic.intrinsic_dimension is {m}, expected at most {dimension}, the dimension")
    if dtype != "float32" and dtype not in _INTEGER:
        raise ConfigError(f"dtype is {dtype!r}, expected uint8, int8 or float32 for generated vectors")
    axes, centres = _patches(spec, dimension)
    # Orthonormal axes spread the latent variance m (1 + spread^2) over d coordinates.
    deviation = float(np.sqrt(m * (1.0 + spec.spread**2) / dimension))
    for number, first in enumerate(range(0, rows, BLOCK_ROWS)):
        draw = stream(spec.seed, f"synthetic/{role}/{number}")
        cluster = draw.integers(spec.clusters, size=BLOCK_ROWS)
        latent = draw.standard_normal((BLOCK_ROWS, m), dtype=np.float32)
        latent *= np.float32(spec.spread)
        block = np.empty((BLOCK_ROWS, dimension), np.float32)
        order = np.argsort(cluster, kind="stable")
        bounds = np.searchsorted(cluster[order], np.arange(spec.clusters + 1))
        for c in range(spec.clusters):
            members = order[bounds[c] : bounds[c + 1]]
            block[members] = latent[members] @ axes[c] + centres[c]
        yield _stored(block[: rows - first], dtype, deviation)


def synthetic_array(
    spec: SyntheticSpec,
    dimension: int,
    dtype: str,
    rows: int,
    role: str = "base",
    scratch: Path | None = None,
) -> np.ndarray:
    """Generate vectors into one array.

    Parameters
    ----------
    spec, dimension, dtype, rows, role
        As `synthetic_blocks`.
    scratch : pathlib.Path, optional
        Folder on a disk: the array is then mapped from a nameless file there and need not fit in memory.

    Returns
    -------
    ndarray, shape (rows, dimension)
        Vectors.
    """
    out = np.empty((rows, dimension), dtype) if scratch is None else map_scratch(scratch, dtype, (rows, dimension))
    first = 0
    for block in synthetic_blocks(spec, dimension, dtype, rows, role):
        out[first : first + len(block)] = block
        first += len(block)
    return out


def _patches(spec: SyntheticSpec, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal axes (clusters, m, d) and centres (clusters, d), float32."""
    m = spec.intrinsic_dimension
    draw = stream(spec.seed, "synthetic/patches")
    axes = np.empty((spec.clusters, m, dimension), np.float32)
    for c in range(spec.clusters):
        axes[c] = np.linalg.qr(draw.standard_normal((dimension, m)))[0].T
    # Centres of standard deviation 1 per latent axis, spread over all d coordinates.
    centres = draw.standard_normal((spec.clusters, dimension)) * np.sqrt(m / dimension)
    return axes, centres.astype(np.float32)


def _stored(block: np.ndarray, dtype: str, deviation: float) -> np.ndarray:
    if dtype == "float32":
        return block
    half_range, middle, low, high = _INTEGER[dtype]
    scaled = block * np.float32(half_range / (_REACH * deviation)) + np.float32(middle)
    return np.clip(np.rint(scaled), low, high).astype(dtype)
