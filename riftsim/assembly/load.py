"""The load of a configuration: how many queries, and when they arrive."""

from dataclasses import dataclass

import numpy as np

from riftsim.config.machines import BurstLoad, ClosedLoad, ConstantLoad
from riftsim.config.schema import ExperimentConfig
from riftsim.errors import ConfigError
from riftsim.units import PS_PER_MS
from riftsim.workload.arrivals import constant_arrivals_ps, phased_arrivals_ps, poisson_arrivals_ps


@dataclass(frozen=True)
class ConfiguredLoad:
    """What a driver is asked to keep up with.

    Attributes
    ----------
    warmup, measured : int
        Arrivals dropped first, and arrivals measured.
    concurrency : int or None
        Closed loop: queries in flight per compute node.
    arrivals_ps : int64 (m,) or None
        Open loop: times of arrival.
    burst_ps : (int, int) or None
        When the rate of a burst rises and falls.
    """

    warmup: int
    measured: int
    concurrency: int | None
    arrivals_ps: np.ndarray | None
    burst_ps: tuple[int, int] | None = None


def load_of(config: ExperimentConfig, evaluated: int) -> ConfiguredLoad:
    """The load of a configuration, for a data set with so many evaluated queries."""
    cluster, load = config.cluster, config.load
    measured, warmup = config.measured_queries or evaluated, config.warmup_queries
    if isinstance(load, ClosedLoad):
        return ConfiguredLoad(warmup + load.concurrency * cluster.compute_nodes, measured, load.concurrency, None)
    if isinstance(load, BurstLoad):
        return _burst(config)
    rate_qps = load.rate_qps * cluster.compute_nodes
    count = warmup + 2 * measured + cluster.threads
    constant = isinstance(load, ConstantLoad)
    arrivals_ps = (
        constant_arrivals_ps(rate_qps, count) if constant else poisson_arrivals_ps(rate_qps, count, config.seed)
    )
    return ConfiguredLoad(warmup, measured, None, arrivals_ps)


def _burst(config: ExperimentConfig) -> ConfiguredLoad:
    load = config.load
    rate_qps = load.rate_qps * config.cluster.compute_nodes
    warm_ms = max(1.0, 1e3 * (config.warmup_queries + 2 * config.cluster.threads) / rate_qps)
    lengths_ms = (warm_ms, load.before_ms, load.burst_ms, load.after_ms, max(warm_ms, load.after_ms))
    rates_qps = (rate_qps, rate_qps, rate_qps * load.factor, rate_qps, rate_qps)
    lengths_ps = [round(length * PS_PER_MS) for length in lengths_ms]
    times_ps = phased_arrivals_ps(list(zip(lengths_ps, rates_qps, strict=True)), config.seed)
    warmup = int(np.searchsorted(times_ps, lengths_ps[0]))
    measured = int(np.searchsorted(times_ps, sum(lengths_ps[:4]))) - warmup
    if measured < 1:
        raise ConfigError(
            f"load: found no arrival in before_ms + burst_ms + after_ms = {sum(lengths_ms[1:4]):.3g} ms at "
            f"rate_qps = {load.rate_qps:g}; expected longer times or a higher rate"
        )
    return ConfiguredLoad(warmup, measured, None, times_ps, (sum(lengths_ps[:2]), sum(lengths_ps[:3])))
