"""Section 4.7, figure 14: the controller's settings, and a burst of twice the arrival rate."""

from collections.abc import Callable

import numpy as np

from riftsim.reproduction.groups import burst, by
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import measures, of_runs
from riftsim.reproduction.scoring import Order, Value
from riftsim.reproduction.studies import bursts, point_settings, repeated
from riftsim.results.compare import compare
from riftsim.results.store import Run

BURST, SETTINGS = "fig14_burst", "fig14_sensitivity"
_KEYS = tuple(f"system.balancing.{key}" for key in ("theta_low", "theta_high", "interval"))
_DEFAULT = (0.30, 0.65, 32)


def _settings(lab: Lab) -> dict[tuple, list[Run]]:
    return by(repeated(lab, SETTINGS, "SIFT", **point_settings(lab, "SIFT", "0.95")), *_KEYS)


def _change(runs: list[Run], default: list[Run], name: str) -> Value:
    """Relative change of a metric against the default, over seeds."""
    base = {run.parameters["dataset.split_seed"]: run.metrics([name])[name] for run in default}
    return of_runs(runs, lambda run: run.metrics([name])[name] / base[run.parameters["dataset.split_seed"]] - 1)


@measures("C01", SETTINGS)
def largest_changes(lab: Lab) -> list[Value]:
    """Largest change over the sweeps of both thresholds and the interval (C01)."""
    groups = _settings(lab)
    default = groups[_DEFAULT]
    others = [runs for key, runs in groups.items() if key != _DEFAULT]
    found = [
        max((_size(_change(runs, default, name)) for runs in others), key=lambda value: value.value)
        for name in ("qps", "latency_p99_us")
    ]
    recalls = []
    for runs in others:
        one = compare(runs, default, "recall")
        recalls.append(_size(Value(one.difference, one.difference_low, one.difference_high)))
    return [*found, max(recalls, key=lambda value: value.value)]


def _size(of: Value) -> Value:
    return of if of.value >= 0 else Value(-of.value, -of.high, -of.low)


@measures("C11", SETTINGS)
def interval(lab: Lab) -> list[Order]:
    """Short control intervals cost, long ones react more slowly (C11)."""
    groups = _settings(lab)
    lengths = sorted(key[2] for key in groups if key[:2] == _DEFAULT[:2])
    means = {
        name: [np.mean([run.metrics([name])[name] for run in groups[(*_DEFAULT[:2], length)]]) for length in lengths]
        for name in ("qps", "latency_p99_us")
    }
    best = int(np.argmax(means["qps"])), int(np.argmin(means["latency_p99_us"]))
    on = f"highest throughput at {lengths[best[0]]}, lowest P99 at {lengths[best[1]]} of {lengths}"
    return [Order(all(0 < at < len(lengths) - 1 for at in best), on)]


def _of_burst(kind: str, *names: str, scale: float = 1.0) -> Callable[[Lab], list[Value]]:
    def values(lab: Lab) -> list[Value]:
        runs = bursts(lab)[0 if kind == "adaptive" else 1]
        return [of_runs(runs, lambda run, name=name: burst(run)[name], scale) for name in names]

    return values


def _against_fixed(lab: Lab, number: Callable[[dict, dict], float]) -> Value:
    """A number of Adaptive and Fixed under the same arrivals, over seeds."""
    adaptive, fixed = bursts(lab)
    partners = {run.parameters["seed"]: run for run in fixed}
    return of_runs(adaptive, lambda run: number(burst(run), burst(partners[run.parameters["seed"]])))


measures("C02", BURST)(_of_burst("adaptive", "defer_peak", "defer_ratio_settled"))
measures("C03", BURST)(_of_burst("fixed", "defer_low", "defer_peak"))
measures("C04", BURST)(
    _of_burst("adaptive", "busy_workers_before", "busy_workers_settled", "window_before", "window_settled")
)
measures("C06", BURST)(_of_burst("fixed", "p99_before_us", scale=1e-3))
measures("C07", BURST)(_of_burst("adaptive", "completed_qps_burst", scale=1e-3))


@measures("C05", BURST)
def p99(lab: Lab) -> list[Value]:
    """P99 in the burst (C05)."""
    return [value for kind in ("fixed", "adaptive") for value in _of_burst(kind, "p99_burst_us", scale=1e-3)(lab)]


@measures("C08", BURST)
def p99_cut(lab: Lab) -> list[Value]:
    """P99 that Adaptive cuts in the burst (C08)."""
    return [_against_fixed(lab, lambda own, fixed: 1 - own["p99_burst_us"] / fixed["p99_burst_us"])]


@measures("C09", BURST)
def recall(lab: Lab) -> list[Value]:
    """Recall, Adaptive against Fixed, in the burst (C09)."""
    return [_size(_against_fixed(lab, lambda own, fixed: own["recall_burst"] - fixed["recall_burst"]))]


@measures("C10", BURST)
def reverses(lab: Lab) -> list[Order]:
    """Both alike before the burst; Adaptive goes back after it (C10)."""
    before = _against_fixed(lab, lambda own, fixed: own["mean_before_us"] / fixed["mean_before_us"] - 1)
    window = {
        phase: of_runs(bursts(lab)[0], lambda run, phase=phase: burst(run)[f"window_{phase}"]).value
        for phase in ("before", "settled", "after")
    }
    returns = abs(window["after"] - window["before"]) < abs(window["after"] - window["settled"])
    on = f"latency before {before.value:+.1%}; window {', '.join(f'{value:.1f}' for value in window.values())}"
    return [Order(abs(before.value) <= 0.1 and returns, on)]
