"""Commands on the paper's claims: reproduce runs what is missing and scores, fit fits the calibrated constants, and
sensitivity tells how far constants can move before a conclusion changes."""

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from riftsim.cli.experiment import add_data_dir, add_json, positive
from riftsim.cli.terminal import Column, number, print_json, print_table

if TYPE_CHECKING:
    from riftsim.reproduction.lab import Lab

_LEVELS = (
    ("smoke", "a few thousand vectors, to see that all works; says nothing of the paper"),
    ("quick", "10 thousand vectors, fewer queries; the default"),
    ("full", "100 thousand vectors, and 1 M where they are there"),
)

_MOST_PROCESSES = 4


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the commands of this module."""
    reproduce = commands.add_parser(
        "reproduce",
        help="run what is missing for the claims of the RiftANN paper, and keep the score",
        epilog="on two cores --smoke takes at most 2 minutes, --quick 10, --full 2 hours",
    )
    reproduce.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="claims, sections or experiments, e.g. P10 gate fig12b_window (default: all)",
    )
    _add_lab(reproduce)
    _add_scale_set(reproduce)
    reproduce.add_argument("--score-only", action="store_true", help="run nothing, score what is recorded")
    add_json(reproduce)
    reproduce.set_defaults(command=_reproduce)

    fit = commands.add_parser(
        "fit", help="fit the calibrated constants of a hardware profile to the claims that may calibrate"
    )
    _add_lab(fit)
    _add_scale_set(fit)
    fit.add_argument("--profile", metavar="FILE", type=Path, help="write the fitted profile (default: OUT/fitted.yaml)")
    add_json(fit)
    fit.set_defaults(command=_fit)

    sensitivity = commands.add_parser(
        "sensitivity", help="tell how far latency constants, in groups, can move before a conclusion changes"
    )
    _add_lab(sensitivity)
    add_json(sensitivity)
    sensitivity.set_defaults(command=_sensitivity)


def _add_lab(parser: argparse.ArgumentParser) -> None:
    size = parser.add_mutually_exclusive_group()
    for level, text in _LEVELS:
        size.add_argument(f"--{level}", dest="level", action="store_const", const=level, help=text)
    parser.set_defaults(level="quick")
    parser.add_argument("--out", metavar="DIR", type=Path, help="results folder (default: results/reproduction)")
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=positive,
        default=_processes(),
        help=f"processes (default: one per core, at most {_MOST_PROCESSES})",
    )
    add_data_dir(parser)
    parser.add_argument("--hardware", metavar="PROFILE", help="in place of the profile of the experiment files")


def _add_scale_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale-set", metavar="NAME", help="data set of the scale study (default: the largest here)")


def _lab(options: argparse.Namespace, *, may_run: bool = True) -> "Lab":
    from riftsim.experiments.runner import require_writable
    from riftsim.rdma.profiles import load_profile
    from riftsim.reproduction.lab import DEFAULT_OUT, Lab
    from riftsim.reproduction.levels import LEVELS
    from riftsim.workload.locate import find_spec
    from riftsim.workload.spec import read_spec

    out = options.out or DEFAULT_OUT
    require_writable(out)
    level = LEVELS[options.level]
    if scale_set := getattr(options, "scale_set", None):
        read_spec(find_spec(scale_set, options.data_dir))
        level = level.scaled_on(scale_set)
    if options.hardware:
        load_profile(options.hardware)
    return Lab(
        level,
        out,
        data_dir=options.data_dir,
        may_run=may_run,
        say=_say,
        hardware=options.hardware,
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _processes() -> int:
    """Return how many processes run unless something else is asked for: each may hold a graph and its vectors."""
    return min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))


# ---------------------------------------------------------------- reproduce


def _reproduce(options: argparse.Namespace) -> int:
    from riftsim.reproduction import ahead, scoreboard
    from riftsim.reproduction.claims import load_claims

    claims = load_claims()
    chosen = scoreboard.chosen_claims(claims, options.names)
    lab = _lab(options, may_run=not options.score_only)
    ahead.make_runs(lab, ahead.of_claims(lab, claims, chosen), options.jobs)
    record = scoreboard.as_record(lab, scoreboard.evaluate(lab, claims, chosen))
    written = scoreboard.write(record, lab.out / "scoreboard" / options.level)
    if "P01" in chosen:
        written += _write_growth(lab, lab.out / "scoreboard" / options.level)
    if options.json:
        print_json(record)
        return 0
    _print(record, chosen)
    _print_costs(lab)
    for path in written:
        print(f"scoreboard: {path}")
    return 0


def _write_growth(lab: "Lab", folder: Path) -> list[Path]:
    """Write the growth laws as a table and a figure, if the sizes were measured."""
    import pandas as pd

    from riftsim.files import atomic_write
    from riftsim.plotting.growth import LABELS, drawing_of
    from riftsim.plotting.output import write_figure
    from riftsim.reproduction import scale, scale_systems
    from riftsim.reproduction.lab import NotMeasured

    try:
        studies = [scale.study(lab, recall) for recall in ("0.90", "0.95")]
    except NotMeasured:
        return []
    figure = drawing_of(scale.curves(studies[1], LABELS), lab.runs_of(scale.EXPERIMENT))
    with contextlib.suppress(NotMeasured):
        studies += [scale_systems.study(lab, recall) for recall in ("0.90", "0.95")]
    rows = [row for study in studies for row in scale.table(study)]
    path = folder / "laws.csv"
    with atomic_write(path) as partial:
        pd.DataFrame(rows).to_csv(partial, index=False, float_format="%.6g", lineterminator="\n")
    return [path, *write_figure(figure, folder / "growth")]


def _print(record: dict, chosen: set[str]) -> None:
    from riftsim.reproduction.scoreboard import lines_of

    columns = [Column("claim"), Column("what", wraps=True), Column("paper"), Column("ours", wraps=True)]
    columns += [Column("ratio", numeric=True), Column("verdict")]
    for section in [name for name in record["counts"]["predict"] if name != "all"]:
        rows = [
            [claim["id"] if position == 0 else "", *line]
            for claim in record["claims"]
            if claim["section"] == section and claim["id"] in chosen
            for position, line in enumerate(lines_of(claim))
        ]
        if rows:
            print_table(columns, rows, title=f"\n{section.capitalize()}")
    for role, title in (("predict", "Predictions"), ("calibrate", "Claims that may calibrate")):
        counts = record["counts"][role]
        verdicts = [verdict for verdict in counts["all"] if counts["all"][verdict]]
        rows = [[name, *(str(row[verdict]) for verdict in verdicts)] for name, row in counts.items()]
        print_table([Column(title), *(Column(verdict, numeric=True) for verdict in verdicts)], rows)


def _print_costs(lab: "Lab") -> None:
    rows = [
        [name, str(cost.runs), f"{cost.queries:,}", str(cost.new), f"{cost.cpu_s:.1f}"]
        for name, cost in sorted(lab.costs.items())
    ]
    titles = ("experiment", "runs", "simulated queries", "run now", "CPU seconds")
    print_table([Column(title, numeric=title != "experiment") for title in titles], rows)


# ---------------------------------------------------------------- fit


def _fit(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from riftsim.files import atomic_write
    from riftsim.reproduction import ahead, fit, scale, variants
    from riftsim.reproduction.claims import load_claims

    lab = _lab(options)
    profile = variants.base_profile(options.hardware)

    def latencies(changed) -> dict[str, float]:
        path = variants.write(changed, lab.out / "profiles")
        return scale.section2_at(lab, fit.RECALL, fit.VECTORS, str(path))

    ahead.make_runs(lab, ahead.of_fit(lab), options.jobs)
    found = fit.fit(profile, load_claims(), latencies)
    command = f"riftsim fit --{options.level}"
    fitted = fit.fitted_profile(profile, found, command, scale.data_of(lab), f"{profile.name}-fitted")
    path = options.profile or lab.out / "fitted.yaml"
    with atomic_write(path) as partial:
        partial.write_text(variants.as_yaml(fitted.file, f"# Written by `{command}`.\n"), encoding="utf-8")
    if options.json:
        print_json([asdict(one) for one in found])
        return 0
    rows = [
        [
            one.constant,
            ", ".join(one.claims),
            *(f"{value:g}" for value in (one.before, one.value)),
            f"{one.model_us:.1f}",
            f"{one.target_us:g}",
            one.note,
        ]
        for one in found
    ]
    columns = [Column("constant"), Column("fitted to"), Column("before", numeric=True), Column("fitted", numeric=True)]
    columns += [Column("model us", numeric=True), Column("claim us", numeric=True), Column("note", wraps=True)]
    print_table(columns, rows, title=f"at {fit.VECTORS:.0e} vectors, recall {fit.RECALL}; {scale.data_of(lab)}")
    print(f"profile: {path}")
    return 0


# ---------------------------------------------------------------- sensitivity


def _sensitivity(options: argparse.Namespace) -> int:
    import pandas as pd

    from riftsim.files import atomic_write
    from riftsim.plotting.output import write_figure
    from riftsim.plotting.tornado import drawing_of
    from riftsim.reproduction import ahead, sensitivity

    lab = _lab(options)
    folder = lab.out / "sensitivity" / options.level
    ahead.make_runs(lab, ahead.of_sensitivity(), options.jobs)
    rows = sensitivity.one_at_a_time(lab)
    margins = sensitivity.margins(rows)
    samples = sensitivity.hypercube(lab)
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in (("one_at_a_time", rows), ("margins", margins), ("hypercube", samples)):
        with atomic_write(folder / f"{name}.csv") as partial:
            pd.DataFrame(table).to_csv(partial, index=False, float_format="%.6g", lineterminator="\n")
    figures = write_figure(drawing_of(rows, runs=list(lab.used.values())), folder / "tornado")
    if options.json:
        print_json({"margins": margins, "hypercube": samples})
        return 0
    columns = [Column("conclusion", wraps=True), Column("effect", numeric=True), Column("holds in", numeric=True)]
    columns += [Column("changes if (constants x factor)", wraps=True)]
    lines = [
        [
            row["conclusion"],
            number(row["effect"], 3),
            f"{row['holds']} of {row['samples']}",
            ", ".join(row["changes"]) or "nothing tried",
        ]
        for row in sensitivity.summary(margins, samples)
    ]
    print_table(
        columns,
        lines,
        title=f"effect: latency behind / ahead; hypercube of x 1/{sensitivity.SPAN:g} to x {sensitivity.SPAN:g}",
    )
    for path in (folder / "margins.csv", *figures):
        print(f"written: {path}")
    return 0
