"""Publish scoreboards: copy them into results/published/reproduction and fill docs/reproduction.md from what is there.

    python scripts/reproduction_page.py                                  # the page alone
    python scripts/reproduction_page.py full=DIR quick=DIR fitted=DIR larger=DIR    # folders of `riftsim reproduce`

``full`` and ``quick`` are levels; ``fitted`` is the full level on the profile that `riftsim fit --full` wrote, and
``larger`` its scale study on a larger set. What the page says between its markers is made from the files alone: counts,
costs, the claims that are missed, the largest deviation first, what the fitted profile and the larger set change, and
what scripts/reproduction_causes.py found.
"""

import argparse
import csv
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from riftsim.files import atomic_write
from riftsim.report.page import sets_text
from riftsim.reproduction.growth import grow
from riftsim.reproduction.scoreboard import lines_of, markdown
from riftsim.reproduction.sensitivity import summary

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reproduction.md"
PUBLISHED = ROOT / "results/published/reproduction"
LINK = "../results/published/reproduction"
LEVELS = {"full": "full", "quick": "quick", "fitted": "full", "larger": "full"}
"""What is published, and the level that it was run at."""


def counts_table(counts: dict[str, dict[str, int]]) -> list[str]:
    """Verdicts counted, a line per section or score."""
    verdicts = [verdict for verdict in next(iter(counts.values())) if any(row[verdict] for row in counts.values())]
    lines = [f"|  | {' | '.join(verdicts)} |", "|---" + "|---:" * len(verdicts) + "|"]
    return lines + [f"| {name} | {' | '.join(str(row[v]) for v in verdicts)} |" for name, row in counts.items()]


def costs_table(costs: dict[str, dict[str, float]]) -> list[str]:
    """What each experiment needs."""
    lines = ["| experiment | runs | simulated queries | CPU seconds |", "|---|---:|---:|---:|"]
    lines += [
        f"| [{name}](../experiments/{name}/README.md) | {cost['runs']} | {cost['queries']:,} | {cost['cpu_s']:.0f} |"
        for name, cost in costs.items()
    ]
    sums = [sum(cost[key] for cost in costs.values()) for key in ("runs", "queries", "cpu_s")]
    return [*lines, f"| all | {sums[0]} | {sums[1]:,} | {sums[2]:.0f} |"]


def deviation(claim: dict[str, Any]) -> float:
    """How far off the worst missed number of a claim is, as the logarithm of its ratio; orders and recalls last."""
    ratios = [part["ratio"] for part in claim["parts"] if part["verdict"] == "missed" and part["ratio"]]
    return max((abs(math.log(ratio)) if ratio > 0 else math.inf for ratio in ratios), default=0.0)


def missed_table(claims: list[dict[str, Any]]) -> list[str]:
    """Predictions that are missed, the largest deviation first."""
    missed = [claim for claim in claims if claim["counts"] and claim["verdict"] == "missed"]
    lines = ["| claim | what | paper | ours | ratio | verdict |", "|---|---|---|---|---|---|"]
    for claim in sorted(missed, key=deviation, reverse=True):
        for position, cells in enumerate(lines_of(claim)):
            lines.append(f"| {claim['id'] if position == 0 else ''} | {' | '.join(cells)} |")
    return lines


def sensitivity_table(folder: Path) -> list[str]:
    """How far constants can move, if it was asked."""
    if not (folder / "margins.csv").exists():
        return []
    margins, samples = (pd.read_csv(folder / f"{name}.csv").to_dict("records") for name in ("margins", "hypercube"))
    lines = [
        "\n### How far constants can move\n",
        "`riftsim sensitivity --quick`, on the SIFT set of the quick level. A conclusion holds while the ratio is",
        "above 1; the hypercube moves all groups at once, each between a half and twice its value.\n",
        "| conclusion | latency behind / ahead | holds in the hypercube | changes at |",
        "|---|---:|---:|---|",
    ]
    for row in summary(margins, samples):
        moved = ", ".join(row["changes"]) or "no factor that was tried"
        holds = f"{row['holds']} of {row['samples']}"
        lines.append(f"| {row['conclusion']} | {row['effect']:.3f} | {holds} | {moved} |")
    return [*lines, f"\n![tornado]({LINK}/quick/tornado.png)"]


def fitted_tables(full: dict[str, Any], fitted: dict[str, Any]) -> list[str]:
    """What the fitted profile changes: counts, and each claim that gets another verdict."""
    counts = {"as published": full, "fitted": fitted}
    lines = ["Predictions:\n", *counts_table({name: one["counts"]["predict"]["all"] for name, one in counts.items()})]
    lines += ["\nClaims that get another verdict:\n", "| claim | what | paper | as published | fitted | verdict |"]
    lines.append("|---|---|---|---|---|---|")
    for before, after in zip(full["claims"], fitted["claims"], strict=True):
        if before["verdict"] == after["verdict"] or not before["counts"]:
            continue
        verdict = f"{before['verdict']} → {after['verdict']}"
        pairs = zip(lines_of(before), lines_of(after), strict=False)
        for position, ((what, paper, ours, _, _), (_, _, then, _, _)) in enumerate(pairs):
            own = (before["id"], verdict) if position == 0 else ("", "")
            lines.append(f"| {own[0]} | {what} | {paper} | {ours} | {then} | {own[1]} |")
    return lines


def larger_tables(full: dict[str, Any], larger: dict[str, Any]) -> list[str]:
    """What growth on a larger set predicts: the laws held against its largest size, and the claims that they decide."""
    lines = ["| recall | quantity | law | by the smaller sizes | measured | holds |", "|---|---|---|---|---|---|"]
    for row in pd.read_csv(PUBLISHED / "larger/laws.csv").to_dict("records"):
        predicted = " to ".join(f"{row[key]:.4g}" for key in ("predicted_low", "predicted_high"))
        cells = [f"{row['recall']:.2f}", row["quantity"], row["law"], predicted, f"{row['measured']:.4g}"]
        lines.append(f"| {' | '.join([*cells, 'yes' if row['is_checked'] else 'no'])} |")
    lines += ["", *across_sets()]
    lines += ["\n| claim | what | paper | SIFT, 1 M | larger set | verdict |", "|---|---|---|---|---|---|"]
    for before, after in zip(full["claims"], larger["claims"], strict=True):
        if after["verdict"] == "not run" or not before["counts"]:
            continue
        verdict = " → ".join(dict.fromkeys((before["verdict"], after["verdict"])))
        pairs = zip(lines_of(before), lines_of(after), strict=False)
        for position, ((what, paper, ours, _, _), (_, _, then, _, _)) in enumerate(pairs):
            own = (before["id"], verdict) if position == 0 else ("", "")
            lines.append(f"| {own[0]} | {what} | {paper} | {ours} | {then} | {own[1]} |")
    return lines


def across_sets() -> list[str]:
    """What the laws of the million vectors say of the largest size of the other set, at recall 0.95."""
    lines = ["| quantity, at 0.95 | law of the 1 M set | measured on the larger set | holds |", "|---|---|---|---|"]
    small, large = (pd.read_csv(PUBLISHED / name / "growth.csv") for name in ("full", "larger"))
    for quantity in large.quantity.unique():
        known, found = (rows[(rows.quantity == quantity) & rows.low.isna()] for rows in (small, large))
        n, value = found.loc[found.n.idxmax(), ["n", "value"]]
        _, low, high = grow(known.n.tolist(), known.value.tolist()).predict(n)
        holds = "yes" if low <= value <= high else "no"
        lines.append(f"| {quantity} | {low:.4g} to {high:.4g} | {value:.4g} | {holds} |")
    return lines


def causes_table() -> list[str]:
    """What was suspected, what alone was changed, and what came of it."""
    lines = [
        "| claim | paper | ours | suspected | changed alone | then | of the gap | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with (PUBLISHED / "causes.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name = f"{row['claim']}, {row['number']}" if row["number"] else row["claim"]
            cells = [row[key] for key in ("paper", "ours", "cause", "change", "changed", "share", "verdict")]
            lines.append(f"| {' | '.join([name, *cells])} |")
    return lines


def fill(text: str, marker: str, lines: list[str]) -> str:
    """Replace what stands after a marker, up to the end marker."""
    body = "\n".join([f"<!-- {marker} -->", *lines, "<!-- end -->"])
    return re.sub(rf"<!-- {marker} -->.*?<!-- end -->", lambda _: body, text, flags=re.DOTALL)


def made_by(record: dict[str, Any], name: str) -> str:
    """Say by which command a scoreboard was made, when and on what."""
    command = record["command"]
    chosen = "--scale-set" in command
    data = command[command.index("--scale-set") + 1] if chosen else sets_text(record["sets"])
    return (
        f"`{' '.join(command)}`, runs of commit {', '.join(record['run_commits'])}, scored at "
        f"{record['versions']['commit']}, {record['finished'][:10]}; {data}; "
        f"profile `{record['hardware']}`. Every claim: [scoreboard.md]({LINK}/{name}/scoreboard.md).\n"
    )


def published_part(boards: dict[str, dict[str, Any]]) -> list[str]:
    """The score of the full level, and beside it the counts of the quick level."""
    record, quick = boards["full"], boards["quick"]
    calibrations = {verdict: count for verdict, count in record["counts"]["calibrate"]["all"].items() if count}
    return [
        made_by(record, "full"),
        "Predictions, duplicates once:\n",
        *counts_table(record["counts"]["predict"]),
        f"\nClaims that may calibrate: {', '.join(f'{count} {verdict}' for verdict, count in calibrations.items())}.\n",
        "### What is missed\n",
        *missed_table(record["claims"]),
        "\n### What it costs\n",
        *costs_table(record["costs"]),
        "\n### The quick level\n",
        made_by(quick, "quick"),
        *counts_table({"all": quick["counts"]["predict"]["all"]}),
        "\n### Growth with the number of vectors\n",
        f"![growth]({LINK}/full/growth.png)",
        *sensitivity_table(PUBLISHED / "quick"),
    ]


def page(text: str) -> str:
    """Fill a page from what is published."""
    boards = {path.parent.name: json.loads(path.read_text("utf-8")) for path in PUBLISHED.glob("*/scoreboard.json")}
    text = fill(text, "published", published_part(boards))
    if "fitted" in boards:
        tables = [made_by(boards["fitted"], "fitted"), *fitted_tables(boards["full"], boards["fitted"])]
        text = fill(text, "fitted", tables)
    if "larger" in boards:
        picture = f"\n![growth on the larger set]({LINK}/larger/growth.png)"
        tables = [made_by(boards["larger"], "larger"), *larger_tables(boards["full"], boards["larger"]), picture]
        text = fill(text, "larger", tables)
    return fill(text, "causes", causes_table())


def publish(name: str, results: Path) -> None:
    """Copy what a results folder says into the folder of that name; the table for people is made of its data."""
    target = PUBLISHED / name
    target.mkdir(parents=True, exist_ok=True)
    paths = [*results.glob(f"scoreboard/{LEVELS[name]}/*"), *results.glob(f"sensitivity/{LEVELS[name]}/*")]
    for path in [*paths, *results.glob("fitted.yaml")]:
        if path.suffix != ".pdf":
            shutil.copyfile(path, target / path.name)
    if (data := target / "scoreboard.json").exists():
        with atomic_write(target / "scoreboard.md") as partial:
            partial.write_text(markdown(json.loads(data.read_text("utf-8"))), encoding="utf-8")


def main() -> None:
    """Copy and fill."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("results", nargs="*", metavar="NAME=DIR", help="full=, quick=, fitted=, larger= results folder")
    for given in parser.parse_args().results:
        name, _, folder = given.partition("=")
        publish(name, Path(folder))
    text = page(PAGE.read_text(encoding="utf-8"))
    with atomic_write(PAGE) as partial:
        partial.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
