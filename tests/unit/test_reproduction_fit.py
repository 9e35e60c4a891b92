"""Fitting: only to claims that may calibrate, the same profile every time, and its sources."""

import dataclasses

import pytest

from riftsim.errors import ConfigError
from riftsim.rdma.probe import closed_loop
from riftsim.rdma.profiles import load_profile
from riftsim.reproduction import fit
from riftsim.reproduction.claims import Target, load_claims
from riftsim.reproduction.variants import GROUPS, as_yaml, constant_of, scaled, with_values, write

PROFILE = load_profile("connectx5-100g")
CLAIMS = load_claims()


def latencies(profile):
    """A study with known answers: 250 us + 2 us a permille, and 120 waits of 1 us and the remainder."""
    slowdown = constant_of(profile, fit.SLOWDOWN).value
    remainder_us = constant_of(profile, fit.REMAINDER).value / 1e3
    return {"local_us": 250 + 2 * slowdown, "remote_wait_us": 120 * (1 + remainder_us)}


def test_constants_meet_the_claims():
    slowdown, remainder = fit.fit(PROFILE, CLAIMS, latencies)
    assert (slowdown.value, slowdown.model_us) == (20, pytest.approx(290))  # a permille is whole: 20.5
    assert remainder.value == pytest.approx(1000 * (170 / 120 - 1), abs=0.5)
    assert (slowdown.note, remainder.note) == ("", "")


def test_no_prediction_is_an_input_of_the_fit():
    """Every number of every claim that may not calibrate is another: the fit gives the same."""
    seen = {name for names in fit.INPUTS.values() for name in names}
    assert {claim.role for claim in CLAIMS if claim.id in seen} == {"calibrate"}
    changed = [
        claim
        if claim.role == "calibrate"
        else dataclasses.replace(claim, targets=tuple(Target(t.name, t.unit, -7.0, 1e6) for t in claim.targets))
        for claim in CLAIMS
    ]
    assert fit.fit(PROFILE, changed, latencies) == fit.fit(PROFILE, CLAIMS, latencies)
    only = [claim for claim in CLAIMS if claim.role == "calibrate"]
    assert fit.fit(PROFILE, only, latencies) == fit.fit(PROFILE, CLAIMS, latencies)


def test_a_claim_that_may_not_calibrate_is_refused():
    changed = [dataclasses.replace(claim, role="predict") if claim.id == "M05" else claim for claim in CLAIMS]
    with pytest.raises(ConfigError, match="M05 has role 'predict'"):
        fit.fit(PROFILE, changed, latencies)


def test_the_same_data_give_the_same_profile_with_sources(tmp_path):
    texts = []
    for _ in range(2):
        found = fit.fit(PROFILE, CLAIMS, latencies)
        fitted = fit.fitted_profile(PROFILE, found, "riftsim fit --quick", "some set", "connectx5-100g-fitted")
        texts.append(as_yaml(fitted.file, "# header\n"))
    assert texts[0] == texts[1]
    path = tmp_path / "fitted.yaml"
    path.write_text(texts[0], encoding="utf-8")
    read = load_profile(path)
    constant = constant_of(read, fit.SLOWDOWN)
    assert constant.kind == "fitted"
    for words in ("M05", "riftsim fit --quick", "some set", "before: 0"):
        assert words in constant.source
    unchanged = {path for path, value in _constants(read).items() if value == _constants(PROFILE)[path]}
    assert _constants(read).keys() - unchanged == {fit.SLOWDOWN, fit.REMAINDER}


def _constants(profile):
    return {f"{section}.{key}": constant for section, key, constant in profile.constants()}


def test_a_constant_stays_within_what_makes_sense():
    slow, fast = fit.fit(PROFILE, CLAIMS, lambda p: {name: 400 + value / 100 for name, value in latencies(p).items()})
    assert slow.value == 0
    assert "longer already" in slow.note
    assert fast.value == 0
    far = fit.fit(PROFILE, CLAIMS, lambda p: {name: value / 50 for name, value in latencies(p).items()})[1]
    assert "M01 leaves no more" in far.note
    fitted = fit.fitted_profile(PROFILE, [far], "", "set", "x")
    assert closed_loop(fitted, threads=1, depth=1, length_bytes=128).batch_us == pytest.approx(3.0, abs=0.01)


def test_a_claim_that_does_not_depend_on_the_constant_leaves_it():
    found = fit.fit(PROFILE, CLAIMS, lambda profile: {"local_us": 100.0, "remote_wait_us": 100.0})
    assert [one.value for one in found] == [one.before for one in found]
    assert found[0].note == "the claim does not depend on it"


def test_constants_take_other_values_one_at_a_time():
    slower = with_values(PROFILE, {"cpu.per_thread_slowdown_permille": 44})
    assert constant_of(slower, "cpu.per_thread_slowdown_permille").value == 44
    assert slower.name == PROFILE.name
    others = {"cpu.poll_ns", "link.rate_gbps"}
    assert {path: constant_of(slower, path) for path in others} == {path: constant_of(PROFILE, path) for path in others}
    with pytest.raises(ConfigError, match=r"no constant 'cpu.colour_ns'"):
        with_values(PROFILE, {"cpu.colour_ns": 1})


def test_groups_are_scaled_and_written_once(tmp_path):
    twice = scaled(PROFILE, {"queue pair": 2.0, "link and PCIe rate": 2.0})
    assert twice.network.qp_service_ps == 2 * PROFILE.network.qp_service_ps
    assert constant_of(twice, "link.rate_gbps").value == 50
    assert twice.cpu == PROFILE.cpu
    assert load_profile(write(twice, tmp_path)).network == twice.network
    assert write(twice, tmp_path) == write(twice, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    paths = [path for group in GROUPS.values() for path in group]
    assert len(paths) == len(set(paths))
    with pytest.raises(ConfigError, match=r"cpu\.speed"):
        constant_of(PROFILE, "cpu.speed")
