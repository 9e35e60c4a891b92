"""Sections 3.3 and 4.6, figure 13: the gate over a search, and admission policies."""

from collections.abc import Callable

from riftsim.reproduction.groups import dominance, progress
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import (
    cut,
    difference,
    every,
    gain,
    inverse,
    measures,
    metric,
    negative,
    of_runs,
    rate_ratio,
    ratio,
)
from riftsim.reproduction.scale import EXPERIMENT as SCALE
from riftsim.reproduction.scale import FLIGHTS, at_scale, rate_at_scale, study
from riftsim.reproduction.scoring import Order, Value
from riftsim.reproduction.studies import gates

EXPERIMENT = "admission_policies"
FIGURE = "fig13_gate"
DEFAULT, WAIT_ALL = "impact-aware 1.0", "wait-all"
OTHERS = ("u-only", "rho-only", "ungated")


def _of_progress(*names: str) -> Callable[[Lab], list[Value]]:
    def values(lab: Lab) -> list[Value]:
        runs = gates(lab, "SIFT", "0.95")[DEFAULT]
        return [of_runs(runs, lambda run, name=name: progress(run)[name]) for name in names]

    return values


measures("G01", EXPERIMENT, FIGURE)(_of_progress("update ratio, first 20 %", "update ratio, last 40 %"))
measures("G02", EXPERIMENT, FIGURE)(_of_progress("evaluated per expansion, last 40 %"))
measures("G03", EXPERIMENT, FIGURE)(_of_progress("update ratio, first 10 %"))
measures("G04", EXPERIMENT, FIGURE)(_of_progress("backlog, first 10 %, median"))
measures("G05", EXPERIMENT, FIGURE)(_of_progress("hidden, mean", "hidden, P95"))
measures("G15", EXPERIMENT, FIGURE)(_of_progress("update ratio, last 30 %"))
measures("G20", EXPERIMENT, FIGURE)(_of_progress("backlog, last 30 %, median"))


@measures("G06", EXPERIMENT, FIGURE)
def hidden_by_others(lab: Lab) -> list[Value]:
    """Least and most over all settings of the other policies: mean, then P95."""
    groups = [runs for name, runs in gates(lab, "SIFT", "0.95").items() if name.startswith(OTHERS)]
    found = []
    for name in ("hidden, mean", "hidden, P95"):
        values = sorted((of_runs(runs, lambda run, n=name: progress(run)[n]) for runs in groups), key=lambda v: v.value)
        found += [values[0], values[-1]]
    return found


def _policy(name: str, *measured: str) -> Callable[[Lab], list[Value]]:
    """Recall as a difference from wait-all, latency in ms, throughput in kQPS."""

    def values(lab: Lab) -> list[Value]:
        groups = gates(lab, "SIFT", "work")
        numbers = {
            "recall": lambda: difference(groups[name], groups[WAIT_ALL]),
            "latency": lambda: metric(groups[name], "latency_mean_us", 1e-3),
            "throughput": lambda: metric(groups[name], "qps", 1e-3),
        }
        return [numbers[part]() for part in measured]

    return values


measures("G07", EXPERIMENT)(_policy(DEFAULT, "recall", "latency", "throughput"))
measures("G08", EXPERIMENT)(_policy(WAIT_ALL, "recall", "latency", "throughput"))
measures("G09", EXPERIMENT)(_policy("u-only 32", "recall", "latency"))
measures("G10", EXPERIMENT)(_policy("rho-only 0.05", "recall", "latency"))
measures("G11", EXPERIMENT)(_policy("ungated", "recall", "latency"))


@measures("G12", EXPERIMENT)
def epsilon(lab: Lab) -> list[Value]:
    """Epsilon 0.25 and 4 (G12)."""
    return [value for name in ("0.25", "4.0") for value in _policy(f"impact-aware {name}", "recall", "latency")(lab)]


@measures("G13", EXPERIMENT)
def dominated(lab: Lab) -> list[Order]:
    """An impact-aware setting dominates every U-only and rho-only one but rho-only 0.2 (G13)."""
    found = dominance(gates(lab, "SIFT", "work"))
    expected = [one.holds for name, one in found.items() if name != "rho-only 0.2"]
    return [every(expected, f"{sum(holds is True for holds in expected)} of {len(expected)} dominated")]


@measures("G14", SCALE)
def at_1b(lab: Lab) -> list[Value]:
    """Latency and throughput on SIFT1B at 0.95, wait-all, then impact-aware (G14)."""
    rows = study(lab, "0.95")
    latencies = [at_scale(rows, name, 1e9, 1e-3) for name in ("wait_all_30_us", "latency_30_us")]
    return [value for latency in latencies for value in (latency, rate_at_scale(latency, FLIGHTS[1]))]


@measures("G18", SCALE)
def over_wait_all_at_1b(lab: Lab) -> list[Value]:
    """Impact-aware against wait-all, SIFT1B at 0.95 (G18); with as many queries in flight on both sides."""
    rows = study(lab, "0.95")
    over = at_scale(rows, "gate_over_wait_all", 1e9)
    return [cut(over), gain(inverse(over)), at_scale(rows, "recall_lost", 1e9)]


@measures("G16", EXPERIMENT)
def fast_ratio(lab: Lab) -> list[Value]:
    """Rho-only 0.2 against impact-aware (G16)."""
    groups = gates(lab, "SIFT", "work")
    faster = negative(difference(groups["rho-only 0.2"], groups[DEFAULT], "latency_mean_us"))
    return [faster, difference(groups[DEFAULT], groups["rho-only 0.2"])]


@measures("G17", EXPERIMENT)
def over_wait_all(lab: Lab) -> list[Value]:
    """Impact-aware against wait-all, SIFT100M (G17)."""
    groups = gates(lab, "SIFT", "work")
    own, other = groups[DEFAULT], groups[WAIT_ALL]
    return [cut(ratio(own, other)), gain(rate_ratio(own, other)), difference(other, own)]


@measures("G19", EXPERIMENT)
def knee(lab: Lab) -> list[Order]:
    """Epsilon = 1 lies near the knee between 0.25 and 4 (G19)."""
    groups = gates(lab, "SIFT", "work")
    least, middle, most = (groups[f"impact-aware {epsilon}"] for epsilon in ("0.25", "1.0", "4.0"))
    latency = [metric(runs, "latency_mean_us").value for runs in (least, middle, most)]
    recall = [metric(runs, "recall").value for runs in (least, middle, most)]
    on = f"latency {latency[0]:.1f}, {latency[1]:.1f}, {latency[2]:.1f} us; recall {recall[0]:.4f} to {recall[2]:.4f}"
    gained, lost = latency[0] - latency[2], recall[0] - recall[2]
    holds = gained > 0 and latency[0] - latency[1] >= gained * 2 / 3 and recall[0] - recall[1] <= max(lost, 0) / 2
    return [Order(holds, on)]
