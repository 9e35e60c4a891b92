"""Codes of a data set, trained once and kept in the artifact cache."""

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from riftsim.artifacts import Artifact, ArtifactStore
from riftsim.errors import ConfigError
from riftsim.quantize.codec import Codec
from riftsim.quantize.full import FullCodec
from riftsim.quantize.pq import ProductCodec
from riftsim.quantize.sq import ScalarCodec

_METHOD = 1
"""Raised when training or encoding changes, so that codes of the old way are not taken for new ones."""


def train_codec(vectors: np.ndarray, metric: str, settings: Mapping[str, Any]) -> Codec:
    """Train the codec that the settings ask for.

    Parameters
    ----------
    vectors : (n, d) array
        uint8, int8 or float32; unit vectors if the metric is cosine.
    metric : str
        ``"l2"``, ``"ip"`` or ``"cosine"``.
    settings : mapping
        ``kind`` (``"pq"``, ``"sq8"`` or ``"full"``); for ``"pq"`` also ``bytes``, ``seed`` and ``training_vectors``.
    """
    settings = dict(settings)
    kind = settings.pop("kind")
    if kind == "pq":
        return ProductCodec.train(vectors, metric, settings.pop("bytes"), **settings)
    if kind == "sq8":
        return ScalarCodec.train(vectors, metric, **settings)
    if kind == "full":
        return FullCodec.train(vectors, metric, **settings)
    raise ConfigError(f"codes.kind: found {kind!r}, expected one of pq, sq8, full")


def codes_for(
    fingerprint: str, vectors: np.ndarray, metric: str, settings: Mapping[str, Any], store: ArtifactStore
) -> tuple[Codec, np.ndarray]:
    """Return codec and codes of a data set, from the cache if they are there.

    Parameters
    ----------
    fingerprint : str
        Of the base vectors.
    vectors : (n, d) array
        The base vectors.
    metric, settings
        As :func:`train_codec`.
    store : ArtifactStore
        The cache. Exact vectors (``"full"``) are not copied into it.

    Returns
    -------
    codec : Codec
        With ``facts``: how training went, ``cpu_s`` and ``cached``.
    codes : uint8 (n, code_bytes)
    """
    if settings["kind"] == "full":
        codec = FullCodec.train(vectors, metric)
        return codec, codec.encode(vectors)

    def make() -> Artifact:
        started = time.process_time()
        codec = train_codec(vectors, metric, settings)
        arrays = {**codec.state(), "codes": codec.encode(vectors)}
        return Artifact(arrays, {**codec.facts, "cpu_s": time.process_time() - started})

    recipe = {
        "method": _METHOD,
        "dataset": fingerprint,
        "n": len(vectors),
        "dimension": vectors.shape[1],
        "dtype": vectors.dtype.name,
        "metric": metric,
        "settings": dict(settings),
    }
    artifact = store.get_or_make("codes", recipe, make)
    arrays = dict(artifact.arrays)
    codes = arrays.pop("codes")
    family = ProductCodec if settings["kind"] == "pq" else ScalarCodec
    codec = family.from_state(metric, arrays, artifact.facts)
    if artifact.facts["cached"] and "warning" in artifact.facts:
        warnings.warn(artifact.facts["warning"], stacklevel=2)
    return codec, codes
