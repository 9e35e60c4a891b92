"""Section 4.3, figure 10, SIFT1B: extrapolated from the scale study; graphs here have R = 96 at every size."""

from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import exactly, measures
from riftsim.reproduction.scale import EXPERIMENT, at_scale, growth_at_scale
from riftsim.reproduction.scoring import Missing, Ours, Value

_ABSENT = Missing("baselines are not part of the scale study")


@measures("B01", EXPERIMENT)
def latency(lab: Lab) -> list[Value]:
    """Latency of RiftANN at 0.90 (B01)."""
    return [at_scale(lab, "latency_30_us", "0.90", 1e9, 1e-3)]


@measures("B04", EXPERIMENT)
def latency_at_095(lab: Lab) -> list[Value]:
    """Latency of RiftANN at 0.95 (B04)."""
    return [at_scale(lab, "latency_30_us", "0.95", 1e9, 1e-3)]


@measures("B05", EXPERIMENT)
def growth(lab: Lab) -> list[Value]:
    """Latency of RiftANN at 0.90, SIFT1B over SIFT100M (B05)."""
    return [growth_at_scale(lab, "latency_mean_us", "0.90", 1e9, 1e8)]


def _throughput(latency_ms: Value) -> Value:
    ends = sorted((30 / latency_ms.low if latency_ms.low > 0 else float("inf"), 30 / latency_ms.high))
    return Value(30 / latency_ms.value, *ends, extrapolated=True, on=latency_ms.on)


@measures("B06", EXPERIMENT)
def throughput(lab: Lab) -> list[Ours]:
    """Throughput at 0.90 (B06)."""
    return [_throughput(latency(lab)[0]), _ABSENT, _ABSENT, _ABSENT]


@measures("B07", EXPERIMENT)
def throughput_at_095(lab: Lab) -> list[Ours]:
    """Throughput at 0.95 (B07)."""
    return [_throughput(latency_at_095(lab)[0]), _ABSENT]


@measures("B08", EXPERIMENT)
def throughput_kept(lab: Lab) -> list[Value]:
    """Queries in flight rise from 22 to 30 with the set, as in the paper."""
    slower = growth(lab)[0]
    scale = 30 / 22
    low = scale / slower.high
    high = scale / slower.low if slower.low > 0 else float("inf")
    return [Value(scale / slower.value, low, high, extrapolated=True, on=slower.on)]


@measures("B14", EXPERIMENT)
def in_flight(lab: Lab) -> list[Value]:
    """Queries in flight of RiftANN; input of the closed loop (B14)."""
    return [exactly(30.0, same_data=True, on="set to 30")] * 2
