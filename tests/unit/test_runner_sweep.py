"""Running sweeps: skipping, failing, resuming, and folders that cannot be written."""

import io
import json
import re
import sys
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import pytest

from riftsim.config.sweep import load_experiment
from riftsim.errors import ResultsError
from riftsim.experiments import progress, runner
from riftsim.experiments.progress import BarReporter, LineReporter
from riftsim.experiments.runner import Engine, require_writable, run_experiment
from riftsim.results import store

HELPERS = str(Path(__file__).resolve().parents[1] / "helpers")
FAKE = Engine("fake_engine:run_point", "fake_engine:prepare", None)


@pytest.fixture(autouse=True)
def helpers(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(HELPERS)
    monkeypatch.setenv("PYTHONPATH", HELPERS)
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "prepared"))


def experiment(axes, **blocks):
    return load_experiment({"name": "test", "dataset": {"name": "d"}, "sweep": axes, **blocks})


def statuses(report):
    return [outcome.status for outcome in report.outcomes]


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_point_is_recorded_and_the_next_run_skips_it(tmp_path, jobs):
    plan = experiment({"search.L": [10, 20, 30]})
    first = run_experiment(plan, out=tmp_path, jobs=jobs, engine=FAKE)
    assert statuses(first) == ["complete"] * 3
    assert [outcome.point.config.search.L for outcome in first.outcomes] == [10, 20, 30]
    runs = store.load_runs(tmp_path)
    assert [run.config["search"]["L"] for run in runs] == [10, 20, 30]
    again = run_experiment(plan, out=tmp_path, jobs=jobs, engine=Engine("no_such_module:f", "no_such_module:f"))
    assert statuses(again) == ["skipped"] * 3
    assert [outcome.path for outcome in again.outcomes] == [outcome.path for outcome in first.outcomes]


def test_one_more_value_runs_one_more_point(tmp_path):
    run_experiment(experiment({"search.L": [10, 20]}), out=tmp_path, engine=FAKE)
    report = run_experiment(experiment({"search.L": [10, 15, 20]}), out=tmp_path, engine=FAKE)
    assert statuses(report) == ["skipped", "complete", "skipped"]


@pytest.mark.parametrize(
    ("jobs", "seeds", "errors"),
    [
        (1, [0, 1, 3, 5], ["row 3: found NaN", "ZeroDivisionError: a bug"]),
        (2, [0, 1, 2, 3, 5], ["row 3: found NaN", "exit code 7", "ZeroDivisionError: a bug"]),
    ],
)
def test_what_fails_does_not_stop_the_others_and_is_tried_again(tmp_path, jobs, seeds, errors):
    plan = experiment({"seed": seeds})
    report = run_experiment(plan, out=tmp_path, jobs=jobs, engine=FAKE)
    assert [outcome.point.config.seed for outcome in report.with_status("complete")] == [0, 5]
    failed = report.with_status("failed")
    assert len(failed) == len(errors)
    for outcome, error in zip(failed, errors, strict=True):
        assert error in outcome.error
    assert len(store.failures(tmp_path, "test")) == len(errors)
    bug = failed[-1]
    assert "Traceback" in bug.details
    assert failed[0].details is None, "an error that the user can mend needs no traceback"
    healthy = Engine("fake_engine:run_point", None)
    assert statuses(run_experiment(experiment({"seed": [0, 5]}), out=tmp_path, engine=healthy)) == ["skipped"] * 2


@pytest.mark.parametrize(("retries", "expected"), [(0, "failed"), (1, "complete")])
def test_a_failed_point_is_tried_again_on_request(tmp_path, retries, expected):
    seen = []

    class Seen(runner.Silent):
        def finished(self, outcome):
            seen.append(outcome.status)

    plan = experiment({"seed": [7, 0, 1]})
    report = run_experiment(plan, out=tmp_path, retries=retries, engine=FAKE, reporter=Seen())
    assert statuses(report) == [expected, "complete", "failed"]
    assert sorted(seen) == sorted(statuses(report)), "each point is reported once"
    assert len(store.failures(tmp_path, "test")) == statuses(report).count("failed")


def test_artifacts_are_prepared_once_per_combination_before_the_points(tmp_path):
    plan = experiment({"index.R": [8, 13, 16], "search.L": [10, 20]})
    report = run_experiment(plan, out=tmp_path, jobs=2, engine=FAKE)
    assert (tmp_path / "prepared").read_text(encoding="utf-8").split("\n")[:-1] == ["d 8", "d 13", "d 16"]
    assert statuses(report) == ["complete", "complete", "failed", "failed", "complete", "complete"]
    assert "no vectors for R=13" in report.with_status("failed")[0].error


def test_an_interruption_keeps_what_is_finished(tmp_path, monkeypatch):
    seen = []

    class Impatient(runner.Silent):
        def finished(self, outcome):
            seen.append(outcome)
            if len(seen) == 2:
                raise KeyboardInterrupt

    plan = experiment({"search.L": [10, 20, 30, 40]})
    report = run_experiment(plan, out=tmp_path, engine=FAKE, reporter=Impatient())
    assert report.interrupted
    assert statuses(report) == ["complete", "complete", "not run", "not run"]
    assert statuses(run_experiment(plan, out=tmp_path, engine=FAKE)) == ["skipped"] * 2 + ["complete"] * 2


class TestFolders:
    def test_a_file_in_the_way(self, tmp_path):
        (tmp_path / "out").write_text("", encoding="utf-8")
        with pytest.raises(ResultsError, match=r"out.*test: results cannot be written: (Not a directory|File exists)"):
            run_experiment(experiment({}), out=tmp_path / "out", engine=FAKE)
        assert not (tmp_path / "prepared").exists(), "no work before the folder is known to be writable"

    def test_a_folder_that_does_not_let_write(self):
        with pytest.raises(ResultsError, match=r"/proc/riftsim/test: results cannot be written"):
            run_experiment(experiment({}), out=Path("/proc/riftsim"), engine=FAKE)

    def test_a_full_disk(self, tmp_path):
        usage = namedtuple("usage", "free")(1 << 20)
        with pytest.raises(ResultsError, match=r"found 1\.0 MiB of free space, expected at least 64\.0 MiB"):
            require_writable(tmp_path / "r", lambda folder: usage)

    def test_a_disk_that_fills_while_a_point_is_written(self, tmp_path, monkeypatch):
        from riftsim.results import recorder

        def full(*arguments, **options):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(recorder, "_write_files", full)
        report = run_experiment(experiment({"seed": [0, 5]}), out=tmp_path, engine=FAKE)
        assert statuses(report) == ["failed", "failed"]
        assert "No space left on device" in report.outcomes[0].error
        assert not list((tmp_path / "test").glob(".*partial")), "nothing is left half written"

    def test_zero_jobs(self, tmp_path):
        with pytest.raises(ResultsError, match="jobs: found 0, expected at least 1"):
            run_experiment(experiment({}), out=tmp_path, jobs=0, engine=FAKE)


class TestProgress:
    def test_plain_lines_tell_count_rate_and_time_left(self, tmp_path, monkeypatch):
        ends = iter([100.0, 100.5, 112.0, 130.0])
        monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(ends)))
        stream = io.StringIO()
        run_experiment(experiment({"seed": [0, 20, 30, 1]}), out=tmp_path, engine=FAKE, reporter=LineReporter(stream))
        lines = stream.getvalue().splitlines()
        assert lines[0] == "4 point(s)"
        assert lines[1].startswith("preparing d: ")
        assert re.fullmatch(r"\[1/4\] seed0: \d+\.\d s", lines[2]), "the first point's time contains compiling"
        assert re.fullmatch(r"\[2/4\] seed20: \d+\.\d s", lines[3]), "half a second says nothing about the others"
        assert lines[4].endswith(" s (10.0 points/min, about 6 s left)")
        assert lines[5] == "[4/4] seed1: failed", "nothing is left"

    @pytest.mark.parametrize(
        ("seconds", "words"),
        [(0.1, "about 1 s left"), (89, "about 89 s left"), (150, "about 2 min left"), (9000, "about 2.5 h left")],
    )
    def test_time_left_is_no_more_exact_than_it_can_be(self, seconds, words):
        assert progress.time_left(seconds) == words

    @pytest.mark.parametrize("width", [20, 120])
    def test_the_bar_shows_the_count(self, tmp_path, width):
        from rich.console import Console

        stream = io.StringIO()
        console = Console(file=stream, force_terminal=True, width=width)
        run_experiment(experiment({"seed": [0, 1]}), out=tmp_path, engine=FAKE, reporter=BarReporter(console))
        assert "2/2" in stream.getvalue()


def test_the_python_interface(tmp_path, monkeypatch):
    import fake_engine  # on the path within this test only

    import riftsim
    from riftsim.experiments.api import FailedPointsError

    monkeypatch.setitem(sys.modules, "riftsim.assembly", fake_engine)
    plan = {"name": "api", "dataset": {"name": "d"}, "sweep": {"search.L": [10, 20]}}
    table = riftsim.run(plan, out=tmp_path).table()
    assert list(table["search.L"]) == [10, 20]
    assert list(table["recall"]) == pytest.approx([0.9, 0.95])
    assert list(riftsim.run(plan, set={"search.L": 40}, out=tmp_path).table()["recall"]) == pytest.approx([0.975])
    with pytest.raises(FailedPointsError, match=r"1 of 2 points failed:\nseed1: vectors\.fvecs: row 3"):
        riftsim.run(plan, set={"sweep": {"seed": [0, 1]}}, out=tmp_path)
    assert len(riftsim.load_runs(tmp_path)) == 4
    manifest = next(Path(tmp_path).glob("api/*/manifest.json"))
    assert json.loads(manifest.read_text(encoding="utf-8"))["status"] == "complete"
