"""Section 4.2, figures 8 and 9: RiftANN against other systems at 0.90 recall."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from riftsim.index.partitions import build_partitions
from riftsim.memnode.layout import RecordLayout
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import (
    above,
    every,
    exactly,
    inverse,
    measures,
    metric,
    negative,
    of_each_set,
    rate_ratio,
    ratio,
)
from riftsim.reproduction.scale import at_scale, rate_at_scale, study
from riftsim.reproduction.scoring import Order, Ours, Value
from riftsim.reproduction.studies import IN_FLIGHT, KINDS, SYSTEMS, beside, system
from riftsim.rng import stream

CODE_BYTES = 20
GB = 1e9
MEMORY_NODE_BYTES = 768e9
_LARGE_M = 72
"""Of d-HNSW's partitions from 100 M vectors on."""
_SAMPLE = 2000


@measures("O01", "scale")
def latency_sift(lab: Lab) -> list[Value]:
    """Latency of RiftANN, SIFT100M (O01)."""
    return [at_scale(study(lab, "0.90"), "latency_mean_us", 1e8, 1e-3)]


@measures("O08", "scale")
def throughput_sift(lab: Lab) -> list[Value]:
    """Throughput of RiftANN, SIFT100M (O08)."""
    return [rate_at_scale(latency_sift(lab)[0], IN_FLIGHT["riftann"])]


@measures("O02", SYSTEMS)
def latency_deep(lab: Lab) -> list[Value]:
    """Latency of RiftANN, DEEP100M (O02)."""
    return [metric(system(lab, "DEEP", "riftann"), "latency_mean_us", 1e-3)]


@measures("O03", SYSTEMS)
def latency_spacev(lab: Lab) -> list[Value]:
    """Latency of RiftANN, SPACEV100M (O03)."""
    return [metric(system(lab, "SPACEV", "riftann"), "latency_mean_us", 1e-3)]


@measures("O09", SYSTEMS)
def throughput_deep(lab: Lab) -> list[Value]:
    """Throughput of RiftANN, DEEP100M (O09)."""
    return [metric(system(lab, "DEEP", "riftann"), "qps", 1e-3)]


@measures("O10", SYSTEMS)
def throughput_spacev(lab: Lab) -> list[Value]:
    """Throughput of RiftANN, SPACEV100M (O10)."""
    return [metric(system(lab, "SPACEV", "riftann"), "qps", 1e-3)]


def _latency_over(kind: str) -> Callable[[Lab, str], Ours]:
    return lambda lab, dataset: inverse(ratio(*beside(lab, dataset, kind)))


def _throughput_over(kind: str) -> Callable[[Lab, str], Ours]:
    return lambda lab, dataset: rate_ratio(*beside(lab, dataset, kind))


for _claims, _kind in ((("O04", "O11"), "DistVS"), (("O05", "O12"), "PipeANN"), (("O06", "O13"), "DiskANN")):
    measures(_claims[0], SYSTEMS)(of_each_set(_latency_over(KINDS[_kind])))
    measures(_claims[1], SYSTEMS)(of_each_set(_throughput_over(KINDS[_kind])))


@measures("M23", SYSTEMS)
def partitions_at_090(lab: Lab) -> list[Value]:
    """Mean latency of d-HNSW at 0.90 (M23)."""
    return [metric(system(lab, "SIFT", KINDS["d-HNSW"]), "latency_mean_us", 1e-3)]


@measures("M22", SYSTEMS)
def partitions(lab: Lab) -> list[Value]:
    """Mean latency of d-HNSW by Recall@10, 24 GB (M22)."""
    kind = KINDS["d-HNSW"]
    return [
        replace(metric(system(lab, "SIFT", kind, recall), "latency_mean_us", 1e-3), on=f"recall {recall}")
        for recall in (0.84, 0.91)
    ]


@measures("O07", SYSTEMS)
def partitions_elsewhere(lab: Lab) -> list[Value]:
    """Latency of d-HNSW, DEEP100M and SPACEV100M (O07)."""
    kind = KINDS["d-HNSW"]
    return [metric(system(lab, dataset, kind), "latency_mean_us", 1e-3) for dataset in ("DEEP", "SPACEV")]


@measures("O14", SYSTEMS)
@of_each_set
def partitions_throughput(lab: Lab, dataset: str) -> Value:
    """Throughput of d-HNSW (O14)."""
    return metric(system(lab, dataset, KINDS["d-HNSW"]), "qps", 1e-3)


@measures("O19", SYSTEMS)
@of_each_set
def partitions_qps(lab: Lab, dataset: str) -> Value:
    """Throughput of d-HNSW with 32 query threads (32 / latency) (O19)."""
    return metric(system(lab, dataset, KINDS["d-HNSW"]), "qps")


@measures("O15", SYSTEMS)
@of_each_set
def over_local(lab: Lab, dataset: str) -> Value:
    """Latency, RiftANN over in-memory Vamana (O15)."""
    return ratio(*beside(lab, dataset, "in_memory_vamana"))


@measures("O16", SYSTEMS)
@of_each_set
def share_of_local(lab: Lab, dataset: str) -> Value:
    """Throughput, RiftANN over in-memory Vamana (O16)."""
    return rate_ratio(*beside(lab, dataset, "in_memory_vamana"))


@measures("O17", SYSTEMS)
def ahead_of_all(lab: Lab) -> list[Order]:
    """Lowest latency and highest throughput, at 0.90 recall on every set and at 0.95 on SIFT (O17)."""
    answers, behind = [], []
    points = [*((name, 0.90) for name in lab.sets()), ("SIFT", 0.95)]
    for dataset, recall in points:
        for name, kind in KINDS.items():
            own, other = beside(lab, dataset, kind, recall)
            found = [above(negative(ratio(own, other)), -1.0), above(rate_ratio(own, other), 1.0)]
            answers += found
            behind += [f"{name} on {dataset} at {recall:.2f}"] * (False in found)
    compared = ", ".join(f"{dataset} at {recall:.2f}" for dataset, recall in points)
    return [every(answers, f"{compared}; behind: {', '.join(behind) or 'none'}")]


@measures("O18")
def codes(lab: Lab) -> list[Value]:
    """Arithmetic: bytes per vector."""
    return [exactly(CODE_BYTES * n / GB, same_data=True, on="20 bytes per vector") for n in (1e8, 1e9)]


@measures("O20", SYSTEMS)
@of_each_set
def in_flight(lab: Lab, dataset: str) -> Value:
    """Queries in flight of RiftANN (latency x throughput); input of the closed loop (O20)."""
    measured = metric(system(lab, dataset, "riftann"), "in_flight")
    return exactly(measured.value, same_data=True, on="set to 22")


@measures("B13")
def fits(lab: Lab) -> list[Order]:
    """The SIFT1B index of d-HNSW exceeds 768 GB, that of RiftANN does not (644 B x 1e9) (B13)."""
    record_bytes = RecordLayout(128, "uint8", 128).record_bytes
    vectors = stream(0, "bytes of a partition").random((_SAMPLE, 128), np.float32)
    built = build_partitions(vectors, 0, partitions=1, M=_LARGE_M, ef_construction=40, seed=0)
    partition_bytes = len(built.blobs) / _SAMPLE
    found = f"{record_bytes} and {partition_bytes:.0f} bytes per vector (M = {_LARGE_M})"
    return [Order(record_bytes * 1e9 < MEMORY_NODE_BYTES < partition_bytes * 1e9, found)]
