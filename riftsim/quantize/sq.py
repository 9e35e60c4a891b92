"""Scalar quantiser: every dimension on a scale of 256 steps of its own."""

from typing import Any

import numpy as np

from riftsim.errors import ConfigError
from riftsim.kernels.codes import CODE_SQ8
from riftsim.quantize.codec import Codec, portions

_TOP = 255


class ScalarCodec(Codec):
    """One byte per dimension: ``x`` is taken for ``least + step * code``.

    Parameters
    ----------
    metric : str
        ``"l2"``, ``"ip"`` or ``"cosine"``.
    least, step : float32 (d,)
        Scale of each dimension; steps are positive.
    facts : dict
        How training went.
    """

    name = "sq8"
    kind = CODE_SQ8

    def __init__(self, metric: str, least: np.ndarray, step: np.ndarray, facts: dict[str, Any] | None = None):
        super().__init__(metric, len(least), len(least), 2 * len(least), facts or {})
        self.least = np.asarray(least, np.float32)
        self.step = np.asarray(step, np.float32)
        self.parameters = np.concatenate([self.least, self.step])

    @classmethod
    def train(cls, vectors: np.ndarray, metric: str, outliers: float = 0.0) -> "ScalarCodec":
        """Set the scales.

        Vectors of one-byte integers keep their values: the code loses nothing. Otherwise a scale reaches from the
        least to the greatest value of its dimension.

        Parameters
        ----------
        vectors : (n, d) array
            uint8, int8 or float32.
        metric : str
            ``"l2"``, ``"ip"`` or ``"cosine"``.
        outliers : float
            Share of values that may lie beyond each end of a scale (they are clipped), in [0, 0.5).
        """
        if not 0.0 <= outliers < 0.5:
            raise ConfigError(f"outliers {outliers}: expected a share in [0, 0.5)")
        dimension = vectors.shape[1]
        if vectors.dtype.kind in "ui":
            least = np.full(dimension, np.iinfo(vectors.dtype).min, np.float32)
            return cls(metric, least, np.ones(dimension, np.float32), {"lossless": True})
        if outliers:
            least, greatest = np.quantile(vectors, [outliers, 1.0 - outliers], axis=0).astype(np.float32)
        else:
            extremes = [(rows.min(axis=0), rows.max(axis=0)) for _, rows in portions(vectors)]
            least = np.min([low for low, _ in extremes], axis=0)
            greatest = np.max([high for _, high in extremes], axis=0)
        step = ((greatest.astype(np.float64) - least) / _TOP).astype(np.float32)
        step[step <= 0] = 1.0  # a constant dimension: any step keeps it
        return cls(metric, least, step, {"lossless": False})

    def encode(self, vectors: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Take the nearest step of each dimension."""
        codes = self._codes_for(vectors, out)
        for first, rows in portions(vectors):
            steps = np.rint((rows - self.least) / self.step)
            codes[first : first + len(rows)] = np.clip(steps, 0, _TOP)
        return codes

    def state(self) -> dict[str, np.ndarray]:
        return {"least": self.least, "step": self.step}

    @classmethod
    def from_state(cls, metric: str, state: dict[str, np.ndarray], facts: dict[str, Any]) -> "ScalarCodec":
        return cls(metric, state["least"], state["step"], facts)
