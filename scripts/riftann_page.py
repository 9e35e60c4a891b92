"""Fill the tables of docs/results/riftann.md from results/published/riftann/tables.json, between their markers."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]
Tables = dict[str, dict[str, Rows]]
SHORT = {"sift-photos-100k": "SIFT", "deep-photos-100k": "DEEP", "text-wordnet-100k": "TEXT"}


# ---------------------------------------------------------------- numbers as text


def difference(row: dict, digits: int = 4, factor: float = 1.0) -> str:
    """A paired difference with its interval, `unresolved` where the verdict is."""
    low, high = factor * row["difference_low"], factor * row["difference_high"]
    text = f"{factor * row['difference']:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
    return f"{text}, unresolved" if row["verdict"] == "unresolved" else text


def find(rows: Rows, **wanted: Any) -> dict:
    """The row that has these values."""
    return next(row for row in rows if all(row.get(key) == value for key, value in wanted.items()))


# ---------------------------------------------------------------- claims: id, what, the paper's value, ours


def _own(rows: Rows) -> dict:
    return next(row for row in rows if row["policy"] == "calibrated" and row["alpha"] is None)


def _against(rows: Rows, name: str, measure: str) -> dict:
    return find(rows, **{"against calibrated": name, "measure": measure})


def _splits(rows: Rows, name: str, kind: str = "split", digits: int = 3) -> str:
    values = [
        row[name]
        for row in rows
        if row["varied"] == kind or (kind == "codes" and row["varied"] == "split" and not row["seed"])
    ]
    if kind == "codes" and len(values) == 1:
        return "not run"
    mean = sum(values) / len(values)
    return f"{mean:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f}; n={len(values)})"


def _longer_codes(rows: Rows) -> str:
    longer = [row for row in rows if row["varied"] == "bytes"]
    return f"{find(rows, varied='split', seed=0)['alpha']:.3f} → {longer[0]['alpha']:.3f}" if longer else "not run"


def _modes(row: dict) -> str:
    return " / ".join(f"{row[name]:.1f}" for name in ("reads_record", "reads_vector", "reads_adjacency"))


def _counts(row: dict) -> str:
    return " / ".join(f"{row[name]:.1f}" for name in ("exact_reads", "expansions", "reads"))


def _saved(rows: Rows) -> str:
    row = find(rows, measure="kib_read")
    return f"{1 - row['ratio']:.3f} [{1 - row['ratio_high']:.3f}, {1 - row['ratio_low']:.3f}]"


def _avoided(rows: Rows) -> str:
    row = _against(rows, "verify-all", "exact_reads")
    return f"{1 - 1 / row['ratio']:.3f} [{1 - 1 / row['ratio_low']:.3f}, {1 - 1 / row['ratio_high']:.3f}]"


def _gate(rows: Rows, name: str = "impact-aware 1.0") -> dict:
    return find(rows, gate=name)


def _policy(rows: Rows, name: str) -> str:
    row = _gate(rows, name)
    return f"{row['recall']:.4f}, {row['latency_mean_us']:.1f} µs, {row['qps'] / 1e3:.1f} kQPS"


def _against_gate(rows: Rows, name: str, other: str) -> str:
    row = _gate(rows, name)
    marks = ["*" if row[f"{what} against {other}, verdict"] == "unresolved" else "" for what in ("latency", "recall")]
    latency, recall = row[f"latency against {other}"], row[f"recall against {other}"]
    return f"{latency - 1:+.1%}{marks[0]}, {recall:+.4f}{marks[1]}"


def _cause(row: dict) -> str:
    marks = ["*" if row[f"{what} verdict"] == "unresolved" else "" for what in ("latency", "recall")]
    return f"{row['latency ratio'] - 1:+.1%}{marks[0]}, {row['recall difference']:+.4f}{marks[1]}"


def _wins(rows: Rows) -> str:
    words = [row["verdict"] for row in rows]
    return (
        f"{sum(word.startswith('yes') for word in words)} of {len(words)} dominated "
        f"({sum(word == 'yes, both resolved' for word in words)} in both measures), "
        f"{words.count('no')} not, {words.count('unresolved')} unresolved"
    )


def _pair(rows: Rows, name: str, one: dict, other: dict, factor: float = 1.0, digits: int = 1) -> str:
    a, b = find(rows, **one), find(rows, **other)
    return f"{factor * a[name]:.{digits}f} → {factor * b[name]:.{digits}f} ({b[name] / a[name] - 1:+.1%})"


def _window(name: str, factor: float = 1.0, digits: int = 1) -> Callable[[Rows], str]:
    def text(rows: Rows) -> str:
        return _pair(
            rows, name, {"counts": "expansions", "window": 1}, {"counts": "expansions", "window": 8}, factor, digits
        )

    return text


def _steps(name: str) -> Callable[[Rows], str]:
    def text(rows: Rows) -> str:
        values = [row[name] for row in rows]
        steps = [f"{after / before - 1:+.1%}" for before, after in itertools.pairwise(values)]
        return ", ".join(steps) + f"; all {values[-1] / values[0] - 1:+.1%}"

    return text


def _busy(rows: Rows, name: str, phases: tuple[str, str], kind: str = "adaptive", digits: int = 2) -> str:
    row = find(rows, balancing=kind)
    return f"{row[f'{name}_{phases[0]}']:.{digits}f} → {row[f'{name}_{phases[1]}']:.{digits}f}"


def _p99(rows: Rows, kind: str = "adaptive") -> str:
    row, fixed = find(rows, balancing=kind), find(rows, balancing="fixed")["p99_burst_us"]
    text = f"{fixed:.0f} → {row['p99_burst_us']:.0f} µs ({row['p99_burst_us'] / fixed - 1:+.1%})"
    return f"{text}{_seeds_verdict(row, 'p99_burst_us')}"


def _seeds_verdict(row: dict, name: str) -> str:
    """Unresolved where the paired interval over seeds is wider than the difference."""
    low, high = row[f"{name} against fixed, low"], row[f"{name} against fixed, high"]
    if low != low:
        return ", one seed"
    return ", unresolved" if high - low > abs(row[f"{name} against fixed"]) else ""


def _rise(row: dict) -> str:
    before, during = row["p99_before_us"], row["p99_burst_us"]
    return f"{before:.0f} → {during:.0f} µs ({during / before:.2f} x)"


def _wrong(rows: Rows) -> str:
    return " / ".join(str(sum(row[f"queries_whose_{what}_differ"] for row in rows)) for what in ("bytes", "expansions"))


def _recalls(rows: Rows) -> str:
    policies = ("expansion-only", "calibrated", "verify-all")
    return " / ".join(f"{find(rows, policy=name, alpha=None)['recall']:.4f}" for name in policies)


def _latency(rows: Rows, series: str) -> float:
    return find(rows, series=series)["latency_mean_us"]


def _remote_share(rows: Rows) -> str:
    wait = find(rows, series="remote_vamana")["wait_us"]
    return f"{wait:.1f} ({wait / _latency(rows, 'remote_vamana'):.2f})"


def _beam_of_one(rows: Rows) -> str:
    return f"{_latency(rows, 'remote_vamana'):.1f}, {_remote_share(rows)}"


def _non_rdma(rows: Rows) -> str:
    remote = find(rows, series="remote_vamana")
    return f"{(remote['latency_mean_us'] - remote['wait_us']) / _latency(rows, 'in_memory_vamana'):.3f}"


def _ratio(rows: Rows, one: str, other: str) -> str:
    return f"{_latency(rows, one) / _latency(rows, other):.2f}"


def _hidden(rows: Rows, *gates: str) -> str:
    found = [_gate(rows, gate) for gate in gates]
    return " / ".join(f"{row['hidden, mean']:.2f}, {row['hidden, P95']:.0f}" for row in found)


def _of_gate(*names: str, digits: int = 3) -> Callable[[Rows], str]:
    def text(rows: Rows) -> str:
        return " / ".join(f"{_gate(rows)[name]:.{digits}f}" for name in names)

    return text


def _recall_of_burst(rows: Rows) -> str:
    row = find(rows, balancing="adaptive")
    return f"{row['recall_burst against fixed']:+.4f}{_seeds_verdict(row, 'recall_burst')}"


def _completed(rows: Rows) -> str:
    return " / ".join(
        f"{find(rows, balancing=kind)['completed_qps_burst'] / 1e3:.1f}" for kind in ("fixed", "adaptive")
    )


def _more_reads(rows: Rows) -> str:
    row = _against(rows, "alpha + 0.10", "exact_reads")
    return f"{row['difference']:+.1f} ({row['ratio'] - 1:+.0%})"


def _later(row: dict) -> str:
    return f"{row['later_expanded_share']:.3f}"


def _state_driven(rows: Rows) -> dict:
    return find(rows, record_reads="state-driven")


def _scale(rows: Rows, one: tuple, other: tuple) -> str:
    a, b = (find(rows, C=c, M=m, threads=t) for c, m, t in (one, other))
    return f"{b['qps'] / a['qps'] - 1:+.1%}, latency {b['latency_mean_us'] / a['latency_mean_us'] - 1:+.1%}"


def _defer(rows: Rows, kind: str) -> str:
    row = find(rows, balancing=kind)
    return f"{row['defer_low']:.2f} to {row['defer_peak']:.2f}, settled {row['defer_ratio_settled']:.2f}"


ONE, LONG = (1, 1, 32), "_work"
Claim = tuple[str, str, str, str, Callable[[Rows], str]]
CLAIMS: dict[str, list[Claim]] = {
    "reads": [
        (
            "P06",
            "recall expansion-only / calibrated / verify-all",
            "0.9230 / 0.9547 / 0.9559",
            "verification",
            _recalls,
        ),
        ("P01", "exact vectors / expansions / requests", "813 / 405 / 853", "verification", lambda r: _counts(_own(r))),
        (
            "P01",
            "the same at 405 expansions, with a clock",
            "813 / 405 / 853",
            "reads_work",
            lambda r: _counts(_state_driven(r)),
        ),
        ("P17", "record / vector / list reads", "365 / 448 / 40", "verification", lambda r: _modes(_own(r))),
        ("P17", "the same at 405 expansions", "365 / 448 / 40", "reads_work", lambda r: _modes(_state_driven(r))),
        ("P18", "share of verify-only nodes expanded later", "0.089", "verification", lambda r: _later(_own(r))),
        ("P18", "the same at 405 expansions", "0.089", "reads_work", lambda r: _later(_state_driven(r))),
        ("", "queries whose bytes / expansions do not add up", "0", "verification", _wrong),
        ("", "the same with a clock", "0", "reads_sim", _wrong),
        ("P04", "traffic saved, measured", "0.377", "full_record", _saved),
        ("P04", "the same at 405 expansions", "0.377", "full_record_work", _saved),
        (
            "P03",
            "KiB full-record → state-driven",
            "410 → 255",
            "full_record_work",
            lambda r: _pair(r, "kib_read", {"record_reads": "full-record"}, {"record_reads": "state-driven"}),
        ),
        (
            "P19",
            "more requests / less latency",
            "+4.9 % / −5.9 %",
            "full_record",
            lambda r: (
                f"{find(r, measure='reads')['ratio'] - 1:+.1%} / {find(r, measure='latency_mean_us')['ratio'] - 1:+.1%}"
            ),
        ),
        (
            "P05",
            "kQPS full-record → state-driven, 405 expansions",
            "18.9 → 20.1 (+6.3 %)",
            "full_record_work",
            lambda r: _pair(r, "qps", {"record_reads": "full-record"}, {"record_reads": "state-driven"}, 1e-3),
        ),
        (
            "P16",
            "recall, state-driven − full-record",
            "same",
            "full_record",
            lambda r: difference(find(r, measure="recall")),
        ),
    ],
    "alpha": [
        ("P08", "alpha, five splits", "1.15, 1.13, 1.17", "calibration", lambda r: _splits(r, "alpha")),
        ("", "alpha, split 0, codes of 20 → 40 bytes", "", "calibration", _longer_codes),
        ("", "alpha, five trainings of the codes", "", "calibration", lambda r: _splits(r, "alpha", "codes")),
        (
            "P09",
            "coverage on held-out queries",
            "0.9988, 0.9985, 0.9983",
            "calibration",
            lambda r: _splits(r, "held_out_coverage", digits=4),
        ),
        ("P10", "exact reads avoided", "0.807, 0.809, 0.781", "verification_paired", _avoided),
        (
            "P11",
            "recall, verify-all − calibrated",
            "0.0012, 0.0013, 0.0016",
            "verification_paired",
            lambda r: difference(_against(r, "verify-all", "recall")),
        ),
        ("P12", "alpha + 0.10: reads", "+447 (+55 %)", "verification_paired", _more_reads),
        (
            "P12",
            "alpha + 0.10: recall",
            "+0.0011",
            "verification_paired",
            lambda r: difference(_against(r, "alpha + 0.10", "recall")),
        ),
    ],
    "window": [
        (claim, what + where, paper, f"window{suffix}", _window(*args))
        for suffix, where in (("", ", 0.95"), (LONG, ", 405 exp."))
        for claim, what, paper, args in (
            ("P13", "exposed wait 1 → 8, µs", "810 → 280 (−65.4 %)", ("wait_us",)),
            ("P14", "latency 1 → 8, µs", "1620 → 1110 (−31.5 %)", ("latency_mean_us",)),
            ("P15", "kQPS 1 → 8", "14.0 → 20.1 (+43.6 %)", ("qps", 1e-3)),
            ("", "expansions 1 → 8", "same", ("expansions",)),
            ("P22", "recall 1 → 8", "nearly the same", ("recall", 1.0, 4)),
        )
    ],
    "breakdown": [
        ("D05", "latency by step, 0.90", "−25.2, −23.9, −5.2; all −46.1 %", "breakdown", _steps("latency_mean_us")),
        ("D06", "throughput by step, 0.90", "+59.2, +25.6, +5.5; all +111 %", "breakdown", _steps("qps")),
        ("", "latency by step, 405 exp.", "", "breakdown_work", _steps("latency_mean_us")),
        ("", "throughput by step, 405 exp.", "", "breakdown_work", _steps("qps")),
    ],
    "burst": [
        row
        for suffix, where in (("", ", 0.95"), (LONG, ", 405 exp."))
        for row in (
            (
                "C02",
                f"defer ratio, adaptive{where}",
                "peak 0.69, settled 0.55",
                f"burst{suffix}",
                lambda r: _defer(r, "adaptive"),
            ),
            ("C03", f"defer ratio, fixed{where}", "0.91 to 1.01", f"burst{suffix}", lambda r: _defer(r, "fixed")),
            (
                "C04",
                f"busy workers before → in the burst{where}",
                "4.0 → 5.9",
                f"burst{suffix}",
                lambda r: _busy(r, "busy_workers", ("before", "settled")),
            ),
            (
                "C04",
                f"window before → in the burst{where}",
                "7.8 → 5.0",
                f"burst{suffix}",
                lambda r: _busy(r, "window", ("before", "settled")),
            ),
            (
                "C05, C08",
                f"P99 in the burst, fixed → adaptive{where}",
                "3.02 → 2.35 ms (−22.2 %)",
                f"burst{suffix}",
                _p99,
            ),
            (
                "M28",
                f"P99 fixed, before → in the burst{where}",
                "1.46 → 3.02 ms (2.07 x)",
                f"burst{suffix}",
                lambda r: _rise(find(r, balancing="fixed")),
            ),
            ("C09", f"recall adaptive − fixed{where}", "≤ 0.0001", f"burst{suffix}", _recall_of_burst),
            ("C07", f"kQPS completed in the burst, fixed / adaptive{where}", "16.9 both", f"burst{suffix}", _completed),
        )
    ],
    "burst_causes": [
        ("", f"adaptive, {what}: P99 against fixed", "", "burst_work", lambda r, kind=kind: _p99(r, kind))
        for what, kind in (
            ("as printed", "adaptive"),
            ("window at least 6", "adaptive 6"),
            ("interval counted per query", "adaptive query"),
        )
    ],
    "scaling": [
        (claim, what + where, paper, f"scaling{suffix}", lambda r, a=a, b=b: _scale(r, a, b))
        for suffix, where in (("", ", 0.90"), (LONG, ", 405 exp."))
        for claim, what, paper, a, b in (
            ("S01", "16 → 32 threads", "+40.4 %", (1, 1, 16), ONE),
            ("S02, S06", "32 → 48 threads", "+5.0 %, latency rises", ONE, (1, 1, 48)),
            ("S03", "1C1M → 1C3M", "−8.8 %, latency +9.5 %", ONE, (1, 3, 32)),
            ("S04", "1C1M → 2C1M", "+71 %", ONE, (2, 1, 32)),
            ("S04", "1C1M → 3C1M", "+104 %", ONE, (3, 1, 32)),
            ("S05", "2C1M → 2C2M", "+9.2 %, latency −8.5 %", (2, 1, 32), (2, 2, 32)),
        )
    ],
    "gate": [
        row
        for suffix, where in (("", ", 0.95"), (LONG, ", 405 exp."))
        for row in (
            (
                "G01",
                f"update ratio, first 20 % / last 40 %{where}",
                "0.410 / 0.0023",
                f"policies{suffix}",
                _of_gate("update ratio, first 20 %", "update ratio, last 40 %", digits=4),
            ),
            (
                "G03",
                f"update ratio, first 10 %{where}",
                "0.52",
                f"policies{suffix}",
                _of_gate("update ratio, first 10 %"),
            ),
            (
                "G15",
                f"update ratio, last 30 %{where}",
                "< 0.005",
                f"policies{suffix}",
                _of_gate("update ratio, last 30 %", digits=4),
            ),
            (
                "G02",
                f"evaluated per expansion, last 40 %{where}",
                "64.8",
                f"policies{suffix}",
                _of_gate("evaluated per expansion, last 40 %", digits=1),
            ),
            (
                "G04",
                f"backlog at admission, first 10 %, median / mean{where}",
                "1.25",
                f"policies{suffix}",
                _of_gate("backlog, first 10 %, median", "backlog, first 10 %, mean", digits=1),
            ),
            (
                "G20",
                f"backlog at admission, last 30 %, median / mean{where}",
                "nearly 100",
                f"policies{suffix}",
                _of_gate("backlog, last 30 %, median", "backlog, last 30 %, mean", digits=1),
            ),
            (
                "G05",
                f"hidden updates, mean, P95{where}",
                "0.48, 2",
                f"policies{suffix}",
                lambda r: _hidden(r, "impact-aware 1.0"),
            ),
            (
                "G06",
                f"the same, U-only 32 / rho-only 0.05 / ungated{where}",
                "0.66 to 4.43, 4 to 19",
                f"policies{suffix}",
                lambda r: _hidden(r, "u-only 32", "rho-only 0.05", "ungated"),
            ),
        )
    ],
    "causes": [
        (
            "G17" if gate == "impact-aware 1.0" else "",
            f"{gate}, {'with' if helps else 'without'} main threads' help, {concurrency} in flight{where}",
            "−28.5 %, −0.0009" if gate == "impact-aware 1.0" else "",
            f"causes{suffix}",
            lambda r, g=gate, h=helps, c=concurrency: _cause(find(r, gate=g, main_threads_help=h, concurrency=c)),
        )
        for suffix, where in (("", ", 0.95"), (LONG, ", 405 exp."))
        for gate in ("impact-aware 1.0", "ungated")
        for helps in (True, False)
        for concurrency in (4, 22)
    ],
    "admission": [
        row
        for suffix, where in (("", ", 0.95"), (LONG, ", 405 exp."))
        for row in (
            ("G08", f"wait-all{where}", "0.9556, 1.55 ms, 15.6", f"policies{suffix}", lambda r: _policy(r, "wait-all")),
            (
                "G07",
                f"impact-aware{where}",
                "0.9547, 1.11 ms, 20.1",
                f"policies{suffix}",
                lambda r: _policy(r, "impact-aware 1.0"),
            ),
            ("G09", f"U-only B = 32{where}", "0.9468, 1.17 ms", f"policies{suffix}", lambda r: _policy(r, "u-only 32")),
            (
                "G10",
                f"rho-only θ = 0.05{where}",
                "0.9512, 1.14 ms",
                f"policies{suffix}",
                lambda r: _policy(r, "rho-only 0.05"),
            ),
            ("G11", f"ungated{where}", "0.9279, 0.95 ms", f"policies{suffix}", lambda r: _policy(r, "ungated")),
            (
                "G12",
                f"ε = 0.25{where}",
                "0.9555, 1.43 ms",
                f"policies{suffix}",
                lambda r: _policy(r, "impact-aware 0.25"),
            ),
            ("G12", f"ε = 4{where}", "0.9496, 0.99 ms", f"policies{suffix}", lambda r: _policy(r, "impact-aware 4.0")),
            (
                "G17",
                f"impact-aware against wait-all: latency, recall{where}",
                "−28.5 %, −0.0009",
                f"policies{suffix}",
                lambda r: _against_gate(r, "impact-aware 1.0", "wait-all"),
            ),
            (
                "",
                f"ungated against wait-all{where}",
                "−38.7 %, −0.0277",
                f"policies{suffix}",
                lambda r: _against_gate(r, "ungated", "wait-all"),
            ),
            (
                "G16",
                f"rho-only 0.2 against impact-aware{where}",
                "−9 µs (−0.8 %), −0.0139",
                f"policies{suffix}",
                lambda r: _against_gate(r, "rho-only 0.2", "impact-aware 1.0"),
            ),
            ("G13", f"U-only and rho-only settings{where}", "all dominated but θ = 0.2", f"dominance{suffix}", _wins),
        )
    ],
    "remote": [
        (
            "M03",
            "Remote- over in-memory Vamana",
            "1.9 to 2.1",
            "remote_cost",
            lambda r: _ratio(r, "remote_vamana", "in_memory_vamana"),
        ),
        ("M04", "remote accesses, µs (share of latency)", "170 (0.31)", "remote_cost", _remote_share),
        ("M27", "non-RDMA time, Remote- over in-memory", "1.285", "remote_cost", _non_rdma),
        ("", "Remote-Vamana with a beam of one: latency, accesses (share), µs", "", "remote_cost_beam1", _beam_of_one),
        ("M13", "Async-Vamana, µs", "368", "remote_cost", lambda r: f"{_latency(r, 'async_vamana'):.1f}"),
        (
            "M14",
            "Remote- over Async-Vamana",
            "1.5",
            "remote_cost",
            lambda r: _ratio(r, "remote_vamana", "async_vamana"),
        ),
    ],
}


def claims_table(tables: Tables, claims: list[Claim]) -> str:
    sets = [name for name in SHORT if any(name in tables.get(block, {}) for _, _, _, block, _ in claims)]
    lines = [
        f"| claim | what | paper | {' | '.join(SHORT[name] for name in sets)} |",
        "|---|---|---|" + "---|" * len(sets),
    ]
    for claim, what, paper, block, value in claims:
        cells = [value(tables[block][name]) if name in tables.get(block, {}) else "not run" for name in sets]
        if any(cell != "not run" for cell in cells):
            lines.append(f"| {claim} | {what} | {paper} | {' | '.join(cells)} |".replace("-0.0000", "0.0000"))
    return "\n".join(lines)


# ---------------------------------------------------------------- Little's law


def little_table(tables: Tables) -> str:
    lines = [
        "| table | set | runs' configurations | queries in flight: largest deviation from those configured |",
        "|---|---|---|---|",
    ]
    for block, sets in tables.items():
        for name, rows in sets.items():
            errors = [row["little_error"] for row in rows if row.get("little_error") is not None]
            if errors:
                lines.append(f"| {block} | {SHORT[name]} | {len(errors)} | {max(errors, key=abs):+.2%} |")
    return "\n".join(lines)


def fill(page: Path, tables: Tables) -> None:
    """Replace what stands between ``<!-- table: NAME -->`` and ``<!-- end -->``."""

    def content(match: re.Match) -> str:
        name = match.group(1)
        body = little_table(tables) if name == "little" else claims_table(tables, CLAIMS[name])
        return f"<!-- table: {name} -->\n{body}\n<!-- end -->"

    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<!-- table: (\w+) -->.*?<!-- end -->", content, text, flags=re.DOTALL)
    page.write_text(text, encoding="utf-8")
