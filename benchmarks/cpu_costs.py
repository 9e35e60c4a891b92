"""What the pieces of a search take on this machine, for the CPU section of a hardware profile.

    python benchmarks/cpu_costs.py [--json FILE] [--codes-mib 512]

Prints nanoseconds per operation (the least of several runs: everything else on the machine only adds), the clock that
the core ran at, and the constants that follow for a profile (``riftsim.computenode.cpu_probe``). Random rows come from
arrays far larger than the caches, as the codes of 100 million vectors are.
"""

import argparse
import json

from riftsim.computenode.cpu_probe import cpu_constants, cpu_figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", help="write the figures to this file too")
    parser.add_argument("--codes-mib", type=int, default=512, help="size of the arrays of random rows (default 512)")
    options = parser.parse_args()
    # The clock is what is measured as a rate: there the most is the least disturbed.
    figures = {
        name: float(max(samples) if name == "clock_ghz" else min(samples))
        for name, samples in cpu_figures(options.codes_mib).items()
    }
    constants = {name: value for name, (value, _) in cpu_constants(figures).items()}
    for name, value in {**figures, **constants}.items():
        print(f"{name:32s} {value:9.3f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({**figures, "profile": constants}, file, indent=1)


if __name__ == "__main__":
    main()
