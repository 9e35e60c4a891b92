"""Rows of the tables of docs/results/riftann.md: claim, what, the paper's value, table of results, our value.

Where a claim has several numbers, ``what`` and the values are tuples of as many texts, and each number has a line of
its own; so has the paper's value, unless it is one text that stands in the first line.
"""

from collections.abc import Callable

import riftann_cells as cells
from riftann_cells import Rows, find, of_gate, of_policy

ONE = (1, 1, 32)
"""Compute nodes, memory nodes, threads."""
LONG = "_work"
"""Suffix of tables at 405 expansions, of results and of the page; the others are at equal recall."""
POINTS = ("", LONG)
ORACLE = {"gate": "oracle", "epsilon": 0}
MODES = ("record reads", "vector reads", "list reads")
READS = ("exact vectors", "expansions", "requests")
STEPS = ("calibrated pipeline", "gate", "balancing", "all three")
POLICIES = (
    ("G08", "wait-all", "wait-all", ("0.9556", "1.55 ms", "15.6")),
    ("G07", "impact-aware", "impact-aware 1.0", ("0.9547", "1.11 ms", "20.1")),
    ("G09", "U-only B = 32", "u-only 32", ("0.9468", "1.17 ms", "")),
    ("G10", "rho-only θ = 0.05", "rho-only 0.05", ("0.9512", "1.14 ms", "")),
    ("G11", "ungated", "ungated", ("0.9279", "0.95 ms", "")),
    ("G12", "ε = 0.25", "impact-aware 0.25", ("0.9555", "1.43 ms", "")),
    ("G12", "ε = 4", "impact-aware 4.0", ("0.9496", "0.99 ms", "")),
)
"""Claim, words, name in the results, and the paper's recall, latency and kQPS."""
Texts = str | tuple[str, ...]
Claim = tuple[str, Texts, Texts, str, Callable[[Rows], Texts]]
# fmt: off
CLAIMS: dict[str, list[Claim]] = {
    "reads": [
        ("P06", ("recall, expansion-only", "recall, calibrated", "recall, verify-all"), ("0.9230", "0.9547", "0.9559"),
         "verification", cells.recalls),
        ("P01", READS, ("813", "405", "853"), "verification", lambda r: cells.counts(cells.own(r))),
        ("P17", MODES, ("365", "448", "40"), "verification", lambda r: cells.modes(cells.own(r))),
        ("P18", "share of verify-only nodes expanded later", "0.089", "verification",
         lambda r: cells.later(cells.own(r))),
        ("P18", "the same verifying evicted candidates only", "0.089", "eviction",
         lambda r: cells.later(cells.state_driven(r))),
        ("P04", "traffic saved, measured", "0.377", "full_record", cells.saved),
        ("P19", "state-driven against full-record: requests / latency", "+4.9 % / −5.9 %", "full_record",
         cells.requests_and_latency),
        ("P19", "evicted only against full-record: requests / latency", "+4.9 % / −5.9 %", "eviction",
         cells.requests_and_latency),
        ("P16", "recall, state-driven − full-record", "same", "full_record",
         lambda r: cells.difference(find(r, measure="recall"))),
        ("", "queries whose bytes / expansions do not add up", "0", "verification", cells.wrong),
        ("", "the same with a clock", "0", "reads_sim", cells.wrong),
    ],
    "reads_work": [
        ("P01", READS, ("813", "405", "853"), "reads_work", lambda r: cells.counts(cells.state_driven(r))),
        ("P17", MODES, ("365", "448", "40"), "reads_work", lambda r: cells.modes(cells.state_driven(r))),
        ("P18", "share of verify-only nodes expanded later", "0.089", "reads_work",
         lambda r: cells.later(cells.state_driven(r))),
        ("P04", "traffic saved, measured", "0.377", "full_record_work", cells.saved),
        ("P03", ("KiB, full-record", "KiB, state-driven"), ("410", "255"), "full_record_work",
         lambda r: cells.pair(r, "kib_read", {"record_reads": "full-record"}, {"record_reads": "state-driven"})),
        ("P05", ("kQPS, full-record", "kQPS, state-driven"), ("18.9", "20.1 (+6.3 %)"), "full_record_work",
         lambda r: cells.pair(r, "qps", {"record_reads": "full-record"}, {"record_reads": "state-driven"}, 1e-3)),
        ("P19", "evicted only against full-record: requests / latency", "+4.9 % / −5.9 %", "eviction_work",
         cells.requests_and_latency),
    ],
    "alpha": [
        ("P08", ("alpha, mean of the splits", "their range"), ("1.15, 1.13, 1.17", ""), "calibration",
         lambda r: cells.splits(r, "alpha")),
        ("", ("alpha, split 0, codes of 20 bytes", "codes of 40 bytes"), "", "calibration", cells.longer_codes),
        ("", ("alpha, mean of trainings of the codes", "their range"), "", "calibration",
         lambda r: cells.splits(r, "alpha", "codes")),
        ("P09", ("coverage on held-out queries, mean of the splits", "their range"), ("0.9988, 0.9985, 0.9983", ""),
         "calibration", lambda r: cells.splits(r, "held_out_coverage", digits=4)),
        ("P10", "exact reads avoided", "0.807, 0.809, 0.781", "verification_paired", cells.avoided),
        ("P11", "recall, verify-all − calibrated", "0.0012, 0.0013, 0.0016", "verification_paired",
         lambda r: cells.difference(cells.against(r, "verify-all", "recall"))),
        ("P12", "alpha + 0.10: reads", "+447 (+55 %)", "verification_paired", cells.more_reads),
        ("P12", "alpha + 0.10: recall", "+0.0011", "verification_paired",
         lambda r: cells.difference(cells.against(r, "alpha + 0.10", "recall"))),
        ("P24", "smallest alpha within 0.001 of the calibrated recall, against it", "the calibrated one",
         "verification_paired", cells.knee),
    ],
    "headroom": [
        ("", what, "", "headroom",
         lambda r, h=hardware, g=gate, v=rule: cells.cause(find(r, hardware=h, verification=v, **g)))
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
        ("", (f"{what}: recall", f"{what}: latency, µs / kQPS"), "", "equal_memory",
         lambda r, n=name: cells.memory(r, n))
        for what, name in (
            ("20-byte codes", "pq 20, none"),
            ("20-byte codes, hottest records cached", "pq 20, visits"),
            ("20-byte codes, nearest records cached", "pq 20, hops"),
            ("48-byte codes, hottest records cached", "pq 48, visits"),
            ("64-byte codes", "pq 64, none"),
            ("one byte per dimension", "sq8, none"),
        )
    ],
    "burst_causes": [
        ("", "fixed: P99 in the burst, µs", "", "burst_work", cells.p99_fixed),
        *(
            ("", f"adaptive, {what}: P99 against it", "", "burst_work", lambda r, kind=kind: cells.p99(r, kind))
            for what, kind in (
                ("as printed", "adaptive"),
                ("window at least 6", "adaptive 6"),
                ("interval counted per query", "adaptive query"),
            )
        ),
    ],
    "sensitivity": [
        ("C01", f"largest change of QPS, P99, recall over {name}", "≤ 2.2 %, ≤ 5.8 %, < 0.0002", "sensitivity",
         lambda r, w=what: cells.largest_changes(r, w))
        for name, what in (("both thresholds", "thresholds"), ("the interval, 8 to 128", "interval"))
    ],
    "remote": [
        ("M03", "Remote- over in-memory Vamana", "1.9 to 2.1", "remote_cost",
         lambda r: cells.ratio(r, "remote_vamana", "in_memory_vamana")),
        ("M04", "remote accesses, µs (share of latency)", "170 (0.31)", "remote_cost", cells.remote_share),
        ("M27", "non-RDMA time, Remote- over in-memory", "1.285", "remote_cost", cells.non_rdma),
        ("", "Remote-Vamana with a beam of one: latency, accesses (share), µs", "", "remote_cost_beam1",
         cells.beam_of_one),
        ("M13", "Async-Vamana, µs", "368", "remote_cost", lambda r: f"{cells.latency(r, 'async_vamana'):.1f}"),
        ("M14", "Remote- over Async-Vamana", "1.5", "remote_cost",
         lambda r: cells.ratio(r, "remote_vamana", "async_vamana")),
    ],
}
for suffix in POINTS:
    CLAIMS[f"window{suffix}"] = [
        (claim, (f"{what}, window of 1", "window of 8"), paper, f"window{suffix}", cells.window(*args))
        for claim, what, paper, args in (
            ("P13", "exposed wait, µs", ("810", "280 (−65.4 %)"), ("wait_us",)),
            ("P14", "latency, µs", ("1620", "1110 (−31.5 %)"), ("latency_mean_us",)),
            ("P15", "kQPS", ("14.0", "20.1 (+43.6 %)"), ("qps", 1e-3)),
            ("", "expansions", ("", "same"), ("expansions",)),
            ("P22", "recall", ("", "nearly the same"), ("recall", 1.0, 4)),
        )
    ]
    CLAIMS[f"breakdown{suffix}"] = [
        ("D05", tuple(f"latency, {step}" for step in STEPS),
         "" if suffix else ("−25.2 %", "−23.9 %", "−5.2 %", "−46.1 %"), f"breakdown{suffix}", cells.latency_steps),
        ("D06", tuple(f"throughput, {step}" for step in STEPS),
         "" if suffix else ("+59.2 %", "+25.6 %", "+5.5 %", "+111 %"), f"breakdown{suffix}", cells.rate_steps),
    ]
    CLAIMS[f"burst{suffix}"] = [
        (claim, what, paper, f"burst{suffix}", value)
        for claim, what, paper, value in (
            ("C02", ("defer ratio, adaptive, lowest", "peak", "settled"), ("", "0.69", "0.55"),
             lambda r: cells.defer(r, "adaptive")),
            ("C03", ("defer ratio, fixed, lowest", "peak", "settled"), ("0.91", "1.01", ""),
             lambda r: cells.defer(r, "fixed")),
            ("C04", "busy workers before → in the burst", "4.0 → 5.9",
             lambda r: cells.busy(r, "busy_workers", ("before", "settled"))),
            ("C04", "window before → in the burst", "7.8 → 5.0",
             lambda r: cells.busy(r, "window", ("before", "settled"))),
            ("C06", "P99 before the burst, fixed, µs", "1.46 ms", cells.p99_before),
            ("M28", "P99 in the burst, fixed, µs (x before)", "3.02 ms (2.07 x)", cells.p99_rise),
            ("C05, C08", "P99 in the burst, adaptive, µs (against fixed)", "2.35 ms (−22.2 %)", cells.p99),
            ("C07", "kQPS completed in the burst, fixed / adaptive", "16.9 both", cells.completed),
            ("C09", "recall adaptive − fixed", "≤ 0.0001", cells.recall_of_burst),
            ("C10", ("window before → in → after, adaptive", "latency before, fixed → adaptive, µs"),
             ("goes back", "alike"), cells.and_back),
        )
    ]
    CLAIMS[f"scaling{suffix}"] = [
        (claim, f"{what}: throughput / latency", paper, f"scaling{suffix}", lambda r, a=a, b=b: cells.scale(r, a, b))
        for claim, what, paper, a, b in (
            ("S01", "16 → 32 threads", "+40.4 %", (1, 1, 16), ONE),
            ("S02, S06", "32 → 48 threads", "+5.0 % / rises", ONE, (1, 1, 48)),
            ("S03", "1C1M → 1C3M", "−8.8 % / +9.5 %", ONE, (1, 3, 32)),
            ("S04", "1C1M → 2C1M", "+71 %", ONE, (2, 1, 32)),
            ("S04", "1C1M → 3C1M", "+104 %", ONE, (3, 1, 32)),
            ("S05", "2C1M → 2C2M", "+9.2 % / −8.5 %", (2, 1, 32), (2, 2, 32)),
        )
    ]
    CLAIMS[f"gate{suffix}"] = [
        (claim, what, paper, f"policies{suffix}", value)
        for claim, what, paper, value in (
            ("G01", "update ratio, first 20 % / last 40 %", "0.410 / 0.0023",
             of_gate("update ratio, first 20 %", "update ratio, last 40 %", digits=4)),
            ("G03", "update ratio, first 10 %", "0.52", of_gate("update ratio, first 10 %")),
            ("G15", "update ratio, last 30 %", "< 0.005", of_gate("update ratio, last 30 %", digits=4)),
            ("G02", "evaluated per expansion, last 40 %", "64.8",
             of_gate("evaluated per expansion, last 40 %", digits=1)),
            ("G04", "backlog at admission, first 10 %, median / mean", "1.25 (median)",
             of_gate("backlog, first 10 %, median", "backlog, first 10 %, mean", digits=1)),
            ("G20", "backlog at admission, last 30 %, median / mean", "nearly 100",
             of_gate("backlog, last 30 %, median", "backlog, last 30 %, mean", digits=1)),
            ("G05", "hidden updates, mean / P95", "0.48 / 2", lambda r: cells.hidden(r, "impact-aware 1.0")),
            *(
                ("G06", f"the same, {what}", "0.66 to 4.43 / 4 to 19", lambda r, gate=gate: cells.hidden(r, gate))
                for what, gate in (
                    ("U-only 32", "u-only 32"), ("rho-only 0.05", "rho-only 0.05"), ("ungated", "ungated")
                )
            ),
        )
    ]
    CLAIMS[f"causes{suffix}"] = [
        (
            "G17" if gate == "impact-aware 1.0" else "",
            f"{gate}, {'with' if helps else 'without'} main threads' help, {concurrency} in flight",
            "−28.5 %, −0.0009" if gate == "impact-aware 1.0" else "",
            f"causes{suffix}",
            lambda r, g=gate, h=helps, c=concurrency: cells.cause(find(r, gate=g, main_threads_help=h, concurrency=c)),
        )
        for gate in ("impact-aware 1.0", "ungated")
        for helps in (True, False)
        for concurrency in (4, 22)
    ]
    CLAIMS[f"admission{suffix}"] = [
        *(
            (claim, f"{measure}, {what}", paper[column], f"policies{suffix}", of_policy(name, column))
            for column, measure in enumerate(("recall", "latency, µs", "kQPS"))
            for claim, what, name, paper in POLICIES
        ),
        *(
            (claim, what, paper, f"{block}{suffix}", value)
            for claim, what, paper, block, value in (
                ("G17", "impact-aware against wait-all: latency, recall", "−28.5 %, −0.0009", "policies",
                 lambda r: cells.against_gate(r, "impact-aware 1.0", "wait-all")),
                ("", "ungated against wait-all: latency, recall", "−38.7 %, −0.0277", "policies",
                 lambda r: cells.against_gate(r, "ungated", "wait-all")),
                ("G16", "rho-only 0.2 against impact-aware: latency, recall", "−9 µs (−0.8 %), −0.0139", "policies",
                 lambda r: cells.against_gate(r, "rho-only 0.2", "impact-aware 1.0")),
                ("G13", ("U-only and rho-only settings that are dominated", "of these in both measures",
                         "not dominated", "unresolved"),
                 ("all but θ = 0.2", "", "", ""), "dominance", cells.wins),
            )
        ),
    ]
