"""The commands calibrate, a hardware profile of this machine, and compare-live, what a simulation with it is worth."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from riftsim.cli.experiment import add_data_dir, add_json, print_figures
from riftsim.cli.terminal import Column, number, print_json, print_table
from riftsim.errors import ConfigError

if TYPE_CHECKING:
    from riftsim.experiments.live_comparison import LiveComparison
    from riftsim.rdma.profiles import ProfileFile

DEFAULT_OUT = Path("results/hardware.yaml")
COMPARISON_OUT = Path("results/compare-live")
_OF_READS = ("memnode", "samples", "nic_shares_core")
_DO_NOTHING_WITH = {"perftest": _OF_READS, "ssd": (*_OF_READS, "base", "no_cpu", "codes_mib")}
"""Options of calibrate that measure or choose nothing where the other is given."""


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the commands of this module."""
    calibrate = commands.add_parser(
        "calibrate", help="measure this machine and its RDMA device; writes a hardware profile for simulations"
    )
    network = calibrate.add_mutually_exclusive_group()
    network.add_argument("--device", metavar="NAME", help="the RDMA device to measure (default: the first)")
    network.add_argument(
        "--perftest",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="measure no device, but take the network from what ib_read_lat and ib_read_bw printed",
    )
    network.add_argument(
        "--ssd",
        metavar="FILE",
        type=Path,
        help="measure the drive of this file, by direct reads of it; writes a profile for DiskANN and PipeANN",
    )
    calibrate.add_argument(
        "--memnode", metavar="HOST:PORT", help="read from this memory node (default: from this process, by loopback)"
    )
    calibrate.add_argument(
        "--samples", metavar="N", type=int, default=200, help="of each figure of reads (default: %(default)s)"
    )
    calibrate.add_argument(
        "--nic-shares-core",
        choices=("auto", "yes", "no"),
        default="auto",
        help="whether NICs and search share one core (auto: a device in software on a machine with one CPU)",
    )
    calibrate.add_argument(
        "--base",
        metavar="PROFILE",
        default="connectx5-100g",
        help="where what is not measured comes from (%(default)s)",
    )
    calibrate.add_argument("--no-cpu", action="store_true", help="take the times of computing from the base as well")
    calibrate.add_argument(
        "--codes-mib",
        metavar="N",
        type=int,
        default=64,
        help="size of the arrays of random rows (default: %(default)s)",
    )
    calibrate.add_argument("--name", default=None, help="name of the profile (default: that of the file)")
    calibrate.add_argument(
        "--out", metavar="FILE", type=Path, default=DEFAULT_OUT, help="the profile (default: %(default)s)"
    )
    add_json(calibrate)
    calibrate.set_defaults(command=lambda options: _calibrate(options, calibrate.get_default))

    compare = commands.add_parser(
        "compare-live", help="simulate the queries of live runs, and compare latency, reads, bytes and waiting"
    )
    compare.add_argument("run", metavar="LIVE_RUN", type=Path, help="directory of a live run, or of several")
    compare.add_argument("--hardware", metavar="PROFILE", help="profile to simulate (default: that of the run)")
    compare.add_argument(
        "--out", metavar="DIR", type=Path, default=COMPARISON_OUT, help="simulations and figure (default: %(default)s)"
    )
    compare.add_argument("--no-plots", action="store_true", help="make no figure")
    add_data_dir(compare)
    add_json(compare)
    compare.set_defaults(command=_compare_live)


def _calibrate(options: argparse.Namespace, default_of: Callable[[str], object]) -> int:
    from riftsim.experiments.runner import require_writable_file

    _refuse_what_does_nothing(options, default_of)
    require_writable_file(options.out)
    if options.ssd:
        from riftsim.cli.drive import calibrate_drive

        return calibrate_drive(options)
    import msgspec

    from riftsim.computenode.calibration import this_machine, with_cpu
    from riftsim.computenode.cpu_probe import cpu_figures
    from riftsim.rdma.calibrated import replaced, write_profile
    from riftsim.rdma.profiles import load_profile

    base = load_profile(options.base).file
    # What may be missing comes first: the times of computing take a minute.
    device, with_network = (_perftest if options.perftest else _device)(options)
    file = base if options.no_cpu else with_cpu(base, cpu_figures(options.codes_mib))
    file = with_network(file)
    facts = this_machine() | {"device": device, "base": options.base}
    file = replaced(
        file,
        {},
        name=options.name or options.out.stem,
        description=f"Calibrated on {device}, {facts['date']}; what was not measured is of {options.base}.",
        measured_on=facts,
    )
    write_profile(file, options.out)
    if options.json:
        print_json(msgspec.to_builtins(file))
        return 0
    rows = [
        (row.what, row.unit, *(f"{value:,.4g}" for value in (row.median, row.p5, row.p95))) for row in file.measurements
    ]
    columns = [Column("measured"), Column("unit"), *(Column(name, numeric=True) for name in ("median", "p5", "p95"))]
    print_table(columns, rows, title=file.name)
    print(f"profile: {options.out}   (riftsim profile show {options.out}; hardware: {options.out})")
    return 0


def _refuse_what_does_nothing(options: argparse.Namespace, default_of: Callable[[str], object]) -> None:
    """Refuse options of what is not measured: none would be taken note of."""
    for source, others in _DO_NOTHING_WITH.items():
        if not getattr(options, source):
            continue
        for name in others:
            found, flag = getattr(options, name), name.replace("_", "-")
            if found != default_of(name):
                value = "it" if found is True else found
                raise ConfigError(f"--{flag}: found {value}, expected none with --{source}, where it does nothing")


def _perftest(options: argparse.Namespace) -> tuple[str, Callable[["ProfileFile"], "ProfileFile"]]:
    """Read perftest's results: the device's name, and what puts them into a profile."""
    from riftsim.rdma.calibrated import replaced
    from riftsim.rdma.perftest import constants_of, read_perftest

    files = [read_perftest(path) for path in options.perftest]

    def with_results(file: "ProfileFile") -> "ProfileFile":
        constants, measurements = constants_of(files, file)
        return replaced(file, constants, measurements=[*file.measurements, *measurements])

    return files[0].facts.get("Device", "an unknown device"), with_results


def _device(options: argparse.Namespace) -> tuple[str, Callable[["ProfileFile"], "ProfileFile"]]:
    """Measure reads on a device: its name, and what puts them into a profile."""
    from riftsim.computenode.calibration import with_handover, with_reads
    from riftsim.computenode.cpu_probe import handover_ns
    from riftsim.experiments.hardware import is_one_core, measure_device
    from riftsim.experiments.rehearsal import with_steps

    figures, rehearsed, device = measure_device(options.device, options.memnode, options.samples)
    one_core = is_one_core(device) if options.nic_shares_core == "auto" else options.nic_shares_core == "yes"
    handovers_ns = handover_ns()

    def with_results(file: "ProfileFile") -> "ProfileFile":
        file = with_handover(with_reads(file, figures, device, shares_core=one_core), handovers_ns)
        return with_steps(file, rehearsed)

    return device, with_results


def _compare_live(options: argparse.Namespace) -> int:
    import json

    import pandas as pd

    from riftsim.experiments.live_comparison import compare_live, live_runs, simulate_as
    from riftsim.files import atomic_write
    from riftsim.results.store import RunSet

    live = list(live_runs(options.run))
    simulated = [simulate_as(one, options.hardware, options.out, options.data_dir) for one in live]
    compared = [compare_live(*pair) for pair in zip(live, simulated, strict=True)]
    figures = []
    if not options.no_plots:
        from riftsim.plotting.latency_cdf import draw
        from riftsim.plotting.output import write_figure

        figures = write_figure(
            draw(RunSet([*live, *simulated]), _series(compared)), options.out / "live-against-simulated"
        )
    with atomic_write(options.out / "comparison.json") as partial:
        partial.write_text(json.dumps([one.as_dict() for one in compared], indent=2) + "\n", encoding="utf-8")
    with atomic_write(options.out / "comparison.csv") as partial:
        rows = pd.DataFrame([one.as_row() for one in compared])
        rows.to_csv(partial, index=False, float_format="%.6g", lineterminator="\n")
    if options.json:
        print_json([one.as_dict() for one in compared])
        return 0
    for one in compared:
        _print_comparison(one)
    print_figures(figures)
    return 0


def _series(compared: "list[LiveComparison]") -> dict[str, dict[str, object]]:
    """Two curves for each comparison: their labels, and what in a configuration makes them."""
    from riftsim.plotting.series import SYSTEM_NAMES

    several = len({one.concurrency for one in compared}) > 1
    return {
        f"{SYSTEM_NAMES.get(one.system, one.system)} {what}" + several * f", {one.concurrency} in flight": {
            "system.kind": one.system,
            "driver.kind": kind,
            **({"load.concurrency": one.concurrency} if several else {}),
        }
        for one in compared
        for what, kind in (("live", "live"), ("simulated", "sim"))
    }


def _print_comparison(one: "LiveComparison") -> None:
    rows = [
        (name, number(one.live[name], 3), number(one.simulated[name], 3), _change(one.live[name], one.simulated[name]))
        for name in one.live
    ]
    columns = [Column("metric"), *(Column(name, numeric=True) for name in ("live", "simulated", "difference"))]
    in_flight = "" if one.concurrency is None else f", {one.concurrency} in flight"
    print_table(columns, rows, title=f"{one.system}{in_flight}, {one.queries} queries")
    print(f"Kolmogorov-Smirnov distance of the latencies: {one.ks:.3f}")
    expected = "expected: all" if one.requests_must_agree else "reads depend on timing"
    print(f"queries with the same reads and bytes: {one.same_requests:.1%} ({expected})")
    if one.python_ns_per_read:
        costs = ", ".join(f"{name} {value / 1e3:,.1f} us" for name, value in one.python_ns_per_read.items())
        print(f"Python's share of the live figures, per read: {costs}")
    print()


def _change(live: float, simulated: float) -> str:
    return f"{simulated / live - 1:+.1%}" if live else "–"
