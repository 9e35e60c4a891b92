"""The command calibrate: a hardware profile of this machine and its RDMA device."""

import argparse
from pathlib import Path

from riftsim.cli.experiment import add_json
from riftsim.cli.terminal import Column, print_json, print_table

DEFAULT_OUT = Path("results/hardware.yaml")


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the command of this module."""
    calibrate = commands.add_parser(
        "calibrate", help="measure this machine and its RDMA device; writes a hardware profile for simulations"
    )
    calibrate.add_argument(
        "--perftest",
        metavar="FILE",
        type=Path,
        nargs="+",
        required=True,
        help="take the network from what ib_read_lat and ib_read_bw printed (one file each at least)",
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
    calibrate.set_defaults(command=_calibrate)


def _calibrate(options: argparse.Namespace) -> int:
    from riftsim.computenode.calibration import this_machine, with_cpu
    from riftsim.computenode.cpu_probe import cpu_figures
    from riftsim.rdma.calibrated import replaced, write_profile
    from riftsim.rdma.perftest import constants_of, read_perftest
    from riftsim.rdma.profiles import load_profile

    base = load_profile(options.base).file
    files = [read_perftest(path) for path in options.perftest]
    constants, measurements = constants_of(files, base)
    facts = this_machine() | {"device": files[0].facts.get("Device", "unknown"), "base": options.base}
    file = replaced(
        base,
        constants,
        name=options.name or options.out.stem,
        description=f"Calibrated on {facts['device']}, {facts['date']}; what was not measured is of {options.base}.",
        measured_on=facts,
        measurements=measurements,
    )
    if not options.no_cpu:
        file = with_cpu(file, cpu_figures(options.codes_mib))
    write_profile(file, options.out)
    if options.json:
        import msgspec

        print_json(msgspec.to_builtins(file))
        return 0
    rows = [
        (row.what, row.unit, *(f"{value:,.4g}" for value in (row.median, row.p5, row.p95))) for row in file.measurements
    ]
    columns = [Column("measured"), Column("unit"), *(Column(name, numeric=True) for name in ("median", "p5", "p95"))]
    print_table(columns, rows, title=file.name)
    print(f"profile: {options.out}   (riftsim profile show {options.out}; hardware: {options.out})")
    return 0
