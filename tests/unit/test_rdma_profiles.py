"""Hardware profiles: what comes with riftsim, conversion to integers, refusals that name file and key."""

import dataclasses
from importlib import resources

import pytest
import yaml

from riftsim.computenode.costs import CpuModel
from riftsim.errors import ConfigError
from riftsim.rdma.description import READ_SIZES_BYTES, benchmark_read_us, describe
from riftsim.rdma.profiles import list_profiles, load_profile
from riftsim.reproduction.variants import as_yaml

CONSTANT = {"value": 1, "unit": "ns", "kind": "measured", "source": "a test"}


@pytest.fixture
def content():
    return yaml.safe_load((resources.files("riftsim") / "configs/hardware/connectx5-100g.yaml").read_text("utf-8"))


def write(tmp_path, content):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def test_every_profile_loads_with_integers_and_sources():
    assert list_profiles() == ["connectx5-100g", "connectx6-200g", "cxl-like", "ideal", "zero-wait"]
    for name in list_profiles():
        profile = load_profile(name)
        assert profile.name == name
        for costs in (profile.network, profile.cpu):
            assert all(isinstance(getattr(costs, field.name), int) for field in dataclasses.fields(costs))
        assert all(constant.source for _, _, constant in profile.constants())


def test_only_the_networks_of_ideal_and_zero_wait_are_free():
    assert [name for name in list_profiles() if load_profile(name).network.is_free] == ["ideal", "zero-wait"]
    assert load_profile("zero-wait").cpu == load_profile("connectx5-100g").cpu
    assert set(dataclasses.astuple(load_profile("ideal").cpu)) == {0}


def test_conversion(tmp_path, content):
    content["link"]["rate_gbps"]["value"] = 200
    content["nic"]["wr_service_ns"]["value"] = 9.1
    profile = load_profile(write(tmp_path, content))
    assert profile.network.link_ps_per_kib == 40 * 1024
    assert profile.network.request_wire_ps == 98 * 40
    assert profile.network.wr_service_ps == 9_100


CODES = [("pq", 20), ("pq", 64), ("pq", 16), ("sq8", 96), ("sq8", 300), ("full", 128), ("full", 512)]


@pytest.mark.parametrize(("kind", "size"), CODES)
def test_each_kind_of_codes_has_its_own_price(kind, size, tmp_path, content):
    """Base, bytes and a miss, the miss of what is longer than was measured by the byte."""
    names = ("distance_base", "distance_per_byte", "miss", "miss_per_byte")
    for at, codes in enumerate(("compact", "sq8", "full")):
        for name, value in zip(names, (10, 1, 20, 0.5), strict=True):
            content["cpu"][f"{codes}_{name}_ns"] = CONSTANT | {"value": value * 2**at}
    costs = load_profile(write(tmp_path, content)).cpu
    short, factor = {"pq": (20, 1), "sq8": (128, 2), "full": (128, 4)}[kind]
    found = CpuModel.of(costs, code_kind=kind, code_bytes=size, vector_bytes=128).compact_ps
    assert found == factor * (10_000 + 1000 * size + 20_000 + 500 * max(0, size - short))


def test_a_profile_that_does_not_price_a_kind_of_codes_loads_and_says_so(tmp_path, content):
    """Profiles from before codes were priced apart serve short product codes as ever."""
    now = CpuModel.of(load_profile(write(tmp_path, content)).cpu, code_kind="pq", code_bytes=20, vector_bytes=128)
    for key in list(content["cpu"]):
        if key.startswith(("sq8_", "full_")) or key == "compact_miss_per_byte_ns":
            del content["cpu"][key]
    old = load_profile(write(tmp_path, content))
    assert CpuModel.of(old.cpu, code_kind="pq", code_bytes=20, vector_bytes=128) == now
    for kind, size, key in (("sq8", 128, "sq8_miss"), ("full", 128, "full_miss"), ("pq", 64, "compact_miss_per_byte")):
        with pytest.raises(ConfigError, match=rf"cpu\.{key}_ns: missing, expected the price of {kind} codes of {size}"):
            CpuModel.of(old.cpu, code_kind=kind, code_bytes=size, vector_bytes=128)
    assert load_profile(write(tmp_path, yaml.safe_load(as_yaml(old.file)))).cpu == old.cpu


def test_cpu_constants_are_scaled_from_the_clock_on_which_they_were_measured(tmp_path, content):
    content["cpu"]["insertion_ns"] |= {"value": 10, "measured_ghz": 3.0}
    content["cpu"]["offer_ns"] |= {"value": 10, "measured_ghz": None}
    path = write(tmp_path, content)
    cpu = load_profile(path).cpu
    assert (cpu.insertion_ps, cpu.offer_ps) == (15_000, 10_000)
    constants = next(iter(describe(path).values()))
    used = {row["constant"]: row["used"] for row in constants}
    assert (used["cpu.insertion_ns"], used["cpu.offer_ns"]) == (15.0, 10)


@pytest.mark.parametrize(
    ("section", "key", "change", "message"),
    [
        ("nic", "qp_service_ns", {"unit": "us"}, r"nic.qp_service_ns: found unit 'us', expected 'ns'"),
        ("link", "mtu_bytes", {"value": -1}, r"link.mtu_bytes: found -1, expected 0 to 2.14748e\+09 B"),
        ("link", "mtu_bytes", {"value": 0}, r"link.mtu_bytes: found 0, expected at least 1"),
        ("link", "mtu_bytes", {"value": 10.5}, r"link.mtu_bytes: found 10.5, expected a whole number"),
        ("link", "rate_gbps", {"value": 0}, r"link.rate_gbps: found no serialisation time"),
        ("pcie", "read_ns", {"kind": "guessed"}, r"guessed.*pcie.read_ns.kind"),
        ("pcie", "read_ns", {"source": " "}, r"pcie.read_ns: the source is empty"),
        ("pcie", "read_ns", {"measured_ghz": 2.0}, r"pcie.read_ns: found measured_ghz, expected it with times"),
        ("cpu", "clock_ghz", {"value": 0}, r"cpu.clock_ghz: found 0, expected 0.001 to 1000 GHz"),
        ("cpu", "list_ns", {"measured_ghz": -1.0}, r"cpu.list_ns: measured_ghz: found -1.0, expected 0.001"),
        ("cpu", "list_ns", {"value": 9e6, "measured_ghz": 900.0}, r"cpu.list_ns at [0-9.]+ GHz: found .*e\+0"),
        ("nic", "qp_service_ns", {"value": 1e18}, r"nic.qp_service_ns: found 1e\+18, expected 0 to 1e\+07 ns"),
        ("nic", "max_outstanding_count", {"value": 1e30}, r"nic.max_outstanding_count: found 1e\+30, expected 0 to"),
        ("pcie", "rate_gbps", {"value": 1e-300}, r"pcie.rate_gbps: found 1e-300, expected 0.001 to 1e\+06 Gb/s"),
        ("cpu", "offer_ns", {"note": "x"}, r"unknown field `note`.*cpu.offer_ns"),
    ],
)
def test_a_bad_constant_is_refused_by_file_and_key(tmp_path, content, section, key, change, message):
    content[section][key] |= change
    with pytest.raises(ConfigError, match=rf"mine.yaml: .*{message}"):
        load_profile(write(tmp_path, content))


def test_missing_and_unknown_keys_are_named(tmp_path, content):
    del content["cpu"]["list_ns"]
    with pytest.raises(ConfigError, match=r"mine.yaml: .*list_ns.*\$\.cpu"):
        load_profile(write(tmp_path, content))
    with pytest.raises(ConfigError, match=r"hardware: no profile 'nonesuch'.*connectx5-100g"):
        load_profile("nonesuch")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"broken.yaml:1: "):
        load_profile(broken)


def test_latency_shape_follows_from_the_stages():
    """Published, scaled to 100G: 0.23-0.26 ns/B within a packet, 0.085-0.096 beyond; M01: 128 bytes in 2-3 us."""
    profile = load_profile("connectx5-100g")
    latency = {size: benchmark_read_us(profile, size) for size in READ_SIZES_BYTES}
    assert 2.0 <= latency[128] <= 3.0
    assert 0.225 <= (latency[1024] - latency[128]) * 1000 / 896 <= 0.26
    assert 0.085 <= (latency[65536] - latency[2048]) * 1000 / 63488 <= 0.096


def test_description_adds_up():
    constants, stages, latencies = describe("connectx5-100g").values()
    assert all(row["source"] for row in constants)
    (row,) = (row for row in latencies if row["bytes"] == 128)
    assert sum(stage["ns"] for stage in stages) == pytest.approx(row["network"] * 1000)
    assert row["CX-3 40G"] == 1.80
    assert row["mlx5 IB"] is None
