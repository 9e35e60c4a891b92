"""Sweeps on a real Dask cluster of two worker processes on this machine, one of which is killed in the middle."""

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from riftsim.config.sweep import load_experiment
from riftsim.errors import ClusterError
from riftsim.experiments import runner
from riftsim.experiments.runner import Engine, run_experiment
from riftsim.results import store

distributed = pytest.importorskip("distributed")

ROOT = Path(__file__).resolve().parents[2]
HELPERS = ROOT / "tests" / "helpers"
FAKE = Engine("fake_engine:run_point", "fake_engine:prepare")
HANGS_ONCE = 6  # see fake_engine


class Cluster:
    """A scheduler and workers as processes."""

    def __init__(self, folder: Path, log: Path):
        self._file = folder / "scheduler.json"
        self._environment = {
            **os.environ,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{HELPERS}",
            "FAKE_ENGINE_LOG": str(log),
            "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "false",
        }
        self._processes = []
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter")

    def start_worker(self, threads: int = 1) -> int:
        """Start a worker; its process id."""
        return self._start("worker", "--nthreads", str(threads), "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")

    def _start(self, command: str, *options: str) -> int:
        line = [sys.executable, "-m", "dask", command, "--scheduler-file", str(self._file), *options]
        process = subprocess.Popen(
            line, cwd=self._file.parent, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._processes.append(process)
        return process.pid

    def address(self, workers: int) -> str:
        """Wait for the workers; the scheduler's address."""
        with distributed.Client(scheduler_file=str(self._file), timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
            return client.scheduler.address

    def close(self) -> None:
        """End the processes that are still there."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    log = tmp_path / "prepared"
    monkeypatch.syspath_prepend(str(HELPERS))
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(log))
    (tmp_path / "dask").mkdir()
    cluster = Cluster(tmp_path / "dask", log)
    yield cluster
    cluster.close()


def test_a_sweep_outlives_a_worker_resumes_and_equals_a_local_one(tmp_path, monkeypatch, cluster):
    monkeypatch.chdir(tmp_path)
    workers = {cluster.start_worker(), cluster.start_worker()}
    address = cluster.address(2)
    seeds = [HANGS_ONCE, 0, 1, 5, 8]
    plan = load_experiment({"name": "test", "dataset": {"name": "d"}, "sweep": {"seed": seeds}})
    ended = []

    class Killer(runner.Silent):
        def finished(self, outcome):
            ended.append(outcome)
            if len(ended) == len(seeds) - 1:  # the worker of the first point has done nothing else
                os.kill(int(Path(tmp_path, "prepared.hung").read_text(encoding="utf-8")), signal.SIGKILL)

    report = run_experiment(plan, out=Path("out"), dask=address, engine=FAKE, reporter=Killer())
    assert [outcome.status for outcome in report.outcomes] == ["complete", "complete", "failed", "complete", "complete"]
    assert "row 3: found NaN" in report.outcomes[2].error
    assert report.outcomes[0].path.is_relative_to(tmp_path / "out"), "the folder of who asked, not of the worker"
    assert (tmp_path / "prepared").read_text(encoding="utf-8").splitlines() == ["d 64"], "graphs are made once"
    assert int((tmp_path / "prepared.hung").read_text(encoding="utf-8")) in workers

    again = run_experiment(plan, out=Path("out"), dask=address, engine=FAKE)
    assert [outcome.status for outcome in again.outcomes] == ["skipped", "skipped", "failed", "skipped", "skipped"]
    run_experiment(plan, out=Path("local"), engine=FAKE)
    for here, there in zip(store.load_runs(Path("local")), store.load_runs(Path("out")), strict=True):
        assert here.path.name == there.path.name
        tables = [pd.read_parquet(run.path / "queries.parquet") for run in (here, there)]
        pd.testing.assert_frame_equal(*tables)

    cluster.start_worker(threads=2)
    cluster.address(2)  # the one that is left, and this one
    with pytest.raises(ClusterError, match="found 2 threads, expected 1"):
        run_experiment(plan, out=tmp_path / "out", dask=address, engine=FAKE)


def test_an_address_where_nothing_answers(tmp_path, monkeypatch):
    monkeypatch.setattr("riftsim.experiments.cluster._CONNECT_TIMEOUT", "1s")
    plan = load_experiment({"name": "test", "dataset": {"name": "d"}})
    with pytest.raises(ClusterError, match=r"--dask tcp://127\.0\.0\.1:9: no scheduler answers"):
        run_experiment(plan, out=tmp_path, dask="tcp://127.0.0.1:9", engine=FAKE)


@pytest.mark.parametrize("address", ["nonsense", "", "tcp://host", "what://host:1"])
def test_what_is_no_address(tmp_path, address, capfd):
    plan = load_experiment({"name": "test", "dataset": {"name": "d"}})
    with pytest.raises(ClusterError, match=rf"--dask {address}: no scheduler answers .*; expected tcp://HOST:PORT"):
        run_experiment(plan, out=tmp_path, dask=address, engine=FAKE)
    gc.collect()
    assert "Traceback" not in capfd.readouterr().err
