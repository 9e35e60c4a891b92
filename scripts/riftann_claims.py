"""Rows of the tables of docs/results/riftann.md: claim, what, the paper's value, table of results, our value."""

from collections.abc import Callable

import riftann_cells as cells
from riftann_cells import Rows, find, of_gate, of_policy

ONE = (1, 1, 32)
"""Compute nodes, memory nodes, threads."""
LONG = "_work"
POINTS = (("", ", 0.95"), (LONG, ", 405 exp."))
"""Operating points: suffix of the table, words."""
ORACLE = {"gate": "oracle", "epsilon": 0}
Claim = tuple[str, str, str, str, Callable[[Rows], str]]
# fmt: off
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
        (
            "P24",
            "smallest alpha within 0.001 of the calibrated recall, against it",
            "the calibrated one",
            "verification_paired",
            cells.knee,
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
        ("", what, "", "equal_memory", lambda r, n=name: cells.memory(r, n))
        for what, name in (
            ("20-byte codes", "pq 20, none"),
            ("20-byte codes, hottest records cached", "pq 20, visits"),
            ("20-byte codes, nearest records cached", "pq 20, hops"),
            ("48-byte codes, hottest records cached", "pq 48, visits"),
            ("64-byte codes", "pq 64, none"),
            ("one byte per dimension", "sq8, none"),
        )
    ],
    "window": [
        (claim, what + where, paper, f"window{suffix}", cells.window(*args))
        for suffix, where in POINTS
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
            cells.latency_steps,
        ),
        ("D06", "throughput by step, 0.90", "+59.2, +25.6, +5.5; all +111 %", "breakdown", cells.rate_steps),
        ("D05", "latency by step, 405 exp.", "", "breakdown_work", cells.latency_steps),
        ("D06", "throughput by step, 405 exp.", "", "breakdown_work", cells.rate_steps),
    ],
    "burst": [
        (claim, what + where, paper, f"burst{suffix}", value)
        for suffix, where in POINTS
        for claim, what, paper, value in (
            ("C02", "defer ratio, adaptive", "peak 0.69, settled 0.55", lambda r: cells.defer(r, "adaptive")),
            ("C03", "defer ratio, fixed", "0.91 to 1.01", lambda r: cells.defer(r, "fixed")),
            ("C04", "busy workers before → in the burst", "4.0 → 5.9",
             lambda r: cells.busy(r, "busy_workers", ("before", "settled"))),
            ("C04", "window before → in the burst", "7.8 → 5.0",
             lambda r: cells.busy(r, "window", ("before", "settled"))),
            ("C05, C08", "P99 in the burst, fixed → adaptive", "3.02 → 2.35 ms (−22.2 %)", cells.p99),
            ("C06, M28", "P99 fixed, before → in the burst", "1.46 → 3.02 ms (2.07 x)",
             lambda r: cells.rise(find(r, balancing="fixed"))),
            ("C07", "kQPS completed in the burst, fixed / adaptive", "16.9 both", cells.completed),
            ("C09", "recall adaptive − fixed", "≤ 0.0001", cells.recall_of_burst),
            ("C10", "window before → in → after, adaptive; latency before, fixed → adaptive", "goes back; alike",
             cells.and_back),
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
        (claim, what + where, paper, f"policies{suffix}", value)
        for suffix, where in POINTS
        for claim, what, paper, value in (
            ("G01", "update ratio, first 20 % / last 40 %", "0.410 / 0.0023",
             of_gate("update ratio, first 20 %", "update ratio, last 40 %", digits=4)),
            ("G03", "update ratio, first 10 %", "0.52", of_gate("update ratio, first 10 %")),
            ("G15", "update ratio, last 30 %", "< 0.005", of_gate("update ratio, last 30 %", digits=4)),
            ("G02", "evaluated per expansion, last 40 %", "64.8",
             of_gate("evaluated per expansion, last 40 %", digits=1)),
            ("G04", "backlog at admission, first 10 %, median / mean", "1.25",
             of_gate("backlog, first 10 %, median", "backlog, first 10 %, mean", digits=1)),
            ("G20", "backlog at admission, last 30 %, median / mean", "nearly 100",
             of_gate("backlog, last 30 %, median", "backlog, last 30 %, mean", digits=1)),
            ("G05", "hidden updates, mean, P95", "0.48, 2", lambda r: cells.hidden(r, "impact-aware 1.0")),
            ("G06", "the same, U-only 32 / rho-only 0.05 / ungated", "0.66 to 4.43, 4 to 19",
             lambda r: cells.hidden(r, "u-only 32", "rho-only 0.05", "ungated")),
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
        for suffix, where in POINTS
        for gate in ("impact-aware 1.0", "ungated")
        for helps in (True, False)
        for concurrency in (4, 22)
    ],
    "admission": [
        (claim, what + where, paper, f"{block}{suffix}", value)
        for suffix, where in POINTS
        for claim, what, paper, block, value in (
            ("G08", "wait-all", "0.9556, 1.55 ms, 15.6", "policies", of_policy("wait-all")),
            ("G07", "impact-aware", "0.9547, 1.11 ms, 20.1", "policies", of_policy("impact-aware 1.0")),
            ("G09", "U-only B = 32", "0.9468, 1.17 ms", "policies", of_policy("u-only 32")),
            ("G10", "rho-only θ = 0.05", "0.9512, 1.14 ms", "policies", of_policy("rho-only 0.05")),
            ("G11", "ungated", "0.9279, 0.95 ms", "policies", of_policy("ungated")),
            ("G12", "ε = 0.25", "0.9555, 1.43 ms", "policies", of_policy("impact-aware 0.25")),
            ("G12", "ε = 4", "0.9496, 0.99 ms", "policies", of_policy("impact-aware 4.0")),
            ("G17", "impact-aware against wait-all: latency, recall", "−28.5 %, −0.0009", "policies",
             lambda r: cells.against_gate(r, "impact-aware 1.0", "wait-all")),
            ("", "ungated against wait-all", "−38.7 %, −0.0277", "policies",
             lambda r: cells.against_gate(r, "ungated", "wait-all")),
            ("G16", "rho-only 0.2 against impact-aware", "−9 µs (−0.8 %), −0.0139", "policies",
             lambda r: cells.against_gate(r, "rho-only 0.2", "impact-aware 1.0")),
            ("G13", "U-only and rho-only settings", "all dominated but θ = 0.2", "dominance", cells.wins),
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
