"""Section 4.8, table 3: threads, compute nodes and memory nodes at 0.90 recall."""

from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import above, cut, every, gain, measures, rate_ratio, ratio
from riftsim.reproduction.scoring import Order, Value
from riftsim.reproduction.studies import cluster

EXPERIMENT = "table3_scaling"


@measures("S01", EXPERIMENT)
def threads_16_to_32(lab: Lab) -> list[Value]:
    """Throughput gain, 16 to 32 threads, one CN (S01)."""
    return [gain(rate_ratio(cluster(lab, 1, 1), cluster(lab, 1, 1, 16)))]


@measures("S02", EXPERIMENT)
def threads_32_to_48(lab: Lab) -> list[Value]:
    """Throughput gain, 32 to 48 threads, one CN (S02)."""
    return [gain(rate_ratio(cluster(lab, 1, 1, 48), cluster(lab, 1, 1)))]


@measures("S03", EXPERIMENT)
def three_memory_nodes(lab: Lab) -> list[Value]:
    """Index over three memory nodes instead of one (S03)."""
    one, three = cluster(lab, 1, 1), cluster(lab, 1, 3)
    return [cut(rate_ratio(three, one)), gain(ratio(three, one))]


@measures("S04", EXPERIMENT)
def more_compute_nodes(lab: Lab) -> list[Value]:
    """Throughput over 1C1M (S04)."""
    return [rate_ratio(cluster(lab, count, 1), cluster(lab, 1, 1)) for count in (2, 3)]


@measures("S05", EXPERIMENT)
def second_memory_node(lab: Lab) -> list[Value]:
    """2C2M over 2C1M (S05)."""
    one, two = cluster(lab, 2, 1), cluster(lab, 2, 2)
    return [gain(rate_ratio(two, one)), cut(ratio(two, one))]


@measures("S06", EXPERIMENT)
def latency_of_48(lab: Lab) -> list[Order]:
    """32 to 48 threads raise latency (S06)."""
    slower = gain(ratio(cluster(lab, 1, 1, 48), cluster(lab, 1, 1)))
    return [every([above(slower)], f"{slower.value:+.1%}")]


@measures("S07", EXPERIMENT)
def two_of_both(lab: Lab) -> list[Value]:
    """Throughput, 2C2M over 1C1M (derived: 1.71 x 1.092) (S07)."""
    return [rate_ratio(cluster(lab, 2, 2), cluster(lab, 1, 1))]
