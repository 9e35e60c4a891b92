"""Calibrating alpha, judging it on held-out queries, and what other alphas would read and find (RiftANN, sections 3.2
and 4.5)."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from riftsim.artifacts import ArtifactStore
from riftsim.assembly import calibration_ratios, run_point
from riftsim.config.machines import LocalDriver
from riftsim.config.schema import ExperimentConfig
from riftsim.config.systems import Calibrated, ExpansionOnly, RiftAnnConfig, VerifyAll
from riftsim.results.intervals import mean_interval
from riftsim.rng import stream
from riftsim.systems.alpha import Ratios

ALPHAS = (1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4)
"""Alphas whose reads and recall are measured."""

_DRAWS = 1000


@dataclasses.dataclass(frozen=True)
class Policy:
    """Reads and recall of one verification policy, over the evaluated queries, with 95 % bootstrap intervals.

    Attributes
    ----------
    policy : str
        ``expansion-only``, ``calibrated`` or ``verify-all``.
    alpha : float
        Of ``calibrated``, else nan.
    chosen : bool
        Whether calibration chose it.
    exact_reads, recall : float
        Means per query; reads of exact vectors, alone or in whole records.
    """

    policy: str
    alpha: float
    chosen: bool
    exact_reads: float
    exact_reads_low: float
    exact_reads_high: float
    recall: float
    recall_low: float
    recall_high: float


@dataclasses.dataclass(frozen=True)
class Calibration:
    """alpha of one data set, index and code.

    Attributes
    ----------
    alpha : float
        Smallest observed ratio that at least ``1 - delta`` of those on the calibration queries do not exceed.
    alpha_low, alpha_high : float
        95 % interval, by bootstrap over the calibration queries.
    delta : float
    calibration_L, L, k : int
        List sizes of the searches that calibrate and of those whose reads are counted; results.
    ratios, asked, zero : int
        Calibration: discovered true neighbours with a ratio, all true neighbours, and those at distance 0.
    coverage : float
        Share of the ratios on the calibration queries that alpha covers; at least ``1 - delta``.
    held_out_ratios : int
        Ratios on the evaluated queries.
    held_out_coverage, held_out_low, held_out_high : float
        Share of them that alpha covers, with the 95 % interval by bootstrap over those queries.
    policies : list of Policy
        From expansion-only over growing alpha to verify-all.
    """

    dataset: str
    codes: dict[str, Any]
    index: dict[str, Any]
    delta: float
    calibration_L: int
    L: int
    k: int
    alpha: float
    alpha_low: float
    alpha_high: float
    ratios: int
    asked: int
    zero: int
    coverage: float
    held_out_ratios: int
    held_out_coverage: float
    held_out_low: float
    held_out_high: float
    policies: list[Policy]


def calibrate(
    config: ExperimentConfig,
    *,
    alphas: Sequence[float] = ALPHAS,
    data_dir: Path | None = None,
    artifacts: ArtifactStore | None = None,
    seed: int = 0,
    on_policy: Callable[[Policy], None] | None = None,
) -> Calibration:
    """Calibrate alpha for an experiment and measure how much depends on it.

    Reads and recall come from the driver ``local``: each read completes at once, so that they depend on no clock.

    Parameters
    ----------
    config : ExperimentConfig
        Data set, index, codes, search; of its system, if that is RiftANN, everything but the verification policy.
    alphas : sequence of float
    data_dir : path, optional
    artifacts : ArtifactStore, optional
    seed : int
        Of the bootstrap.
    on_policy : callable, optional
        Told of each policy when it is measured.

    Returns
    -------
    Calibration

    Raises
    ------
    ConfigError
        The metric has no such ratio, or there are no calibration queries.
    """
    system = config.system if isinstance(config.system, RiftAnnConfig) else RiftAnnConfig()
    rule = system.verification if isinstance(system.verification, Calibrated) else Calibrated()
    chosen, judged = calibration_ratios(config, rule.calibration_L, data_dir=data_dir, artifacts=artifacts)
    alpha = chosen.alpha(rule.delta)
    alpha_low, alpha_high = chosen.alpha_interval(rule.delta, _DRAWS, stream(seed, "alpha bootstrap"))
    held_out_low, held_out_high = _coverage_interval(judged, alpha, seed)
    policies = []
    for verification, value in _policies(alphas, alpha):
        local = msgspec.structs.replace(
            config,
            system=msgspec.structs.replace(system, verification=verification),
            driver=LocalDriver(),
            measured_queries=None,
        )
        queries = run_point(local, data_dir=data_dir, artifacts=artifacts).queries
        policies.append(_measured(verification.__struct_config__.tag, value, value == alpha, queries, seed))
        if on_policy:
            on_policy(policies[-1])
    return Calibration(
        dataset=config.dataset.name,
        codes=msgspec.to_builtins(config.codes),
        index=msgspec.to_builtins(config.index),
        delta=rule.delta,
        calibration_L=rule.calibration_L,
        L=config.search.L,
        k=config.search.k,
        alpha=alpha,
        alpha_low=alpha_low,
        alpha_high=alpha_high,
        ratios=len(chosen.ratios),
        asked=chosen.asked,
        zero=chosen.zero,
        coverage=chosen.coverage(alpha),
        held_out_ratios=len(judged.ratios),
        held_out_coverage=judged.coverage(alpha),
        held_out_low=held_out_low,
        held_out_high=held_out_high,
        policies=policies,
    )


def _policies(alphas: Sequence[float], chosen: float) -> list[tuple[Any, float]]:
    """Verification policies in the order of what they read, with alpha."""
    grid = sorted({*alphas, chosen})
    calibrated = [(Calibrated(alpha=alpha), alpha) for alpha in grid]
    return [(ExpansionOnly(), math.nan), *calibrated, (VerifyAll(), math.nan)]


def _measured(kind: str, alpha: float, chosen: bool, queries: dict[str, np.ndarray], seed: int) -> Policy:
    reads = (queries["reads_record"] + queries["reads_vector"]).astype(np.float64)
    reads_low, reads_high = mean_interval(reads, queries["query"], seed)
    recall_low, recall_high = mean_interval(queries["recall"], queries["query"], seed)
    return Policy(
        policy=kind,
        alpha=alpha,
        chosen=chosen,
        exact_reads=float(reads.mean()),
        exact_reads_low=reads_low,
        exact_reads_high=reads_high,
        recall=float(queries["recall"].mean()),
        recall_low=recall_low,
        recall_high=recall_high,
    )


def _coverage_interval(ratios: Ratios, alpha: float, seed: int) -> tuple[float, float]:
    return mean_interval((ratios.ratios <= alpha).astype(np.float64), ratios.query, seed)
