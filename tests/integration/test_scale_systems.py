"""The scale study of systems beside each other, run at a few small sizes."""

import dataclasses

import pytest

from riftsim.reproduction import scale_systems
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.levels import SMOKE

SMALL = dataclasses.replace(SMOKE, queries=40, work_queries=30, system_sizes=(500, 700, 1000, 1400))


def test_rows_are_of_runs_with_the_queries_in_flight_of_sift1b(tmp_path):
    lab = Lab(SMALL, tmp_path)
    rows = scale_systems.study(lab, "0.50")
    assert [row["n"] for row in rows] == [500, 700, 1000, 1400]
    runs = [run for run in lab.used.values() if run.experiment == "scale"]
    recorded = {(run.parameters["dataset.n"], run.parameters["system.kind"]): run for run in runs}
    assert len(recorded) == len(runs) == 16
    for row in rows:
        for kind, flights in {"riftann": 30, "distvs": 45, "pipeann": 32, "diskann": 32}.items():
            run = recorded[row["n"], kind]
            assert run.parameters["load.concurrency"] == flights
            assert (run.parameters["search.L"], run.manifest["queries"]) == (row[f"{kind}_L"], 30)
            latency_us = run.metrics(["latency_mean_us"])["latency_mean_us"]
            assert row[f"{kind}_us"] == latency_us
            if kind != "riftann":
                assert row[f"{kind}_over_riftann"] == pytest.approx(latency_us / row["riftann_us"])
