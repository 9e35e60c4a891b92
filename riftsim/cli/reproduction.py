"""The command reproduce: run what is missing for a paper's claims, and score them."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from riftsim.cli.experiment import add_data_dir, add_json, positive
from riftsim.cli.terminal import Column, print_json, print_table

if TYPE_CHECKING:
    from riftsim.reproduction.lab import Lab


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the command of this module."""
    reproduce = commands.add_parser(
        "reproduce", help="run what is missing for the claims of the RiftANN paper, and keep the score"
    )
    reproduce.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="claims, sections or experiments, e.g. P10 gate fig12b_window (default: all)",
    )
    size = reproduce.add_mutually_exclusive_group()
    for level, text in (
        ("smoke", "a few thousand vectors, to see that all works; says nothing of the paper (2 minutes)"),
        ("quick", "10 thousand vectors, fewer queries (10 minutes on two cores); the default"),
        ("full", "100 thousand vectors, and 1 M where they are there (2 hours)"),
    ):
        size.add_argument(f"--{level}", dest="level", action="store_const", const=level, help=text)
    reproduce.set_defaults(level="quick")
    reproduce.add_argument(
        "--out", metavar="DIR", type=Path, default=None, help="results (default: results/reproduction)"
    )
    reproduce.add_argument("--jobs", metavar="N", type=positive, default=1, help="processes (default: 1)")
    add_data_dir(reproduce)
    reproduce.add_argument("--hardware", metavar="PROFILE", help="in place of the profile of the experiment files")
    reproduce.add_argument("--score-only", action="store_true", help="run nothing, score what is recorded")
    add_json(reproduce)
    reproduce.set_defaults(command=_reproduce)


def _reproduce(options: argparse.Namespace) -> int:
    from riftsim.experiments.runner import require_writable
    from riftsim.reproduction import scoreboard
    from riftsim.reproduction.claims import load_claims
    from riftsim.reproduction.lab import DEFAULT_OUT, Lab
    from riftsim.reproduction.levels import LEVELS

    claims = load_claims()
    chosen = scoreboard.chosen_claims(claims, options.names)
    out = options.out or DEFAULT_OUT
    require_writable(out)
    lab = Lab(
        LEVELS[options.level],
        out,
        data_dir=options.data_dir,
        jobs=options.jobs,
        may_run=not options.score_only,
        say=lambda line: print(line, file=sys.stderr, flush=True),
        hardware=options.hardware,
    )
    scores = scoreboard.evaluate(lab, claims, chosen)
    record = scoreboard.as_record(lab, scores)
    written = scoreboard.write(record, out / "scoreboard" / options.level)
    if options.json:
        print_json(record)
        return 0
    _print(record, chosen)
    _print_costs(lab)
    for path in written:
        print(f"scoreboard: {path}")
    return 0


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
        [name, str(cost.runs), f"{cost.queries:,}", str(cost.new), f"{cost.seconds:.1f}"]
        for name, cost in sorted(lab.costs.items())
    ]
    titles = ("experiment", "runs", "simulated queries", "run now", "seconds")
    print_table([Column(title, numeric=title != "experiment") for title in titles], rows)
