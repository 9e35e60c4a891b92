"""Section 4.5: what is read, what is verified, and what a window hides."""

from dataclasses import replace

from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import (
    above,
    cut,
    difference,
    every,
    gain,
    measures,
    metric,
    negative,
    of_each_set,
    of_runs,
    rate_ratio,
    ratio,
)
from riftsim.reproduction.scale import at_scale, study
from riftsim.reproduction.scoring import Order, Ours, Value
from riftsim.reproduction.studies import CALIBRATED, read_modes, verification, wider_alpha, windows
from riftsim.results.intervals import runs_interval
from riftsim.results.store import Run

VERIFY_ALL, EXPANSION_ONLY = {"kind": "verify-all"}, {"kind": "expansion-only"}


@measures("P01", "scale")
def reads(lab: Lab) -> list[Ours]:
    """Reads per query, state-driven (P01)."""
    return [at_scale(study(lab, "0.95"), name, 1e8) for name in ("exact_reads", "expansions", "reads")]


@measures("P02", "full_record")
def whole_record_requests(lab: Lab) -> list[Value]:
    """Requests per query, whole records (P02)."""
    return [metric(read_modes(lab, "work")[1], "reads")]


@measures("P03", "full_record")
def traffic(lab: Lab) -> list[Value]:
    """Traffic per query (P03)."""
    own, whole = read_modes(lab, "work")
    return [metric(whole, "kib_read"), metric(own, "kib_read")]


@measures("P04", "full_record")
def traffic_saved(lab: Lab) -> list[Value]:
    """Traffic that state-driven reads save (P04)."""
    own, whole = read_modes(lab, "0.95")
    return [cut(ratio(own, whole, "kib_read"))]


@measures("P05", "full_record")
def throughput_by_mode(lab: Lab) -> list[Value]:
    """Throughput by read mode (P05)."""
    own, whole = read_modes(lab, "work")
    return [metric(whole, "qps", 1e-3), metric(own, "qps", 1e-3)]


@measures("P06", "fig12a_verification")
def recall_by_rule(lab: Lab) -> list[Value]:
    """Recall@10 by verification rule (P06)."""
    everything = verification(lab, "SIFT", "0.95", VERIFY_ALL)
    rules = (EXPANSION_ONLY, CALIBRATED, VERIFY_ALL)
    return [difference(verification(lab, "SIFT", "0.95", rule), everything) for rule in rules]


@measures("P07", "scale")
def discovered(lab: Lab) -> list[Ours]:
    """Exact vectors that verify-all reads (P07)."""
    return [at_scale(study(lab, "0.95"), "candidates", 1e8)]


@measures("P08", "fig12a_verification")
@of_each_set
def alpha(lab: Lab, dataset: str) -> Value:
    """Alpha for a coverage of 99.90 % (P08)."""
    return _over_splits(lab, dataset, lambda row: row["alpha"])


@measures("P09", "fig12a_verification")
@of_each_set
def missed(lab: Lab, dataset: str) -> Value:
    """Coverage on held-out queries (P09)."""
    return _over_splits(lab, dataset, lambda row: 1 - row["held_out_coverage"])


def _over_splits(lab: Lab, dataset: str, number) -> Value:
    values = [number(lab.calibration(dataset, seed)) for seed in lab.level.seeds]
    return Value(sum(values) / len(values), *runs_interval(values), on=f"{len(values)} splits of the pooled queries")


@measures("P10", "fig12a_verification")
@of_each_set
def reads_avoided(lab: Lab, dataset: str) -> Value:
    """Exact-vector reads avoided against verify-all (P10)."""
    own, everything = (verification(lab, dataset, "0.95", rule) for rule in (CALIBRATED, VERIFY_ALL))
    return replace(cut(ratio(own, everything, "exact_reads")), on=lab.place(dataset, "0.95"))


@measures("P11", "fig12a_verification")
@of_each_set
def recall_lost(lab: Lab, dataset: str) -> Value:
    """Recall lost against verify-all (P11)."""
    own, everything = (verification(lab, dataset, "0.95", rule) for rule in (CALIBRATED, VERIFY_ALL))
    return replace(difference(everything, own), on=lab.place(dataset, "0.95"))


@measures("P12", "fig12a_verification")
def larger_alpha(lab: Lab) -> list[Value]:
    """What alpha 1.25 adds to 1.15 (P12)."""
    own, wider = verification(lab, "SIFT", "0.95", CALIBRATED), wider_alpha(lab, "SIFT", 0.1)
    return [difference(wider, own, "exact_reads"), difference(wider, own)]


@measures("P13", "fig12b_window")
def exposed_wait(lab: Lab) -> list[Value]:
    """Exposed RDMA wait (P13)."""
    return [metric(runs, "wait_us", 1e-3) for runs in windows(lab, "work").values()]


@measures("P14", "fig12b_window")
def latency_by_window(lab: Lab) -> list[Value]:
    """Mean latency by window (P14)."""
    return [metric(runs, "latency_mean_us", 1e-3) for runs in windows(lab, "work").values()]


@measures("P15", "fig12b_window")
def throughput_by_window(lab: Lab) -> list[Value]:
    """Throughput by window (P15)."""
    return [metric(runs, "qps", 1e-3) for runs in windows(lab, "work").values()]


@measures("P16", "full_record")
def same_recall_by_mode(lab: Lab) -> list[Order]:
    """Whole records and state-driven reads reach the same recall (P16)."""
    own, whole = read_modes(lab, "0.95")
    return [_within(difference(own, whole), 0.002, "0.95")]


def _within(of: Value, bound: float, point: str) -> Order:
    """Whether a difference is smaller than a bound on either side."""
    on = f"recall {point}: {of.value:+.4f} [{of.low:+.4f}, {of.high:+.4f}]"
    return every([above(of, -bound), above(negative(of), -bound)], on)


@measures("P17", "scale")
def reads_by_mode(lab: Lab) -> list[Ours]:
    """Reads by mode (derived) (P17)."""
    return [at_scale(study(lab, "0.95"), name, 1e8) for name in ("reads_record", "reads_vector", "reads_adjacency")]


@measures("P18", "fig12a_verification")
def expanded_later(lab: Lab) -> list[Value]:
    """Share of verify-only reads whose node is expanded later (40 / 448) (P18)."""

    def share(run: Run) -> float:
        return float(run.queries["reads_adjacency"].sum() / run.queries["reads_vector"].sum())

    return [of_runs(verification(lab, "SIFT", "0.95", CALIBRATED), share)]


@measures("P19", "full_record")
def more_requests(lab: Lab) -> list[Value]:
    """State-driven over whole records: how much more (P19)."""
    own, whole = read_modes(lab, "work")
    return [gain(ratio(own, whole, "reads")), gain(rate_ratio(own, whole))]


@measures("P20", "fig12b_window")
def what_a_window_hides(lab: Lab) -> list[Value]:
    """Window 1 to 8 (P20)."""
    one, eight = windows(lab, "work").values()
    pairs = list(zip(eight, one, strict=True))

    def wait(run: Run) -> float:
        return run.metrics(["wait_us"])["wait_us"]

    shares = {run.path: 1 - wait(run) / wait(other) for run, other in pairs}
    return [of_runs(eight, lambda run: shares[run.path]), gain(rate_ratio(eight, one))]


@measures("P21", "fig12b_window")
def speed_up_of_a_window(lab: Lab) -> list[Value]:
    """Latency, window 1 over window 8 (P21)."""
    one, eight = windows(lab, "work").values()
    return [ratio(one, eight)]


@measures("P22", "fig12b_window")
def same_recall_by_window(lab: Lab) -> list[Order]:
    """Window 1 and 8 reach nearly the same recall (P22)."""
    one, eight = windows(lab, "0.95").values()
    return [_within(difference(eight, one), 0.002, "0.95")]


@measures("P23", "fig12a_verification")
def at_larger_alpha(lab: Lab) -> list[Value]:
    """Alpha 1.25 (derived) (P23)."""
    wider = wider_alpha(lab, "SIFT", 0.1)
    return [metric(wider, "exact_reads"), difference(wider, verification(lab, "SIFT", "0.95", VERIFY_ALL))]


@measures("P24", "fig12a_verification")
def knee(lab: Lab) -> list[Order]:
    """The calibrated alpha lies near the knee of recall against reads (P24)."""
    own = verification(lab, "SIFT", "0.95", CALIBRATED)
    below, beyond = difference(own, wider_alpha(lab, "SIFT", -0.1)), difference(wider_alpha(lab, "SIFT", 0.1), own)
    on = f"0.1 less: -{below.value:.4f}, 0.1 more: +{beyond.value:.4f}"
    is_flat = above(beyond, 0.001)
    return [every([above(below, 0.001), None if is_flat is None else not is_flat], on)]
