"""The command line within this process: what it prints, where, and how it ends."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

import riftsim
from riftsim.cli import main

HELPERS = str(Path(__file__).resolve().parents[1] / "helpers")


@pytest.fixture(autouse=True)
def fake_assembly(monkeypatch, tmp_path):
    """Put made-up numbers in place of the simulator and work in an empty folder."""
    monkeypatch.syspath_prepend(HELPERS)
    import fake_engine

    monkeypatch.setitem(sys.modules, "riftsim.assembly", fake_engine)
    monkeypatch.setattr(riftsim, "assembly", fake_engine, raising=False)
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)


def write(text: str) -> str:
    Path("e.yaml").write_text(f"name: e\ndataset: {{name: sift-photos-10k}}\n{text}", encoding="utf-8")
    return "e.yaml"


class TestRun:
    def test_prints_a_row_per_point_and_names_results_and_figures(self, capsys):
        file = write("sweep: {search.L: [10, 20]}\nplots: [{kind: recall-latency}, {kind: breakdown}]")
        assert main(["run", file]) == 0
        out, err = capsys.readouterr()
        assert "recall@10" in out
        rows = [line.split() for line in out.splitlines() if line.strip().startswith("L")]
        assert [(row[0], row[1]) for row in rows] == [("L10", "0.9000"), ("L20", "0.9500")]
        assert "results: results/runs/e" in out
        pictures = [line.split()[1] for line in out.splitlines() if line.startswith("figure: ")]
        assert len(pictures) == 2
        assert all(Path(picture).stat().st_size > 1000 for picture in pictures)
        assert "[2/2]" in err
        assert err.endswith("drawing 2 figure(s)\n")

    def test_json_is_all_there_is_on_stdout(self, capsys):
        file = write("sweep: {search.L: [10, 20]}")
        assert main(["run", file, "--json", "--out", "r", "--set", "seed=9"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert [point["status"] for point in printed["points"]] == ["complete", "complete"]
        assert [point["metrics"]["recall"] for point in printed["points"]] == pytest.approx([0.9, 0.95])
        assert printed["results"] == "r/e"
        assert all(Path(point["path"]).is_dir() for point in printed["points"])

    def test_a_second_run_says_that_nothing_was_to_do(self, capsys):
        file = write("")
        main(["run", file])
        first = capsys.readouterr().out
        assert main(["run", file]) == 0
        out, err = capsys.readouterr()
        assert out == first
        assert "1 point(s) were complete already" in err

    def test_a_failed_point_makes_the_exit_code_one(self, capsys):
        file = write("sweep: {seed: [0, 1]}")
        assert main(["run", file, "--json"]) == 1
        out, err = capsys.readouterr()
        assert [point["status"] for point in json.loads(out)["points"]] == ["complete", "failed"]
        assert "riftsim: error: point seed1 failed: vectors.fvecs: row 3: found NaN" in err
        assert "1 of 2 points failed; the same command tries them again" in err

    def test_no_results_are_named_where_every_point_failed(self, capsys):
        assert main(["run", write("seed: 1")]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "1 of 1 points failed" in err

    def test_points_that_fail_of_the_same_are_told_once(self, capsys):
        assert main(["run", write("index: {kind: vamana, R: 13}\nsweep: {search.L: [10, 20, 30]}")]) == 1
        err = capsys.readouterr().err
        assert err.count("no vectors for R=13") == 1
        assert "riftsim: error: point L10 and 2 more failed: no vectors for R=13" in err
        assert "3 of 3 points failed" in err

    def test_a_folder_that_cannot_be_written(self, capsys):
        Path("taken").write_text("", encoding="utf-8")
        assert main(["run", write(""), "--out", "taken"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("riftsim: error: taken/e: results cannot be written")

    @pytest.mark.parametrize("jobs", ["0", "-1", "two"])
    def test_jobs_must_be_a_number(self, capsys, jobs):
        with pytest.raises(SystemExit) as ended:
            main(["run", write(""), f"--jobs={jobs}"])
        assert ended.value.code == 2
        assert f"found '{jobs}', expected a whole number of at least 1" in capsys.readouterr().err

    @pytest.mark.parametrize("columns", ["20", "50", "80", "120"])
    def test_any_width_shows_every_number(self, capsys, monkeypatch, columns):
        monkeypatch.setenv("COLUMNS", columns)
        main(["run", write("search: {L: 20}")])
        out = capsys.readouterr().out
        assert "0.9500" in out
        assert "20.0" in out
        assert "…" not in out


class TestErrors:
    @pytest.mark.parametrize("command", ["run", "validate", "build", "plot"])
    def test_a_missing_file(self, capsys, command):
        assert main([command, "quikstart.yaml"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("riftsim: error: quikstart.yaml: no such file")
        assert err.count("\n") == 1

    def test_an_unknown_key_names_line_and_nearest(self, capsys):
        assert main(["validate", write("search:\n  Lx: 3\n")]) == 2
        assert "e.yaml:4: $.search has no key 'Lx' (did you mean 'L'?)" in capsys.readouterr().err

    def test_a_wrong_setting(self, capsys):
        assert main(["run", write(""), "--set", "search.l=3"]) == 2
        assert "--set search.l=3: $.search has no key 'l' (did you mean 'L'?)" in capsys.readouterr().err

    def test_an_unknown_command(self, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["runn"])
        assert ended.value.code == 2

    def test_a_bug_keeps_its_traceback(self, monkeypatch):
        from riftsim.config import sweep

        def broken(*arguments):
            raise ZeroDivisionError

        monkeypatch.setattr(sweep, "load_experiment", broken)
        with pytest.raises(ZeroDivisionError):
            main(["validate", write("")])

    def test_an_interruption_before_any_point(self, monkeypatch, capsys):
        from riftsim.config import sweep

        def interrupted(*arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr(sweep, "load_experiment", interrupted)
        assert main(["validate", write("")]) == 130


class TestValidate:
    def test_lists_the_points_and_prints_a_file_that_loads(self, capsys):
        assert main(["validate", write("sweep: {search.L: [10, 20]}")]) == 0
        out = capsys.readouterr().out
        assert "e.yaml: sound; 2 point(s)\n  L10\n  L20\n" in out
        Path("again.yaml").write_text(out.partition("every default:\n\n")[2], encoding="utf-8")
        assert main(["validate", "again.yaml"]) == 0

    def test_an_unknown_profile(self, capsys):
        assert main(["validate", write("hardware: connectx-5")]) == 2
        assert "connectx5-100g" in capsys.readouterr().err
        assert main(["validate", write("system: {kind: diskann, drive: samsung}")]) == 2
        assert "samsung-980pro" in capsys.readouterr().err

    def test_json(self, capsys):
        assert main(["validate", "quickstart", "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["points"]) == 15


def test_build_reports_once_per_graph_and_codes(capsys):
    assert main(["build", write("sweep: {search.L: [10, 20], index.R: [8, 16]}"), "--json"]) == 0
    reports = json.loads(capsys.readouterr().out)
    assert [report["index"]["R"] for report in reports] == [8, 16]
    assert [report["points"] for report in reports] == [["L10-R8", "L20-R8"], ["L10-R16", "L20-R16"]]
    assert main(["build", "e.yaml"]) == 0
    assert "0.500" in capsys.readouterr().out


def test_build_writes_one_disk_index(capsys):
    file = write("sweep: {search.L: [10, 20], index.R: [8, 16]}")
    assert main(["build", file, "--disk-index", "ann"]) == 2
    message = "--disk-index ann: found 2 pairs of graph and codes in e.yaml, expected one: fix what differs with --set"
    assert message in capsys.readouterr().err
    assert not Path("ann_disk.index").exists()
    assert main(["build", file, "--set", "index.R=8", "--disk-index", "ann"]) == 0
    assert Path("ann_disk.index").exists()
    assert "disk index: ann_disk.index" in capsys.readouterr().out


class TestPlot:
    def test_from_a_folder_and_from_a_file(self, capsys):
        file = write("sweep: {search.L: [10, 20]}\nplots: [{kind: recall-latency}]")
        main(["run", file, "--no-plots"])
        assert "figure" not in capsys.readouterr().out
        for source in ("results/runs/e", file):
            assert main(["plot", source, "--out", "figures"]) == 0
            assert "figure: figures/recall-latency.png (also .svg, .pdf" in capsys.readouterr().out

    def test_a_kind_from_the_command_line(self, capsys):
        file = write("")
        main(["run", file])
        assert main(["plot", file, "--kind", "latency-cdf"]) == 0
        assert main(["plot", file, "--kind", "cdf"]) == 2
        assert "latency-cdf" in capsys.readouterr().err

    def test_an_empty_folder(self, capsys, tmp_path):
        assert main(["plot", str(tmp_path)]) == 2
        assert "found no complete run" in capsys.readouterr().err


class TestShow:
    def test_schema(self, capsys):
        assert main(["schema"]) == 0
        assert json.loads(capsys.readouterr().out)["title"] == "riftsim experiment"

    def test_data_sets_are_listed_and_described(self, capsys):
        assert main(["data", "info"]) == 0
        assert "sift-photos-10k" in capsys.readouterr().out.split()
        assert main(["data", "info", "sift-photos-10k", "--verify", "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["vectors"] == "10,000 x 128 uint8"
        assert "ok" in facts["checksums"]

    def test_an_unknown_data_set(self, capsys):
        assert main(["data", "info", "sift-photos-10"]) == 2
        assert "did you mean 'sift-photos-10k'" in capsys.readouterr().err

    def test_profiles_are_listed(self, capsys):
        assert main(["profile", "show", "--json"]) == 0
        assert "connectx5-100g" in json.loads(capsys.readouterr().out)


class TestSetup:
    def test_init_writes_an_experiment_that_is_sound(self, capsys):
        assert main(["init", "new/folder"]) == 0
        assert main(["validate", "new/folder/quickstart.yaml"]) == 0
        assert json.loads(Path("new/folder/riftsim.schema.json").read_text(encoding="utf-8"))["$schema"]

    def test_init_overwrites_nothing(self, capsys):
        main(["init", "new"])
        Path("new/quickstart.yaml").write_text("mine", encoding="utf-8")
        assert main(["init", "new"]) == 2
        assert "is there already" in capsys.readouterr().err
        assert Path("new/quickstart.yaml").read_text(encoding="utf-8") == "mine"

    def test_doctor(self, capsys):
        code = main(["doctor", "--json"])
        checks = {check["topic"]: check for check in json.loads(capsys.readouterr().out)}
        assert {"python", "numba", "processor", "threads", "RDMA device", "pyverbs", "memlock", "cache"} <= set(checks)
        assert code == (1 if any(check["state"] == "broken" for check in checks.values()) else 0)

    def test_doctor_looks_for_every_dependency(self, tmp_path):
        from riftsim.doctor import examine

        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        names = {re.split("[<>=]", dependency)[0] for dependency in project["dependencies"]}
        assert names <= {check.topic for check in examine(tmp_path)}

    def test_doctor_says_why_there_is_no_rdma_device(self, tmp_path):
        from riftsim.doctor import examine

        def device(folder):
            return next(check for check in examine(folder) if check.topic == "RDMA device")

        assert "no RDMA drivers loaded" in device(tmp_path / "none").text
        (tmp_path / "infiniband").mkdir()
        assert "is empty" in device(tmp_path / "infiniband").text
        (tmp_path / "infiniband" / "rxe0").mkdir()
        assert device(tmp_path / "infiniband").text == "rxe0"

    def test_version(self, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["--version"])
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith("riftsim ")
