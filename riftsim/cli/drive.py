"""The part of the command calibrate that measures a drive, not the network."""

import argparse
from dataclasses import asdict

from riftsim.cli.terminal import Column, print_json, print_table


def calibrate_drive(options: argparse.Namespace) -> int:
    """Measure the drive of ``options.ssd`` and write its profile to ``options.out``."""
    from riftsim.storage.measure import measure_drive, measured_profile, write_ssd_profile

    measured = measure_drive(options.ssd)
    write_ssd_profile(measured_profile(measured, options.name or options.out.stem), options.out)
    if options.json:
        print_json(asdict(measured))
        return 0
    columns = [Column(name, numeric=True) for name in ("in flight", "mean us", "P50 us", "P99 us", "reads/s")]
    rows = [
        (
            str(row.depth),
            *(f"{value:,.1f}" for value in (row.mean_us, row.p50_us, row.p99_us)),
            f"{row.reads_per_s:,.0f}",
        )
        for row in measured.rows
    ]
    print_table(columns, rows, title=f"random reads of 4 KiB of {measured.path}")
    print(f"reads of 1 MiB: {measured.long_read_gbps:,.2f} Gb/s")
    print(f"profile: {options.out}   (system: {{kind: diskann, drive: {options.out}}})")
    return 0
