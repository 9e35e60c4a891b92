"""Why d-HNSW's latency grows less with recall than the paper's (M22), and why so little of it lies outside its
partitions (M24): runs of which each changes one thing, for docs/results/systems.md."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from causes import Change
from pages import table

from riftsim.reproduction.lab import Lab
from riftsim.reproduction.side_by_side import reads
from riftsim.reproduction.studies import partitioned, scaled_budget_gb
from riftsim.results.store import Run

SET = "SIFT"
RECALLS = (0.84, 0.91)
"""Of M22."""


@dataclass(frozen=True)
class PartitionChange(Change):
    """One change against d-HNSW as it is compared.

    Attributes
    ----------
    memory : float
        Of the budget that is scaled with the vectors.
    matches : bool
        Whether the change alters what is found, so that it needs partitions of its own number.
    """

    memory: float = 1.0
    matches: bool = False


def _at_random(rate_qps: float) -> dict[str, Any]:
    return {"load": {"kind": "poisson", "rate_qps": float(rate_qps)}}


_ONE = {"load__concurrency": 1}
_SERIAL = {"cluster__threads": 2}
CHANGES = (
    PartitionChange("as compared: 32 in flight"),
    PartitionChange("8 in flight", {"load__concurrency": 8}),
    PartitionChange("1 in flight", _ONE),
    PartitionChange("1 in flight, one thread reads and one works", {**_ONE, **_SERIAL}),
    PartitionChange("5,000 in flight, one batch", {"load__concurrency": 5000, "measured_queries": 10_000}),
    PartitionChange("arrivals at random, 1,000 per second", _at_random(1000)),
    PartitionChange("arrivals at random, 2,000 per second", _at_random(2000)),
    PartitionChange("arrivals at random, 3,000 per second", _at_random(3000)),
    PartitionChange("a link of 1 Tb/s", constants={"link.rate_gbps": 1000, "pcie.rate_gbps": 1000}),
    PartitionChange("deserialising takes ten times as long", {"system__deserialize_ps_per_byte": 5400}),
    PartitionChange("half the memory", memory=0.5),
    PartitionChange("80 partitions instead of 160", {"system__partitions": 80}, matches=True),
    PartitionChange("640 partitions", {"system__partitions": 640}, matches=True),
    PartitionChange("an efSearch of 16 instead of 48", {"search__L": 16}, matches=True),
    PartitionChange(
        "1 in flight, one thread reads and one works, an efSearch of 16",
        {**_ONE, **_SERIAL, "search__L": 16},
        matches=True,
    ),
    PartitionChange(
        "arrivals at random, 250 per second, one thread reads and one works", {**_at_random(250), **_SERIAL}
    ),
)


def rows(lab: Lab) -> Iterator[Callable[[], dict[str, Any]]]:
    """Return what measures each change."""
    for change in CHANGES:
        yield lambda change=change: _row(lab, change)


def _row(lab: Lab, change: PartitionChange) -> dict[str, Any]:
    found: dict[str, Any] = {"what": change.what}
    for name, recall in zip(("low", "high"), RECALLS, strict=True):
        run = _run(lab, change, recall)
        found |= {f"{one}_{name}": value for one, value in run.metrics(["recall", "latency_mean_us"]).items()}
        found |= {f"routed_{name}": run.parameters["system.routed"], f"reads_{name}": reads(run)}
        found |= {f"share_{name}": partition_share(run)}
    return found | {"growth": found["latency_mean_us_high"] / found["latency_mean_us_low"]}


def _run(lab: Lab, change: PartitionChange, recall: float) -> Run:
    common = {"measured_queries": lab.level.work_queries, "dataset__split_seed": lab.level.seeds[0]}
    common |= {"cluster__memory_budget_gb": change.memory * scaled_budget_gb(lab, SET)}
    settings = {**common, **change.settings}
    if change.matches:
        finding = {key: value for key, value in settings.items() if key.startswith(("system__", "search__"))} | common
        routed = lab.matched("d_hnsw", SET, recall, key="system.routed", least=1, most=64, **finding)
    else:
        routed = partitioned(lab, SET, recall)[0].parameters["system.routed"]
    return lab.runs("d_hnsw", SET, system__routed=routed, **settings, **change.hardware(lab)).runs[0]


def partition_share(run: Run) -> float:
    """Share of latency that is transfer, deserialisation and search of partitions: without waiting and routing."""
    queries = run.queries
    batch_ps = (queries.end_ps - queries.start_ps).mean()
    part = run.facts["batches"]
    routed = sum(each["routing_ps"] for each in part) / sum(each["batch_ps"] for each in part)
    return float(batch_ps * (1 - routed) / (queries.end_ps - queries.arrival_ps).mean())


def as_table(found: list[dict[str, Any]]) -> str:
    """The changes beside the paper's numbers."""
    titles = ["what is changed", "P at 0.84, at 0.91", "partitions read per query", "mean latency, ms", "growth"]
    titles += ["share of partitions at 0.91"]
    lines = [["the paper (M22, M24)", "", "", "350, 815", "2.33", "0.82 (at 0.90)"]]
    lines += [
        [
            row["what"],
            f"{row['routed_low']:.0f}, {row['routed_high']:.0f}",
            f"{row['reads_low']:.2f}, {row['reads_high']:.2f}",
            f"{row['latency_mean_us_low'] / 1e3:.2f}, {row['latency_mean_us_high'] / 1e3:.2f}",
            f"{row['growth']:.2f}",
            f"{row['share_high']:.3f}",
        ]
        for row in found
    ]
    return table(titles, lines if found else [])
