"""The command compare: two runs query by query, and where they part."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riftsim.cli.experiment import add_data_dir, add_json, count
from riftsim.cli.terminal import Column, number, print_json, print_table

if TYPE_CHECKING:
    import pandas as pd

    from riftsim.results.compare import Comparison
    from riftsim.results.divergence import Divergence
    from riftsim.results.store import Run

_LEVELS = (0.01, 0.5, 0.99)


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the commands of this module."""
    compare = commands.add_parser("compare", help="compare two runs query by query, and find where they part")
    compare.add_argument("run", metavar="RUN_A", type=Path, help="directory of a run")
    compare.add_argument("reference", metavar="RUN_B", type=Path, help="directory of the run to compare it with")
    compare.add_argument(
        "--query",
        metavar="N",
        type=count,
        default=None,
        help="measured query of RUN_A to follow (default: that with the largest difference in latency)",
    )
    compare.add_argument("--no-events", action="store_true", help="do not repeat the runs to find where they part")
    add_data_dir(compare)
    add_json(compare)
    compare.set_defaults(command=_compare)


def _compare(options: argparse.Namespace) -> int:
    from riftsim.results.compare import MEASURES, compare
    from riftsim.results.pairs import configured_differences, paired_queries, require_comparable

    run, reference = _open(options.run), _open(options.reference)
    require_comparable(run, reference)
    pairs = paired_queries(run, reference)
    compared = [compare([run], [reference], measure) for measure in MEASURES if measure in pairs]
    differences = configured_differences(run, reference)
    spread = _latency_differences(pairs)
    parting = None
    if spread and not options.no_events:
        parting = _parting(run, reference, pairs, options)
    if options.json:
        print_json(
            {
                "configuration": [{"key": key, "run": own, "reference": other} for key, own, other in differences],
                "measures": [vars(one) for one in compared],
                "latency_differences_us": spread,
                "parting": parting,
            }
        )
        return 0
    print(f"A: {run.path}\nB: {reference.path}\n")
    if differences:
        columns = [Column("key"), Column("A", wraps=True), Column("B", wraps=True)]
        print_table(columns, [[key, str(own), str(other)] for key, own, other in differences], title="configuration")
        print()
    _print_measures(compared, len(pairs))
    for name, value in spread.items():
        print(f"{name}: {value:,.2f}")
    if parting:
        print(f"\nquery {parting['query']} (row {parting['row']} of A, {parting['reference_row']} of B)")
        print("\n".join(parting["text"]))
    return 0


def _open(path: Path) -> "Run":
    from riftsim.errors import ResultsError
    from riftsim.results.store import open_run

    run = open_run(path)
    if run is None:
        raise ResultsError(f"{path}: found no complete run; expected the directory of one, with a manifest.json")
    return run


def _print_measures(compared: "list[Comparison]", queries: int) -> None:
    digits = {one.measure: 4 if one.measure.startswith("recall") else 3 for one in compared}
    cells = [
        [
            one.measure,
            number(one.value, digits[one.measure]),
            number(one.reference, digits[one.measure]),
            f"{one.difference:+.{digits[one.measure]}f}",
            f"{one.difference_low:+.{digits[one.measure]}f} to {one.difference_high:+.{digits[one.measure]}f}",
            number(one.ratio, 3),
            f"A is {one.verdict}" if one.verdict in ("higher", "lower") else one.verdict,
        ]
        for one in compared
    ]
    titles = ("A", "B", "A - B", "95 % interval", "A / B")
    columns = [Column("mean of"), *(Column(title, numeric=True) for title in titles), Column("verdict")]
    print_table(columns, cells, title=f"{queries} queries, paired")
    if any(one.verdict == "unresolved" for one in compared):
        print("unresolved: the interval is wider than the difference")


def _latency_differences(pairs: "pd.DataFrame") -> dict[str, float]:
    """How the latencies of single queries differ; nothing for runs without a clock."""
    if "latency_mean_us" not in pairs:
        return {}
    difference = pairs["latency_mean_us"] - pairs["latency_mean_us_reference"]
    spread = {"share of queries in which A is faster": float((difference < 0).mean())}
    for level in _LEVELS:
        spread[f"latency of A - B, P{round(100 * level)} over queries (us)"] = float(difference.quantile(level))
    return spread


def _parting(run: "Run", reference: "Run", pairs: "pd.DataFrame", options: argparse.Namespace) -> dict[str, Any]:
    """Repeat both runs with one query traced, and say where they part."""
    from riftsim.experiments.progress import reporter_for
    from riftsim.experiments.retrace import chosen_query, traced
    from riftsim.results.divergence import first_difference

    if options.query is None:
        query = int((pairs["latency_mean_us"] - pairs["latency_mean_us_reference"]).abs().idxmax())
    else:
        query = int(run.queries["query"].iloc[chosen_query(run, options.query)])
    rows = [int((each.queries["query"] == query).to_numpy().argmax()) for each in (run, reference)]
    one, other = (
        traced(each, [row], data_dir=options.data_dir, reporter=reporter_for(sys.stderr)).trace.of(row)
        for each, row in zip((run, reference), rows, strict=True)
    )
    found = first_difference(one, other)
    return {"query": query, "row": rows[0], "reference_row": rows[1], "text": _said(found), **vars(found)}


def _said(found: "Divergence") -> list[str]:
    from riftsim.units import PS_PER_US

    def sides(events: tuple) -> list[str]:
        return [
            f"  {name} " + (f"at {event.time_ps / PS_PER_US:.3f} us: {event.what}" if event else "nothing more")
            for name, event in zip("AB", events, strict=True)
        ]

    if found.agree:
        return [f"the runs agree in all of its {found.position} events"]
    text = [f"the first {found.position} events are the same at the same times; then", *sides(found.events)]
    if found.reads == (None, None):
        return [*text, f"both read the same {found.read_position} times in the same order"]
    return [*text, f"the first {found.read_position} reads are the same; then", *sides(found.reads)]
