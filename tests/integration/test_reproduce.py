"""`riftsim reproduce`: runs what is missing, scores, resumes; every claim has a measure."""

import dataclasses
import json
import os
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from riftsim.cli import main
from riftsim.errors import ConfigError
from riftsim.plotting.growth import drawing_of
from riftsim.plotting.output import write_figure
from riftsim.reproduction import ahead, scale
from riftsim.reproduction.claims import load_claims
from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.levels import LEVELS, SMOKE
from riftsim.reproduction.measuring import MEASURES
from riftsim.reproduction.scoreboard import NOT_ASKED, as_record, chosen_claims, evaluate, markdown

CLAIMS = load_claims()


def test_every_claim_has_one_measure_and_every_experiment_is_there():
    assert {claim.id for claim in CLAIMS} == set(MEASURES)
    folder = Lab(SMOKE).experiments
    named = {name for measure in MEASURES.values() for name in (measure.experiment, measure.figure) if name}
    assert {name for name in named if not (folder / name).is_dir()} == set()
    figures = {path.name for path in folder.iterdir() if path.name.startswith(("fig", "table"))}
    assert figures <= named, "a figure of the paper by whose name no claim can be asked for"


def test_names_choose_claims():
    assert chosen_claims(CLAIMS, ["P10"]) == {"P10"}
    assert chosen_claims(CLAIMS, ["scalability"]) == {f"S0{number}" for number in range(1, 8)}
    assert "P14" in chosen_claims(CLAIMS, ["fig12b_window"])
    assert {"G01", "G04", "G06", "G20"} <= chosen_claims(CLAIMS, ["fig13_gate"]) < chosen_claims(CLAIMS, ["gate"])
    assert {"B01", "B12"} <= chosen_claims(CLAIMS, ["fig10_billion"]) <= chosen_claims(CLAIMS, ["billion"])
    assert len(chosen_claims(CLAIMS, [])) == 138
    assert (
        chosen_claims(CLAIMS, ["fig09"])
        == chosen_claims(CLAIMS, ["FIG08"])
        == chosen_claims(CLAIMS, ["fig08_fig09_systems"])
    )
    assert "S01" in chosen_claims(CLAIMS, ["table3"])
    assert chosen_claims(CLAIMS, ["m08"]) == {"M08"}
    with pytest.raises(ConfigError, match=r"'fig12x' \(did you mean 'fig12[ab]'\?\), expected the id of a claim"):
        chosen_claims(CLAIMS, ["fig12x"])


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduction")
    assert main(["reproduce", "--smoke", "P10", "P22", "D09", "M01", "--out", str(out), "--jobs", "1"]) == 0
    return out


def _recorded(out):
    return json.loads((out / "scoreboard" / "smoke" / "scoreboard.json").read_text(encoding="utf-8"))


def test_several_processes_make_the_same_runs_once_and_give_the_same_score(tmp_path, scored, capfd):
    assert main(["reproduce", "--smoke", "P10", "P22", "D09", "M01", "--out", str(tmp_path), "--jobs", "2"]) == 0
    one, two = _recorded(scored), _recorded(tmp_path)
    assert two["claims"] == one["claims"]
    for name, cost in one["costs"].items():
        found = two["costs"][name]
        assert [found[key] for key in ("runs", "queries", "new")] == [cost[key] for key in ("runs", "queries", "new")]
    made = [{path.parent.name for path in out.glob("*/*/manifest.json")} for out in (scored, tmp_path)]
    assert made[0] == made[1]
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("fig11_breakdown")]
    assert len(said) == one["costs"]["fig11_breakdown"]["new"], "two processes made the same"


def die(lab):
    """A piece whose process ends."""
    os._exit(3)


def test_a_piece_whose_process_dies_is_left_to_the_score(tmp_path, capfd):
    lab = Lab(SMOKE, tmp_path, say=print)
    ahead.make_runs(lab, [die, *ahead.of_claims(lab, CLAIMS, {"M16"})], jobs=2)
    assert "exit code 3; its runs are made later" in capfd.readouterr().out
    assert {path.parent.name for path in lab.made} == {"one_hop_delay"}


def test_every_claim_is_in_a_piece_and_sizes_of_the_scale_study_are_pieces_of_their_own(tmp_path):
    lab = Lab(SMOKE, tmp_path)
    pieces = ahead.of_claims(lab, CLAIMS, {claim.id for claim in CLAIMS})
    sizes = [piece.args[0] for piece in pieces if len(piece.args) == 2]
    assert sizes == sorted(SMOKE.base_sizes, reverse=True)
    ids = [claim for piece in pieces if len(piece.args) == 1 for claim in piece.args[0]] + list(pieces[0].args[1])
    assert sorted(ids) == sorted(claim.id for claim in CLAIMS)


def test_a_scoreboard_has_every_claim_and_says_why_one_was_not_run(scored, capsys):
    folder = scored / "scoreboard" / "smoke"
    record = json.loads((folder / "scoreboard.json").read_text(encoding="utf-8"))
    claims = {claim["id"]: claim for claim in record["claims"]}
    assert len(claims) == 138
    assert claims["P14"]["reason"] == "not asked for"
    assert claims["M01"]["verdict"] == "reproduced"
    assert claims["D09"]["parts"][0]["low"] <= claims["D09"]["parts"][0]["ours"] <= claims["D09"]["parts"][0]["high"]
    assert [part["verdict"] for part in claims["P10"]["parts"]][1:] == ["not run"] * 2
    counts = record["counts"]["predict"]
    assert sum(counts["all"].values()) == sum(
        claim["counts"] and claim["role"] == "predict" for claim in claims.values()
    )
    table = pq.read_table(folder / "scoreboard.parquet").to_pylist()
    assert {row["id"] for row in table} == set(claims)
    assert next(row for row in table if row["id"] == "D09")["ours"] == claims["D09"]["parts"][0]["ours"]
    assert "| D09 |" in (folder / "scoreboard.md").read_text(encoding="utf-8")


def test_scoring_again_runs_nothing_and_gives_the_same(scored):
    before = json.loads((scored / "scoreboard" / "smoke" / "scoreboard.json").read_text(encoding="utf-8"))
    lab = Lab(SMOKE, scored, may_run=False)
    scores = {one.claim.id: one for one in evaluate(lab, CLAIMS, {"P10", "P22", "D09"})}
    for claim in before["claims"]:
        if claim["id"] in ("P10", "P22", "D09"):
            assert scores[claim["id"]].verdict == claim["verdict"]
    assert sum(cost.new for cost in lab.costs.values()) == 0


def test_what_is_missing_is_named_where_nothing_may_be_run(tmp_path):
    scores = evaluate(Lab(SMOKE, tmp_path, may_run=False), CLAIMS, {"P21"})
    found = next(one for one in scores if one.claim.id == "P21")
    assert found.verdict == "not run"
    assert "1 of 1 point(s) not run" in found.reason


def test_the_table_says_what_was_matched_and_how_a_claim_is_read(tmp_path):
    lab = Lab(SMOKE, tmp_path, may_run=False)
    lines = markdown(as_record(lab, evaluate(lab, CLAIMS, {"M01", "P08"}))).splitlines()
    cells = {line.split(" | ")[0]: line.removesuffix(" |").split(" | ") for line in lines if line.startswith("| ")}
    assert cells["| M01"][-2:] == ["one thread, one READ of 128 B at a time", ""]
    assert cells["| P08"][-1] == "ratio of Euclidean distances, not squared"
    assert {len(line) for claim, line in cells.items() if claim[2:] in {one.id for one in CLAIMS}} == {8}


def test_a_profile_that_is_not_there_is_refused_before_anything_runs(tmp_path, capsys):
    for command in ("reproduce", "fit", "sensitivity"):
        assert main([command, "--smoke", "--hardware", "nonesuch", "--out", str(tmp_path / command)]) == 2
        assert "nonesuch" in capsys.readouterr().err
    assert not list(tmp_path.glob("*/*/*"))


def test_a_fit_is_the_same_whatever_the_predictions_say(tmp_path, monkeypatch, capsys):
    """From the runs to the profile, with each number of each prediction changed: the file is the same."""
    assert main(["fit", "--smoke", "--out", str(tmp_path), "--jobs", "2", "--profile", str(tmp_path / "one.yaml")]) == 0
    moved = [
        claim if claim.role == "calibrate" else dataclasses.replace(claim, targets=tuple(map(_moved, claim.targets)))
        for claim in CLAIMS
    ]
    monkeypatch.setattr("riftsim.reproduction.claims.load_claims", lambda: moved)
    assert main(["fit", "--smoke", "--out", str(tmp_path), "--profile", str(tmp_path / "two.yaml")]) == 0
    assert (tmp_path / "one.yaml").read_bytes() == (tmp_path / "two.yaml").read_bytes()
    assert "cpu.per_thread_slowdown_permille" in capsys.readouterr().out


def test_a_figure_of_growth_says_which_runs_it_is_of(tmp_path):
    lab = Lab(dataclasses.replace(SMOKE, queries=30, work_queries=20), tmp_path)
    rows = scale.study(lab, "0.90")
    write_figure(drawing_of(scale.curves(rows, ["hops"]), lab.runs_of("scale")), tmp_path / "growth")
    named = json.loads((tmp_path / "growth.runs.json").read_text(encoding="utf-8"))["runs"]
    assert len(named) == len(lab.runs_of("scale")) > len(rows)


def _moved(target):
    return dataclasses.replace(target, low=-7.0, high=1e6)


@pytest.mark.slow
def test_a_sensitivity_study_by_several_processes_is_that_of_one(tmp_path):
    for jobs in ("1", "2"):
        assert main(["sensitivity", "--smoke", "--out", str(tmp_path / jobs), "--jobs", jobs]) == 0
    names = ("margins.csv", "hypercube.csv", "one_at_a_time.csv")
    one, two = ([(tmp_path / jobs / "sensitivity/smoke" / name).read_text() for name in names] for jobs in ("1", "2"))
    assert one == two


def test_a_set_that_a_level_leaves_out_is_not_run(tmp_path):
    with pytest.raises(NotMeasured, match="does not run DEEP"):
        Lab(SMOKE, tmp_path).of_set("DEEP")
    assert set(LEVELS) == {"smoke", "quick", "full"}


def test_the_scale_study_takes_the_set_that_is_asked_for(tmp_path, capsys):
    lab = Lab(SMOKE.scaled_on("synthetic-1m"), tmp_path)
    assert scale.data_of(lab).startswith("synthetic-1m, 1,000, 1,500, 2,000, 3,000 vectors")
    assert {run.parameters["dataset.name"] for run in lab.used.values()} == {"synthetic-1m"}
    assert main(["reproduce", "--smoke", "P01", "--scale-set", "synthetik-1m", "--out", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert "'synthetik-1m' is not known (did you mean 'synthetic-1m'?)" in error
    assert not list((tmp_path / "none").glob("**/*"))


def test_the_scale_study_takes_a_generated_set_of_any_size_and_wants_four_sizes(tmp_path):
    text = "name: made\nlicence: CC0\nmetric: l2\ndtype: uint8\ndimension: 128\nn: {}\n"
    text += "synthetic: {{intrinsic_dimension: 6, clusters: 4, spread: 0.5, queries: 1100, seed: 0}}\n"
    for n in (1700, 3000):
        (tmp_path / f"made{n}.yaml").write_text(text.format(n), encoding="utf-8")
    enough = Lab(SMOKE.scaled_on(str(tmp_path / "made3000.yaml")), tmp_path)
    assert scale.data_of(enough).endswith("made3000.yaml, 1,000, 1,500, 2,000, 3,000 vectors, 60 queries")
    few = Lab(SMOKE.scaled_on(str(tmp_path / "made1700.yaml")), tmp_path)
    with pytest.raises(NotMeasured, match=r"2 size\(s\), expected four or more: .*2,?000"):
        scale.at_each(
            few.level.base_sizes, lambda n: few.runs("operating_points", scale.sized(few, n), dataset__split_seed=0)
        )


_KILLED = """
import os, signal, sys
from riftsim.reproduction.claims import load_claims
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.levels import SMOKE
from riftsim.reproduction.scoreboard import evaluate
said = []
def say(line):
    said.append(line)
    if len(said) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
evaluate(Lab(SMOKE, sys.argv[1], say=say), load_claims(), {"P22"})
"""


def test_after_a_kill_only_what_was_missing_runs(tmp_path, scored):
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], env=os.environ, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*/manifest.json")}
    assert kept
    lab = Lab(SMOKE, tmp_path)
    resumed = next(one for one in evaluate(lab, CLAIMS, {"P22"}) if one.claim.id == "P22")
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert 0 < sum(cost.new for cost in lab.costs.values()) < sum(cost.runs for cost in lab.costs.values())
    whole = next(one for one in evaluate(Lab(SMOKE, scored, may_run=False), CLAIMS, {"P22"}) if one.claim.id == "P22")
    assert resumed.parts == whole.parts


@pytest.mark.slow
def test_the_whole_smoke_level(tmp_path):
    assert main(["reproduce", "--smoke", "--out", str(tmp_path), "--jobs", "2"]) == 0
    record = json.loads((tmp_path / "scoreboard" / "smoke" / "scoreboard.json").read_text(encoding="utf-8"))
    for claim in record["claims"]:
        if claim["verdict"] == "not run":
            assert claim["reason"]
            assert "expected" not in claim["reason"], claim
    assert sum(claim["verdict"] != "not run" for claim in record["claims"]) >= 85


@pytest.mark.slow
def test_the_quick_level_on_the_bundled_set_and_after_a_kill(tmp_path, monkeypatch):
    """Sections 4.5 and 4.8 by two processes: killed in the middle and resumed, the score is that of a run in one go."""
    monkeypatch.delenv("RIFTSIM_DATA_DIR", raising=False)
    command = [sys.executable, "-m", "riftsim", "reproduce", "--quick", "pipeline", "scalability", "--jobs", "2"]
    command += ["--out", "results"]
    records = []
    for name, lines_until_killed in (("whole", None), ("killed", 12)):
        folder = tmp_path / name
        folder.mkdir()
        if lines_until_killed:
            with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
                for _ in range(lines_until_killed):
                    assert process.stderr.readline()
                process.kill()
            assert not list(folder.glob("results/scoreboard/*"))
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        text = (folder / "results" / "scoreboard" / "quick" / "scoreboard.json").read_text(encoding="utf-8")
        records.append(json.loads(text))
    whole, resumed = records
    assert resumed["claims"] == whole["claims"]
    for claim in whole["claims"]:
        asked = claim["section"] in ("pipeline", "scalability")
        assert (claim["reason"] == NOT_ASKED) == (not asked)
    of_sets = next(claim for claim in whole["claims"] if claim["id"] == "P10")
    assert [part["verdict"] == "not run" for part in of_sets["parts"]] == [False, True, True]
    assert resumed["costs"]["table3_scaling"]["runs"] == whole["costs"]["table3_scaling"]["runs"]
