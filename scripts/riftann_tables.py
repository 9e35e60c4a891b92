"""Run the experiments of sections 4.4 to 4.8 on three sets of 100 thousand vectors, and the part of them that says
something new on a million, and make the tables of docs/results/riftann.md from their results.

    python scripts/riftann_tables.py run --data-dir DIR        # or resume; nothing that is recorded runs again
    python scripts/riftann_tables.py run --data-dir DIR --sets sift-photos-1m     # its parts of PARTS
    python scripts/riftann_tables.py tables                    # from results only
    python scripts/riftann_tables.py figures

Which candidate lists the experiments use comes from the results of experiments/operating_points, and the rate of the
burst from the measured closed loop; nothing is set by hand. Results lie in ``<out>/<data set>/<experiment>``.
"""

import argparse
import dataclasses
import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import riftann_page
import riftann_report

from riftsim.assembly import calibration_ratios
from riftsim.config.sweep import load_experiment
from riftsim.experiments.api import run
from riftsim.files import atomic_write
from riftsim.plotting.figures import draw
from riftsim.reproduction.groups import step_of
from riftsim.results.intervals import mean_interval
from riftsim.results.store import RunSet, load_runs
from riftsim.rng import stream

ROOT = Path(__file__).resolve().parents[1]
SETS = ("sift-photos-100k", "deep-photos-100k", "text-wordnet-100k")
MILLION = "sift-photos-1m"
QUERIES = {MILLION: 2000}
"""Evaluated queries where a set has more than the others."""
PAGE = ROOT / "docs/results/riftann.md"
SEEDS = range(5)
WORK_SEEDS = range(3)
"""At 405 expansions, where a run takes some five times as long."""
VERIFICATION = ROOT / "experiments/fig12a_verification/experiment.yaml"
CALIBRATED = {"kind": "calibrated"}
BURST_SHARE = 0.84  # 16.9 of 20.1 KQPS: the paper's burst against its closed loop of 22
log = logging.getLogger("riftann")


@dataclasses.dataclass
class Session:
    """Where data and results of one set are, and what the parts need to know of each other."""

    dataset: str
    out: Path
    data_dir: str | None

    def run(self, experiment: str, file: str = "experiment.yaml", under: str = "", **settings: Any) -> RunSet:
        """Run or resume an experiment on this set; ``under`` keeps a second operating point in a folder of its own."""
        began = time.monotonic()
        values = {"dataset.name": self.dataset, **self.queries}
        values |= {key.replace("__", "."): value for key, value in settings.items()}
        path = ROOT / "experiments" / experiment / file
        runs = run(path, set=values, out=self.out / self.dataset / under, data_dir=self.data_dir)
        log.info("%s %s %s: %d runs, %.0f s", self.dataset, experiment, under, len(runs), time.monotonic() - began)
        return runs

    @property
    def seeds(self) -> range:
        """Splits of the queries, or seeds of arrivals."""
        return range(1) if self.dataset == MILLION else SEEDS

    @property
    def queries(self) -> dict[str, int]:
        return {"dataset.queries": QUERIES[self.dataset]} if self.dataset in QUERIES else {}

    @property
    def points(self) -> dict[str, int]:
        """List sizes of the operating points, from results."""
        return riftann_report.operating_points(load_runs(self.out / self.dataset / "operating_points"))


def operating_points(session: Session) -> None:
    session.run("operating_points")
    if "0.95" not in session.points:
        session.run("operating_points", "longer.yaml")
    log.info("%s: L %s", session.dataset, session.points)


def equal_work(session: Session) -> None:
    """From the longest list down to the first that expands less; expansions vary little between queries."""
    for L in (400, 395, 390, 385, 380, 375, 370, 360):
        runs = session.run("operating_points", "equal_work.yaml", dataset__queries=200, search__L=L)
        if runs.table(["expansions"])["expansions"][0] < riftann_report.EXPANSIONS:
            break
    log.info("%s: L %s", session.dataset, session.points)


def calibration(session: Session) -> None:
    """alpha and its held-out coverage, per split of the pooled queries."""
    _calibrate(session, [("split", seed, {"dataset.split_seed": seed}) for seed in SEEDS])


def calibration_codes(session: Session) -> None:
    """The same per training of the codes."""
    _calibrate(session, [("codes", seed, {"dataset.split_seed": 0, "codes.seed": seed}) for seed in SEEDS[1:]])


def calibration_bytes(session: Session) -> None:
    """The same with codes twice as long, to see how much of alpha is the codes' precision."""
    _calibrate(session, [("bytes", 40, {"dataset.split_seed": 0, "codes.bytes": 40})])


def _calibrate(session: Session, variants: list[tuple[str, int, dict]]) -> None:
    folder = session.out / session.dataset / "calibration"
    folder.mkdir(parents=True, exist_ok=True)
    data_dir = Path(session.data_dir) if session.data_dir else None
    for kind, seed, seeds in variants:
        path = folder / f"{kind}{seed}.json"
        if path.exists():
            continue
        values = {"dataset.name": session.dataset, **session.queries, "system.verification": CALIBRATED, **seeds}
        config = load_experiment(VERIFICATION, values).points[0].config
        rule = config.system.verification
        chosen, judged = calibration_ratios(config, rule.calibration_L, data_dir=data_dir)
        alpha = chosen.alpha(rule.delta)
        covered = (judged.ratios <= alpha).astype(np.float64)
        row = {"varied": kind, "seed": seed, "alpha": alpha, "ratios": len(chosen.ratios)}
        row["alpha_low"], row["alpha_high"] = chosen.alpha_interval(rule.delta, 1000, stream(0, "alpha bootstrap"))
        row |= {"coverage": chosen.coverage(alpha), "held_out_coverage": float(covered.mean())}
        row["held_out_low"], row["held_out_high"] = mean_interval(covered, judged.query)
        row["held_out_queries_missed"] = len(np.unique(judged.query[judged.ratios > alpha]))
        with atomic_write(path) as partial:
            partial.write_text(json.dumps(row, indent=1))
    log.info("%s: alpha calibrated", session.dataset)


def verification(session: Session) -> None:
    """The whole curve on one split; calibrated, 0.10 more, and both ends on all."""
    L = session.points["0.95"]
    session.run("fig12a_verification", search__L=L, dataset__split_seed=0)
    for seed in session.seeds:
        row = json.loads((session.out / session.dataset / "calibration" / f"split{seed}.json").read_text())
        wider = {"kind": "calibrated", "alpha": round(row["alpha"] + 0.1, 4)}
        for rule in (CALIBRATED, wider, {"kind": "verify-all"}, {"kind": "expansion-only"}):
            session.run("fig12a_verification", search__L=L, dataset__split_seed=seed, system__verification=rule)


def record_reads(session: Session) -> None:
    for seed in session.seeds:
        session.run("full_record", search__L=session.points["0.95"], dataset__split_seed=seed)


def record_reads_work(session: Session) -> None:
    settings = {"search.L": session.points["work"], "measured_queries": 1000, "dataset.split_seed": 0}
    session.run("full_record", under="work", **settings)


def eviction(session: Session) -> None:
    """State-driven reads that verify what left the candidate list only."""
    settings = {"system.record_reads": "state-driven", "system.verification_from": "eviction"}
    for seed in session.seeds:
        settings["dataset.split_seed"] = seed
        session.run("full_record", under="eviction", search__L=session.points["0.95"], **settings)


def eviction_work(session: Session) -> None:
    settings = {"search.L": session.points["work"], "measured_queries": 1000, "dataset.split_seed": 0}
    settings |= {"system.record_reads": "state-driven", "system.verification_from": "eviction"}
    session.run("full_record", under="work/eviction", **settings)


def headroom(session: Session) -> None:
    session.run("headroom", search__L=session.points["0.95"])


def equal_memory(session: Session) -> None:
    """128 bytes for each of 100 thousand vectors; a set that needs a longer list than the experiment's has that too."""
    settings = {"cluster.record_cache.code_and_record_gb": 0.0128, "measured_queries": 500}
    session.run("equal_memory", **settings)
    if session.points["0.95"] > 20:
        session.run("equal_memory", search__L=session.points["0.95"], **settings)


def window(session: Session) -> None:
    session.run("fig12b_window", search__L=session.points["0.95"], measured_queries=2000)


def window_work(session: Session) -> None:
    settings = {"search.L": session.points["work"], "measured_queries": 1000}
    if session.dataset != MILLION:
        session.run("fig12b_window", under="work", **settings)
        return
    for window in (1, 8):
        ends = {"system.window": window, "system.window_counts": "expansions"}
        session.run("fig12b_window", under="work", **settings, **ends)


def policies(session: Session) -> None:
    """First one split on every set, so that what is interrupted is comparable; `policies_seeds` adds the others."""
    session.run("admission_policies", search__L=session.points["0.95"], dataset__split_seed=0)


def policies_seeds(session: Session) -> None:
    session.run("admission_policies", search__L=session.points["0.95"])


def policies_work(session: Session) -> None:
    settings = {"search.L": session.points["work"], "measured_queries": 1000, "dataset.split_seed": 0}
    session.run("admission_policies", under="work", **settings)


def policies_work_seeds(session: Session) -> None:
    settings = {"search.L": session.points["work"], "measured_queries": 1000}
    for seed in WORK_SEEDS[1:]:
        session.run("admission_policies", under="work", dataset__split_seed=seed, **settings)


def gate_causes(session: Session) -> None:
    session.run("gate_causes", search__L=session.points["0.95"])


def gate_causes_work(session: Session) -> None:
    """On a million vectors the unloaded pool alone: `policies_work` there is the loaded one."""
    settings = {"search.L": session.points["work"], "measured_queries": 500}
    if session.dataset == MILLION:
        settings |= {"system.main_threads_help": True, "load": {"kind": "closed", "concurrency": 4}}
    session.run("gate_causes", under="work", **settings)


def breakdown(session: Session) -> None:
    session.run("fig11_breakdown", measured_queries=2000)


def breakdown_seeds(session: Session) -> None:
    """Four more splits of the queries, each step at the list that the first split gives it."""
    runs = load_runs(session.out / session.dataset / "fig11_breakdown")
    for chosen in riftann_report.smallest_lists(runs, step_of, riftann_report.BREAKDOWN_RECALL).values():
        settings = {"search.L": chosen[0].parameters["search.L"], "system": chosen[0].config["system"]}
        for seed in SEEDS[1:]:
            session.run("fig11_breakdown", measured_queries=2000, dataset__split_seed=seed, **settings)


def breakdown_work(session: Session) -> None:
    session.run("fig11_breakdown", under="work", search__L=session.points["work"], measured_queries=1000)


def breakdown_work_seeds(session: Session) -> None:
    settings = {"search.L": session.points["work"], "measured_queries": 1000}
    for seed in SEEDS[1:]:
        session.run("fig11_breakdown", under="work", dataset__split_seed=seed, **settings)


def burst(session: Session) -> None:
    """A burst at 0.84 of the closed loop's throughput; each phase lasts as long as some thousand arrivals."""
    for seed in session.seeds:
        session.run("fig14_burst", seed=seed, **_burst(session, "0.95", "", 3000))


def burst_work(session: Session) -> None:
    """The same at equal work, first with one seed; then with one setting of the controller changed, to test causes."""
    _burst_work(session, 0)


def burst_work_seeds(session: Session) -> None:
    for seed in WORK_SEEDS[1:]:
        _burst_work(session, seed)


def _burst_work(session: Session, seed: int) -> None:
    settings = {**_burst(session, "work", "work", 1000), "seed": seed}
    session.run("fig14_burst", under="work", **settings)
    for cause in ({"counted": "query"}, {"min_window": 6}):
        session.run("fig14_burst", under="work", **settings, **{"system.balancing": {"kind": "adaptive", **cause}})


def _burst(session: Session, point: str, under: str, per_phase: int) -> dict[str, Any]:
    policies = load_runs(session.out / session.dataset / under / "admission_policies")
    rate = riftann_report.saturation_qps(policies) * BURST_SHARE / 2
    length_ms = round(per_phase / rate * 1e3, 1)
    return {
        "search.L": session.points[point],
        "load.rate_qps": round(rate),
        **{f"load.{phase}_ms": length_ms for phase in ("before", "burst", "after")},
        "driver.sample_us": max(20.0, round(length_ms * 1e3 / 200)),
    }


def sensitivity(session: Session) -> None:
    session.run("fig14_sensitivity", search__L=session.points["0.95"])


def scaling(session: Session) -> None:
    for file in ("experiment.yaml", "threads16.yaml", "threads48.yaml"):
        session.run("table3_scaling", file, search__L=session.points["0.90"])


def scaling_work(session: Session) -> None:
    for file in ("experiment.yaml", "threads16.yaml", "threads48.yaml"):
        session.run("table3_scaling", file, under="work", search__L=session.points["work"], measured_queries=800)


def remote_cost(session: Session) -> None:
    session.run("fig01_remote_cost")
    session.run("fig01_remote_cost", under="beam1", system={"kind": "remote_vamana", "beam_width": 1})  # a cause


PARTS: dict[Callable[[Session], None], bool] = {
    operating_points: True,
    equal_work: True,
    calibration: True,
    verification: True,
    policies: True,
    policies_work: True,
    record_reads: True,
    record_reads_work: True,
    eviction: True,
    eviction_work: True,
    breakdown: False,
    breakdown_work: True,
    burst: True,
    burst_work: True,
    gate_causes: False,
    gate_causes_work: True,
    window: False,
    window_work: True,
    scaling: False,
    scaling_work: False,
    remote_cost: False,
    policies_seeds: False,
    headroom: False,
    equal_memory: False,
    calibration_codes: False,
    calibration_bytes: False,
    sensitivity: False,
    breakdown_seeds: False,
    breakdown_work_seeds: False,
    burst_work_seeds: False,
    policies_work_seeds: False,
}
"""In an order in which each finds what it needs; and whether a million vectors have it too: what the size of a set may
change, on one split, as each search costs several times as much to simulate there."""


FIGURES = {
    "verification": ("fig12a_verification", "verification"),
    "policies": ("admission_policies", "policies"),
    "admission-work": ("work/admission_policies", "admission"),
    "window-work": ("work/fig12b_window", "breakdown"),
    "breakdown": ("fig11_breakdown", "recall-latency"),
    "burst": ("fig14_burst", "time-series"),
    "burst-work": ("work/fig14_burst", "time-series"),
}
"""Name: where the runs are, and kind of figure."""

SERIES = {
    "admission": {"Impact-aware": {"system.gate.kind": "impact-aware", "system.gate.epsilon": 1.0}},
    "time-series": {
        "Adaptive": {"system.balancing.counted": "compute-node", "system.balancing.min_window": 1},
        "Fixed": {"system.balancing.kind": "fixed"},
    },
}
"""Series of figures whose folders hold more runs than belong in them."""


def figures(out: Path, sets: list[str], published: Path) -> None:
    """Draw the figures of every set; PNG and SVG are kept, with their numbers and runs."""
    for dataset in sets:
        for name, (where, kind) in FIGURES.items():
            folder = out / dataset / where
            if not folder.is_dir():
                continue
            experiment = load_experiment(ROOT / "experiments" / folder.name / "experiment.yaml")
            own = [plot for plot in experiment.config.plots if plot.kind == kind]
            names = SERIES.get(kind) or own[0].series
            split = {"dataset.split_seed": 0} if kind in ("verification", "policies", "admission") else {}
            base = f"{riftann_page.SHORT[dataset].lower().replace(' ', '-')}-{name}"
            draw(kind, load_runs(folder).where(split), published, name=base, names=names)
            (published / f"{base}.pdf").unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("command", choices=["run", "tables", "figures"])
    parser.add_argument(
        "--sets", nargs="+", choices=[*SETS, MILLION], help="default: run the first three, tables of all"
    )
    parser.add_argument("--parts", nargs="+", choices=[part.__name__ for part in PARTS], metavar="PART")
    blocks = list(riftann_report.BLOCKS)
    parser.add_argument("--tables", nargs="+", choices=blocks, default=blocks, metavar="TABLE")
    parser.add_argument("--out", type=Path, default=Path("results/runs/riftann"))
    parser.add_argument("--published", type=Path, default=ROOT / "results/published/riftann")
    parser.add_argument("--data-dir", default=os.environ.get("RIFTSIM_DATA_DIR"))
    asked = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    log.setLevel(logging.INFO)
    every = asked.sets or [*SETS, MILLION]
    if asked.command == "tables":
        riftann_page.fill(PAGE, riftann_report.publish(asked.out, every, asked.published, asked.tables))
    if asked.command == "figures":
        figures(asked.out, every, asked.published)
    if asked.command != "run":
        return
    for part, on_a_million in PARTS.items():
        for dataset in asked.sets or SETS:
            if part.__name__ in (asked.parts or [part.__name__]) and (dataset != MILLION or on_a_million):
                part(Session(dataset, asked.out, asked.data_dir))


if __name__ == "__main__":
    main()
