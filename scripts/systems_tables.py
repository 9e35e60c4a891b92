"""Put all systems side by side on sets of 100 thousand vectors and a million; tables of docs/results/systems.md.

    python scripts/systems_tables.py run --data-dir DIR        # or resume; nothing that is recorded runs again
    python scripts/systems_tables.py tables                    # from results only

Runs are those of `riftsim reproduce --full`: with `--out` of a reproduction, what it has recorded is not run again.
"""

import argparse
import dataclasses
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import systems_causes
from pages import fill, table

from riftsim.files import atomic_write
from riftsim.plotting.figures import draw
from riftsim.plotting.series import SYSTEM_NAMES
from riftsim.reproduction import scoreboard, side_by_side
from riftsim.reproduction.claims import load_claims
from riftsim.reproduction.lab import DEFAULT_OUT, Lab, NotMeasured
from riftsim.reproduction.levels import FULL, LEVELS
from riftsim.reproduction.studies import IN_FLIGHT, SYSTEMS
from riftsim.results.store import Run, RunSet

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/results/systems.md"
PUBLISHED = ROOT / "results/published/systems"
TARGETS = (0.90, 0.95)
SHORT = {"SIFT": "sift", "DEEP": "deep", "SPACEV": "text"}
"""The paper's sets, and how ours are called in files and tables."""
MILLION = "million"
"""How the million vectors of SIFT are called there."""
CLAIMS = (
    "M18", "M19", "M20", "M21", "M22", "M23", "M24", "M29",
    "O04", "O05", "O06", "O07", "O11", "O12", "O13", "O14", "O15", "O16", "O17", "O19",
    "B02", "B03", "B06", "B07", "B09", "B10", "B11", "B12", "M08", "M14",
)  # fmt: skip
FIGURES = {"recall-latency": "fig08", "recall-qps": "fig09"}
IN_FIGURES = {
    SYSTEM_NAMES[kind]: {"system.kind": kind, "dataset.split_seed": 0, "load.concurrency": IN_FLIGHT.get(kind, 32)}
    for kind in ("in_memory_vamana", "riftann", "distvs", "pipeann", "diskann")
}
"""Series: the systems of the paper's figures as they are compared, on the first split."""
PARTS = ["rows", "million", "claims", "causes"]
log = logging.getLogger("systems")


def rows(
    lab: Lab,
    splits: int,
    targets: Sequence[float] = TARGETS,
    measure: Callable[..., dict[str, Any]] = side_by_side.row,
    systems: Sequence[str] = side_by_side.COMPARED,
) -> list[dict[str, Any]]:
    """Measure every row that can be measured; what cannot is said."""
    found = []
    for target in targets:
        for dataset in lab.sets():
            for name in systems:
                try:
                    found.append({"set": dataset, **measure(lab, dataset, name, target, splits)})
                except NotMeasured as reason:
                    log.warning("%s at %.2f on %s: %s", name, target, dataset, reason)
    return found


# ---------------------------------------------------------------- as text


def spread(row: dict[str, Any], name: str, digits: int, factor: float = 1.0) -> str:
    """A mean with its interval."""
    value, low, high = (factor * row[f"{name}{end}"] for end in ("", "_low", "_high"))
    interval = f" [{low:,.{digits}f}, {high:,.{digits}f}]" if low < high else ""
    return f"{value:,.{digits}f}{interval}"


def system_name(name: str) -> str:
    kind, _, rest = name.partition(" ")
    return " ".join(filter(None, [SYSTEM_NAMES[kind], rest]))


def systems_table(found: list[dict[str, Any]], dataset: str, target: str) -> str:
    """The table of a set at a recall."""
    titles = ["system", "L or P", "recall@10", "latency, µs: mean", "P50", "P99", "over RiftANN's", "KQPS (in flight)"]
    titles += ["KQPS saturated", "reads", "KiB", "CPU share: loop, saturated", "memory, MB"]
    lines = []
    for row in found:
        if (row["set"], row["target"]) == (dataset, target):
            over = spread(row, "latency_over_riftann", 2) if row.get("latency_over_riftann", 0) > 0 else "1"
            lines.append(
                [
                    system_name(row["system"]),
                    str(row["L"]),
                    spread(row, "recall", 3),
                    spread(row, "latency_mean_us", 0),
                    f"{row['latency_p50_us']:,.0f}",
                    f"{row['latency_p99_us']:,.0f}",
                    over,
                    f"{row['qps'] / 1e3:,.1f} ({row['in_flight']})",
                    f"{row['saturated_qps'] / 1e3:,.1f}",
                    f"{row['reads']:.1f}",
                    f"{row['kib']:,.1f}",
                    f"{row['cpu_share']:.2f}, {row['saturated_cpu_share']:.2f}",
                    f"{row['memory_bytes'] / 1e6:.1f}",
                ]
            )
    return table(titles, lines)


def claims_table(claims: list[dict[str, Any]]) -> str:
    """The paper's numbers beside ours."""
    lines = []
    for claim in claims:
        is_per_set = claim["section"] == "overall" and len(claim["parts"]) == len(SHORT)
        names = list(SHORT) if is_per_set and not any(part["name"] for part in claim["parts"]) else []
        for position, (what, *line) in enumerate(scoreboard.lines_of(claim)):
            named = ": ".join(filter(None, [what, names[position] if names else ""]))
            lines.append([claim["id"] if position == 0 else "", named, *line])
    return table(["claim", "what", "paper", "ours", "ours / paper", "verdict"], lines)


# ---------------------------------------------------------------- figures


def figures(names: dict[str, str], used: list[Run], published: Path) -> None:
    """Figures 8 and 9 of every set, in the paper's form: recall against latency and throughput, of what rows used.

    ``names`` are those of the data sets, by what files call them.
    """
    every = RunSet([run for run in used if run.experiment == SYSTEMS])
    for short, name in names.items():
        shown = every.where({"dataset.name": name})
        for kind, number in FIGURES.items():
            base = f"{number}-{short}"
            draw(kind, shown, published, name=base, names=IN_FIGURES)
            (published / f"{base}.pdf").unlink(missing_ok=True)


# ---------------------------------------------------------------- the page


def publish(lab: Lab, splits: int, page: Path, published: Path) -> None:
    """Write the numbers as CSV and fill the page."""
    published.mkdir(parents=True, exist_ok=True)
    million = of_a_million(lab)
    found = rows(lab, splits, measure=_recorded)
    found += [{**row, "set": MILLION} for row in rows(million, splits, measure=_recorded)]
    used = [*lab.used.values(), *million.used.values()]
    claims = load_claims()
    record = scoreboard.as_record(lab, scoreboard.evaluate(lab, claims, set(CLAIMS)))
    scored = {claim["id"]: claim for claim in record["claims"]}
    chosen = [scored[name] for name in CLAIMS]
    causes = systems_causes.rows(lab, systems_causes.GROUPS)
    flat = [{"claim": claim["id"], "what": claim["what"], **part} for claim in chosen for part in claim["parts"]]
    for name, lines in (("systems", found), ("claims", flat), ("causes", causes)):
        with atomic_write(published / f"{name}.csv") as partial:
            pd.DataFrame(lines).to_csv(partial, index=False, float_format="%.6g", lineterminator="\n")

    def content(name: str) -> str:
        if name == "claims":
            return claims_table(chosen)
        if name.startswith("causes"):
            return systems_causes.cause_table(causes, name.partition("_")[2])
        short, target = name.split("_")
        dataset = {**{value: key for key, value in SHORT.items()}, MILLION: MILLION}[short]
        return systems_table(found, dataset, f"0.{target}")

    fill(page, content)
    names = {SHORT[dataset]: lab.of_set(dataset)["dataset.name"] for dataset in lab.sets()}
    names[MILLION] = million.of_set("SIFT")["dataset.name"]
    figures(names, used, published)


def of_a_million(lab: Lab) -> Lab:
    """The same for the million vectors of SIFT."""
    return Lab(systems_causes.MILLION, lab.out, data_dir=lab.data_dir, may_run=lab.may_run, say=log.info)


def _recorded(lab: Lab, dataset: str, name: str, target: float, splits: int) -> dict[str, Any]:
    """A row over as many splits as are asked for, or over the first alone if not all are recorded."""
    try:
        return side_by_side.row(lab, dataset, name, target, splits)
    except NotMeasured:
        return side_by_side.row(lab, dataset, name, target)


def _runs_of(*row: Any) -> dict[str, Any]:
    return {"runs": side_by_side.runs_of(*row)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("command", choices=["run", "tables"])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    causes = list(systems_causes.GROUPS)
    parser.add_argument("--causes", nargs="+", choices=causes, default=causes, help="of those to run (default: all)")
    parser.add_argument("--level", choices=list(LEVELS), default=FULL.name)
    parser.add_argument("--sets", nargs="+", choices=list(SHORT), help="of those to run (default: all)")
    names = side_by_side.COMPARED
    parser.add_argument("--systems", nargs="+", choices=names, default=names, help="of those to run (default: all)")
    parser.add_argument("--targets", nargs="+", type=float, default=TARGETS, help="recalls to run (default: all)")
    parser.add_argument("--splits", type=int, default=1, help="of systems that only SimPy runs (default: 1)")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--published", type=Path, default=PUBLISHED)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("RIFTSIM_DATA_DIR"))
    asked = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    log.setLevel(logging.INFO)
    runs = asked.command == "run"
    level = LEVELS[asked.level]
    if runs and asked.sets:
        level = dataclasses.replace(level, sets={name: level.sets[name] for name in asked.sets})
    lab = Lab(level, asked.out, data_dir=asked.data_dir, may_run=runs, say=log.info)
    if not runs:
        publish(lab, asked.splits, asked.page, asked.published)
        return
    for part, chosen in (("rows", lab), ("million", of_a_million(lab))):
        if part in asked.parts:
            rows(chosen, asked.splits, asked.targets, _runs_of, asked.systems)
    if "claims" in asked.parts:
        scoreboard.evaluate(lab, load_claims(), set(CLAIMS))
    if "causes" in asked.parts:
        systems_causes.rows(lab, asked.causes)


if __name__ == "__main__":
    main()
