"""Live runs against simulations of the same queries: how far the model is from what was measured."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from riftsim.errors import ResultsError
from riftsim.experiments.api import run
from riftsim.results.metrics import latency_us
from riftsim.results.store import Run, RunSet, load_runs

METRICS = ("latency_mean_us", "latency_p50_us", "latency_p99_us", "wait_us", "reads", "bytes_read", "hops", "recall")
ROUND_SYNCHRONOUS = ("remote_vamana", "async_vamana")
"""Systems whose reads do not depend on timing: live and simulated requests must be the same."""


@dataclass(frozen=True)
class LiveComparison:
    """One live run and its simulation.

    Attributes
    ----------
    system : str
    concurrency : int or None
        Queries in flight; None under an open load.
    queries : int
        Measured ones.
    live, simulated : dict of str to float
        ``METRICS`` of both.
    mean_error : float
        Simulated mean latency over the live one, less 1.
    ks : float
        Kolmogorov-Smirnov distance of the two distributions of latency: the largest difference of their shares.
    same_requests : float
        Share of queries with the same number of reads and of bytes in both.
    requests_must_agree : bool
        Whether the system's reads do not depend on timing.
    python_ns_per_read : dict of str to float
        What posting and polling cost the live run's interpreter.
    """

    system: str
    concurrency: int | None
    queries: int
    live: dict[str, float]
    simulated: dict[str, float]
    mean_error: float
    ks: float
    same_requests: float
    requests_must_agree: bool
    python_ns_per_read: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def as_row(self) -> dict[str, Any]:
        """The same as a row of a table."""
        row = asdict(self)
        for group in ("live", "simulated", "python_ns_per_read"):
            row |= {f"{group}_{name}": value for name, value in row.pop(group).items()}
        return row


def live_runs(folder: Path) -> RunSet:
    """The live runs in a folder.

    Raises
    ------
    ResultsError
        If there is none.
    """
    found = [one for one in load_runs(folder) if one.config["driver"]["kind"] == "live"]
    if not found:
        raise ResultsError(f"{folder}: found no complete run with driver.kind 'live', expected at least one")
    return RunSet(found)


def simulate_as(live: Run, hardware: str | None, out: Path, data_dir: Path | None = None) -> Run:
    """Simulate what a live run did.

    Parameters
    ----------
    live : Run
    hardware : str or None
        Profile; by default that which the live run names.
    out : Path
        Results folder of the simulation.
    data_dir : Path or None
        Folder of larger data sets.

    Returns
    -------
    Run
    """
    config = {key: value for key, value in live.config.items() if key not in ("sweep", "plots")}
    config |= {"name": f"{live.experiment}-simulated", "driver": {"kind": "sim"}}
    if hardware is not None:
        config["hardware"] = hardware
    (simulated,) = run(config, out=out, data_dir=data_dir)
    return simulated


def compare_live(live: Run, simulated: Run) -> LiveComparison:
    """Compare a live run with its simulation.

    Raises
    ------
    ResultsError
        If they did not search the same queries.
    """
    own, other = (one.queries.sort_values("query", kind="stable") for one in (live, simulated))
    if not np.array_equal(own["query"], other["query"]):
        raise ResultsError(f"{live.path}: found other queries than in {simulated.path}, expected the same")
    system = live.config["system"]["kind"]
    reads = [column for column in own if column.startswith("reads_") and column in other] + ["bytes_read"]
    values = {one: one.metrics(METRICS) for one in (live, simulated)}
    python = live.facts.get("python", {})
    return LiveComparison(
        system=system,
        concurrency=live.config["load"].get("concurrency"),
        queries=len(own),
        live=values[live],
        simulated=values[simulated],
        mean_error=values[simulated]["latency_mean_us"] / values[live]["latency_mean_us"] - 1,
        ks=ks_distance(latency_us(live.queries), latency_us(simulated.queries)),
        same_requests=float(np.mean((own[reads].to_numpy() == other[reads].to_numpy()).all(axis=1))),
        requests_must_agree=system in ROUND_SYNCHRONOUS,
        python_ns_per_read={
            name: float(python[f"{name}_ns_per_read"])
            for name in ("posting", "polling")
            if f"{name}_ns_per_read" in python
        },
    )


def ks_distance(first: np.ndarray, second: np.ndarray) -> float:
    """Kolmogorov-Smirnov distance of two samples, in [0, 1]."""
    first, second = np.sort(first), np.sort(second)
    everywhere = np.concatenate([first, second])
    shares = [np.searchsorted(one, everywhere, side="right") / len(one) for one in (first, second)]
    return float(np.max(np.abs(shares[0] - shares[1])))
