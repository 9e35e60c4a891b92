"""Fit the requester's NIC of a profile to the published depth rows of SMART (ConnectX-6 200G, 8-byte READ).

Nothing else is fitted, and nothing else is fitted to: 12 and 96 threads, 1 to 32 reads each. The model of the rows is
the simulated network itself under a closed loop. Six numbers: the processing time per queue pair and per NIC, what a
missing request context costs, how many contexts are kept, what the stages leave of the unloaded latency, and how much
longer a batch takes a thread when all 96 hardware threads of that testbed are busy (second socket, shared cores),
which belongs to that testbed and enters no profile. Deterministic: the same result on every run, in about three
minutes, whatever values of these numbers stand in the profile.

    python scripts/fit_congestion.py [--profile connectx6-200g] [--check]
"""

import argparse
import math
from collections.abc import Sequence

import msgspec
from scipy.optimize import least_squares, minimize

from riftsim.rdma.probe import closed_loop
from riftsim.rdma.profiles import HardwareProfile, load_profile, make_profile
from riftsim.rdma.published import SMART_DEPTH_ROWS, SMART_THROTTLED_MOPS

NAMES = ("qp_service_ns", "wr_service_ns", "wr_miss_ns", "cached_requests_count", "remainder_ns", "busy_machine_ns")
START = (150.0, 8.5, 14.0, 1100.0, 300.0, 500.0)
BYTES = 8


def with_values(profile: HardwareProfile, values: Sequence[float]) -> HardwareProfile:
    """Return the profile with other constants of the requester's NIC."""
    changed = {}
    for name, value in zip(NAMES[:-1], values, strict=False):
        rounded = round(value) if name.endswith("_count") else value
        changed[name] = msgspec.structs.replace(getattr(profile.file.nic, name), value=rounded)
    # Nothing published separates the two ends: the responder is as fast as the requester.
    changed["responder_service_ns"] = msgspec.structs.replace(
        profile.file.nic.responder_service_ns, value=changed["wr_service_ns"].value
    )
    nic = msgspec.structs.replace(profile.file.nic, **changed)
    return make_profile(msgspec.structs.replace(profile.file, nic=nic))


def rates_mops(profile: HardwareProfile, busy_machine_ns: float) -> list[float]:
    """Return the model's rate of every published row."""
    extra = {12: 0, 96: round(busy_machine_ns * 1000)}
    return [closed_loop(profile, r.threads, r.depth, BYTES, 1, extra[r.threads]).rate_mops for r in SMART_DEPTH_ROWS]


def table(profile: HardwareProfile, busy_machine_ns: float) -> str:
    """Return published and modelled rates side by side."""
    lines = ["threads  depth  published  model   model/published   (million reads per second)"]
    for row, rate in zip(SMART_DEPTH_ROWS, rates_mops(profile, busy_machine_ns), strict=True):
        lines.append(f"{row.threads:7}  {row.depth:5}  {row.rate_mops:9.2f}  {rate:6.2f}   {rate / row.rate_mops:6.3f}")
    throttled = closed_loop(profile, 96, 7, BYTES, 1, round(busy_machine_ns * 1000)).rate_mops
    lines.append(
        f"prediction, not fitted: 96 threads held to 7 reads each {throttled:.1f}, "
        f"published with credit throttling {SMART_THROTTLED_MOPS:.0f}"
    )
    return "\n".join(lines)


def fit(profile: HardwareProfile) -> list[float]:
    """Return the values of ``NAMES`` that fit best, least squares of the logarithms of the rates."""

    def residuals(scaled: Sequence[float]) -> list[float]:
        values = [x * start for x, start in zip(scaled, START, strict=True)]
        model = rates_mops(with_values(profile, values), values[-1])
        return [math.log(rate / row.rate_mops) for rate, row in zip(model, SMART_DEPTH_ROWS, strict=True)]

    bounds = ([0.05] * len(START), [4.0] * len(START))
    near = least_squares(residuals, [1.0] * len(START), bounds=bounds, diff_step=0.05, max_nfev=12).x
    # Closed loops fall into patterns, which makes the sum of squares rough: finish without derivatives.
    best = minimize(
        lambda scaled: sum(r * r for r in residuals(scaled)),
        near,
        method="Nelder-Mead",
        bounds=list(zip(*bounds, strict=True)),
        options={"maxfev": 250, "xatol": 1e-3, "fatol": 1e-6},
    ).x
    return [x * start for x, start in zip(best, START, strict=True)]


def main() -> None:
    """Fit, or check what stands in the profile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="connectx6-200g")
    parser.add_argument("--check", action="store_true", help="only compare the profile as it is with the rows")
    parser.add_argument("--busy-machine-ns", type=float, default=START[-1], help="with --check: of the 96-thread rows")
    options = parser.parse_args()
    profile = load_profile(options.profile)
    if options.check:
        print(table(profile, options.busy_machine_ns))
        return
    values = fit(profile)
    for name, value in zip(NAMES, values, strict=True):
        before = f"(profile: {getattr(profile.file.nic, name).value})" if name != NAMES[-1] else "(testbed only)"
        print(f"{name:24} {value:9.2f} {before}")
    print(table(with_values(profile, values), values[-1]))


if __name__ == "__main__":
    main()
