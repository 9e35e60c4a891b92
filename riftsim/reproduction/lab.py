"""Where measuring functions get their runs from: what is recorded is found, what is missing is run, once."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from riftsim.config.canonical import config_hash, to_plain
from riftsim.config.sweep import Experiment, load_experiment
from riftsim.errors import ResultsError, RiftsimError
from riftsim.experiments.runner import Silent, run_experiment
from riftsim.files import atomic_write
from riftsim.reproduction.levels import SETS, Level
from riftsim.reproduction.matching import smallest_list
from riftsim.results.intervals import mean_interval
from riftsim.results.store import Run, RunSet, find_run, open_run
from riftsim.rng import stream

_INSTALLED, _CHECKOUT = (Path(__file__).resolve().parents[up] / "experiments" for up in (0, 2))
EXPERIMENTS = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
"""The experiments of the paper: those that came with an installed package, else those of the checkout."""

DEFAULT_OUT = Path("results/reproduction")
EXPANSIONS = 405
"""Per query on SIFT100M (section 4.5): what is compared by work has as many."""

_LONGEST = 1200


def _say_nothing(line: str) -> None:
    """Tell nobody."""


class NotMeasured(RiftsimError):
    """Something that a claim needs was not run; the message is the reason that the scoreboard gives."""


@dataclasses.dataclass
class Cost:
    """What an experiment took: runs, simulated queries, seconds of CPU time as recorded, and how many ran now.

    Graphs and codes, which are made once and kept, are not in the seconds.
    """

    runs: int = 0
    queries: int = 0
    cpu_s: float = 0.0
    new: int = 0


class Lab:
    """Runs and finds points of the experiment folders at the size of a level.

    Parameters
    ----------
    level : Level
    out : path
        Results folder; what is recorded there is not run again.
    data_dir : path, optional
        Folder of larger data sets.
    may_run : bool
        Whether missing runs are made; otherwise what needs them is not measured.
    experiments : path
        Folder of the experiment folders.
    say : callable, optional
        Is told in a line what is run.
    hardware : str, optional
        A profile in place of that of the experiment files.

    Attributes
    ----------
    made : set of path
        Runs that were not there before.
    only_size : int or None
        The size of the scale study that is looked at; all if none is given.
    """

    def __init__(
        self,
        level: Level,
        out: Path = DEFAULT_OUT,
        *,
        data_dir: Path | None = None,
        may_run: bool = True,
        experiments: Path = EXPERIMENTS,
        say: Callable[[str], None] = _say_nothing,
        hardware: str | None = None,
    ) -> None:
        self.level = level
        self.out = Path(out)
        self.data_dir = data_dir
        self.may_run = may_run
        self.experiments = experiments
        self.hardware = hardware
        self.costs: dict[str, Cost] = {}
        self.used: dict[Path, Run] = {}
        self.made: set[Path] = set()
        self.only_size: int | None = None
        self.say = say
        self._known: dict[str, Any] = {}

    def afresh(self) -> "Lab":
        """Return a lab like this one that has seen nothing yet, for another process."""
        return Lab(
            self.level,
            self.out,
            data_dir=self.data_dir,
            may_run=self.may_run,
            experiments=self.experiments,
            say=self.say,
            hardware=self.hardware,
        )

    def runs_of(self, experiment: str) -> list[Run]:
        """Return the runs of an experiment that were asked for so far."""
        return [run for run in self.used.values() if run.experiment == experiment]

    def sizes_of(self, sizes: Sequence[int]) -> list[int]:
        """Return the sizes of the scale study that are looked at."""
        return [size for size in sizes if self.only_size in (None, size)]

    def sets(self) -> list[str]:
        """Return the names of the data sets at this level, in the paper's order."""
        return [name for name in SETS if name in self.level.sets]

    def of_set(self, name: str) -> dict[str, Any]:
        """Return the settings that choose a data set.

        Raises
        ------
        NotMeasured
            The level leaves it out.
        """
        if name not in self.level.sets:
            raise NotMeasured(f"the {self.level.name} level does not run {name}")
        return self.level.sets[name]

    # ------------------------------------------------------------ runs

    def runs(self, experiment: str, dataset: str | Mapping[str, Any], *, file: str = "experiment.yaml", **settings):
        """Return the runs of an experiment on a data set, and run those that are missing.

        Parameters
        ----------
        experiment : str
            Folder of the experiment.
        dataset : str or mapping
            Name of one of the level's sets, or settings that choose another.
        file : str
            In that folder.
        **settings
            By dotted key, written with two underscores for a dot; they win over the file and end its axes.

        Returns
        -------
        RunSet
            In the order of the sweep.

        Raises
        ------
        NotMeasured
            The experiment is not there, a point failed, or is missing where nothing may be run.
        """
        chosen = self.of_set(dataset) if isinstance(dataset, str) else dataset
        values = {**chosen, **{key.replace("__", "."): value for key, value in settings.items()}}
        if self.hardware is not None and "hardware" not in values:
            values["hardware"] = self.hardware
        key = json.dumps([experiment, file, values], sort_keys=True, default=str)
        if key not in self._known:
            self._known[key] = self._run(experiment, file, values)
        found = self._known[key]
        if isinstance(found, str):
            raise NotMeasured(found)
        return found

    def _run(self, name: str, file: str, values: dict[str, Any]) -> RunSet | str:
        path = self.experiments / name / file
        if not path.is_file():
            return f"experiments/{name}: not there"
        try:
            experiment = load_experiment(path, values)
        except RiftsimError as error:
            return f"experiments/{name}: {_first_line(error)}"
        missing = [p for p in experiment.points if find_run(self.out, experiment.name, p.hash) is None]
        if missing and not self.may_run:
            return f"experiments/{name}: {len(missing)} of {len(experiment.points)} point(s) not run"
        if missing:
            self.say(f"{name} {_label(values)}: {len(missing)} point(s)")
        return self._collect(experiment, name)

    def _collect(self, experiment: Experiment, name: str) -> RunSet | str:
        report = run_experiment(experiment, out=self.out, data_dir=self.data_dir, reporter=Silent())
        if report.interrupted:
            raise KeyboardInterrupt
        failed = report.with_status("failed")
        if failed:
            return f"experiments/{name}: {failed[0].point.slug}: {_first_line(failed[0].error)}"
        runs = [open_run(outcome.path) for outcome in report.outcomes]
        cost = self.costs.setdefault(name, Cost())
        self.made |= {outcome.path for outcome in report.outcomes if outcome.status == "complete"}
        for run in runs:
            if run.path not in self.used:
                self.used[run.path] = run
                cost.runs += 1
                cost.queries += run.manifest["queries"]
                cost.cpu_s += sum(run.facts.get(name, 0.0) for name in ("setup_cpu_s", "cpu_s"))
                cost.new += run.path in self.made
        return RunSet(runs)

    # ------------------------------------------------------------ matching

    def matched(
        self,
        experiment: str,
        dataset: str | Mapping[str, Any],
        target: float,
        *,
        of: str | Callable[[Run], float] = "recall",
        key: str = "search.L",
        least: int = 10,
        most: int = _LONGEST,
        **settings: Any,
    ) -> int:
        """Return the smallest L at which a configuration reaches a recall, or another number that grows.

        Parameters
        ----------
        experiment, dataset
            As in `runs`.
        target : float
        of : str or callable
            Metric that has to reach it, or a number of a run.
        key : str
            Dotted key of the integer that is looked for.
        least, most : int
            Its bounds.
        **settings
            As in `runs`; all that remains of the sweep is the mean over its seeds.

        Raises
        ------
        NotMeasured
            A run is missing or failed, or not even the largest integer reaches the target.
        """

        def value_at(size: int) -> float:
            runs = self.runs(experiment, dataset, **settings, **{key: size})
            return float(np.mean([run.metrics([of])[of] if isinstance(of, str) else of(run) for run in runs]))

        try:
            return smallest_list(value_at, target, least, most)
        except ResultsError as error:
            raise NotMeasured(str(error)) from None

    def point(self, dataset: str | Mapping[str, Any], name: str) -> int:
        """Return the L of an operating point of sections 4.4 to 4.8.

        ``"0.90"`` and ``"0.95"``: the smallest at which verify-all reaches that recall; ``"work"``: at which the
        calibrated rule expands 405 nodes per query. Without a clock, on the first split.
        """
        rules = {"work": {"kind": "calibrated"}}
        settings = {"system__verification": rules.get(name, {"kind": "verify-all"}), "dataset__split_seed": 0}
        if name == "work":
            settings["dataset__queries"] = min(200, self.level.queries)
            return self.matched("operating_points", dataset, EXPANSIONS, of="expansions", **settings)
        return self.matched("operating_points", dataset, float(name), **settings)

    def on(self, dataset: str, point: str) -> str:
        """Say what a measurement was matched on, with the name of the set."""
        return f"{self.level.sets[dataset]['dataset.name']}, {self.place(dataset, point)}"

    def place(self, dataset: str, point: str) -> str:
        """Say what a measurement was matched on."""
        what = f"{EXPANSIONS} expansions" if point == "work" else f"recall {point} of verify-all"
        return f"{what} (L = {self.point(dataset, point)})"

    # ------------------------------------------------------------ calibration

    def calibration(self, dataset: str, split_seed: int) -> dict[str, float]:
        """Return alpha and its coverage on held-out queries for one split of the pooled queries."""
        settings = {**self.of_set(dataset), "dataset.split_seed": split_seed, "search.L": 13}
        settings["system.verification"] = {"kind": "calibrated"}
        try:
            experiment = load_experiment(self.experiments / "fig12a_verification" / "experiment.yaml", settings)
        except RiftsimError as error:
            raise NotMeasured(_first_line(error)) from None
        config = experiment.points[0].config
        identity = config_hash(msgspec.structs.replace(config, name="calibration"))
        path = self.out / "calibration" / f"{identity[:16]}.json"
        if path.exists():
            return json.loads(path.read_text(encoding="utf-8"))
        if not self.may_run:
            raise NotMeasured(f"calibration of {dataset}, split {split_seed}: not run")
        self.say(f"calibrating alpha on {dataset}, split {split_seed}")
        try:
            row = _calibrate(config, self.data_dir)
        except RiftsimError as error:
            raise NotMeasured(_first_line(error)) from None
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as partial:
            partial.write_text(json.dumps({**row, "config": to_plain(config)}, indent=1) + "\n", encoding="utf-8")
        return row


def _calibrate(config, data_dir: Path | None) -> dict[str, float]:
    from riftsim.assembly import calibration_ratios

    rule = config.system.verification
    chosen, judged = calibration_ratios(config, rule.calibration_L, data_dir=data_dir)
    alpha = chosen.alpha(rule.delta)
    covered = (judged.ratios <= alpha).astype(np.float64)
    low, high = mean_interval(covered, judged.query)
    alpha_low, alpha_high = chosen.alpha_interval(rule.delta, 1000, stream(0, "alpha bootstrap"))
    return {
        "alpha": alpha,
        "alpha_low": alpha_low,
        "alpha_high": alpha_high,
        "held_out_coverage": float(covered.mean()),
        "held_out_low": low,
        "held_out_high": high,
    }


def _first_line(error: Exception | str | None) -> str:
    return str(error or "failed").partition("\n")[0]


def _label(values: Mapping[str, Any]) -> str:
    parts = [str(values.get("dataset.name", ""))]
    if "dataset.n" in values:
        parts.append(f"n={values['dataset.n']}")
    if "search.L" in values:
        parts.append(f"L={values['search.L']}")
    return " ".join(parts)
