"""The command calibrate-alpha: alpha of an experiment's data sets and codes, and what depends on it."""

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from riftsim.cli.experiment import add_data_dir, add_experiment, add_json, print_figures
from riftsim.cli.terminal import Column, number, print_json, print_table

if TYPE_CHECKING:
    from riftsim.experiments.alpha import Calibration

DEFAULT_OUT = Path("results/alpha")


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the command of this module."""
    calibrate = commands.add_parser(
        "calibrate-alpha",
        help="calibrate the verification rule; coverage on held-out queries, reads and recall by alpha",
    )
    add_experiment(calibrate)
    add_data_dir(calibrate)
    add_json(calibrate)
    calibrate.add_argument(
        "--out", metavar="DIR", type=Path, default=None, help=f"folder of figure and JSON (default: {DEFAULT_OUT}/NAME)"
    )
    calibrate.add_argument("--no-plots", action="store_true", help="make no figures")
    calibrate.set_defaults(command=_calibrate)


def _calibrate(options: argparse.Namespace) -> int:
    from riftsim.artifacts import ArtifactStore
    from riftsim.config.sweep import load_experiment
    from riftsim.experiments.alpha import calibrate
    from riftsim.experiments.runner import group_by_artifacts, require_writable

    experiment = load_experiment(options.file, options.set)
    folder = options.out or DEFAULT_OUT / experiment.name
    require_writable(folder)
    found = []
    for group in group_by_artifacts(experiment.points):
        # One alpha per data set and code, as in the paper; of a sweep over L, reads and recall at its first value.
        config = _first_riftann([point.config for point in group])
        print(f"calibrating {config.dataset.name}, L={config.search.L}", file=sys.stderr)
        found.append(calibrate(config, data_dir=options.data_dir, artifacts=ArtifactStore()))
    files = _write(found, folder, plots=not options.no_plots)
    if options.json:
        print_json([dataclasses.asdict(one) for one in found])
        return 0
    for one in found:
        _print(one)
    print(f"numbers: {folder / 'alpha.json'}")
    print_figures(files)
    return 0


def _first_riftann(configs: list):
    return next((config for config in configs if config.system.__struct_config__.tag == "riftann"), configs[0])


def _print(one: "Calibration") -> None:
    covered = f"{one.held_out_coverage:.4%} [{one.held_out_low:.4%}, {one.held_out_high:.4%}]"
    rows = [
        ("alpha", f"{one.alpha:.4f}"),
        ("95 % interval (bootstrap over queries)", f"[{one.alpha_low:.4f}, {one.alpha_high:.4f}]"),
        ("coverage asked for", f"{1 - one.delta:.4%}"),
        ("coverage on calibration queries", f"{one.coverage:.4%}"),
        ("coverage on held-out queries", covered),
        ("ratios (calibration, held out)", f"{one.ratios:,}, {one.held_out_ratios:,}"),
        ("true neighbours asked about", f"{one.asked:,}"),
        ("of these at distance 0", f"{one.zero:,}"),
    ]
    codes = ", ".join(f"{key} {value}" for key, value in one.codes.items() if key in ("kind", "bytes"))
    print_table([Column("fact"), Column("value", wraps=True)], rows, title=f"{one.dataset}: {codes}")
    columns = [Column("verification"), *(Column(name, numeric=True) for name in ("alpha", "exact reads", "saved"))]
    columns += [Column(f"recall@{one.k}", numeric=True), Column("95 %", numeric=True), Column("lost", numeric=True)]
    everything = one.policies[-1]
    lines = [
        [
            policy.policy + (" *" if policy.chosen else ""),
            number(policy.alpha, 4),
            number(policy.exact_reads),
            f"{1 - policy.exact_reads / everything.exact_reads:.1%}" if everything.exact_reads else "–",
            number(policy.recall, 4),
            f"[{policy.recall_low:.4f}, {policy.recall_high:.4f}]",
            number(everything.recall - policy.recall, 4),
        ]
        for policy in one.policies
    ]
    title = f"Reads and recall at L={one.L} (* the calibrated alpha; saved, lost: against verify-all)"
    print_table(columns, lines, title=title)


def _write(found: list["Calibration"], folder: Path, *, plots: bool) -> list[Path]:
    import json

    from riftsim.files import atomic_write

    with atomic_write(folder / "alpha.json") as partial:
        text = json.dumps([_plain(dataclasses.asdict(one)) for one in found], indent=2)
        partial.write_text(text + "\n", encoding="utf-8")
    if not plots:
        return []
    from riftsim.plotting.output import write_figure
    from riftsim.plotting.verification import drawing_of

    rows = [
        {"curve": f"{one.dataset}, L={one.L}", **dataclasses.asdict(policy)} for one in found for policy in one.policies
    ]
    return write_figure(drawing_of(rows, f"Recall@{found[0].k}", []), folder / "verification")


def _plain(value):
    """Replace not-a-number, which JSON lacks, by null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if value != value else value
