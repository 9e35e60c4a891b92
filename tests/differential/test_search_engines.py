"""The compiled engine against the SimPy engine: every column of every query, every answer, every fact."""

from dataclasses import asdict

import numpy as np
import pytest
from search_runs import simulate, system_of
from search_worlds import make_world

from riftsim.computenode.drivers.compiled import run_compiled
from riftsim.memnode.shards import hashed
from riftsim.workload.arrivals import poisson_arrivals_ps

RUNS = [
    ("remote", {"verification": "verify-all"}, {"concurrency": 12}),
    ("async", {}, {"concurrency": 6, "signal_last_only": True}),
    ("async", {}, {"concurrency": None, "arrivals_ps": poisson_arrivals_ps(60_000.0, 200, 1)}),
    ("riftann", {}, {"concurrency": 10}),
    ("riftann", {"split": "static", "main_threads_help": False, "window_counts": "reads"}, {"compute_nodes": 2}),
    ("riftann", {"record_reads": "full-record", "verification": {"kind": "verify-all"}, "workers": 0}, {}),
    ("riftann", {"chunk": 3, "gate": {"kind": "u-only", "bound": 8}}, {"concurrency": 16, "queries_per_thread": 2}),
]


@pytest.mark.parametrize(("name", "settings", "load"), RUNS)
def test_both_engines_agree_to_the_picosecond(photos, name, settings, load):
    world = make_world(photos.vectors, photos.queries, photos.graph, codec=photos.codec, placement=hashed(2000, 2))
    system = system_of(name, world, **settings)
    load = {"memory_nodes": 2, "measured": 40, **load}
    in_python, compiled = simulate(system, **load), simulate(system, engine=run_compiled, **load)
    assert compiled.throughput_qps == in_python.throughput_qps
    assert compiled.facts == in_python.facts
    for one, other in zip(in_python.runs, compiled.runs, strict=True):
        columns, other_columns = asdict(one), asdict(other)
        for inner in ("answer", "program", "slot", "idle_from_ps", "blocked", "lists"):  # the engine's own bookkeeping
            columns.pop(inner), other_columns.pop(inner)
        assert other_columns == columns
        assert np.array_equal(other.answer.ids, one.answer.ids)
        assert other.answer.counts == one.answer.counts
        assert np.array_equal(other.answer.trail, one.answer.trail)
