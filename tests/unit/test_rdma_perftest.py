"""perftest's results: genuine output (6.06 on emulated SoftRoCE), and what follows for a profile."""

from pathlib import Path

import pytest

from riftsim.cli import main
from riftsim.errors import DataError
from riftsim.rdma.calibrated import replaced
from riftsim.rdma.perftest import constants_of, read_perftest
from riftsim.rdma.probe import closed_loop
from riftsim.rdma.profiles import load_profile, make_profile
from riftsim.rdma.unloaded import unloaded_read_ps

DATA = Path(__file__).parents[1] / "data" / "perftest"
LATENCY, SMALL, LARGE = (DATA / f"ib_read_{name}.txt" for name in ("lat_64", "bw_64", "bw_65536"))

TABLES = {
    "lat": """\
                    RDMA_Read Latency Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
 Mtu             : 4096[B]
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   \
99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.90           7.10         2.30               2.31           0.10           2.40   4.60
 65536   1000          9.90           17.10        10.30              10.31          0.10           10.40  14.60
""",
    "bw": """\
                    RDMA_Read BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
 Mtu             : 4096[B]
 Outstand reads  : 16
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 64         5000             1.41               1.38               2.5
 65536      1000             92.7               92.5               0.1764
""",
}


@pytest.fixture
def tables(tmp_path):
    paths = []
    for name, text in TABLES.items():
        paths.append(tmp_path / f"{name}.txt")
        paths[-1].write_text(text)
    return paths


def test_genuine_output_is_read():
    latency, small, large = (read_perftest(path) for path in (LATENCY, SMALL, LARGE))
    assert (latency.is_latency, small.is_latency) == (True, False)
    assert latency.facts["Device"] == small.facts["Device"] == "rxe0"
    assert small.facts["Outstand reads"] == "128"
    (row,) = latency.rows
    assert row.keys() == {"bytes", "iterations", "min_us", "typical_us", "p99_us", "p999_us"}
    assert row["bytes"] == 64
    assert 0 < row["min_us"] <= row["typical_us"] <= row["p99_us"] <= row["p999_us"]
    (row,) = large.rows
    assert row["gbps"] == pytest.approx(row["rate_mops"] * 1e6 * 65536 * 8 / 1e9, rel=0.02)


def test_a_simulated_lone_read_takes_what_was_measured(tables):
    base = load_profile("connectx5-100g").file
    constants, measurements = constants_of([read_perftest(path) for path in tables], base)
    profile = make_profile(replaced(base, constants))
    cpu = profile.cpu
    core_ps = cpu.build_wr_ps + cpu.doorbell_ps + cpu.poll_ps + cpu.cqe_ps
    assert unloaded_read_ps(profile.network, 2) + core_ps == pytest.approx(2_300_000, abs=2)
    assert profile.network.qp_service_ps == 400_000
    assert (profile.network.mtu_bytes, profile.network.max_outstanding) == (4096, 16)
    assert (profile.network.p99_permille, profile.network.p999_permille) == (43, 1000)
    assert 92.5 < constants["link.rate_gbps"].value < 96
    assert {constant.kind for constant in constants.values()} == {"measured", "derived"}
    assert all("mlx5_0" in constant.source for constant in constants.values())
    assert [row.median for row in measurements] == [2.3, 10.3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", r"found no title.*ib_read_lat or ib_read_bw"),
        (TABLES["lat"].split(" #bytes")[0], r"found no row of results"),
        (TABLES["lat"].replace("2.30 ", "2,30 "), r"line 6: found '2,30' for t_typical, expected a number"),
        (TABLES["lat"].replace("  4.60", ""), r"line 6: found 8 values, expected 9"),
        (TABLES["bw"].replace("MsgRate", "Rate"), r"expected also rate_mops"),
    ],
)
def test_what_is_no_result_is_refused_with_its_place(tmp_path, text, message):
    path = tmp_path / "out.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as refusal:
        read_perftest(path)
    assert str(path) in str(refusal.value)


def test_times_without_a_clock_are_refused():
    with pytest.raises(DataError, match=r"line 23: found inf for t_min.*could not tell the processor's clock"):
        read_perftest(DATA / "ib_read_lat_without_clock.txt")


def test_what_the_files_lack_is_named(tables, tmp_path):
    base = load_profile("connectx5-100g").file
    latency, bandwidth = (read_perftest(path) for path in tables)
    with pytest.raises(DataError, match="no output of ib_read_bw"):
        constants_of([latency], base)
    with pytest.raises(DataError, match="no read of 32768 bytes"):
        constants_of([latency, read_perftest(SMALL)], base)
    with pytest.raises(DataError, match="no read of at most 256 bytes"):
        constants_of([latency, read_perftest(LARGE)], base)
    several = tmp_path / "several.txt"
    several.write_text(TABLES["bw"].replace("qps   : 1 ", "qps   : 4 "))
    with pytest.raises(DataError, match="found 4 queue pairs, expected 1"):
        constants_of([latency, read_perftest(several)], base)
    quick = tmp_path / "quick.txt"
    quick.write_text(TABLES["lat"].replace("2.30 ", "1.30 "))
    with pytest.raises(DataError, match=r"found 1\.300 us for 2 bytes, expected at least.*--base"):
        constants_of([read_perftest(quick), bandwidth], base)


def test_the_command_writes_a_profile_that_simulates_the_measured_latency(tables, tmp_path, capsys):
    out = tmp_path / "mine.yaml"
    assert main(["calibrate", "--perftest", *map(str, tables), "--no-cpu", "--out", str(out)]) == 0
    assert "ib_read_lat, 65536 bytes" in capsys.readouterr().out
    profile = load_profile(out)
    assert profile.name == "mine"
    assert profile.file.measured_on["device"] == "mlx5_0"
    assert closed_loop(profile, 1, 1, 2).batch_us == pytest.approx(2.3, rel=0.001)


def test_a_rate_below_that_of_one_read_at_a_time_is_refused():
    """As a machine gives that was busy with other things meanwhile."""
    files = [read_perftest(path) for path in (LATENCY, SMALL, LARGE)]
    with pytest.raises(DataError, match=r"found 0\.00\d+ M/s.*expected at least.*one read at a time"):
        constants_of(files, load_profile("connectx5-100g").file)


def test_a_bad_file_is_refused_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    from riftsim.computenode import cpu_probe

    monkeypatch.setattr(cpu_probe, "cpu_figures", lambda _: pytest.fail("measured for nothing"))
    (tmp_path / "lat.txt").write_text("nothing")
    assert main(["calibrate", "--perftest", str(tmp_path / "lat.txt"), "--out", str(tmp_path / "p.yaml")]) == 2
    assert "lat.txt" in capsys.readouterr().err
    assert not (tmp_path / "p.yaml").exists()
