"""The command line as a process of its own: signals, pipes, and what it imports."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from riftsim.results.recorder import LOCK_FILE

ROOT = Path(__file__).resolve().parents[2]
HELPERS = ROOT / "tests" / "helpers"
TIMEOUT_S = 60


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{HELPERS}", "COLUMNS": "100"}


def start(arguments: list[str], folder: Path, **options) -> subprocess.Popen:
    command = [sys.executable, str(HELPERS / "fake_riftsim.py"), *arguments]
    return subprocess.Popen(command, cwd=folder, env=environment(), text=True, **options)


def write(folder: Path, seeds: list[int]) -> None:
    text = f"name: e\ndataset: {{name: sift-photos-10k}}\nsweep: {{seed: {seeds}}}\n"
    (folder / "e.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("jobs", "kept"), [(1, 1), (2, 2)])
def test_ctrl_c_keeps_finished_points_ends_the_workers_and_says_how_to_go_on(tmp_path, jobs, kept):
    hangs = 4  # see fake_engine
    write(tmp_path, [0, hangs, 5] if jobs == 1 else [hangs, 0, 5])
    process = start(
        ["run", "e.yaml", "--jobs", str(jobs)],
        tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    awaited = {"hanging", *(f"[{number}/3]" for number in range(1, kept + 1))}
    for line in process.stderr:
        awaited -= {word for word in awaited if line.startswith(word)}
        if not awaited:
            break
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole group
    # The pipes close when the last process that holds them has gone, workers included.
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert f"interrupted: {kept} of 3 points are complete and kept in results/runs/e" in err
    assert "the same command goes on with the rest" in err
    assert "Traceback" not in err
    assert len(list((tmp_path / "results/runs/e").glob("seed*/manifest.json"))) == kept
    assert [path.name for path in (tmp_path / "results/runs/e").glob(".*")] == [LOCK_FILE], (
        "nothing is left half written"
    )

    write(tmp_path, [0, 5])
    process = start(["run", "e.yaml", "--json"], tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert sorted(point["status"] for point in json.loads(out)["points"]) == sorted(
        ["skipped"] * kept + ["complete"] * (2 - kept)
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_a_parent_that_was_killed(tmp_path, number):
    hangs = 4
    write(tmp_path, [hangs, 0, hangs + 5])
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = start(["run", "e.yaml", "--jobs", "2"], tmp_path, start_new_session=True, **streams)
    awaited = {"hanging", "[1/3]"}
    for line in process.stderr:
        awaited -= {word for word in awaited if line.startswith(word)}
        if not awaited:
            break
    process.send_signal(number)  # to the parent alone
    try:
        process.communicate(timeout=TIMEOUT_S)  # the pipes close when the last process that holds them has gone
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -number
    assert [path.name for path in (tmp_path / "results/runs/e").glob(".*")] == [LOCK_FILE], (
        "nothing is left half written"
    )


def test_a_terminal_of_another_encoding_is_no_error(tmp_path):
    write(tmp_path, [0])
    command = [sys.executable, str(HELPERS / "fake_riftsim.py"), "run", "e.yaml"]
    surroundings = {**environment(), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert b"results: results/runs/e" in done.stdout


def test_what_is_logged_is_shown():
    code = (
        "import logging, riftsim.cli\nriftsim.cli.main(['profile', 'show'])\n"
        "logging.getLogger('riftsim.kernels').info('compiling')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=TIMEOUT_S, check=True
    )
    assert done.stderr == "riftsim: compiling\n"


def test_a_closed_pipe_is_no_error(tmp_path):
    write(tmp_path, list(range(5, 400)))
    process = start(["validate", "e.yaml", "--json"], tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait(timeout=TIMEOUT_S)


def imported_by(code: str) -> set[str]:
    printing = f"{code}\nimport sys; print(*(name for name in sys.modules if '.' not in name))"
    done = subprocess.run(
        [sys.executable, "-c", printing],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
        timeout=TIMEOUT_S,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import riftsim",
        "import riftsim.cli; riftsim.cli.build_parser()",
        "import riftsim; riftsim.load_experiment('quickstart')",
        "import riftsim.experiments.runner, riftsim.results.store",  # on the way to the first query
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code):
    heavy = {"numba", "faiss", "matplotlib", "pandas", "pyarrow", "h5py", "simpy", "scipy", "pyverbs"}
    assert not imported_by(code) & heavy


def test_the_first_query_waits_for_no_library_of_tables_or_figures():
    assert not imported_by("import riftsim.assembly") & {"matplotlib", "pandas", "pyarrow", "h5py", "pyverbs"}


def test_help_needs_no_third_party_package():
    modules = imported_by("import riftsim.cli; riftsim.cli.build_parser()")
    assert not modules & {"numpy", "msgspec", "yaml", "rich"}
