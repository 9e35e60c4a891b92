"""Tables of the RiftANN experiments, from recorded results alone; scripts/riftann_tables.py runs them."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riftsim.reproduction import groups as grouped
from riftsim.reproduction.groups import STEPS, by, by_gate, named, over_runs, step_of
from riftsim.results.compare import compare
from riftsim.results.intervals import runs_interval
from riftsim.results.store import Run, RunSet, load_runs
from riftsim.units import KIB

RECALLS = ("0.90", "0.95")
EXPANSIONS = 405
BREAKDOWN_RECALL = 0.90
ALPHAS = (1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.4)
"""Of experiments/fig12a_verification."""
DOMINANCE = ("latency_mean_us", "recall")


def operating_points(runset: RunSet) -> dict[str, int]:
    """Smallest L with mean recall 0.90 and 0.95 under verify-all, and with 405 expansions under the calibrated rule."""
    table = runset.table(["recall", "expansions"])
    table["L"] = [run.parameters["search.L"] for run in runset.runs]
    table["rule"] = [run.parameters["system.verification.kind"] for run in runset.runs]
    means = table.groupby(["rule", "L"])[["recall", "expansions"]].mean().reset_index()
    every = means[means.rule == "verify-all"]
    reaching = {name: every[every.recall >= float(name)].L for name in RECALLS}
    points = {name: int(found.min()) for name, found in reaching.items() if len(found)}
    work = means[(means.rule == "calibrated") & (means.expansions >= EXPANSIONS)]
    return points if work.empty else {**points, "work": int(work.L.min())}


def saturation_qps(runset: RunSet) -> float:
    """Throughput of the closed loop of 22 under impact-aware with epsilon = 1, on the first split of the queries."""
    first = runset.where({"dataset.split_seed": 0})
    return by_gate(first)["impact-aware 1.0"][0].metrics(["qps"])["qps"]


# ---------------------------------------------------------------- numbers of a group


def over_seeds(runs: list[Run], name: str) -> tuple[float, float, float]:
    """Mean of a metric over runs, with its 95 % interval: over seeds, or over the queries of a single run."""
    if len(runs) == 1:
        return (runs[0].metrics([name])[name], *runs[0].confidence([name])[name])
    return over_runs(runs, lambda run: run.metrics([name])[name])


def paired(runs: list[Run], references: list[Run], measure: str) -> dict[str, Any]:
    found = compare(runs, references, measure)
    names = (
        "value",
        "reference",
        "difference",
        "difference_low",
        "difference_high",
        "ratio",
        "ratio_low",
        "ratio_high",
    )
    return {"measure": measure, **{name: getattr(found, name) for name in names}, "verdict": found.verdict}


# ---------------------------------------------------------------- blocks: each a list of rows


def reads(runset: list[Run]) -> list[dict]:
    """Reads by mode and whether they account for every byte and every expansion, query by query."""
    rows = []
    for (L, policy, alpha, fields), runs in by(
        runset, "search.L", "system.verification.kind", "system.verification.alpha", "system.record_reads"
    ).items():
        row = {"L": L, "policy": policy, "alpha": alpha, "record_reads": fields, "seeds": len(runs)}
        wrong_bytes = wrong_expansions = 0
        for run in runs:
            q = run.queries
            record_bytes = run.facts["memory_nodes"]["record_bytes"]
            vector_bytes = record_bytes - 4 - 4 * run.parameters["index.R"]
            read = q.reads_record * record_bytes + q.reads_vector * vector_bytes
            read = read + q.reads_adjacency * (record_bytes - vector_bytes)
            wrong_bytes += int((read != q.bytes_read).sum())
            if fields == "state-driven":
                wrong_expansions += int((q.reads_record + q.reads_adjacency != q.expansions).sum())
        row |= {"record_bytes": record_bytes, "vector_bytes": vector_bytes}
        row |= {"queries_whose_bytes_differ": wrong_bytes, "queries_whose_expansions_differ": wrong_expansions}
        for name in ("recall", "expansions", "reads", "exact_reads", "reads_record", "reads_vector", "reads_adjacency"):
            row[name], row[f"{name}_low"], row[f"{name}_high"] = over_seeds(runs, name)
        row["kib_read"], row["kib_low"], row["kib_high"] = over_seeds(runs, "kib_read")
        row["whole_records_kib"] = row["exact_reads"] * record_bytes / KIB
        row["later_expanded_share"] = row["reads_adjacency"] / row["reads_vector"] if row["reads_vector"] else math.nan
        rows.append(row)
    return rows


def calibrations(folder: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def verification(runset: RunSet) -> dict[str, dict]:
    """Other rules against the calibrated one, paired over queries and splits; fixed alphas over the first split."""
    groups = by(runset, "system.verification.kind", "system.verification.alpha")
    own = groups["calibrated", None]
    wider = [run for run in runset if _is_wider(run, own)]
    pairs = {name: (groups[name, None], own) for name in ("verify-all", "expansion-only")}
    if len(wider) == len(own):
        pairs["alpha + 0.10"] = (wider, own)
    first = [run for run in own if run.parameters["dataset.split_seed"] == 0]
    for (kind, alpha), runs in groups.items():
        if kind == "calibrated" and alpha in ALPHAS:
            pairs[f"alpha {alpha:.2f}"] = ([run for run in runs if run.parameters["dataset.split_seed"] == 0], first)
    return {name: {m: paired(*two, m) for m in ("exact_reads", "recall")} for name, two in pairs.items()}


def _is_wider(run: Run, own: list[Run]) -> bool:
    alpha = run.parameters.get("system.verification.alpha")
    chosen = {other.parameters["dataset.split_seed"]: other.facts["system"]["alpha"] for other in own}
    return alpha is not None and alpha == round(chosen[run.parameters["dataset.split_seed"]] + 0.1, 4)


def progress(runs: list[Run]) -> dict[str, float]:
    """Update ratio and backlog over the progress of searches, and hidden updates: means over seeds."""
    return dict(pd.DataFrame([grouped.progress(run) for run in runs]).mean())


COSTS = ("recall", "latency_mean_us", "latency_p99_us", "qps", "in_flight", "expansions", "exact_reads", "wait_us")
MORE = ("gate_us", "drain_us", "evaluation_us", "evaluations", "kib_read", "reads")


def costs(runs: list[Run]) -> dict[str, float]:
    """What a configuration costs and finds."""
    row = {"seeds": len(runs)}
    for name in COSTS:
        row[name], row[f"{name}_low"], row[f"{name}_high"] = over_seeds(runs, name)
    for name in MORE:
        row[name] = over_seeds(runs, name)[0]
    return row


def policies(runset: RunSet) -> list[dict]:
    """Each gate setting, against wait-all and against the default."""
    groups = by_gate(runset)
    rows = []
    for name, runs in groups.items():
        row = {"gate": name, **costs(runs), **progress(runs)}
        for other in ("wait-all", "impact-aware 1.0"):
            for measure in DOMINANCE:
                found = paired(runs, groups[other], measure)
                short = "latency" if "latency" in measure else "recall"
                number = found["ratio"] if short == "latency" else found["difference"]
                row |= {f"{short} against {other}": number, f"{short} against {other}, verdict": found["verdict"]}
        rows.append(row)
    return rows


RESOLVED = ("unresolved", "yes, one resolved", "yes, both resolved")


def dominance(runset: RunSet) -> list[dict]:
    """For each U-only and rho-only setting, which impact-aware one is at least as good in recall and latency (G13)."""
    rows = []
    for name, found in grouped.dominance(by_gate(runset)).items():
        verdict = "no" if found.holds is False else RESOLVED[found.resolved]
        rows.append({"gate": name, "by": found.by, "verdict": verdict})
        rows[-1] |= {"latency_ratio": found.latency_ratio, "recall_difference": found.recall_difference}
    return rows


def smallest_lists(runset: RunSet, name_of: Callable[[Run], str], recall: float) -> dict[str, list[Run]]:
    """Runs of each series at its smallest L that reaches a recall on the first split of the queries."""
    found = {}
    for name, runs in named(runset, name_of).items():
        for (_,), own in sorted(by(runs, "search.L").items()):
            first = [run for run in own if run.parameters.get("dataset.split_seed") in (None, 0)]
            if first and np.mean([run.metrics(["recall"])["recall"] for run in first]) >= recall:
                found[name] = own
                break
    return found


def at_recall(runset: RunSet, name_of: Callable[[Run], str], recall: float) -> list[dict]:
    """Costs of each series at its smallest L that reaches a recall."""
    return [
        {"series": name, "L": runs[0].parameters["search.L"], **costs(runs)}
        for name, runs in smallest_lists(runset, name_of, recall).items()
    ]


def steps(runset: RunSet, recall: float) -> list[dict]:
    """The progressive breakdown in its order, each step's latency against the one before and against the first."""
    chosen = smallest_lists(runset, step_of, recall)
    series = [chosen[name] for name in STEPS]
    rows = []
    for number, (name, runs) in enumerate(zip(STEPS, series, strict=True)):
        row = {"series": name, "L": runs[0].parameters["search.L"], **costs(runs)}
        for other, references in (("before", series[max(number - 1, 0)]), ("first", series[0])):
            found = paired(runs, references, "latency_mean_us")
            row |= {f"latency against {other}": found["ratio"], f"latency against {other}, verdict": found["verdict"]}
            row |= {f"latency against {other}, {end}": found[f"ratio_{end}"] for end in ("low", "high")}
        rows.append(row)
    return rows


def windows(runset: RunSet) -> list[dict]:
    groups = by(runset, "system.window_counts", "system.window")
    rows = []
    for (counts, window), runs in sorted(groups.items()):
        recall = paired(runs, groups[counts, 1], "recall")
        row = {"counts": counts, "window": window, **costs(runs), "recall against 1": recall["difference"]}
        rows.append({**row, "recall against 1, verdict": recall["verdict"]})
    return rows


# ---------------------------------------------------------------- burst


def burst(runset: RunSet) -> list[dict]:
    """Per policy: states before the burst and in its second half, P99 of the queries that arrive in it, recall."""
    rows = []
    groups = {
        label: pd.DataFrame({run.parameters["seed"]: grouped.burst(run) for run in runs}).T
        for label, runs in named(runset, _balancing).items()
    }
    for label, runs in sorted(named(runset, _balancing).items()):
        seeds = groups[label]
        row = {"balancing": label, "seeds": len(runs), "rate_qps": runs[0].parameters["load.rate_qps"]}
        for name in seeds:
            numbers = seeds[name].to_numpy()
            row[name] = float(numbers.mean())
            row[f"{name}, low"], row[f"{name}, high"] = runs_interval(numbers)
        for name in ("p99_burst_us", "mean_burst_us", "recall_burst"):
            change = (seeds[name] - groups["fixed"][name]).to_numpy()
            low, high = runs_interval(change)
            row |= {f"{name} against fixed": change.mean(), f"{name} against fixed, low": low}
            row |= {f"{name} against fixed, high": high}
        rows.append(row)
    return rows


def _balancing(run: Run) -> str:
    kind, *rest = (run.parameters.get(f"system.balancing.{key}") for key in ("kind", "counted", "min_window"))
    changed = [
        str(value) for value, default in zip(rest, ("compute-node", 1), strict=True) if value not in (None, default)
    ]
    return " ".join([kind, *changed])


# ---------------------------------------------------------------- publishing


def publish(out: Path, sets: list[str], published: Path, blocks: list[str]) -> dict[str, dict[str, Any]]:
    """Make tables of sets whose results are there; those of other sets stay. CSV and one JSON."""
    published.mkdir(parents=True, exist_ok=True)
    path = published / "tables.json"
    everything: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in blocks:
        where, make = BLOCKS[name]
        for dataset in sets:
            if (out / dataset / where).is_dir():
                everything.setdefault(name, {})[dataset] = make(out / dataset / where)
        if name in everything:
            frames = [pd.DataFrame(rows).assign(dataset=dataset) for dataset, rows in everything[name].items()]
            table = pd.concat(frames)
            table = table[["dataset", *(column for column in table if column != "dataset")]]
            table.to_csv(published / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")
    path.write_text(json.dumps(everything, indent=1, default=float) + "\n", encoding="utf-8")
    return everything


def _operating(folder: Path) -> list[dict]:
    return [operating_points(load_runs(folder))]


def _reads(folder: Path) -> list[dict]:
    return reads(list(load_runs(folder)))


def _remote_cost(folder: Path) -> list[dict]:
    return at_recall(load_runs(folder), lambda run: run.parameters["system.kind"], 0.95)


def _compared(folder: Path) -> list[dict]:
    found = verification(load_runs(folder))
    return [{"against calibrated": name, **each} for name, two in found.items() for each in two.values()]


def _full_record(folder: Path) -> list[dict]:
    groups = by(load_runs(folder), "system.record_reads")
    own, whole = groups["state-driven",], groups["full-record",]
    rows = [{"record_reads": name, **costs(runs)} for name, runs in (("state-driven", own), ("full-record", whole))]
    rows += [
        paired(own, whole, measure) for measure in ("latency_mean_us", "recall", "kib_read", "reads", "expansions")
    ]
    return rows


def _eviction(folder: Path) -> list[dict]:
    """Verification of evicted candidates only: reads, costs, and against whole records of the same seeds."""
    own = list(load_runs(folder))
    whole = by(load_runs(folder.parents[1] / "full_record"), "system.record_reads")["full-record",]
    rows = [{**reads(own)[0], **costs(own)}]
    return rows + [paired(own, whole, measure) for measure in ("latency_mean_us", "recall", "kib_read", "reads")]


def _headroom(folder: Path) -> list[dict]:
    """Oracle policies and a network without waiting, each against RiftANN as it is."""
    keys = ("hardware", "system.gate.kind", "system.gate.epsilon", "system.verification.kind")
    groups = by(load_runs(folder), *keys)
    default = groups["connectx5-100g", "impact-aware", 1.0, "calibrated"]
    rows = []
    for values, runs in groups.items():
        found = {measure: paired(runs, default, measure) for measure in DOMINANCE}
        row = {**dict(zip(("hardware", "gate", "epsilon", "verification"), values, strict=True)), **costs(runs)}
        row |= {
            "latency ratio": found["latency_mean_us"]["ratio"],
            "latency verdict": found["latency_mean_us"]["verdict"],
        }
        row |= {"recall difference": found["recall"]["difference"], "recall verdict": found["recall"]["verdict"]}
        rows.append(row)
    return rows


def _equal_memory(folder: Path) -> list[dict]:
    """What the same memory buys, as codes or as records; ``at 0.95`` marks the smallest list with that recall."""
    runset = load_runs(folder)
    chosen = smallest_lists(runset, _memory_of, 0.95)
    rows = []
    for (name, L), runs in named(runset, lambda run: (_memory_of(run), run.parameters["search.L"])).items():
        smallest = name in chosen and chosen[name][0].parameters["search.L"] == L
        rows.append({"memory": name, "L": L, "at 0.95": smallest, **costs(runs)})
    return rows


def _memory_of(run: Run) -> str:
    """What the memory is spent on, e.g. ``pq 20, visits``."""
    codes, cache = (run.parameters.get(key) for key in ("codes.bytes", "cluster.record_cache.kind"))
    return f"{run.parameters['codes.kind']} {codes or ''}".strip() + f", {cache}"


def _scaling(folder: Path) -> list[dict]:
    groups = by(load_runs(folder), "cluster.compute_nodes", "cluster.memory_nodes", "cluster.threads")
    return [{"C": c, "M": m, "threads": t, **costs(runs)} for (c, m, t), runs in sorted(groups.items())]


def _causes(folder: Path) -> list[dict]:
    """Each gate against wait-all of the same help and concurrency."""
    rows = []
    for (helps, concurrency), runs in by(load_runs(folder), "system.main_threads_help", "load.concurrency").items():
        groups = by_gate(runs)
        for name, own in groups.items():
            latency, recall = (paired(own, groups["wait-all"], measure) for measure in DOMINANCE)
            row = {"main_threads_help": helps, "concurrency": concurrency, "gate": name, **costs(own), **progress(own)}
            row |= {"latency ratio": latency["ratio"], "latency verdict": latency["verdict"]}
            rows.append({**row, "recall difference": recall["difference"], "recall verdict": recall["verdict"]})
    return rows


def _sensitivity(folder: Path) -> list[dict]:
    keys = ("theta_low", "theta_high", "interval")
    groups = by(load_runs(folder), *(f"system.balancing.{key}" for key in keys))
    default = groups[0.3, 0.65, 32]
    base = costs(default)
    rows = []
    for values, runs in groups.items():
        row = {**dict(zip(keys, values, strict=True)), **costs(runs)}
        recall = paired(runs, default, "recall")
        row |= {
            "qps_change": row["qps"] / base["qps"] - 1,
            "p99_change": row["latency_p99_us"] / base["latency_p99_us"] - 1,
        }
        rows.append({**row, "recall_change": recall["difference"], "recall_verdict": recall["verdict"]})
    return rows


BLOCKS: dict[str, tuple[str, Callable[[Path], list[dict]]]] = {
    "operating_points": ("operating_points", _operating),
    "calibration": ("calibration", calibrations),
    "verification": ("fig12a_verification", _reads),
    "verification_paired": ("fig12a_verification", _compared),
    "full_record": ("full_record", _full_record),
    "full_record_work": ("work/full_record", _full_record),
    "reads_work": ("work/full_record", _reads),
    "reads_sim": ("full_record", _reads),
    "eviction": ("eviction/full_record", _eviction),
    "eviction_work": ("work/eviction/full_record", _eviction),
    "headroom": ("headroom", _headroom),
    "equal_memory": ("equal_memory", _equal_memory),
    "policies": ("admission_policies", lambda folder: policies(load_runs(folder))),
    "policies_work": ("work/admission_policies", lambda folder: policies(load_runs(folder))),
    "dominance": ("admission_policies", lambda folder: dominance(load_runs(folder))),
    "dominance_work": ("work/admission_policies", lambda folder: dominance(load_runs(folder))),
    "window": ("fig12b_window", lambda folder: windows(load_runs(folder))),
    "window_work": ("work/fig12b_window", lambda folder: windows(load_runs(folder))),
    "breakdown": ("fig11_breakdown", lambda folder: steps(load_runs(folder), BREAKDOWN_RECALL)),
    "breakdown_work": ("work/fig11_breakdown", lambda folder: steps(load_runs(folder), 0.0)),
    "causes": ("gate_causes", _causes),
    "causes_work": ("work/gate_causes", _causes),
    "burst": ("fig14_burst", lambda folder: burst(load_runs(folder))),
    "burst_work": ("work/fig14_burst", lambda folder: burst(load_runs(folder))),
    "scaling": ("table3_scaling", _scaling),
    "scaling_work": ("work/table3_scaling", _scaling),
    "sensitivity": ("fig14_sensitivity", _sensitivity),
    "remote_cost": ("fig01_remote_cost", _remote_cost),
    "remote_cost_beam1": ("beam1/fig01_remote_cost", _remote_cost),
}
"""Table: which results it is made from, and how."""
