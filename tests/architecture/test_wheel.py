"""What an installed package holds: all that ``riftsim reproduce`` reads lies in the wheel."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("riftsim", "experiments", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> set[str]:
    """Names of the files in a wheel of this checkout, built from a copy since building leaves files behind."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, source / part)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = out.glob("riftsim-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_it_holds_every_experiment(names):
    files = [path for path in (ROOT / "experiments").rglob("*") if path.is_file()]
    assert len(files) > 50
    assert {f"riftsim/reproduction/{path.relative_to(ROOT)}" for path in files} <= names


def test_it_holds_configurations_data_claims_and_templates(names):
    wanted = ("configs/quickstart.yaml", "reproduction/claims/riftann.yaml", "report/templates/report.html")
    assert {f"riftsim/{name}" for name in wanted} <= names
    assert any(name.startswith("riftsim/data/sift-photos-10k/") for name in names)
