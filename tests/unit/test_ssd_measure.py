"""Measuring a drive, and making a profile of what was measured."""

import os

import numpy as np
import pytest

from riftsim.cli import main
from riftsim.errors import TransportError
from riftsim.storage.measure import DepthRow, DriveMeasurement, measure_drive, measured_profile
from riftsim.storage.profile import load_ssd_profile, make_ssd_profile


def test_a_file_is_measured_at_every_depth(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(9 << 20))
    found = measure_drive(path, depths=(1, 4), reads=200, direct=False)  # a folder of tests may have no direct reads
    assert [row.depth for row in found.rows] == [1, 4]
    for row in found.rows:
        assert 0 < row.p50_us <= row.p99_us
        assert 0 < row.reads_per_s <= 1.05 * row.depth * 1e6 / row.mean_us
    assert found.long_read_gbps > 0
    profile = make_ssd_profile(measured_profile(found, "mine"))
    assert profile.name == "mine"


@pytest.mark.parametrize(("size", "message"), [(1000, "1000 bytes, expected at least 8388608"), (None, "cannot be")])
def test_a_file_that_cannot_be_measured_is_named(tmp_path, size, message):
    path = tmp_path / "file"
    if size:
        path.write_bytes(bytes(size))
    with pytest.raises(TransportError, match=message) as refused:
        measure_drive(path)
    assert str(path) in str(refused.value)


def test_a_folder_is_said_to_be_one(tmp_path, capsys):
    assert main(["calibrate", "--ssd", str(tmp_path), "--out", str(tmp_path / "mine.yaml")]) == 2
    assert f"{tmp_path}: found a folder, expected a file on the drive" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_of_holes_says_nothing_of_a_drive(tmp_path):
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, 16 << 20)
    with pytest.raises(TransportError, match=r"file: found \d+ of 16777216 bytes on the drive, expected all"):
        measure_drive(path)


@pytest.mark.parametrize("units", [1, 6, 48])
def test_the_profile_recovers_a_drive_from_its_rates(units):
    """Rates as of a closed network of so many units of 40 us, a controller of 500,000 reads/s and 100 us at depth 1."""
    depths = np.array([1, 2, 4, 8, 16, 32, 64])
    rates = np.minimum(depths * units / (depths + units - 1) / 98.0e-6, 500_000)
    rows = [
        DepthRow(int(depth), depth / rate * 1e6, 101.0, 200.0, float(rate))
        for depth, rate in zip(depths, rates, strict=True)
    ]
    file = measured_profile(DriveMeasurement("/somewhere/file", True, rows, 30.0), "mine")
    profile = make_ssd_profile(file)
    assert profile.unloaded_ps() / 1e6 == pytest.approx(100, rel=0.01)
    assert abs(profile.units - units) <= max(1, 0.15 * units)
    assert profile.command_ps == pytest.approx(1e12 / max(rates), rel=0.01)
    assert "random reads of 4 KiB of file, direct" in file.device.read_ns.source


def test_the_command_writes_a_profile_that_others_take(tmp_path, capsys):
    path, out = tmp_path / "file", tmp_path / "mine.yaml"
    path.write_bytes(os.urandom(9 << 20))
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pytest.skip("the folder of tests has no direct reads")
    assert main(["calibrate", "--ssd", str(path), "--out", str(out)]) == 0
    assert f"profile: {out}" in capsys.readouterr().out
    assert main(["profile", "show", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "device.media_ns" in shown
    assert load_ssd_profile(out).name == "mine"
    assert set(tmp_path.iterdir()) == {path, out}


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (["--ssd", "file", "--samples", "5"], "--samples: found 5, expected none with --ssd"),
        (["--ssd", "file", "--no-cpu"], "--no-cpu: found it, expected none with --ssd"),
        (["--ssd", "file", "--base", "cxl-like"], "--base: found cxl-like, expected none with --ssd"),
        (["--perftest", "file", "--memnode", "there:1"], "--memnode: found there:1, expected none with --perftest"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(what, message, tmp_path, capsys):
    assert main(["calibrate", *what, "--out", str(tmp_path / "mine.yaml")]) == 2
    assert message in capsys.readouterr().err
