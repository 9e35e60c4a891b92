"""Calibration on a port in memory, and from figures whose profile is known."""

from dataclasses import replace

import numpy as np
import pytest
from fake_port import FakeMemoryNode, FakePort

from riftsim.computenode import cpu_probe, rdma_probe
from riftsim.computenode.calibration import with_cpu, with_handover, with_reads
from riftsim.computenode.cpu_probe import cpu_constants, cpu_figures, handover_ns
from riftsim.computenode.rdma_probe import CHAINS, WINDOWS, ReadFigures, line, read_figures
from riftsim.constants import Constant
from riftsim.errors import TransportError
from riftsim.experiments import rehearsal
from riftsim.rdma.calibrated import replaced, write_profile
from riftsim.rdma.profiles import load_profile, make_profile
from riftsim.rdma.unloaded import unloaded_read_ps
from riftsim.transport.port import Status

REGION_BYTES = 1 << 20


def port_of(slots=32, slot_bytes=65_536, **changes):
    node = FakeMemoryNode(np.zeros(REGION_BYTES, np.uint8), **changes)
    return FakePort([node], slots, slot_bytes, seed=None)


def test_the_pieces_of_a_search_are_measured(monkeypatch):
    monkeypatch.setattr(cpu_probe, "RUNS", 2)
    figures = cpu_figures(array_mib=2)
    for name, samples in figures.items():
        assert samples.shape == (2,), name
        assert np.isfinite(samples).all(), name
        assert name in ("insertion_l100_ns", "insertion_l400_ns", "list_ns") or (samples > 0).all(), name  # differences
    assert figures["query_setup_ns"].min() > figures["lookup_ns"].min()
    base = load_profile("connectx5-100g").file
    assert make_profile(with_cpu(base, figures)).cpu.query_setup_ps > 0


def test_every_figure_has_its_samples():
    figures = read_figures(port_of(), REGION_BYTES, samples=4)
    assert list(figures.latency_ns) == list(rdma_probe.SIZES)
    assert list(figures.post_ns) == list(figures.chain_ns) == list(figures.full_poll_ns) == list(CHAINS)
    assert list(figures.rate_mops) == list(WINDOWS)
    for samples in (*figures.latency_ns.values(), *figures.chain_ns.values(), figures.empty_poll_ns):
        assert len(samples) >= 4
        assert (samples > 0).all()
    assert all((figures.post_ns[count] <= figures.chain_ns[count]).all() for count in CHAINS)


def test_a_small_port_gives_what_fits():
    figures = read_figures(port_of(slots=4, slot_bytes=1024), REGION_BYTES, samples=1)
    assert max(figures.latency_ns) == 1024
    assert max(figures.chain_ns) == max(figures.rate_mops) == 4


def test_failing_reads_and_small_ports_are_refused():
    with pytest.raises(TransportError, match="a read failed with REM_ACCESS_ERR"):
        read_figures(port_of(refused={3: Status.REM_ACCESS_ERR}), REGION_BYTES, samples=2)
    with pytest.raises(TransportError, match=r"found slots of 256 bytes.*expected at least 512"):
        read_figures(port_of(slot_bytes=256), REGION_BYTES)


def test_reads_that_never_complete_end_the_measurement(monkeypatch):
    monkeypatch.setattr(rdma_probe, "LONGEST_WAIT_S", 0.05)
    with pytest.raises(TransportError, match=r"1 reads did not complete in 0\.05 s"):
        read_figures(port_of(stalled=True), REGION_BYTES, samples=1)


def linear_figures(doorbell=700.0, build=300.0, fixed=5_000.0, per_read=900.0, poll=100.0, cqe=50.0) -> ReadFigures:
    """Exact samples of a machine with these times, ns."""

    def exactly(value):
        return np.full(5, float(value))

    post = {count: doorbell + build * count for count in CHAINS}
    return ReadFigures(
        latency_ns={8: exactly(post[1] + fixed + per_read), 4096: exactly(2 * post[1] + fixed)},
        post_ns={count: exactly(ns) for count, ns in post.items()},
        chain_ns={count: exactly(post[count] + fixed + per_read * count) for count in CHAINS},
        full_poll_ns={count: exactly(poll + cqe * count) for count in CHAINS},
        empty_poll_ns=exactly(poll),
        rate_mops={1: exactly(0.1)},
    )


def test_a_line_goes_through_medians():
    assert line({count: np.array([0, 3.0 + 2 * count, 900]) for count in (1, 2, 8)}) == pytest.approx((3, 2))
    disturbed = {count: np.array([3.0 + 2 * count]) for count in (1, 2, 4, 8, 16)} | {32: np.array([9_000.0])}
    assert line(disturbed)[1] == pytest.approx(2)
    assert line({1: np.array([7.0])}) == (7.0, 0.0)
    assert line({1: np.array([9.0]), 2: np.array([5.0])}) == (7.0, 0.0)


def test_on_one_core_a_chain_costs_the_core_what_was_measured():
    file = with_reads(load_profile("connectx5-100g").file, linear_figures(), "rxe0", shares_core=True)
    profile = make_profile(file)
    assert profile.network.is_free
    cpu = profile.cpu
    for count in (1, 7, 32):
        found_ps = count * cpu.build_wr_ps + cpu.doorbell_ps + cpu.poll_ps + cpu.cqe_ps
        assert found_ps == pytest.approx((700 + 300 * count + 5_000 + 900 * count) * 1000, rel=1e-6)
    assert {row.what for row in file.measurements} >= {"read of 8 bytes, alone", "posting a chain of 32"}


def test_with_a_nic_of_its_own_a_lone_read_takes_what_was_measured():
    profile = make_profile(
        with_reads(load_profile("connectx5-100g").file, linear_figures(), "mlx5_0", shares_core=False)
    )
    cpu = profile.cpu
    core_ps = cpu.build_wr_ps + cpu.doorbell_ps + cpu.poll_ps + cpu.cqe_ps
    assert unloaded_read_ps(profile.network, 8) + core_ps == pytest.approx((1_000 + 5_900) * 1000, abs=3)
    assert profile.network.qp_service_ps == 900_000


def test_a_task_goes_to_a_worker_and_back():
    samples = handover_ns(20)
    assert len(samples) == 20
    assert (samples > 0).all()
    file = with_handover(load_profile("connectx5-100g").file, samples)
    assert file.cpu.handover_ns.value == pytest.approx(np.median(samples), abs=1e-3)


def test_times_of_computing_are_stated_at_the_measured_clock():
    names = [
        *(f"compact_{codes}{where}_ns" for codes in ("pq20", "sq8_128", "full_128") for where in ("", "_cached")),
        *("compact_pq64_ns", "compact_sq8_512_ns", "compact_full_512_ns"),
        *("exact_128_cached_ns", "exact_128_random_ns", "exact_512_random_ns", "insertion_l100_ns"),
        *("insertion_l400_ns", "refusal_ns", "lookup_ns", "table_entry_ns", "query_setup_ns", "list_ns"),
    ]
    figures = {name: np.array([9.0, 10.0, 30.0]) for name in names} | {"clock_ghz": np.array([3.0])}
    figures |= {"compact_pq64_cached_ns": np.array([54.0]), "exact_512_cached_ns": np.array([394.0])}
    figures |= {"compact_sq8_512_cached_ns": np.array([202.0]), "compact_full_512_cached_ns": np.array([48.4])}
    figures |= {"compact_sq8_512_ns": np.array([394.0]), "compact_full_128_ns": np.array([30.0])}
    profile = make_profile(with_cpu(load_profile("connectx5-100g").file, figures))
    cpu = profile.cpu
    assert profile.file.cpu.clock_ghz.value == 3.0
    assert (cpu.insertion_ps, cpu.compact_distance_per_byte_ps, cpu.exact_distance_per_byte_ps) == (10_000, 1000, 1000)
    assert (cpu.compact_distance_base_ps, cpu.exact_distance_base_ps) == (0, 0)
    assert (cpu.sq8_distance_per_byte_ps, cpu.full_distance_per_byte_ps) == (500, 100)
    assert (cpu.sq8_miss_ps, cpu.full_miss_ps, cpu.sq8_miss_per_byte_ps) == (0, 20_000, 500)
    medians = {name: float(np.median(samples)) for name, samples in figures.items()}
    assert all(value >= 0 for value, _ in cpu_constants(medians).values())


def test_a_rehearsal_finds_what_the_steps_of_a_search_cost(tmp_path):
    """Latencies come from a profile; of a copy without the three prices, these are found again."""
    port = FakeMemoryNode(np.zeros(REGION_BYTES, np.uint8))
    found = rehearsal.rehearse(lambda slots, slot_bytes: FakePort([port], slots, slot_bytes, seed=0), REGION_BYTES)
    assert [(each.beam_width, each.list_size) for each in found] == list(rehearsal.KINDS)
    assert all(each.latency_ns.shape == (rehearsal.QUERIES,) and each.latency_ns.min() > 0 for each in found)
    assert all(each.lists >= max(each.list_size, each.rounds) for each in found)

    true = with_reads(load_profile("connectx5-100g").file, linear_figures(), "rxe0", shares_core=True)
    names = ("query_setup_ns", "doorbell_ns", "list_ns")
    nothing = Constant(value=0, unit="ns", kind="derived", source="none")
    known = [replace(each, latency_ns=np.full(3, rehearsal._simulated_ns(true, each))) for each in found]
    fitted = rehearsal.with_steps(replaced(true, {f"cpu.{name}": nothing for name in names}), known)
    for name in names:
        cost, at_clock = getattr(fitted.cpu, name), rehearsal._more(true, name, 0.0, "nothing")
        assert cost.value == pytest.approx(at_clock.value, rel=0.06), name
        assert "8 kinds of 20 rehearsed live searches, explained within 0." in cost.source
    assert fitted.measurements[-1].what == "rehearsal: beam width 8, L = 64"
    write_profile(fitted, tmp_path / "fitted.yaml")
    assert load_profile(tmp_path / "fitted.yaml").file.cpu.list_ns == fitted.cpu.list_ns


def test_a_region_too_small_to_rehearse_in_is_refused():
    with pytest.raises(TransportError, match="found a region of 4096 bytes, expected at least 516000"):
        rehearsal.rehearse(lambda slots, slot_bytes: None, 4096)
