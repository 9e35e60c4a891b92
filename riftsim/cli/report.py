"""The command report: results as one HTML file."""

import argparse
from pathlib import Path


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the command of this module."""
    report = commands.add_parser("report", help="write results as one HTML file that needs no network")
    report.add_argument("folder", metavar="DIR", type=Path, help="results folder: of runs, of `reproduce`, of figures")
    report.add_argument("--out", metavar="FILE", type=Path, default=None, help="(default: DIR/report.html)")
    report.add_argument(
        "--notes",
        metavar="DIR",
        type=Path,
        default=None,
        help="experiment folders whose READMEs go in (default: ./experiments, else those of the paper)",
    )
    report.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    from riftsim.errors import ResultsError
    from riftsim.report import write_report
    from riftsim.reproduction.lab import EXPERIMENTS
    from riftsim.units import format_bytes

    if options.notes and not options.notes.is_dir():
        raise ResultsError(f"--notes {options.notes}: no such folder")
    own = Path("experiments")
    notes = options.notes or (own if own.is_dir() else EXPERIMENTS)
    written = write_report(options.folder, options.out, notes)
    print(f"report: {written} ({format_bytes(written.stat().st_size)})")
    return 0
