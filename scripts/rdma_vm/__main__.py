"""Run a command in a virtual machine with a SoftRoCE device: the command line.

Standard library only: it runs with whatever Python the machine has, before anything is installed.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

from host import UnreadyHostError, install, missing
from image import guest_image, is_made
from run import BootError, OverTimeError, ReaderGoneError, Settings, run

EPILOG = """\
The guest's root is this machine's, read-only; what the command writes is lost with the guest, except in the folders
that --writable names. It starts in the caller's folder, as root, with an empty standard input. Of the environment,
only harmless variables pass. In the guest, RDMA_VM_NODE is "compute" or "memory", RDMA_VM_ADDRESS and RDMA_VM_PEER are
the addresses of both machines, and a line "power-off memory" written to the file RDMA_VM_CONTROL ends the memory node's
machine as a power cut would.

Exit code: the command's; 124 over the time limit; 125 where the guest never ran the command; 2 for a wrong call or a
machine that lacks something; 128 + n after signal n (141: nobody reads the output any more).
"""


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line; everything from the first word that is no option is the command."""
    parser = argparse.ArgumentParser(
        prog="rdma_vm.sh",
        description=__doc__.splitlines()[0],
        epilog=EPILOG,
        usage="%(prog)s [OPTIONS] -- COMMAND [ARGUMENT...]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--install", action="store_true", help="install the Debian packages that are missing (as root)")
    parser.add_argument("--accel", choices=("tcg", "kvm"), default="tcg", help="emulation (default) or the host's KVM")
    parser.add_argument("--nodes", type=int, choices=(1, 2), default=1, help="2: a second machine as memory node")
    parser.add_argument("--memory-node", metavar="COMMAND", help="shell command of the second machine (default: idle)")
    parser.add_argument("--ram", metavar="MIB", type=int, help="memory of a guest (default: 2048; 1024 of two)")
    parser.add_argument("--cpus", type=int, default=1, help="virtual CPUs (default: 1; under emulation more is slower)")
    parser.add_argument(
        "--clock",
        choices=("real", "instructions"),
        default="real",
        help="instructions: guest time passes by 1 ns per instruction, whatever else the host does (measurements)",
    )
    parser.add_argument("--time-limit", metavar="SECONDS", type=float, default=600, help="default: 600")
    parser.add_argument("--env", metavar="NAME", action="append", default=[], help="another variable to pass in")
    parser.add_argument("--writable", metavar="DIR", action="append", default=[], help="a folder that keeps changes")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.command[:1] == ["--"]:
        del options.command[0]
    if not options.command and not options.install:
        parser.error("no command; expected: rdma_vm.sh [OPTIONS] -- COMMAND [ARGUMENT...]")
    if options.memory_node is not None and options.nodes != 2:
        parser.error("--memory-node: found --nodes 1, expected --nodes 2")
    if options.clock == "instructions" and (options.accel, options.nodes, options.cpus) != ("tcg", 1, 1):
        parser.error("--clock instructions: expected --accel tcg, one machine and one CPU")
    for folder in options.writable:
        if not Path(folder).is_dir():
            parser.error(f"--writable {folder}: no such folder")
    return options


def main(arguments: list[str]) -> int:
    """Carry out the command line and return the exit code."""
    options = parse(arguments)
    try:
        if options.install:
            install(needs_kernel=not is_made())
        absent = missing()
        if absent:
            raise UnreadyHostError(
                f"missing: {', '.join(absent)}; install them with: scripts/rdma_vm.sh --install (as root), "
                "or by hand with apt-get install --no-install-recommends"
            )
        image = guest_image()
    except UnreadyHostError as error:
        print(f"rdma_vm.sh: {error}", file=sys.stderr)
        return 2
    if not options.command:
        return 0
    settings = Settings(
        command=options.command,
        memory_command=options.memory_node or "sleep infinity" if options.nodes == 2 else None,
        accel=options.accel,
        ram_mib=options.ram or (2048 if options.nodes == 1 else 1024),
        cpus=options.cpus,
        counts_instructions=options.clock == "instructions",
        limit_s=options.time_limit,
        variables=options.env,
        writable=[Path(folder).resolve() for folder in options.writable],
    )
    try:
        return run(image, settings)
    except OverTimeError:
        print(f"rdma_vm.sh: over the time limit of {options.time_limit:g} s", file=sys.stderr)
        return 124
    except BootError as error:
        print(f"rdma_vm.sh: {error}", file=sys.stderr)
        return 125
    except ReaderGoneError:
        # Nothing may be left for the interpreter to flush into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _leave(number: int, _frame: object) -> None:
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)  # a second one must not interrupt the cleaning up
    raise SystemExit(128 + number)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    sys.exit(main(sys.argv[1:]))
