"""Calibration of alpha (RiftANN, section 3.2): how much a compact distance may overestimate the exact one.

For each calibration query, a search that verifies everything runs; each true top-k neighbour that it discovered gives
one ratio d^/d of Euclidean distances. alpha is the smallest observed ratio that at least ``1 - delta`` of them do not
exceed.
"""

from dataclasses import dataclass

import numpy as np

from riftsim.errors import ConfigError
from riftsim.kernels import query as q
from riftsim.search.rounds import RoundSearch


@dataclass(frozen=True)
class Ratios:
    """Observed ratios of compact to exact distance.

    Attributes
    ----------
    ratios : float64 (m,)
        One per discovered true neighbour at a distance above 0.
    query : int64 (m,)
        Whose neighbour it is.
    asked, zero : int
        True neighbours asked about, and the discovered ones at distance 0: they have no ratio and are left out.
    """

    ratios: np.ndarray
    query: np.ndarray
    asked: int
    zero: int

    def alpha(self, delta: float) -> float:
        """Smallest observed ratio that covers at least ``1 - delta``, at least 1."""
        if not len(self.ratios):
            raise ConfigError(
                f"system.verification.alpha: cannot be calibrated: of {self.asked} true neighbours the calibration "
                f"queries found {self.zero}, all at distance 0, which has no ratio; give alpha a value, or raise "
                "calibration_L"
            )
        ordered = np.sort(self.ratios)
        covered = min(len(ordered), int(np.ceil((1.0 - delta) * len(ordered))))
        return max(1.0, float(ordered[max(0, covered - 1)]))

    def coverage(self, alpha: float) -> float:
        """Share of the ratios that ``alpha`` covers."""
        return float(np.mean(self.ratios <= alpha)) if len(self.ratios) else float("nan")

    def alpha_interval(self, delta: float, draws: int, generator: np.random.Generator) -> tuple[float, float]:
        """95 % interval of alpha by bootstrap over queries."""
        queries = np.unique(self.query)
        of_query = np.split(self.ratios, np.searchsorted(self.query, queries[1:]))
        alphas = []
        for _ in range(draws):
            drawn = generator.integers(0, len(queries), len(queries))
            sample = Ratios(np.concatenate([of_query[i] for i in drawn]), np.zeros(0), 0, 0)
            alphas.append(sample.alpha(delta))
        low, high = np.quantile(alphas, [0.025, 0.975])
        return float(low), float(high)


def measure_ratios(search: RoundSearch, true_ids: np.ndarray, true_distances: np.ndarray, compact) -> Ratios:
    """Search for every query and compare distances.

    Parameters
    ----------
    search : RoundSearch
        Over the calibration queries, with ``VERIFY_ALL``.
    true_ids, true_distances : int32 (nq, k), float32 (nq, k)
        Exact neighbours in the index's rows, and their internal (squared) distances.
    compact : callable
        ``compact(query, ids) -> float32``: internal compact distances.

    Returns
    -------
    Ratios
    """
    ratios, owners = [], []
    zero = 0
    for query in range(len(true_ids)):
        search.run(query)
        found = search.discovered(true_ids[query])
        exact = true_distances[query].astype(np.float64)
        zero += int(np.sum(found & (exact <= 0)))
        found &= exact > 0
        if found.any():
            estimate = np.maximum(compact(query, true_ids[query][found]).astype(np.float64), 0.0)
            ratios.append(np.sqrt(estimate / exact[found]))
            owners.append(np.full(int(found.sum()), query))
    joined = (np.concatenate(ratios), np.concatenate(owners)) if ratios else (np.zeros(0), np.zeros(0, np.int64))
    return Ratios(*joined, asked=true_ids.size, zero=zero)


def calibration_search(context, queries: np.ndarray, list_size: int) -> RoundSearch:
    """A search over other queries that verifies everything, for ``measure_ratios``."""
    return context.new_search(
        RoundSearch,
        queries=queries,
        list_size=max(list_size, context.k),
        beam_width=1,
        verify=q.VERIFY_ALL,
    )
