"""Input that must be refused in one line: never a hang, a crash of the process, or a run of something else."""

import errno
import os
import re
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest

from riftsim import yaml_file
from riftsim.cli.terminal import show_warnings_plainly
from riftsim.config.sweep import load_experiment
from riftsim.errors import ConfigError, DataError, ResultsError, message_of
from riftsim.experiments.point import describe
from riftsim.rdma.profiles import load_profile
from riftsim.workload.datasets import load_dataset
from riftsim.workload.formats.checks import MAX_NORM, check_finite
from riftsim.workload.spec import read_spec

BASE = {"name": "x", "dataset": {"name": "sift-photos-10k"}}


def bomb(opening: str, closing: str, member: str) -> str:
    """Return nine lines of aliases that mean 9^9 values."""
    lines = [f"a0: &a0 {opening}{', '.join(member.format(i, 1) for i in range(9))}{closing}"]
    for level in range(1, 9):
        inside = ", ".join(member.format(i, f"*a{level - 1}") for i in range(9))
        lines.append(f"a{level}: &a{level} {opening}{inside}{closing}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bomb("[", "]", "{1}"), r"f:\d+: found more than 100,000 values"),
        (bomb("{", "}", "k{0}: {1}"), r"f:\d+: found more than 100,000 values"),
        ("a: &a [*a]", r"f:1: found values nested deeper than 64 levels"),
        ("a: " + "[" * 70 + "]" * 70, r"f:1: found values nested deeper than 64 levels"),
    ],
)
def test_yaml_that_grows_without_bound_is_refused_at_once(text, message):
    with pytest.raises(ConfigError, match=message):
        yaml_file.parse(text, "f")


@pytest.mark.parametrize("read", [read_spec, load_profile, load_experiment])
def test_every_yaml_file_is_read_strictly(read, tmp_path):
    path = tmp_path / "twice.yaml"
    path.write_text("name: a\nmetric: l2\nmetric: ip\n")
    with pytest.raises(ConfigError, match=r"twice\.yaml:3: key 'metric' is there twice \(first in line 2\)"):
        read(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"twice\.yaml: byte 0 is not UTF-8"):
        read(path)
    path.write_text(bomb("[", "]", "{1}"))
    with pytest.raises(ConfigError, match="more than 100,000 values"):
        read(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("search.L", 2**31),
        ("search.L", 10**30),
        ("index.R", 10**30),
        ("cluster.threads", 2**40),
        ("load.concurrency", 2**31),
        ("system", {"kind": "riftann", "gate": {"kind": "rho-only", "history": 2**63}}),
        ("system", {"kind": "riftann", "verification": {"kind": "calibrated", "alpha": 1e30}}),
    ],
)
def test_numbers_beyond_every_array_are_refused(key, value):
    with pytest.raises(ConfigError, match=r"found .*, expected at most (2147483647|1000000)"):
        load_experiment(BASE, {key: value})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("name", "a\n", r"\$\.name: found 'a\\n'"),
        ("name", "n" * 201, r"\$\.name: found 'nnn"),
        ("index.alpha", 1e300, r"\$\.index\.alpha: found 1e\+300, expected at most 1000000"),
        ("index.slack", 1e9, r"\$\.index\.slack: found 1000000000\.0, expected at most 1000"),
        (
            "system",
            {"kind": "riftann", "gate": {"kind": "impact-aware", "epsilon": 1e15}},
            r"epsilon: found 1000000000000000.0, expected",
        ),
        (
            "system",
            {"kind": "riftann", "verification_window": 2**30},
            r"window: found 1073741824, expected at most 4096",
        ),
        ("driver.sample_us", 1e-6, r"\$\.driver\.sample_us: found 1e-06, expected 0 .no samples. or at least 0\.01"),
        (
            "load",
            {"kind": "poisson", "rate_qps": 1e16},
            r"\$\.load\.rate_qps: found 1e\+16, expected at most 1000000000000000",
        ),
        ("driver", {"kind": "file", "deadline_s": 1e12}, r"\$\.driver\.deadline_s: found .*, expected at most 1000000"),
    ],
)
def test_values_that_no_run_can_have_are_refused(key, value, message):
    with pytest.raises(ConfigError, match=message):
        load_experiment(BASE, {key: value})


def test_seeds_may_be_of_any_size():
    assert load_experiment(BASE, {"seed": 2**70, "index.seed": 2**65}).config.seed == 2**70


class TestSettingsInsideSweptBlocks:
    AXES: ClassVar = {"system": [{"kind": "in_memory_vamana"}, {"kind": "remote_vamana"}], "search.L": [20, 40]}

    def test_a_point_is_named_by_what_it_runs(self):
        points = load_experiment({**BASE, "sweep": self.AXES}, {"system.kind": "riftann"}).points
        assert [point.slug for point in points] == ["riftann-L20", "riftann-L40"]
        assert [point.swept["system"] for point in points] == [{"kind": "riftann"}] * 2

    def test_a_setting_that_only_one_value_takes_is_refused_for_the_other(self):
        with pytest.raises(ConfigError, match=r"in_memory_vamana' has no key 'beam_width'"):
            load_experiment({**BASE, "sweep": self.AXES}, {"system.beam_width": 8})

    def test_an_axis_that_the_setting_leaves_without_a_key_is_refused(self):
        axes = {"system.beam_width": [2, 4]}
        with pytest.raises(ConfigError, match=r'sweep\["system\.beam_width"\]\[0\].*has no key'):
            load_experiment({**BASE, "sweep": axes}, {"system.kind": "in_memory_vamana"})


def test_vectors_whose_distances_overflow_are_refused_before_a_library_aborts(tmp_path):
    vectors = np.ones((5, 4), np.float32)
    vectors[3, 2] = -1e30
    with pytest.raises(DataError, match=r"v\.fbin: row 3, column 2 is -1e\+30.*expected at most 4\.5e\+18 in size"):
        check_finite(vectors, "v.fbin")
    longest = np.array([[MAX_NORM, 0], [-MAX_NORM, 0]], np.float32) / np.float32(np.sqrt(2))
    check_finite(longest, "v.fbin")
    assert np.isfinite(np.square(longest[0] - longest[1]).sum(dtype=np.float32))
    check_finite(np.full((2, 3), 65504, np.float16), "half")


def write_small_set(folder, vectors, *, metric="l2", extra=""):
    for name, rows in (("base", vectors), ("query", vectors[:8] + 1)):
        header = np.array(rows.shape, "<u4").tobytes()
        (folder / f"{name}.fbin").write_bytes(header + rows.astype("<f4").tobytes())
    n, d = vectors.shape
    path = folder / "small.yaml"
    path.write_text(
        f"name: small\nlicence: none\nmetric: {metric}\ndtype: float32\ndimension: {d}\nn: {n}\n"
        f"base: base.fbin\nqueries: query.fbin\nsplit: {{kind: pooled, calibration: 2}}\n{extra}"
    )
    return path


def test_a_stated_checksum_counts_without_being_asked_for(tmp_path):
    path = write_small_set(tmp_path, np.ones((20, 4)), extra=f"sha256: {{query.fbin: '{'0' * 64}'}}\n")
    with pytest.raises(DataError, match=r"query\.fbin: SHA-256 is [0-9a-f]{64}, expected 0{64}"):
        load_dataset(path)


def test_a_zero_vector_names_its_file(tmp_path):
    vectors = np.ones((20, 4))
    vectors[7] = 0
    with pytest.raises(DataError, match=r"base\.fbin: row 7 is a zero vector"):
        load_dataset(write_small_set(tmp_path, vectors, metric="cosine"))


def test_warnings_are_one_line_and_said_once(capsys, monkeypatch):
    import warnings

    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    show_warnings_plainly()
    for line in (1, 2):
        warnings.showwarning(UserWarning("few vectors"), UserWarning, f"{os.sep}riftsim{os.sep}x.py", line)
    assert capsys.readouterr().err == "riftsim: warning: few vectors\n"


def test_closed_streams_are_no_error():
    command = [sys.executable, "-m", "riftsim", "data", "info", "sift-photos-10k"]
    # The shell closes stdout and stderr, which subprocess cannot.
    done = subprocess.run(["sh", "-c", '"$@" >&- 2>&-', "sh", *command], timeout=60, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("dataset.name=sift-photos-9k", "data set 'sift-photos-9k' is not known (did you mean 'sift-photos-10k'?)"),
        ("hardware=conectx5", "hardware: no profile 'conectx5' (did you mean 'connectx5-100g'?)"),
    ],
)
@pytest.mark.parametrize("command", ["validate", "run"])
def test_names_of_files_are_checked_before_anything_is_built(command, setting, message, capsys, tmp_path, monkeypatch):
    from riftsim.cli import main

    monkeypatch.chdir(tmp_path)
    assert main([command, "quickstart", "--set", setting]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        ["validate", "x" * 5000],
        ["report", "x" * 5000],
        ["profile", "show", "x" * 5000],
        ["init", "x" * 5000],
        ["validate", "quickstart", "--set", f"hardware={'x' * 5000}"],
    ],
)
def test_a_path_that_the_system_refuses_is_one_line(command, capsys):
    from riftsim.cli import main

    assert main(command) == 2
    assert re.fullmatch("riftsim: error: x+(/quickstart.yaml)?: File name too long\n", capsys.readouterr().err)


@pytest.mark.parametrize("command", [["run", "quickstart"], ["data", "info"], ["reproduce", "--score-only"]])
def test_a_folder_of_data_that_is_not_there(command, tmp_path, capsys):
    from riftsim.cli import main

    with pytest.raises(SystemExit, match="2"):
        main([*command, "--data-dir", str(tmp_path / "typo")])
    assert "typo', expected a folder that is there" in capsys.readouterr().err


@pytest.mark.parametrize("what", [["--no-cpu"], ["--ssd", "drive"], ["--perftest", "nothing"]])
def test_a_profile_that_could_not_be_written_is_not_measured_first(what, tmp_path, capsys, monkeypatch):
    from riftsim.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for out, message in (
        ("file/p.yaml", "file: results cannot be written: File exists"),
        ("folder", "folder: found a folder, expected the name of a file"),
    ):
        assert main(["calibrate", *what, "--out", out]) == 2
        assert message in capsys.readouterr().err
    if what != ["--no-cpu"]:  # a device is looked for with a library that other tests do without
        assert main(["calibrate", *what, "--out", "new/p.yaml"]) == 2, "there is nothing to be measured"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_folder_of_notes_that_is_not_there(tmp_path, capsys):
    from riftsim.cli import main

    assert main(["report", str(tmp_path), "--notes", str(tmp_path / "typo")]) == 2
    assert "typo: no such folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "a/b"), "a/b: Permission denied"),
        (OSError(errno.EXDEV, "Invalid cross-device link", "a", None, "b"), "a -> b: Invalid cross-device link"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), None),
        (MemoryError("1 TiB"), "out of memory: 1 TiB"),
        (ValueError("a bug"), None),
    ],
)
def test_what_the_machine_refuses_is_no_bug(error, said):
    assert message_of(error) == said


def test_what_cannot_be_written_is_named_as_the_user_knows_it(tmp_path):
    from riftsim.files import atomic_write

    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError) as refused, atomic_write(tmp_path / "file" / "p.yaml"):
        pass
    assert message_of(refused.value).startswith(f"{tmp_path / 'file'}")
    with pytest.raises(OSError, match="No space") as full, atomic_write(tmp_path / "p.yaml"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert message_of(full.value).startswith(f"{tmp_path / 'p.yaml'}: No space left on device; expected room")
    assert str(full.value) == f"[Errno {errno.ENOSPC}] No space left on device: '{tmp_path / 'p.yaml'}'"
    (tmp_path / "taken").mkdir()
    with pytest.raises(IsADirectoryError) as taken, atomic_write(tmp_path / "taken") as partial:
        partial.write_text("")
    assert message_of(taken.value) == f"{tmp_path / 'taken'}: Is a directory"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken"]


@pytest.mark.parametrize("content", ["", "- a\n", "3\n"])
def test_a_profile_that_holds_no_mapping(content, tmp_path, capsys):
    from riftsim.cli import main

    (tmp_path / "p.yaml").write_text(content)
    assert main(["profile", "show", str(tmp_path / "p.yaml")]) == 2
    assert "p.yaml: Expected `object`" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["nan", "inf", "1e400"])
def test_a_profile_with_a_number_that_is_none(number, tmp_path):
    (tmp_path / "p.yaml").write_text(f"name: p\nlink: {{rate_gbps: {{value: {'.' * (number[0] in 'ni')}{number}}}}}\n")
    with pytest.raises(ConfigError, match=r"p\.yaml:2: found .*, expected a finite number"):
        load_profile(tmp_path / "p.yaml")
    assert load_experiment(BASE, {"hardware": str(tmp_path / "p.yaml")}).points, "its reader reports it"


def test_time_that_64_bits_do_not_hold_is_an_error():
    from types import SimpleNamespace

    from riftsim.computenode.drivers.sim import outcome_of
    from riftsim.units import MAX_PS

    def outcome(**times):
        run = SimpleNamespace(**{"ordinal": 0, "arrival_ps": 0, "start_ps": 0, "end_ps": 10, **times})
        return outcome_of([run], 1, closed_loops=None, windows=None, facts={}, trace=None)

    assert outcome().facts["span_ps"] == 10
    for times in ({"end_ps": -(2**62)}, {"end_ps": MAX_PS + 1}, {"start_ps": 11}, {"arrival_ps": -1}):
        with pytest.raises(ConfigError, match=r"simulated time: .*expected times up to 4611686018427387904 ps"):
            outcome(**times)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("name", [None, "cache/kernel.nbc"])
def test_a_full_disk_is_one_line(number, name):
    message, traceback = describe(OSError(number, os.strerror(number), *([name] if name else [])))
    assert os.strerror(number) in message
    assert (name or "RIFTSIM_CACHE_DIR") in message
    assert traceback is None


def test_a_burst_beyond_all_time_names_it():
    from riftsim.assembly.load import load_of

    for burst in ({"rate_qps": 1.0, "before_ms": 1e12}, {"rate_qps": 1e15, "before_ms": 1e9}):
        config = load_experiment(BASE, {"load": {"kind": "burst", **burst}}).points[0].config
        with pytest.raises(ConfigError, match=r"phases of the load: found .* expected at most 4\.61e\+18 ps"):
            load_of(config, 100)


def test_a_burst_without_an_arrival_names_its_keys():
    from riftsim.assembly.load import load_of

    load = {"kind": "burst", "rate_qps": 1e4, "before_ms": 0, "burst_ms": 1e-9, "after_ms": 0}
    config = load_experiment(BASE, {"load": load}).points[0].config
    with pytest.raises(ConfigError, match="load: found no arrival in before_ms"):
        load_of(config, 100)


@pytest.mark.parametrize("content", [b"garbage", b"- a", b"", b"\xff\xfe", b"a: ["])
def test_a_damaged_configuration_of_a_run_names_its_file(content, tmp_path):
    from riftsim.results.store import Run

    (tmp_path / "config.yaml").write_bytes(content)
    with pytest.raises(ResultsError, match=r"config\.yaml: "):
        Run(tmp_path, {}).config  # noqa: B018


@pytest.mark.parametrize(("in_flight", "said"), [(31.0, False), (43.6, True), (20.0, True), (float("nan"), False)])
def test_a_closed_loop_too_short_for_a_steady_throughput_is_pointed_out(in_flight, said, capsys):
    from types import SimpleNamespace

    from riftsim.cli.experiment import _say_what_was_too_short

    config = {"load": {"kind": "closed", "concurrency": 16}, "cluster": {"compute_nodes": 2}}
    _say_what_was_too_short([SimpleNamespace(config=config, metrics=lambda names: {"in_flight": in_flight})])
    assert ("raise measured_queries" in capsys.readouterr().err) is said
