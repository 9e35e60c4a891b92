"""An open loop that sends more than can be served: the throughput is what is served."""

import pytest

from riftsim.assembly import run_point
from riftsim.config.sweep import load_experiment

SMALL = {
    "sweep": {},
    "dataset": {"name": "sift-photos-10k", "n": 2000, "queries": 60},
    "index": {"kind": "vamana", "R": 16, "L": 32},
    "codes.bytes": 16,
    "search.L": 16,
    "cluster.threads": 2,
    "measured_queries": 400,
}


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_throughput_is_that_of_completions(engine):
    def run(load):
        (point,) = load_experiment("quickstart", {**SMALL, "driver.engine": engine, "load": load}).points
        return run_point(point.config)

    capacity = run({"kind": "closed", "concurrency": 2}).facts["qps"]
    overloaded = run({"kind": "poisson", "rate_qps": 50 * capacity})
    assert overloaded.facts["qps"] == pytest.approx(capacity, rel=0.1)
    assert overloaded.queries["queue_ps"][-1] > 20 * overloaded.queries["evaluation_ps"].mean()
    relaxed = run({"kind": "constant", "rate_qps": 0.2 * capacity})
    assert relaxed.facts["qps"] == pytest.approx(0.2 * capacity, rel=0.05)
    assert relaxed.queries["queue_ps"].max() == 0
