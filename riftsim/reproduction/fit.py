"""Fitting constants of a hardware profile to the claims that may calibrate, and to nothing else.

Two constants that nobody published or measured for the testbed:

- ``cpu.per_thread_slowdown_permille``, how much memory-bound work is slowed by each further busy thread, to M05, what
  in-memory Vamana takes per query with 32 threads busy;
- ``nic.remainder_ns``, what the stages leave unexplained of a READ, to M04, what Remote-Vamana waits per query, within
  the range that M01 leaves to a lone READ.

Both claims are of 100 M vectors: the scale study gives the latency at that size by its growth law, for the constant as
it is and moved. Latencies of these two systems are linear in either constant, since what they search does not depend on
time; the constant is where the line meets the claim. A constant that the claim does not move stays as it is, and none
becomes negative.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from riftsim.errors import ConfigError
from riftsim.rdma.probe import closed_loop
from riftsim.rdma.profiles import Constant, HardwareProfile
from riftsim.reproduction.claims import Claim
from riftsim.reproduction.variants import constant_of, with_constants

RECALL = "0.90"
"""Of the operating point of M04 and M05; their recall is not printed, that of section 4.2 is."""

VECTORS = 1e8
SLOWDOWN, REMAINDER = "cpu.per_thread_slowdown_permille", "nic.remainder_ns"
INPUTS = {SLOWDOWN: ("M05",), REMAINDER: ("M01", "M04")}
"""Which constant is fitted to which claims."""

STEP = {SLOWDOWN: 10.0, REMAINDER: 200.0}
"""How far a constant is moved to see what depends on it."""

Latencies = Callable[[HardwareProfile], Mapping[str, float]]
"""Profile to microseconds at `VECTORS`: ``local_us`` (M05) and ``remote_wait_us`` (M04)."""


@dataclass(frozen=True)
class Fitted:
    """One constant.

    Attributes
    ----------
    constant : str
    claims : tuple of str
    before, value : float
    model_us, target_us : float
        With the value, and the claim.
    note : str
        Why the value is not where the line meets the claim, if it is not.
    """

    constant: str
    claims: tuple[str, ...]
    before: float
    value: float
    model_us: float
    target_us: float
    note: str


def inputs(claims: Sequence[Claim]) -> dict[str, Claim]:
    """Return the claims that a fit may see.

    Raises
    ------
    ConfigError
        One of them may not calibrate, or is not there.
    """
    by_id = {claim.id: claim for claim in claims if claim.role == "calibrate"}
    for names in INPUTS.values():
        for name in names:
            if name not in by_id:
                role = next((claim.role for claim in claims if claim.id == name), "missing")
                raise ConfigError(f"fit: claim {name} has role {role!r}, expected 'calibrate'")
    return {name: by_id[name] for names in INPUTS.values() for name in names}


def fit(profile: HardwareProfile, claims: Sequence[Claim], latencies: Latencies) -> list[Fitted]:
    """Fit both constants, one after the other.

    Parameters
    ----------
    profile : HardwareProfile
    claims : sequence of Claim
        Only those of `INPUTS` are looked at.
    latencies : callable
        What the scale study gives for a profile.

    Returns
    -------
    list of Fitted
    """
    seen = inputs(claims)
    most_ns = _largest_remainder_ns(profile, seen["M01"])
    return [
        _fitted(profile, SLOWDOWN, "local_us", seen["M05"].targets[0].low, latencies, float("inf")),
        _fitted(profile, REMAINDER, "remote_wait_us", seen["M04"].targets[0].low, latencies, most_ns),
    ]


def _largest_remainder_ns(profile: HardwareProfile, claim: Claim) -> float:
    """Return what M01's range leaves to the remainder of a lone READ of 128 bytes."""
    alone_us = closed_loop(profile, threads=1, depth=1, length_bytes=128).batch_us
    present_ns = constant_of(profile, REMAINDER).value
    return max(0.0, present_ns + 1e3 * (claim.targets[0].high - alone_us))


def _fitted(
    profile: HardwareProfile, path: str, quantity: str, target_us: float, latencies: Latencies, most: float
) -> Fitted:
    before = float(constant_of(profile, path).value)
    here = latencies(profile)[quantity]
    there = latencies(moved(profile, path, before + STEP[path]))[quantity]
    slope = (there - here) / STEP[path]
    if slope <= 0:
        return Fitted(path, INPUTS[path], before, before, here, target_us, "the claim does not depend on it")
    wanted = before + (target_us - here) / slope
    value = float(round(min(max(wanted, 0.0), most)))
    note = ""
    if wanted < 0:
        note = f"the model takes longer already: {wanted:.0f} would be needed"
    elif wanted > most:
        note = f"M01 leaves no more: {wanted:.0f} would be needed"
    return Fitted(path, INPUTS[path], before, value, here + slope * (value - before), target_us, note)


def moved(profile: HardwareProfile, path: str, value: float) -> HardwareProfile:
    """Return a profile with another value of one constant."""
    constant = constant_of(profile, path)
    number = round(value) if path.endswith("_permille") else value
    return with_constants(profile, {path: msgspec.structs.replace(constant, value=number)}, profile.name)


def fitted_profile(
    profile: HardwareProfile, found: Sequence[Fitted], command: str, data: str, name: str
) -> HardwareProfile:
    """Return the profile with the fitted constants, each with claims, data and command as its source.

    Parameters
    ----------
    profile : HardwareProfile
    found : sequence of Fitted
    command : str
        That fits it again.
    data : str
        What the scale study was run on.
    name : str
        Of the new profile.
    """
    changes = {}
    for one in found:
        constant = constant_of(profile, one.constant)
        number = int(one.value) if one.constant.endswith("_permille") else one.value
        source = (
            f"to {' and '.join(one.claims)} of RiftANN ({one.target_us:g} us at 100 M vectors; the model gives "
            f"{one.model_us:.1f}) by `{command}` from {data}; before: {one.before:g}"
        )
        if one.note:
            source += f"; {one.note}"
        changes[one.constant] = Constant(value=number, unit=constant.unit, kind="fitted", source=source)
    return with_constants(profile, changes, name)
