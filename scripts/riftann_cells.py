"""Cells of the tables of docs/results/riftann.md: numbers of one data set's rows as text.

``*`` marks what is not resolved, ``¹`` what is of one seed and so has no interval.
"""

import itertools
from collections.abc import Callable
from typing import Any

Rows = list[dict[str, Any]]


class NotRun(Exception):
    """The configuration that a cell is about is not among the rows."""


def difference(row: dict, digits: int = 4, factor: float = 1.0) -> str:
    """A paired difference with its interval, marked where it is not resolved."""
    low, high = factor * row["difference_low"], factor * row["difference_high"]
    text = f"{factor * row['difference']:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
    return text + _mark(row["verdict"])


def _mark(verdict: str) -> str:
    return "*" if verdict == "unresolved" else ""


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


def splits(rows: Rows, name: str, kind: str = "split", digits: int = 3) -> tuple[str, str]:
    """Mean over what was varied, and the range."""
    values = [
        row[name]
        for row in rows
        if row["varied"] == kind or (kind == "codes" and row["varied"] == "split" and not row["seed"])
    ]
    if kind == "codes" and len(values) == 1:
        raise NotRun(kind)
    mean = sum(values) / len(values)
    return f"{mean:.{digits}f} (n={len(values)})", f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def longer_codes(rows: Rows) -> tuple[str, ...]:
    longer = find(rows, varied="bytes")
    return tuple(f"{row['alpha']:.3f}" for row in (find(rows, varied="split", seed=0), longer))


def modes(row: dict) -> tuple[str, ...]:
    return tuple(f"{row[name]:.1f}" for name in ("reads_record", "reads_vector", "reads_adjacency"))


def counts(row: dict) -> tuple[str, ...]:
    return tuple(f"{row[name]:.1f}" for name in ("exact_reads", "expansions", "reads"))


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


def of_policy(name: str, column: int) -> Callable[[Rows], str]:
    """Recall, latency or throughput of a policy."""
    return lambda rows: point(policy_row(rows, name))[column]


def against_gate(rows: Rows, name: str, other: str) -> str:
    row = policy_row(rows, name)
    marks = [_mark(row[f"{what} against {other}, verdict"]) for what in ("latency", "recall")]
    latency, recall = row[f"latency against {other}"], row[f"recall against {other}"]
    return f"{latency - 1:+.1%}{marks[0]}, {recall:+.4f}{marks[1]}"


def cause(row: dict) -> str:
    marks = [_mark(row[f"{what} verdict"]) for what in ("latency", "recall")]
    return f"{row['latency ratio'] - 1:+.1%}{marks[0]}, {row['recall difference']:+.4f}{marks[1]}"


def wins(rows: Rows) -> tuple[str, ...]:
    words = [row["verdict"] for row in rows]
    return (
        f"{sum(word.startswith('yes') for word in words)} of {len(words)}",
        str(words.count("yes, both resolved")),
        str(words.count("no")),
        str(words.count("unresolved")),
    )


def pair(rows: Rows, name: str, one: dict, other: dict, factor: float = 1.0, digits: int = 1) -> tuple[str, str]:
    a, b = find(rows, **one), find(rows, **other)
    return f"{factor * a[name]:.{digits}f}", f"{factor * b[name]:.{digits}f} ({b[name] / a[name] - 1:+.1%})"


def window(name: str, factor: float = 1.0, digits: int = 1) -> Callable[[Rows], tuple[str, str]]:
    def text(rows: Rows) -> tuple[str, str]:
        return pair(
            rows, name, {"counts": "expansions", "window": 1}, {"counts": "expansions", "window": 8}, factor, digits
        )

    return text


def latency_steps(rows: Rows) -> tuple[str, ...]:
    """Change of latency from step to step, marked where it is not resolved, and of all with its interval."""
    texts = [_change(row, "before") for row in rows[1:]]
    low, high = (rows[-1][f"latency against first, {end}"] - 1 for end in ("low", "high"))
    return *texts, f"{_change(rows[-1], 'first')} [{low:+.1%}, {high:+.1%}]"


def _change(row: dict, other: str) -> str:
    return f"{row[f'latency against {other}'] - 1:+.1%}{_mark(row[f'latency against {other}, verdict'])}"


def rate_steps(rows: Rows) -> tuple[str, ...]:
    """Change of throughput from step to step, and of all."""
    values = [row["qps"] for row in rows]
    pairs = [*itertools.pairwise(values), (values[0], values[-1])]
    return tuple(f"{after / before - 1:+.1%}" for before, after in pairs)


def busy(rows: Rows, name: str, phases: tuple[str, str], kind: str = "adaptive", digits: int = 2) -> str:
    row = find(rows, balancing=kind)
    return f"{row[f'{name}_{phases[0]}']:.{digits}f} → {row[f'{name}_{phases[1]}']:.{digits}f}"


def p99(rows: Rows, kind: str = "adaptive") -> str:
    """In the burst, with its change against Fixed."""
    row, fixed = find(rows, balancing=kind), find(rows, balancing="fixed")["p99_burst_us"]
    change = f"{row['p99_burst_us'] / fixed - 1:+.1%}{_seeds_mark(row, 'p99_burst_us')}"
    return f"{row['p99_burst_us']:.0f} ({change})"


def p99_fixed(rows: Rows) -> str:
    return f"{find(rows, balancing='fixed')['p99_burst_us']:.0f}"


def p99_before(rows: Rows) -> str:
    return f"{find(rows, balancing='fixed')['p99_before_us']:.0f}"


def p99_rise(rows: Rows) -> str:
    row = find(rows, balancing="fixed")
    return f"{row['p99_burst_us']:.0f} ({row['p99_burst_us'] / row['p99_before_us']:.2f} x)"


def _seeds_mark(row: dict, name: str) -> str:
    """Of a paired difference over seeds: unresolved where its interval is wider."""
    low, high = row[f"{name} against fixed, low"], row[f"{name} against fixed, high"]
    if low != low:
        return "¹"
    return "*" if high - low > abs(row[f"{name} against fixed"]) else ""


def and_back(rows: Rows) -> tuple[str, str]:
    """Mean window of Adaptive before, in and after the burst; mean latency before it, Fixed to Adaptive."""
    row, fixed = find(rows, balancing="adaptive"), find(rows, balancing="fixed")
    window = " → ".join(f"{row[f'window_{phase}']:.2f}" for phase in ("before", "settled", "after"))
    return window, f"{fixed['mean_before_us']:.0f} → {row['mean_before_us']:.0f}"


def wrong(rows: Rows) -> str:
    return " / ".join(str(sum(row[f"queries_whose_{what}_differ"] for row in rows)) for what in ("bytes", "expansions"))


def recalls(rows: Rows) -> tuple[str, ...]:
    policies = ("expansion-only", "calibrated", "verify-all")
    return tuple(f"{find(rows, policy=name, alpha=None)['recall']:.4f}" for name in policies)


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


def hidden(rows: Rows, gate: str) -> str:
    row = policy_row(rows, gate)
    return f"{row['hidden, mean']:.2f} / {row['hidden, P95']:.0f}"


def of_gate(*names: str, digits: int = 3) -> Callable[[Rows], str]:
    def text(rows: Rows) -> str:
        return " / ".join(f"{policy_row(rows)[name]:.{digits}f}" for name in names)

    return text


def recall_of_burst(rows: Rows) -> str:
    row = find(rows, balancing="adaptive")
    return f"{row['recall_burst against fixed']:+.4f}{_seeds_mark(row, 'recall_burst')}"


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
    return f"{b['qps'] / a['qps'] - 1:+.1%} / {b['latency_mean_us'] / a['latency_mean_us'] - 1:+.1%}"


def defer(rows: Rows, kind: str) -> tuple[str, ...]:
    row = find(rows, balancing=kind)
    return tuple(f"{row[name]:.2f}" for name in ("defer_low", "defer_peak", "defer_ratio_settled"))


def memory(rows: Rows, name: str) -> tuple[str, str]:
    """Recall with its list size, and costs, of a use of the memory at recall 0.95."""
    found = [row for row in rows if row["memory"] == name and row["at 0.95"]]
    if not found:
        return "below 0.95", ""
    reached, latency_us, kqps = point(found[0])
    return f"{reached} (L = {found[0]['L']})", f"{latency_us} / {kqps}"


def point(row: dict) -> tuple[str, str, str]:
    """Recall, latency in us, kQPS."""
    return f"{row['recall']:.4f}", f"{row['latency_mean_us']:.1f}", f"{row['qps'] / 1e3:.1f}"


def requests_and_latency(rows: Rows) -> str:
    return (
        f"{find(rows, measure='reads')['ratio'] - 1:+.1%} / {find(rows, measure='latency_mean_us')['ratio'] - 1:+.1%}"
    )


def largest_changes(rows: Rows, what: str) -> str:
    """Largest change of throughput, P99 and recall over the settings of thresholds or of the interval."""
    moved = [row for row in rows if (row["interval"] != 32) == (what == "interval")]
    sizes = [max(abs(row[name]) for row in moved) for name in ("qps_change", "p99_change", "recall_change")]
    return f"{sizes[0]:.1%}, {sizes[1]:.1%}, {sizes[2]:.4f}"
