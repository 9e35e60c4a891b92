"""Section 4.3, figure 10, SIFT1B: extrapolated from the scale study; graphs here have R = 96 at every size.

Ratios between systems are extrapolated as laws of the measured ratios, not as quotients of the laws of both sides: both
sides search the same graph for the same queries, so that what one size has by chance they largely share. The quotient
of two power laws is the power law of the ratio, so that both ways then give one value.
"""

from collections.abc import Callable
from dataclasses import replace

from riftsim.reproduction import scale_systems
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import above, every, exactly, inverse, measures
from riftsim.reproduction.scale import EXPERIMENT, FLIGHTS, Row, at_scale, growth_at_scale, rate_at_scale, study
from riftsim.reproduction.scale_systems import IN_FLIGHT, OTHERS
from riftsim.reproduction.scoring import Order, Value

FIGURE = "fig10_billion"
SIFT1B = 1e9


@measures("B01", EXPERIMENT, FIGURE)
def latency(lab: Lab) -> list[Value]:
    """Latency of RiftANN at 0.90 (B01)."""
    return [at_scale(study(lab, "0.90"), "latency_30_us", SIFT1B, 1e-3)]


@measures("B02", EXPERIMENT, FIGURE)
def latency_of_others(lab: Lab) -> list[Value]:
    """Latency of DistVS, PipeANN and DiskANN at 0.90 (B02)."""
    return _latencies(lab, "0.90")


@measures("B03", EXPERIMENT, FIGURE)
def latency_over(lab: Lab) -> list[Value]:
    """Latency of DistVS, PipeANN and DiskANN over RiftANN's at 0.90 (B03)."""
    return _over(lab, "0.90")


@measures("B04", EXPERIMENT, FIGURE)
def latency_at_095(lab: Lab) -> list[Value]:
    """Latency of RiftANN at 0.95 (B04)."""
    return [at_scale(study(lab, "0.95"), "latency_30_us", SIFT1B, 1e-3)]


@measures("B05", EXPERIMENT, FIGURE)
def growth(lab: Lab) -> list[Value]:
    """Latency of RiftANN at 0.90, SIFT1B over SIFT100M (B05): with 30 in flight over that with 22, as in the paper."""
    return [growth_at_scale(study(lab, "0.90"), ("latency_mean_us", 1e8), ("latency_30_us", SIFT1B))]


@measures("B06", EXPERIMENT, FIGURE)
def throughput(lab: Lab) -> list[Value]:
    """Throughput of RiftANN, DistVS, PipeANN and DiskANN at 0.90 (B06)."""
    return [rate_at_scale(latency(lab)[0], FLIGHTS[1]), *_rates(lab, "0.90")]


@measures("B07", EXPERIMENT, FIGURE)
def throughput_at_095(lab: Lab) -> list[Value]:
    """Throughput of RiftANN and DistVS at 0.95 (B07)."""
    return [rate_at_scale(latency_at_095(lab)[0], FLIGHTS[1]), _rates(lab, "0.95")[0]]


@measures("B08", EXPERIMENT, FIGURE)
def throughput_kept(lab: Lab) -> list[Value]:
    """Queries in flight rise from 22 to 30 with the set, as in the paper."""
    return [_times(inverse(growth(lab)[0]), FLIGHTS[1] / FLIGHTS[0])]


@measures("B09", EXPERIMENT, FIGURE)
def throughput_over(lab: Lab) -> list[Value]:
    """Throughput of RiftANN over that of DistVS, PipeANN and DiskANN at 0.90 (B09)."""
    return _rates_over(lab, "0.90")


@measures("B10", EXPERIMENT, FIGURE)
def latency_over_at_095(lab: Lab) -> list[Value]:
    """Latency of DistVS, PipeANN and DiskANN over RiftANN's at 0.95 (B10)."""
    return _over(lab, "0.95")


@measures("B11", EXPERIMENT, FIGURE)
def throughput_over_at_095(lab: Lab) -> list[Value]:
    """Throughput of RiftANN over that of PipeANN and DiskANN at 0.95 (B11)."""
    return _rates_over(lab, "0.95")[1:]


@measures("B12", EXPERIMENT, FIGURE)
def ahead_of_all(lab: Lab) -> list[Order]:
    """Highest throughput at 0.90 and at 0.95, where DistVS is level (B12)."""
    answers: list[bool | None] = []
    found = []
    for recall, compared in (("0.90", OTHERS), ("0.95", OTHERS[1:])):
        rates = dict(zip(OTHERS, _rates_over(lab, recall), strict=True))
        answers += [above(rates[kind], 1.0) for kind in compared]
        found.append(f"at {recall} over {', '.join(f'{kind} {rates[kind].value:.2f}' for kind in compared)}")
    return [replace(every(answers, "; ".join(found)), extrapolated=True)]


@measures("B14", EXPERIMENT, FIGURE)
def in_flight(lab: Lab) -> list[Value]:
    """Queries in flight of RiftANN; input of the closed loop (B14)."""
    return [exactly(30.0, same_data=True, on="set to 30")] * 2


def _latencies(lab: Lab, recall: str) -> list[Value]:
    return _of_others(lab, recall, lambda rows, kind: at_scale(rows, f"{kind}_us", SIFT1B, 1e-3))


def _rates(lab: Lab, recall: str) -> list[Value]:
    found = zip(OTHERS, _latencies(lab, recall), strict=True)
    return [rate_at_scale(latency_ms, IN_FLIGHT[kind]) for kind, latency_ms in found]


def _over(lab: Lab, recall: str) -> list[Value]:
    return _of_others(lab, recall, lambda rows, kind: at_scale(rows, f"{kind}_over_riftann", SIFT1B))


def _rates_over(lab: Lab, recall: str) -> list[Value]:
    """By Little's law the ratio of latencies, with the queries in flight of either side."""
    found = zip(OTHERS, _over(lab, recall), strict=True)
    return [_times(over, IN_FLIGHT["riftann"] / IN_FLIGHT[kind]) for kind, over in found]


def _of_others(lab: Lab, recall: str, value: Callable[[list[Row], str], Value]) -> list[Value]:
    rows = scale_systems.study(lab, recall)
    found = {kind: value(rows, kind) for kind in OTHERS}
    return [replace(one, on=f"{kind}, {one.on}") for kind, one in found.items()]


def _times(of: Value, factor: float) -> Value:
    return replace(of, value=factor * of.value, low=factor * of.low, high=factor * of.high)
