"""Test why claims are missed: each suspected cause changed alone, on the quick level's SIFT.

    python scripts/reproduction_causes.py results/causes BOARD [CLAIM ...]

BOARD is the scoreboard.json of the quick level, from which the numbers without the change are taken. A change is a
setting, a constant of the profile, a line of an experiment file or the list size, never a fit: nothing here goes back
into a profile. Writes ``causes.csv``; of the difference between ours and the paper's a change explains the share by
which it closes it.
"""

import argparse
import csv
import dataclasses
import json
import math
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import riftsim.reproduction.sections  # noqa: F401 (fills MEASURES)
from riftsim.files import atomic_write
from riftsim.reproduction import variants
from riftsim.reproduction.claims import Target, load_claims
from riftsim.reproduction.lab import EXPERIMENTS, Lab
from riftsim.reproduction.levels import QUICK
from riftsim.reproduction.measuring import MEASURES
from riftsim.reproduction.scoring import Order, Value

EXPLAINS, PART = 0.7, 0.3
"""Shares of the difference from which on a change explains it, or part of it."""


@dataclass(frozen=True)
class Test:
    """One suspected cause of one missed number.

    Attributes
    ----------
    claim, part : str, int
        The number.
    cause : str
        What is suspected.
    change : str
        What alone is changed to see.
    settings : mapping
        By dotted key, for every run.
    constants : mapping of path to value
        Of the hardware profile.
    L : int, optional
        In place of the list size of the operating point.
    edit : tuple of file, text, text
        A line of an experiment file and what it is replaced by.
    level : mapping
        Fields of the level.
    systems : mapping of kind to mapping
        System in place of one of that kind.
    recall : float, optional
        In place of the recall that systems are matched by.
    """

    claim: str
    part: int
    cause: str
    change: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    L: int | None = None
    edit: tuple[str, str, str] | None = None
    level: Mapping[str, Any] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    recall: float | None = None


SHORT, LARGE_LIST = "searches are short: the list is small", "the list is far larger than recall needs"
SLOW, FITTED = "threads do not slow each other", "by 4.4 % per busy thread, as `riftsim fit` finds from M05"
BEAM = ("beam_width: 4", "beam_width: 1")
PIPELINED = {
    "kind": "riftann",
    "window": 4,
    "workers": 0,
    "gate": {"kind": "wait-all"},
    "verification": {"kind": "expansion-only"},
    "balancing": {"kind": "fixed"},
}
"""Reads of expanded nodes only, four in flight at any time; a list is evaluated before the next read is chosen."""

TESTS = (
    Test("P19", 0, LARGE_LIST, "L = 13, where recall is 0.95", L=13),
    Test(
        "P19",
        0,
        "candidates are verified before they leave the list",
        "verification from eviction",
        settings={"system.verification_from": "eviction"},
    ),
    Test("P19", 1, LARGE_LIST, "L = 13, where recall is 0.95", L=13),
    Test("P19", 1, "the link is not full", "link of 25 Gb/s", constants={"link.rate_gbps": 25}),
    Test(
        "P19",
        1,
        "no bytes are saved where all is expanded in the end, and the link is not full",
        "L = 13 and a link of 25 Gb/s",
        L=13,
        constants={"link.rate_gbps": 25},
    ),
    Test("C08", 0, "the burst stays below the knee", "burst at 1.05 of the closed loop", level={"burst_share": 1.05}),
    Test("C08", 0, SHORT, "L = 100", L=100),
    Test("C08", 0, "the link is not full", "link of 25 Gb/s", constants={"link.rate_gbps": 25}),
    Test("M28", 0, "the link is not full", "link of 25 Gb/s", constants={"link.rate_gbps": 25}),
    Test("M28", 0, "the burst stays below the knee", "burst at 1.05 of the closed loop", level={"burst_share": 1.05}),
    Test("S03", 0, "a doorbell per node is cheap", "doorbell x 4", constants={"cpu.doorbell_ns": 280}),
    Test("S03", 0, "polling is cheap", "poll and completion x 4", constants={"cpu.poll_ns": 120, "cpu.cqe_ns": 200}),
    Test("S03", 0, "the one port is near its limit", "link of 400 Gb/s", constants={"link.rate_gbps": 400}),
    Test(
        "S02",
        0,
        "queries in flight grow with the threads",
        "30 in flight with 48 threads",
        edit=("table3_scaling/threads48.yaml", "concurrency: 46", "concurrency: 30"),
    ),
    Test(
        "S02",
        0,
        SLOW,
        FITTED,
        constants={"cpu.per_thread_slowdown_permille": 44},
    ),
    Test(
        "S01",
        0,
        SLOW,
        FITTED,
        constants={"cpu.per_thread_slowdown_permille": 44},
    ),
    Test(
        "D06",
        0,
        "beams of 4 hide most reads of Remote-Vamana",
        "beam of 1",
        edit=("fig11_breakdown/experiment.yaml", *BEAM),
    ),
    Test("D06", 0, SHORT, "at recall 0.999", recall=0.999),
    Test("D06", 0, "reads are short beside the CPU work", "propagation x 10", constants={"link.propagation_ns": 1500}),
    Test("D06", 1, "evaluations are cheap", "code distances x 4", constants={"cpu.compact_miss_ns": 120}),
    Test(
        "P20",
        0,
        "a slot is an awaited expansion, not a read",
        "the window counts reads",
        settings={"system.window_counts": "reads"},
    ),
    Test("P20", 0, "the link is not full", "link of 50 Gb/s", constants={"link.rate_gbps": 50}),
    Test("P20", 1, "the link is not full", "link of 50 Gb/s", constants={"link.rate_gbps": 50}),
    Test("P20", 1, "CPU work is cheap beside reads", "clock of 1 GHz", constants={"cpu.clock_ghz": 1.0}),
    Test("P10", 0, "the codes' error makes alpha large", "codes of 40 bytes", settings={"codes.bytes": 40}, L=13),
    Test("P10", 0, SHORT, "L = 100", L=100),
    Test("P18", 0, SHORT, "L = 20", L=20),
    Test("G01", 0, SHORT, "L = 100", L=100),
    Test("G03", 0, SHORT, "L = 50", L=50),
    Test("D08", 0, SHORT, "at recall 0.999", recall=0.999),
    Test("D08", 0, "evaluations are cheap", "code distances x 4", constants={"cpu.compact_miss_ns": 120}),
    Test("G17", 0, "evaluations are cheap", "code distances x 4", constants={"cpu.compact_miss_ns": 120}),
    Test("G17", 0, "reads are short: 3.3 us loaded", "propagation x 5: 4.5 us", constants={"link.propagation_ns": 750}),
    Test("D08", 0, "reads are short: 3.3 us loaded", "propagation x 5: 4.5 us", constants={"link.propagation_ns": 750}),
    Test("G17", 0, "main threads help with evaluations", "they do not", settings={"system.main_threads_help": False}),
    Test(
        "M14",
        0,
        "beams of 4 leave little to hide",
        "propagation x 10",
        constants={"link.propagation_ns": 1500},
    ),
    Test(
        "M14",
        0,
        "beams of 4 leave little to hide",
        "beam of 2",
        edit=("async_vamana/experiment.yaml", BEAM[0], "beam_width: 2"),
    ),
    Test(
        "M14",
        0,
        "a round of reads ends before the next begins",
        "the next read begins when one is done",
        systems={"async_vamana": PIPELINED},
    ),
    Test(
        "M14",
        0,
        "Remote-Vamana's beam of 4 hides most of its reads",
        "Remote-Vamana with a beam of 1",
        edit=("async_vamana/experiment.yaml", "remote_vamana, beam_width: 4", "remote_vamana, beam_width: 1"),
    ),
    Test(
        "M14",
        0,
        "rounds, and reads that are short beside the CPU work",
        "the next read begins when one is done, and propagation x 10",
        systems={"async_vamana": PIPELINED},
        constants={"link.propagation_ns": 1500},
    ),
    Test(
        "M14",
        0,
        "scalar codes cost more per byte than exact distances",
        "per byte as exact distances",
        constants={"cpu.sq8_distance_per_byte_ns": 0.038},
    ),
    Test(
        "M27", 0, "tables weigh in short searches", "table entries for nothing", constants={"cpu.table_entry_ns": 1e-3}
    ),
    Test(
        "P10",
        0,
        "the list is small, and the codes' error makes alpha large",
        "L = 100 and codes of 40 bytes",
        settings={"codes.bytes": 40},
        L=100,
    ),
    Test("M12", 0, SHORT, "at recall 0.999", recall=0.999),
    Test("S05", 0, "the one port is near its limit", "link of 400 Gb/s", constants={"link.rate_gbps": 400}),
    Test("P22", 0, SHORT, "L = 40", L=40),
    Test(
        "M31",
        0,
        "faster evaluation loads the NIC more",
        "one query in flight",
        edit=("fig07_concurrency/workers.yaml", "load.concurrency: [4]", "load.concurrency: [1]"),
    ),
    Test("P20", 1, SLOW, FITTED, constants={"cpu.per_thread_slowdown_permille": 44}),
    Test("G17", 0, SLOW, FITTED, constants={"cpu.per_thread_slowdown_permille": 44}),
    Test("G17", 0, "the link is not full", "link of 50 Gb/s", constants={"link.rate_gbps": 50}),
    Test("O05", 0, SLOW, FITTED, constants={"cpu.per_thread_slowdown_permille": 44}),
    Test("O06", 0, SLOW, FITTED, constants={"cpu.per_thread_slowdown_permille": 44}),
    Test("O05", 0, SHORT, "at recall 0.999", recall=0.999),
    Test("O06", 0, SHORT, "at recall 0.999", recall=0.999),
)


class _Changed(Lab):
    """A lab in which one thing is another."""

    def __init__(self, test: Test, level, out: Path, experiments: Path, **more: Any) -> None:
        super().__init__(level, out, experiments=experiments, **more)
        self._test = test

    def runs(self, experiment, dataset, *, file="experiment.yaml", **settings):
        """Return runs with the test's settings, which win over all others."""
        changed = {key.replace(".", "__"): value for key, value in self._test.settings.items()}
        kind = settings.get("system", {}).get("kind")
        if kind in self._test.systems:
            changed["system"] = dict(self._test.systems[kind])
        return super().runs(experiment, dataset, file=file, **{**settings, **changed})

    def point(self, dataset, name):
        """Return the list size of the test, else that of the operating point."""
        return self._test.L or super().point(dataset, name)

    def matched(self, experiment, dataset, target, **settings):
        """Match by the recall of the test, if it has one."""
        by_recall = settings.get("of", "recall") == "recall"
        return super().matched(experiment, dataset, (by_recall and self._test.recall) or target, **settings)


def measured(test: Test, out: Path, folder: Path, data_dir: Path | None) -> Value | Order:
    """Return the number or order of the claim with the test's change.

    Parameters
    ----------
    test : Test
    out : path
        Results folder.
    folder : path
        For changed profiles and experiment files.
    data_dir : path, optional
    """
    experiments = EXPERIMENTS
    if test.edit:
        file, old, new = test.edit
        experiments = Path(tempfile.mkdtemp(dir=folder))
        shutil.copytree(EXPERIMENTS, experiments, dirs_exist_ok=True)
        text = (experiments / file).read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old!r}"
        (experiments / file).write_text(text.replace(old, new), encoding="utf-8")
    hardware = None
    if test.constants:
        profile = variants.with_values(variants.base_profile(None), test.constants)
        hardware = str(variants.write(profile, folder))
    level = dataclasses.replace(QUICK, seeds=(0,), sets={"SIFT": QUICK.sets["SIFT"]}, **test.level)
    lab = _Changed(test, level, out, experiments, data_dir=data_dir, hardware=hardware)
    return MEASURES[test.claim].function(lab)[test.part]


def share_closed(ours: float, changed: float, low: float, high: float) -> float:
    """Return how much of the way from ours to the paper's number, or the nearest bound, a change goes."""
    paper = min(max(ours, low), high)
    return (changed - ours) / (paper - ours) if paper != ours else math.nan


def verdict_of(share: float) -> str:
    """Say what a share means."""
    if share >= EXPLAINS:
        return "explains it" if share <= 2 - EXPLAINS else "explains more than that"
    return "part of it" if share >= PART else "not the cause"


def _row(test: Test, targets: Sequence[Target], parts: list[dict[str, Any]], found: Value | Order) -> dict[str, str]:
    row = dict.fromkeys(
        ("number", "paper", "ours", "cause", "change", "changed", "low", "high", "share", "verdict"), ""
    )
    row |= {"cause": test.cause, "change": test.change}
    if isinstance(found, Order):
        holds = {True: "explains it", False: "not the cause", None: "unresolved"}[found.holds]
        return row | {"paper": "order", "ours": parts[0]["on"], "changed": found.on, "verdict": holds}
    target, ours = targets[min(test.part, len(targets) - 1)], parts[test.part]["ours"]
    share = share_closed(ours, found.value, target.low, target.high)
    row |= {"number": target.name, "paper": target.text(), "ours": f"{ours:.4g}", "changed": f"{found.value:.4g}"}
    return row | {
        "low": f"{found.low:.4g}",
        "high": f"{found.high:.4g}",
        "share": f"{share:.2f}",
        "verdict": verdict_of(share),
    }


def main() -> None:
    """Run the tests and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("board", type=Path)
    parser.add_argument("claims", nargs="*")
    parser.add_argument("--data-dir", type=Path)
    asked = parser.parse_args()
    targets = {claim.id: claim.targets for claim in load_claims()}
    board = {claim["id"]: claim for claim in json.loads(asked.board.read_text(encoding="utf-8"))["claims"]}
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / "causes.csv"
    known = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.exists() else []
    rows = {(row["claim"], row["number"], row["cause"], row["change"]): row for row in known}
    for test in TESTS:
        if asked.claims and test.claim not in asked.claims:
            continue
        found = measured(test, asked.out, asked.out, asked.data_dir)
        row = {"claim": test.claim, **_row(test, targets[test.claim], board[test.claim]["parts"], found)}
        rows[test.claim, row["number"], test.cause, test.change] = row
        print(*row.values(), sep=" | ", flush=True)
        with atomic_write(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows.values())


if __name__ == "__main__":
    main()
