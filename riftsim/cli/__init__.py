"""The command line: ``riftsim COMMAND ...``.

Exit codes: 0 done; 1 some points of an experiment failed, or a check found something; 2 usage, configuration, data or
results folder; 130 Ctrl-C. Errors that a user can mend are one message on stderr; anything else is a bug and keeps its
traceback.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence

import riftsim
from riftsim.cli import (
    calibration,
    comparison,
    experiment,
    hardware,
    inspect,
    memnode,
    report,
    reproduction,
    setup,
    show,
)
from riftsim.cli.terminal import show_notices, show_warnings_plainly
from riftsim.errors import message_of

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class _Version(argparse.Action):
    """Look the version up only when it is asked for."""

    def __call__(self, parser, namespace, values, option_string=None):
        print(f"riftsim {riftsim.__version__}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each command's module adds its own."""
    parser = argparse.ArgumentParser(
        prog="riftsim",
        description="Graph-based vector search on disaggregated memory: real searches on a simulated or real network.",
        epilog="Start with: riftsim run quickstart",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (experiment, inspect, comparison, report, calibration, hardware, reproduction, show, memnode, setup):
        module.add_commands(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # A process started with closed streams has none; what would be printed is then of no interest.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 (open until the process ends)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal of another encoding shows a mark where it lacks a letter
            stream.reconfigure(errors="replace")
    options = build_parser().parse_args(arguments)
    show_warnings_plainly()
    show_notices()
    try:
        code = options.command(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("riftsim: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone; closing stdout at exit must not complain about it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except Exception as error:
        message = message_of(error)
        if message is None:
            raise
        print(f"riftsim: error: {message}", file=sys.stderr)
        return EXIT_USAGE
