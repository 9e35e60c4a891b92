"""What the README shows runs as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from riftsim.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)[1]


def test_the_python_lines(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", block("python")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert "recall" in done.stdout
    assert len(done.stdout.splitlines()) == 3


def test_the_experiment_and_the_commands_on_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("FILE").write_text(block("yaml"), encoding="utf-8")
    assert main(["validate", "FILE"]) == 0
    small = ["--set", "dataset.queries=40", "--set", "sweep.search.L=[16, 24]"]
    assert main(["run", "FILE", "--set", "search.k=1", *small]) == 0
    assert "recall@1" in capsys.readouterr().out
    assert main(["init", "my-study"]) == 0
    assert main(["validate", "my-study/quickstart.yaml"]) == 0


@pytest.mark.parametrize("target", ["run", "test"])
def test_the_make_commands_exist(target):
    assert f"make {target}" in README
    assert re.search(rf"^{target}: ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_link_leads_somewhere():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []
