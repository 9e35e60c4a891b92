"""Fill the tables of docs/results/riftann.md from results/published/riftann/tables.json, between their markers."""

import re
from collections.abc import Callable
from pathlib import Path

import riftann_cells as cells
from riftann_cells import Rows, find

Tables = dict[str, dict[str, Rows]]
SHORT = {"sift-photos-100k": "SIFT", "deep-photos-100k": "DEEP", "text-wordnet-100k": "TEXT"}


# ---------------------------------------------------------------- claims: id, what, the paper's value, ours

ONE, LONG = (1, 1, 32), "_work"
ORACLE = {"gate": "oracle", "epsilon": 0}
Claim = tuple[str, str, str, str, Callable[[Rows], str]]
CLAIMS: dict[str, list[Claim]] = {
    "reads": [
        (
            "P06",
            "recall expansion-only / calibrated / verify-all",
            "0.9230 / 0.9547 / 0.9559",
            "verification",
            cells.recalls,
        ),
        (
            "P01",
            "exact vectors / expansions / requests",
            "813 / 405 / 853",
            "verification",
            lambda r: cells.counts(cells.own(r)),
        ),
        (
            "P01",
            "the same at 405 expansions, with a clock",
            "813 / 405 / 853",
            "reads_work",
            lambda r: cells.counts(cells.state_driven(r)),
        ),
        ("P17", "record / vector / list reads", "365 / 448 / 40", "verification", lambda r: cells.modes(cells.own(r))),
        (
            "P17",
            "the same at 405 expansions",
            "365 / 448 / 40",
            "reads_work",
            lambda r: cells.modes(cells.state_driven(r)),
        ),
        (
            "P18",
            "share of verify-only nodes expanded later",
            "0.089",
            "verification",
            lambda r: cells.later(cells.own(r)),
        ),
        ("P18", "the same at 405 expansions", "0.089", "reads_work", lambda r: cells.later(cells.state_driven(r))),
        (
            "P18",
            "the same verifying evicted candidates only, 0.95",
            "0.089",
            "eviction",
            lambda r: cells.later(cells.state_driven(r)),
        ),
        (
            "P19",
            "evicted only against full-record, 0.95: requests / latency",
            "+4.9 % / −5.9 %",
            "eviction",
            cells.requests_and_latency,
        ),
        (
            "P19",
            "evicted only against full-record, 405 exp.: requests / latency",
            "+4.9 % / −5.9 %",
            "eviction_work",
            cells.requests_and_latency,
        ),
        ("", "queries whose bytes / expansions do not add up", "0", "verification", cells.wrong),
        ("", "the same with a clock", "0", "reads_sim", cells.wrong),
        ("P04", "traffic saved, measured", "0.377", "full_record", cells.saved),
        ("P04", "the same at 405 expansions", "0.377", "full_record_work", cells.saved),
        (
            "P03",
            "KiB full-record → state-driven",
            "410 → 255",
            "full_record_work",
            lambda r: cells.pair(r, "kib_read", {"record_reads": "full-record"}, {"record_reads": "state-driven"}),
        ),
        (
            "P19",
            "more requests / less latency",
            "+4.9 % / −5.9 %",
            "full_record",
            cells.requests_and_latency,
        ),
        (
            "P05",
            "kQPS full-record → state-driven, 405 expansions",
            "18.9 → 20.1 (+6.3 %)",
            "full_record_work",
            lambda r: cells.pair(r, "qps", {"record_reads": "full-record"}, {"record_reads": "state-driven"}, 1e-3),
        ),
        (
            "P16",
            "recall, state-driven − full-record",
            "same",
            "full_record",
            lambda r: cells.difference(find(r, measure="recall")),
        ),
    ],
    "alpha": [
        ("P08", "alpha, five splits", "1.15, 1.13, 1.17", "calibration", lambda r: cells.splits(r, "alpha")),
        ("", "alpha, split 0, codes of 20 → 40 bytes", "", "calibration", cells.longer_codes),
        ("", "alpha, five trainings of the codes", "", "calibration", lambda r: cells.splits(r, "alpha", "codes")),
        (
            "P09",
            "coverage on held-out queries",
            "0.9988, 0.9985, 0.9983",
            "calibration",
            lambda r: cells.splits(r, "held_out_coverage", digits=4),
        ),
        ("P10", "exact reads avoided", "0.807, 0.809, 0.781", "verification_paired", cells.avoided),
        (
            "P11",
            "recall, verify-all − calibrated",
            "0.0012, 0.0013, 0.0016",
            "verification_paired",
            lambda r: cells.difference(cells.against(r, "verify-all", "recall")),
        ),
        ("P12", "alpha + 0.10: reads", "+447 (+55 %)", "verification_paired", cells.more_reads),
        (
            "P12",
            "alpha + 0.10: recall",
            "+0.0011",
            "verification_paired",
            lambda r: cells.difference(cells.against(r, "alpha + 0.10", "recall")),
        ),
    ],
    "headroom": [
        (
            "",
            what,
            "",
            "headroom",
            lambda r, h=hardware, g=gate, v=rule: cells.cause(find(r, hardware=h, verification=v, **g)),
        )
        for what, hardware, gate, rule in (
            ("wait-all", "connectx5-100g", {"gate": "wait-all"}, "calibrated"),
            ("ungated", "connectx5-100g", {"gate": "ungated"}, "calibrated"),
            ("a gate that knows what will insert", "connectx5-100g", ORACLE, "calibrated"),
            ("verification that knows the true neighbours", "connectx5-100g", {"gate": "impact-aware"}, "oracle"),
            ("both", "connectx5-100g", ORACLE, "oracle"),
            ("a network without waiting", "zero-wait", {"gate": "impact-aware"}, "calibrated"),
            ("all three", "zero-wait", ORACLE, "oracle"),
        )
    ],
    "equal_memory": [
        (
            "",
            f"{what}, L = {L}",
            "",
            "equal_memory",
            lambda r, c=codes, k=cache, L=L: cells.point(find(r, cache=k, L=L, **c)),
        )
        for L in (10, 13, 20)
        for what, codes, cache in (
            ("20-byte codes", {"bytes": 20}, "none"),
            ("20-byte codes, hottest records cached", {"bytes": 20}, "visits"),
            ("20-byte codes, nearest records cached", {"bytes": 20}, "hops"),
            ("48-byte codes, hottest records cached", {"bytes": 48}, "visits"),
            ("64-byte codes", {"bytes": 64}, "none"),
            ("one byte per dimension", {"codes": "sq8"}, "none"),
        )
    ],
    "window": [
        (claim, what + where, paper, f"window{suffix}", cells.window(*args))
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
        (
            "D05",
            "latency by step, 0.90",
            "−25.2, −23.9, −5.2; all −46.1 %",
            "breakdown",
            cells.steps("latency_mean_us"),
        ),
        ("D06", "throughput by step, 0.90", "+59.2, +25.6, +5.5; all +111 %", "breakdown", cells.steps("qps")),
        ("", "latency by step, 405 exp.", "", "breakdown_work", cells.steps("latency_mean_us")),
        ("", "throughput by step, 405 exp.", "", "breakdown_work", cells.steps("qps")),
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
                lambda r: cells.defer(r, "adaptive"),
            ),
            ("C03", f"defer ratio, fixed{where}", "0.91 to 1.01", f"burst{suffix}", lambda r: cells.defer(r, "fixed")),
            (
                "C04",
                f"busy workers before → in the burst{where}",
                "4.0 → 5.9",
                f"burst{suffix}",
                lambda r: cells.busy(r, "busy_workers", ("before", "settled")),
            ),
            (
                "C04",
                f"window before → in the burst{where}",
                "7.8 → 5.0",
                f"burst{suffix}",
                lambda r: cells.busy(r, "window", ("before", "settled")),
            ),
            (
                "C05, C08",
                f"P99 in the burst, fixed → adaptive{where}",
                "3.02 → 2.35 ms (−22.2 %)",
                f"burst{suffix}",
                cells.p99,
            ),
            (
                "M28",
                f"P99 fixed, before → in the burst{where}",
                "1.46 → 3.02 ms (2.07 x)",
                f"burst{suffix}",
                lambda r: cells.rise(find(r, balancing="fixed")),
            ),
            ("C09", f"recall adaptive − fixed{where}", "≤ 0.0001", f"burst{suffix}", cells.recall_of_burst),
            (
                "C07",
                f"kQPS completed in the burst, fixed / adaptive{where}",
                "16.9 both",
                f"burst{suffix}",
                cells.completed,
            ),
        )
    ],
    "burst_causes": [
        ("", f"adaptive, {what}: P99 against fixed", "", "burst_work", lambda r, kind=kind: cells.p99(r, kind))
        for what, kind in (
            ("as printed", "adaptive"),
            ("window at least 6", "adaptive 6"),
            ("interval counted per query", "adaptive query"),
        )
    ],
    "sensitivity": [
        (
            "C01",
            f"largest change of QPS, P99, recall over {name}",
            "≤ 2.2 %, ≤ 5.8 %, < 0.0002",
            "sensitivity",
            lambda r, w=what: cells.largest_changes(r, w),
        )
        for name, what in (("both thresholds", "thresholds"), ("the interval, 8 to 128", "interval"))
    ],
    "scaling": [
        (claim, what + where, paper, f"scaling{suffix}", lambda r, a=a, b=b: cells.scale(r, a, b))
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
                cells.of_gate("update ratio, first 20 %", "update ratio, last 40 %", digits=4),
            ),
            (
                "G03",
                f"update ratio, first 10 %{where}",
                "0.52",
                f"policies{suffix}",
                cells.of_gate("update ratio, first 10 %"),
            ),
            (
                "G15",
                f"update ratio, last 30 %{where}",
                "< 0.005",
                f"policies{suffix}",
                cells.of_gate("update ratio, last 30 %", digits=4),
            ),
            (
                "G02",
                f"evaluated per expansion, last 40 %{where}",
                "64.8",
                f"policies{suffix}",
                cells.of_gate("evaluated per expansion, last 40 %", digits=1),
            ),
            (
                "G04",
                f"backlog at admission, first 10 %, median / mean{where}",
                "1.25",
                f"policies{suffix}",
                cells.of_gate("backlog, first 10 %, median", "backlog, first 10 %, mean", digits=1),
            ),
            (
                "G20",
                f"backlog at admission, last 30 %, median / mean{where}",
                "nearly 100",
                f"policies{suffix}",
                cells.of_gate("backlog, last 30 %, median", "backlog, last 30 %, mean", digits=1),
            ),
            (
                "G05",
                f"hidden updates, mean, P95{where}",
                "0.48, 2",
                f"policies{suffix}",
                lambda r: cells.hidden(r, "impact-aware 1.0"),
            ),
            (
                "G06",
                f"the same, U-only 32 / rho-only 0.05 / ungated{where}",
                "0.66 to 4.43, 4 to 19",
                f"policies{suffix}",
                lambda r: cells.hidden(r, "u-only 32", "rho-only 0.05", "ungated"),
            ),
        )
    ],
    "causes": [
        (
            "G17" if gate == "impact-aware 1.0" else "",
            f"{gate}, {'with' if helps else 'without'} main threads' help, {concurrency} in flight{where}",
            "−28.5 %, −0.0009" if gate == "impact-aware 1.0" else "",
            f"causes{suffix}",
            lambda r, g=gate, h=helps, c=concurrency: cells.cause(find(r, gate=g, main_threads_help=h, concurrency=c)),
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
            (
                "G08",
                f"wait-all{where}",
                "0.9556, 1.55 ms, 15.6",
                f"policies{suffix}",
                lambda r: cells.policy(r, "wait-all"),
            ),
            (
                "G07",
                f"impact-aware{where}",
                "0.9547, 1.11 ms, 20.1",
                f"policies{suffix}",
                lambda r: cells.policy(r, "impact-aware 1.0"),
            ),
            (
                "G09",
                f"U-only B = 32{where}",
                "0.9468, 1.17 ms",
                f"policies{suffix}",
                lambda r: cells.policy(r, "u-only 32"),
            ),
            (
                "G10",
                f"rho-only θ = 0.05{where}",
                "0.9512, 1.14 ms",
                f"policies{suffix}",
                lambda r: cells.policy(r, "rho-only 0.05"),
            ),
            ("G11", f"ungated{where}", "0.9279, 0.95 ms", f"policies{suffix}", lambda r: cells.policy(r, "ungated")),
            (
                "G12",
                f"ε = 0.25{where}",
                "0.9555, 1.43 ms",
                f"policies{suffix}",
                lambda r: cells.policy(r, "impact-aware 0.25"),
            ),
            (
                "G12",
                f"ε = 4{where}",
                "0.9496, 0.99 ms",
                f"policies{suffix}",
                lambda r: cells.policy(r, "impact-aware 4.0"),
            ),
            (
                "G17",
                f"impact-aware against wait-all: latency, recall{where}",
                "−28.5 %, −0.0009",
                f"policies{suffix}",
                lambda r: cells.against_gate(r, "impact-aware 1.0", "wait-all"),
            ),
            (
                "",
                f"ungated against wait-all{where}",
                "−38.7 %, −0.0277",
                f"policies{suffix}",
                lambda r: cells.against_gate(r, "ungated", "wait-all"),
            ),
            (
                "G16",
                f"rho-only 0.2 against impact-aware{where}",
                "−9 µs (−0.8 %), −0.0139",
                f"policies{suffix}",
                lambda r: cells.against_gate(r, "rho-only 0.2", "impact-aware 1.0"),
            ),
            (
                "G13",
                f"U-only and rho-only settings{where}",
                "all dominated but θ = 0.2",
                f"dominance{suffix}",
                cells.wins,
            ),
        )
    ],
    "remote": [
        (
            "M03",
            "Remote- over in-memory Vamana",
            "1.9 to 2.1",
            "remote_cost",
            lambda r: cells.ratio(r, "remote_vamana", "in_memory_vamana"),
        ),
        ("M04", "remote accesses, µs (share of latency)", "170 (0.31)", "remote_cost", cells.remote_share),
        ("M27", "non-RDMA time, Remote- over in-memory", "1.285", "remote_cost", cells.non_rdma),
        (
            "",
            "Remote-Vamana with a beam of one: latency, accesses (share), µs",
            "",
            "remote_cost_beam1",
            cells.beam_of_one,
        ),
        ("M13", "Async-Vamana, µs", "368", "remote_cost", lambda r: f"{cells.latency(r, 'async_vamana'):.1f}"),
        (
            "M14",
            "Remote- over Async-Vamana",
            "1.5",
            "remote_cost",
            lambda r: cells.ratio(r, "remote_vamana", "async_vamana"),
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
        texts = [value(tables[block][name]) if name in tables.get(block, {}) else "not run" for name in sets]
        if any(text != "not run" for text in texts):
            lines.append(f"| {claim} | {what} | {paper} | {' | '.join(texts)} |".replace("-0.0000", "0.0000"))
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
