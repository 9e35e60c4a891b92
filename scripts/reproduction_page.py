"""Publish a scoreboard: copy it into results/published/reproduction and fill the last part of docs/reproduction.md.

    python scripts/reproduction_page.py results/reproduction full [--beside QUICK]

What the page says between its markers is made from the files alone: counts, costs, the claims that are missed, the
largest deviation first, and what scripts/reproduction_causes.py found. With ``--beside``, the results of the quick
level, that level's scoreboard is published too, with its counts on the page.
"""

import argparse
import csv
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

from riftsim.files import atomic_write
from riftsim.report.page import sets_text
from riftsim.reproduction.scoreboard import lines_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reproduction.md"
PUBLISHED = ROOT / "results/published/reproduction"
LINK = "../results/published/reproduction"


def counts_table(counts: dict[str, dict[str, int]]) -> list[str]:
    """Predictions by section and verdict."""
    verdicts = [verdict for verdict, number in counts["all"].items() if number]
    lines = [f"| section | {' | '.join(verdicts)} |", "|---" + "|---:" * len(verdicts) + "|"]
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
    path = folder / "margins.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "hypercube.csv").open(encoding="utf-8", newline="") as file:
        samples = list(csv.DictReader(file))
    lines = [
        "\n### How far constants can move\n",
        "`riftsim sensitivity --quick`, on the SIFT set of the quick level. A conclusion holds while the ratio is",
        "above 1; the hypercube moves all groups at once, each between a half and twice its value.\n",
        "| conclusion | latency behind / ahead | holds in the hypercube | changes at |",
        "|---|---:|---:|---|",
    ]
    for name in dict.fromkeys(row["conclusion"] for row in rows):
        own = [row for row in rows if row["conclusion"] == name]
        changes = [f"{row['constants']} x {float(row['shorter']):.2g}" for row in own if float(row["shorter"]) > 0]
        changes += [f"{row['constants']} x {float(row['longer']):.2g}" for row in own if row["longer"] != "inf"]
        drawn = [float(row["effect"]) for row in samples if row["conclusion"] == name]
        holds = f"{sum(effect > 1 for effect in drawn)} of {len(drawn)}"
        moved = ", ".join(changes) or "no factor that was tried"
        lines.append(f"| {name} | {float(own[0]['effect']):.3f} | {holds} | {moved} |")
    return [*lines, f"\n![tornado]({LINK}/tornado.png)"]


def causes_table() -> list[str]:
    """What was suspected, what alone was changed, and what came of it."""
    path = PUBLISHED / "causes.csv"
    if not path.exists():
        return []
    lines = ["| claim | paper | ours | suspected | changed alone | then | |", "|---|---|---|---|---|---|---|"]
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name = f"{row['claim']}, {row['number']}" if row["number"] else row["claim"]
            cells = [name, row["paper"], row["ours"], row["cause"], row["change"], row["changed"], row["verdict"]]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def fill(text: str, marker: str, lines: list[str]) -> str:
    """Replace what stands after a marker, up to the end marker."""
    body = "\n".join([f"<!-- {marker} -->", *lines, "<!-- end -->"])
    return re.sub(rf"<!-- {marker} -->.*?<!-- end -->", lambda _: body, text, flags=re.DOTALL)


def page(record: dict[str, Any], folder: Path) -> list[str]:
    """The part between the markers."""
    calibrations = {verdict: count for verdict, count in record["counts"]["calibrate"]["all"].items() if count}
    lines = [
        f"`{' '.join(record['command'])}`, runs of commit {', '.join(record['run_commits'])}, scored at "
        f"{record['versions']['commit']}, {record['finished'][:10]}; "
        f"{sets_text(record['sets'])}; profile `{record['hardware']}`. "
        f"Every claim: [scoreboard.md]({LINK}/scoreboard.md).\n",
        "Predictions, duplicates once:\n",
        *counts_table(record["counts"]["predict"]),
        f"\nClaims that may calibrate: {', '.join(f'{count} {verdict}' for verdict, count in calibrations.items())}.\n",
        "### What is missed\n",
        *missed_table(record["claims"]),
        "\n### What it costs\n",
        *costs_table(record["costs"]),
    ]
    quick = folder / "quick" / "scoreboard.json"
    if record["level"] != "quick" and quick.exists():
        beside = json.loads(quick.read_text(encoding="utf-8"))
        lines += [
            "\n### The quick level\n",
            f"{sets_text(beside['sets'])}: [scoreboard.md]({LINK}/quick/scoreboard.md).\n",
            *counts_table({"all": beside["counts"]["predict"]["all"]}),
        ]
    if (folder / "growth.png").exists():
        lines += ["\n### Growth with the number of vectors\n", f"![growth]({LINK}/growth.png)"]
    return [*lines, *sensitivity_table(folder)]


def main() -> None:
    """Copy and fill."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("results", type=Path, help="results folder of riftsim reproduce")
    parser.add_argument("level", choices=["smoke", "quick", "full"])
    parser.add_argument("--beside", type=Path, metavar="QUICK", help="results folder of the quick level")
    asked = parser.parse_args()
    PUBLISHED.mkdir(parents=True, exist_ok=True)
    for folder in (asked.results / "scoreboard" / asked.level, asked.results / "sensitivity" / asked.level):
        if folder.is_dir():
            for path in folder.iterdir():
                if path.suffix != ".pdf":
                    shutil.copyfile(path, PUBLISHED / path.name)
    if asked.beside:
        (PUBLISHED / "quick").mkdir(exist_ok=True)
        for path in (asked.beside / "scoreboard" / "quick").glob("scoreboard.*"):
            shutil.copyfile(path, PUBLISHED / "quick" / path.name)
        lower = PUBLISHED / "quick" / "scoreboard.md"
        lower.write_text(lower.read_text(encoding="utf-8").replace("](../../../", "](../../../../"), encoding="utf-8")
    if (asked.results / "fitted.yaml").exists():
        shutil.copyfile(asked.results / "fitted.yaml", PUBLISHED / "fitted.yaml")
    record = json.loads((PUBLISHED / "scoreboard.json").read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    text = fill(text, "published", page(record, PUBLISHED))
    text = fill(text, "causes", causes_table())
    with atomic_write(PAGE) as partial:
        partial.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
