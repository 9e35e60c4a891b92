"""How much is run: data sets, queries and seeds of the smoke, quick and full reproduction."""

from dataclasses import dataclass, field, replace
from typing import Any

SETS = ("SIFT", "DEEP", "SPACEV")
"""The paper's data sets, in the order of its claims. Ours stand in for them: local features of photographs (uint8, 128
dimensions), activations of a network on photographs (float32, 96), and sentence embeddings (int8, 100)."""


@dataclass(frozen=True)
class Level:
    """Sizes of a reproduction.

    Attributes
    ----------
    name : str
    sets : dict of str to dict
        For each of the paper's sets, the settings that choose ours; a set that is left out is not run.
    queries, work_queries : int
        Measured queries of a run, at equal recall and at the paper's 405 expansions.
    seeds : tuple of int
        Splits of the pooled queries, or seeds of arrivals, over which configurations are repeated.
    arrivals : int
        Per phase of a burst.
    base_sizes : tuple of int
        Vectors in the scale study; sizes that its set does not have are left out.
    system_sizes : tuple of int
        Of them, those at which other systems are run, which take a hundred times as long.
    perturbations : tuple of float
        Factors of each latency constant in the sensitivity study.
    samples : int
        Of its Latin hypercube.
    """

    name: str
    sets: dict[str, dict[str, Any]]
    queries: int
    work_queries: int
    seeds: tuple[int, ...]
    arrivals: int
    base_sizes: tuple[int, ...]
    system_sizes: tuple[int, ...]
    perturbations: tuple[float, ...]
    samples: int
    burst_share: float = 0.84
    """Rate of a burst over the throughput of a closed loop of 22: 16.9 over 20.1 KQPS (C07, P15)."""
    scale_sets: tuple[dict[str, Any], ...] = field(default=())
    """Sets of the scale study, the largest first; all sizes are taken from the first that is there."""

    def scaled_on(self, name: str) -> "Level":
        """Return this level with the scale study on one set, which has to be there."""
        return replace(self, scale_sets=({"dataset.name": name},))


_SMALL = {"dataset.name": "sift-photos-10k", "dataset.n": 2000, "dataset.queries": 100}
_BUNDLED = {"dataset.name": "sift-photos-10k"}
_TEN = {"dataset.n": 10_000, "dataset.queries": 1000}
_SIFT_SIZES = (
    {"dataset.name": "sift-photos-1m"},
    {"dataset.name": "sift-photos-100k"},
    {"dataset.name": "sift-photos-10k"},
)

SMOKE = Level(
    "smoke",
    {"SIFT": _SMALL},
    queries=60,
    work_queries=40,
    seeds=(0, 1),
    arrivals=100,
    base_sizes=(1000, 1500, 2000, 3000),
    system_sizes=(1000, 1500, 2000, 3000),
    perturbations=(0.5, 2.0),
    samples=4,
    scale_sets=({"dataset.name": "sift-photos-10k"},),
)
QUICK = Level(
    "quick",
    {
        "SIFT": _BUNDLED,
        "DEEP": {"dataset.name": "deep-photos-100k", **_TEN},
        "SPACEV": {"dataset.name": "text-wordnet-100k", **_TEN},
    },
    queries=1000,
    work_queries=300,
    seeds=(0, 1, 2),
    arrivals=1500,
    base_sizes=(2500, 5000, 10_000, 20_000, 40_000),
    system_sizes=(5000, 10_000, 20_000, 40_000),
    perturbations=(0.25, 4.0),
    samples=8,
    scale_sets=_SIFT_SIZES[1:],
)
FULL = Level(
    "full",
    {
        "SIFT": {"dataset.name": "sift-photos-100k"},
        "DEEP": {"dataset.name": "deep-photos-100k"},
        "SPACEV": {"dataset.name": "text-wordnet-100k"},
    },
    queries=2000,
    work_queries=1000,
    seeds=(0, 1, 2, 3, 4),
    arrivals=3000,
    base_sizes=(10_000, 20_000, 40_000, 70_000, 100_000, 300_000, 1_000_000, 5_000_000, 10_000_000),
    system_sizes=(10_000, 40_000, 100_000, 300_000, 1_000_000, 5_000_000, 10_000_000),
    perturbations=(0.25, 0.5, 2.0, 4.0),
    samples=32,
    scale_sets=_SIFT_SIZES,
)
LEVELS = {level.name: level for level in (SMOKE, QUICK, FULL)}
