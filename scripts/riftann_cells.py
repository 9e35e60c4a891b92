"""Cells of the tables of docs/results/riftann.md: numbers of one data set's rows as text."""

import itertools
from collections.abc import Callable
from typing import Any

Rows = list[dict[str, Any]]


class NotRun(Exception):
    """The configuration that a cell is about is not among the rows."""


def difference(row: dict, digits: int = 4, factor: float = 1.0) -> str:
    """A paired difference with its interval, `unresolved` where the verdict is."""
    low, high = factor * row["difference_low"], factor * row["difference_high"]
    text = f"{factor * row['difference']:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
    return f"{text}, unresolved" if row["verdict"] == "unresolved" else text


def find(rows: Rows, **wanted: Any) -> dict:
    """The row that has these values."""
    for row in rows:
        if all(row.get(key) == value for key, value in wanted.items()):
            return row
    raise NotRun(wanted)


def own(rows: Rows) -> dict:
    return next(row for row in rows if row["policy"] == "calibrated" and row["alpha"] is None)


def against(rows: Rows, name: str, measure: str) -> dict:
    return find(rows, **{"against calibrated": name, "measure": measure})


def splits(rows: Rows, name: str, kind: str = "split", digits: int = 3) -> str:
    values = [
        row[name]
        for row in rows
        if row["varied"] == kind or (kind == "codes" and row["varied"] == "split" and not row["seed"])
    ]
    if kind == "codes" and len(values) == 1:
        return "not run"
    mean = sum(values) / len(values)
    return f"{mean:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f}; n={len(values)})"


def longer_codes(rows: Rows) -> str:
    longer = [row for row in rows if row["varied"] == "bytes"]
    return f"{find(rows, varied='split', seed=0)['alpha']:.3f} → {longer[0]['alpha']:.3f}" if longer else "not run"


def modes(row: dict) -> str:
    return " / ".join(f"{row[name]:.1f}" for name in ("reads_record", "reads_vector", "reads_adjacency"))


def counts(row: dict) -> str:
    return " / ".join(f"{row[name]:.1f}" for name in ("exact_reads", "expansions", "reads"))


def saved(rows: Rows) -> str:
    row = find(rows, measure="kib_read")
    return f"{1 - row['ratio']:.3f} [{1 - row['ratio_high']:.3f}, {1 - row['ratio_low']:.3f}]"


def avoided(rows: Rows) -> str:
    row = against(rows, "verify-all", "exact_reads")
    return f"{1 - 1 / row['ratio']:.3f} [{1 - 1 / row['ratio_low']:.3f}, {1 - 1 / row['ratio_high']:.3f}]"


def knee(rows: Rows) -> str:
    """The smallest swept alpha that loses at most 0.001 of the calibrated recall, and its reads against that."""
    swept = [row for row in rows if row["against calibrated"].removeprefix("alpha ")[0].isdigit()]
    kept = [row for row in swept if row["measure"] == "recall" and row["difference"] >= -0.001]
    if not kept:
        return "none of those swept"
    name = min(row["against calibrated"] for row in kept)
    return f"{name.removeprefix('alpha ')}, {against(rows, name, 'exact_reads')['ratio'] - 1:+.0%} reads"


def policy_row(rows: Rows, name: str = "impact-aware 1.0") -> dict:
    return find(rows, gate=name)


def of_policy(name: str) -> Callable[[Rows], str]:
    return lambda rows: point(policy_row(rows, name))


def against_gate(rows: Rows, name: str, other: str) -> str:
    row = policy_row(rows, name)
    marks = ["*" if row[f"{what} against {other}, verdict"] == "unresolved" else "" for what in ("latency", "recall")]
    latency, recall = row[f"latency against {other}"], row[f"recall against {other}"]
    return f"{latency - 1:+.1%}{marks[0]}, {recall:+.4f}{marks[1]}"


def cause(row: dict) -> str:
    marks = ["*" if row[f"{what} verdict"] == "unresolved" else "" for what in ("latency", "recall")]
    return f"{row['latency ratio'] - 1:+.1%}{marks[0]}, {row['recall difference']:+.4f}{marks[1]}"


def wins(rows: Rows) -> str:
    words = [row["verdict"] for row in rows]
    return (
        f"{sum(word.startswith('yes') for word in words)} of {len(words)} dominated "
        f"({sum(word == 'yes, both resolved' for word in words)} in both measures), "
        f"{words.count('no')} not, {words.count('unresolved')} unresolved"
    )


def pair(rows: Rows, name: str, one: dict, other: dict, factor: float = 1.0, digits: int = 1) -> str:
    a, b = find(rows, **one), find(rows, **other)
    return f"{factor * a[name]:.{digits}f} → {factor * b[name]:.{digits}f} ({b[name] / a[name] - 1:+.1%})"


def window(name: str, factor: float = 1.0, digits: int = 1) -> Callable[[Rows], str]:
    def text(rows: Rows) -> str:
        return pair(
            rows, name, {"counts": "expansions", "window": 1}, {"counts": "expansions", "window": 8}, factor, digits
        )

    return text


def latency_steps(rows: Rows) -> str:
    """Change of latency from step to step, marked where it is not resolved, and of all with its interval."""
    texts = [_change(row, "before") for row in rows[1:]]
    low, high = (rows[-1][f"latency against first, {end}"] - 1 for end in ("low", "high"))
    return f"{', '.join(texts)}; all {_change(rows[-1], 'first')} [{low:+.1%}, {high:+.1%}]"


def _change(row: dict, other: str) -> str:
    mark = "*" if row[f"latency against {other}, verdict"] == "unresolved" else ""
    return f"{row[f'latency against {other}'] - 1:+.1%}{mark}"


def rate_steps(rows: Rows) -> str:
    values = [row["qps"] for row in rows]
    texts = [f"{after / before - 1:+.1%}" for before, after in itertools.pairwise(values)]
    return f"{', '.join(texts)}; all {values[-1] / values[0] - 1:+.1%}"


def busy(rows: Rows, name: str, phases: tuple[str, str], kind: str = "adaptive", digits: int = 2) -> str:
    row = find(rows, balancing=kind)
    return f"{row[f'{name}_{phases[0]}']:.{digits}f} → {row[f'{name}_{phases[1]}']:.{digits}f}"


def p99(rows: Rows, kind: str = "adaptive") -> str:
    row, fixed = find(rows, balancing=kind), find(rows, balancing="fixed")["p99_burst_us"]
    text = f"{fixed:.0f} → {row['p99_burst_us']:.0f} µs ({row['p99_burst_us'] / fixed - 1:+.1%})"
    return f"{text}{seeds_verdict(row, 'p99_burst_us')}"


def seeds_verdict(row: dict, name: str) -> str:
    """Unresolved where the paired interval over seeds is wider than the difference."""
    low, high = row[f"{name} against fixed, low"], row[f"{name} against fixed, high"]
    if low != low:
        return ", one seed"
    return ", unresolved" if high - low > abs(row[f"{name} against fixed"]) else ""


def and_back(rows: Rows) -> str:
    """Mean window of Adaptive before, in and after the burst; mean latency before it, Fixed to Adaptive."""
    row, fixed = find(rows, balancing="adaptive"), find(rows, balancing="fixed")
    window = " → ".join(f"{row[f'window_{phase}']:.2f}" for phase in ("before", "settled", "after"))
    return f"{window}; {fixed['mean_before_us']:.0f} → {row['mean_before_us']:.0f} µs"


def rise(row: dict) -> str:
    before, during = row["p99_before_us"], row["p99_burst_us"]
    return f"{before:.0f} → {during:.0f} µs ({during / before:.2f} x)"


def wrong(rows: Rows) -> str:
    return " / ".join(str(sum(row[f"queries_whose_{what}_differ"] for row in rows)) for what in ("bytes", "expansions"))


def recalls(rows: Rows) -> str:
    policies = ("expansion-only", "calibrated", "verify-all")
    return " / ".join(f"{find(rows, policy=name, alpha=None)['recall']:.4f}" for name in policies)


def latency(rows: Rows, series: str) -> float:
    return find(rows, series=series)["latency_mean_us"]


def remote_share(rows: Rows) -> str:
    wait = find(rows, series="remote_vamana")["wait_us"]
    return f"{wait:.1f} ({wait / latency(rows, 'remote_vamana'):.2f})"


def beam_of_one(rows: Rows) -> str:
    return f"{latency(rows, 'remote_vamana'):.1f}, {remote_share(rows)}"


def non_rdma(rows: Rows) -> str:
    remote = find(rows, series="remote_vamana")
    return f"{(remote['latency_mean_us'] - remote['wait_us']) / latency(rows, 'in_memory_vamana'):.3f}"


def ratio(rows: Rows, one: str, other: str) -> str:
    return f"{latency(rows, one) / latency(rows, other):.2f}"


def hidden(rows: Rows, *gates: str) -> str:
    found = [policy_row(rows, gate) for gate in gates]
    return " / ".join(f"{row['hidden, mean']:.2f}, {row['hidden, P95']:.0f}" for row in found)


def of_gate(*names: str, digits: int = 3) -> Callable[[Rows], str]:
    def text(rows: Rows) -> str:
        return " / ".join(f"{policy_row(rows)[name]:.{digits}f}" for name in names)

    return text


def recall_of_burst(rows: Rows) -> str:
    row = find(rows, balancing="adaptive")
    return f"{row['recall_burst against fixed']:+.4f}{seeds_verdict(row, 'recall_burst')}"


def completed(rows: Rows) -> str:
    return " / ".join(
        f"{find(rows, balancing=kind)['completed_qps_burst'] / 1e3:.1f}" for kind in ("fixed", "adaptive")
    )


def more_reads(rows: Rows) -> str:
    row = against(rows, "alpha + 0.10", "exact_reads")
    return f"{row['difference']:+.1f} ({row['ratio'] - 1:+.0%})"


def later(row: dict) -> str:
    return f"{row['later_expanded_share']:.3f}"


def state_driven(rows: Rows) -> dict:
    return find(rows, record_reads="state-driven")


def scale(rows: Rows, one: tuple, other: tuple) -> str:
    a, b = (find(rows, C=c, M=m, threads=t) for c, m, t in (one, other))
    return f"{b['qps'] / a['qps'] - 1:+.1%}, latency {b['latency_mean_us'] / a['latency_mean_us'] - 1:+.1%}"


def defer(rows: Rows, kind: str) -> str:
    row = find(rows, balancing=kind)
    return f"{row['defer_low']:.2f} to {row['defer_peak']:.2f}, settled {row['defer_ratio_settled']:.2f}"


def memory(rows: Rows, name: str) -> str:
    """List size and costs of a use of the memory at recall 0.95."""
    found = [row for row in rows if row["memory"] == name and row["at 0.95"]]
    return f"L = {found[0]['L']}: {point(found[0])}" if found else "below 0.95"


def point(row: dict) -> str:
    return f"{row['recall']:.4f}, {row['latency_mean_us']:.1f} µs, {row['qps'] / 1e3:.1f} kQPS"


def requests_and_latency(rows: Rows) -> str:
    return (
        f"{find(rows, measure='reads')['ratio'] - 1:+.1%} / {find(rows, measure='latency_mean_us')['ratio'] - 1:+.1%}"
    )


def largest_changes(rows: Rows, what: str) -> str:
    """Largest change of throughput, P99 and recall over the settings of thresholds or of the interval."""
    moved = [row for row in rows if (row["interval"] != 32) == (what == "interval")]
    sizes = [max(abs(row[name]) for row in moved) for name in ("qps_change", "p99_change", "recall_change")]
    return f"{sizes[0]:.1%}, {sizes[1]:.1%}, {sizes[2]:.4f}"
