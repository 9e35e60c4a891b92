"""Test why claims are missed: each suspected cause changed alone, on a level's SIFT set and one split of its queries.

    python scripts/reproduction_causes.py results/causes BOARD [CLAIM ...] [--level full]

BOARD is the scoreboard.json of that level, from which the numbers without the change are taken. A change is a setting,
a constant of the profile, a line of an experiment file or the list size, never a fit: nothing here goes back into a
profile. The tests stand in ``reproduction_causes.yaml``. Writes ``causes.csv``, with the share of the gap between ours
and the paper's number that a change closes; a test that has a row there does not run again.
"""

import argparse
import csv
import dataclasses
import json
import math
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import riftsim.reproduction.sections  # noqa: F401 (fills MEASURES)
from riftsim import yaml_file
from riftsim.files import atomic_write
from riftsim.reproduction import variants
from riftsim.reproduction.claims import Target, load_claims
from riftsim.reproduction.lab import EXPERIMENTS, Lab, NotMeasured
from riftsim.reproduction.levels import LEVELS, Level
from riftsim.reproduction.measuring import MEASURES
from riftsim.reproduction.scoring import Order, Value
from riftsim.results.store import RunSet

LIST = Path(__file__).with_suffix(".yaml")
CLOSES, PART = 0.7, 0.3
"""Shares of the gap from which on a change closes it, or part of it."""

GATES = ({"kind": "wait-all"}, {"kind": "impact-aware", "epsilon": 1.0})
"""Of section 4.6, those that the tests ask for."""


class Test(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
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
    only : mapping
        Settings and constants change only in runs that are asked for with these values, by dotted key.
    everywhere : mapping
        Constants that change in all runs all the same.
    L : int, optional
        In place of the list size of the operating point.
    edit : tuple of file, text, text
        A line of an experiment file and what it is replaced by.
    level : mapping
        Fields of the level.
    dataset : mapping
        Settings that choose a set in place of the level's SIFT.
    systems : mapping of kind to mapping
        System in place of one of that kind.
    recall : float, optional
        In place of the recall that systems are matched by.
    expansions : float, optional
        Systems are matched by so many expansions per query, not by recall.
    """

    claim: str
    cause: str
    change: str
    part: int = 0
    settings: dict[str, Any] = {}
    constants: dict[str, float] = {}
    only: dict[str, Any] = {}
    everywhere: dict[str, float] = {}
    L: int | None = None
    edit: tuple[str, str, str] | None = None
    level: dict[str, Any] = {}
    dataset: dict[str, Any] = {}
    systems: dict[str, dict[str, Any]] = {}
    recall: float | None = None
    expansions: float | None = None


def load_tests() -> list[Test]:
    """Read the tests."""
    return msgspec.convert(yaml_file.read(LIST)[0]["tests"], list[Test])


class _Changed(Lab):
    """A lab in which one thing is another."""

    def __init__(self, test: Test, level: Level, out: Path, **more: Any) -> None:
        super().__init__(level, out, hardware=_profile(test.everywhere, out), **more)
        self._test = test
        self._changed_profile = _profile({**test.everywhere, **test.constants}, out)

    def runs(self, experiment, dataset, *, file="experiment.yaml", **settings):
        """Return runs with the test's settings, which win over all others."""
        if experiment == "admission_policies" and "system__gate" not in settings:
            parts = [self.runs(experiment, dataset, file=file, system__gate=gate, **settings) for gate in GATES]
            return RunSet([run for part in parts for run in part])
        changed = {}
        if all(_asked(settings, key) == value for key, value in self._test.only.items()):
            changed = {key.replace(".", "__"): value for key, value in self._test.settings.items()}
            if self._changed_profile and experiment != "operating_points":  # they have no clock
                changed["hardware"] = self._changed_profile
        kind = settings.get("system", {}).get("kind")
        if kind in self._test.systems:
            changed["system"] = self._test.systems[kind]
        return super().runs(experiment, dataset, file=file, **{**settings, **changed})

    def point(self, dataset, name):
        """Return the list size of the test, else that of the operating point."""
        return self._test.L or super().point(dataset, name)

    def matched(self, experiment, dataset, target, **settings):
        """Match by what the test matches by, if it says."""
        if settings.get("of", "recall") == "recall":
            target = self._test.recall or target
            if self._test.expansions:
                target, settings = self._test.expansions, {**settings, "of": "expansions"}
        return super().matched(experiment, dataset, target, **settings)


def _asked(settings: Mapping[str, Any], key: str) -> Any:
    """Return what runs are asked for at a dotted key, whether by itself or in a block."""
    path = key.split(".")
    for length in range(len(path), 0, -1):
        value = settings.get("__".join(path[:length]))
        for name in path[length:]:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def measured(test: Test, level: Level, out: Path, data_dir: Path | None) -> Value | Order:
    """Return the number or order of the claim with the test's change.

    Parameters
    ----------
    test : Test
    level : Level
    out : path
        Results folder; changed profiles are written there.
    data_dir : path, optional
    """
    sift = {"SIFT": test.dataset or level.sets["SIFT"]}
    level = dataclasses.replace(level, seeds=level.seeds[:1], sets=sift, **test.level)
    with tempfile.TemporaryDirectory() as folder:
        experiments = _edited(test.edit, Path(folder)) if test.edit else EXPERIMENTS
        lab = _Changed(test, level, out, experiments=experiments, data_dir=data_dir)
        return MEASURES[test.claim].function(lab)[test.part]


def _profile(constants: Mapping[str, float], out: Path) -> str | None:
    """Write the profile with other constants, if there are any, and return its path."""
    if not constants:
        return None
    profile = variants.with_values(variants.base_profile(None), constants)
    return str(variants.write(profile, out / "profiles"))


def _edited(edit: tuple[str, str, str], folder: Path) -> Path:
    """Copy the experiments with a line of one of them replaced."""
    file, old, new = edit
    shutil.copytree(EXPERIMENTS, folder, dirs_exist_ok=True)
    text = (folder / file).read_text(encoding="utf-8")
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    return folder


def share_closed(ours: float, changed: float, low: float, high: float) -> float:
    """Return how much of the way from ours to the paper's number, or the nearest bound, a change goes.

    A change that brings ours into a range closes all of it.
    """
    if low < high and low <= changed <= high and not low <= ours <= high:
        return 1.0
    paper = min(max(ours, low), high)
    return (changed - ours) / (paper - ours) if paper != ours else math.nan


def verdict_of(share: float) -> str:
    """Say what a share means."""
    if share >= CLOSES:
        return "closes the gap" if share <= 2 - CLOSES else "overshoots"
    return "closes part of the gap" if share >= PART else "does not"


def _key(test: Test, targets: Sequence[Target]) -> tuple[str, str, str, str]:
    """Return what tells the row of a test from others."""
    names = [target.name for target in targets] or [""]
    return test.claim, names[min(test.part, len(names) - 1)], test.cause, test.change


def _row(test: Test, targets: Sequence[Target], parts: list[dict[str, Any]], found: Value | Order) -> dict[str, str]:
    row = dict.fromkeys(
        ("number", "paper", "ours", "cause", "change", "changed", "low", "high", "share", "verdict"), ""
    )
    row |= {"cause": test.cause, "change": test.change}
    if isinstance(found, Order):
        holds = {True: "closes the gap", False: "does not", None: "unresolved"}[found.holds]
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
    parser.add_argument("--level", choices=LEVELS, default="full")
    parser.add_argument("--data-dir", type=Path)
    asked = parser.parse_args()
    targets = {claim.id: claim.targets for claim in load_claims()}
    board = {claim["id"]: claim for claim in json.loads(asked.board.read_text(encoding="utf-8"))["claims"]}
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / "causes.csv"
    known = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.exists() else []
    rows = {(row["claim"], row["number"], row["cause"], row["change"]): row for row in known}
    tests = {_key(test, targets[test.claim]): test for test in load_tests()}
    for key, test in tests.items():
        if key in rows or (asked.claims and test.claim not in asked.claims):
            continue
        try:
            found = measured(test, LEVELS[asked.level], asked.out, asked.data_dir)
        except NotMeasured as reason:
            print(test.claim, test.change, f"not measured: {reason}", sep=" | ", flush=True)
            continue
        row = {"claim": test.claim, **_row(test, targets[test.claim], board[test.claim]["parts"], found)}
        rows[key] = row
        print(*row.values(), sep=" | ", flush=True)
        with atomic_write(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[key] for key in tests if key in rows)


if __name__ == "__main__":
    main()
