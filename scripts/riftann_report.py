"""Tables of the RiftANN experiments, from recorded results alone; scripts/riftann_tables.py runs them."""

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riftsim.results.compare import compare
from riftsim.results.intervals import runs_interval
from riftsim.results.store import Run, RunSet, load_runs
from riftsim.units import KIB, PS_PER_MS

RECALLS = ("0.90", "0.95")
EXPANSIONS = 405
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
    """Throughput of the closed loop of 22 under impact-aware with epsilon = 1, mean over seeds."""
    return float(np.mean([run.facts["qps"] for run in by_gate(runset)["impact-aware 1.0"]]))


# ---------------------------------------------------------------- grouping


def by_gate(runset: Iterable[Run]) -> dict[str, list[Run]]:
    """Runs of each gate setting, e.g. ``u-only 32``."""
    groups: dict[str, list[Run]] = {}
    for run in runset:
        gate = {key.rsplit(".", 1)[1]: value for key, value in run.parameters.items() if key.startswith("system.gate.")}
        setting = gate.get("bound", gate.get("theta", gate.get("epsilon", "")))
        groups.setdefault(f"{gate['kind']} {setting}".strip(), []).append(run)
    return groups


def by(runset: Iterable[Run], *keys: str) -> dict[tuple, list[Run]]:
    groups: dict[tuple, list[Run]] = {}
    for run in runset:
        groups.setdefault(tuple(run.parameters.get(key) for key in keys), []).append(run)
    return groups


def over_seeds(runs: list[Run], value: Callable[[Run], float] | str) -> tuple[float, float, float]:
    """Mean over the runs of one configuration, with the 95 % interval: over seeds, or over queries of a single run."""
    if isinstance(value, str):
        name = value
        if len(runs) == 1:
            return (runs[0].metrics([name])[name], *runs[0].confidence([name])[name])
        numbers = np.array([run.metrics([name])[name] for run in runs])
    else:
        numbers = np.array([value(run) for run in runs])
    return (float(numbers.mean()), *runs_interval(numbers))


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
    """Calibrated against verify-all and against alpha 0.10 larger, paired over queries and splits."""
    groups = by(runset, "system.verification.kind", "system.verification.alpha")
    own = groups["calibrated", None]
    every = groups["verify-all", None]
    wider = {run.parameters["dataset.split_seed"]: run for run in runset if _is_wider(run, own)}
    wider = [
        wider[run.parameters["dataset.split_seed"]] for run in own if run.parameters["dataset.split_seed"] in wider
    ]
    pairs = {"verify-all": every, "expansion-only": groups["expansion-only", None]}
    if len(wider) == len(own):
        pairs["alpha + 0.10"] = wider
    return {name: {m: paired(runs, own, m) for m in ("exact_reads", "recall")} for name, runs in pairs.items()}


def _is_wider(run: Run, own: list[Run]) -> bool:
    alpha = run.parameters.get("system.verification.alpha")
    chosen = {other.parameters["dataset.split_seed"]: other.facts["system"]["alpha"] for other in own}
    return alpha is not None and alpha == round(chosen[run.parameters["dataset.split_seed"]] + 0.1, 4)


def progress(runs: list[Run]) -> dict[str, float]:
    """Update ratio and backlog over the progress of searches, and hidden updates."""
    parts = [run.facts["progress"] for run in runs]
    inserted, evaluated, expanded = (
        np.sum([part[name] for part in parts], axis=0) for name in ("inserted", "evaluated", "expansions")
    )
    medians = np.mean([part["backlog_median"] for part in parts], axis=0)
    backlog = np.average([part["backlog_mean"] for part in parts], axis=0)
    spans = {"first 10 %": slice(0, 1), "first 20 %": slice(0, 2), "last 40 %": slice(6, 10), "last 30 %": slice(7, 10)}
    row = {f"update ratio, {name}": inserted[at].sum() / evaluated[at].sum() for name, at in spans.items()}
    row["evaluated per expansion, last 40 %"] = evaluated[6:].sum() / expanded[6:].sum()
    row["backlog, first 10 %, median"], row["backlog, first 10 %, mean"] = medians[0], backlog[0]
    row["backlog, last 30 %, median"], row["backlog, last 30 %, mean"] = medians[7:].mean(), backlog[7:].mean()
    row["hidden, mean"] = float(np.mean([part["hidden_mean"] for part in parts]))
    row["hidden, P95"] = float(np.mean([part["hidden_p95"] for part in parts]))
    return {key: float(value) for key, value in row.items()}


COSTS = ("recall", "latency_mean_us", "latency_p99_us", "qps", "in_flight", "expansions", "exact_reads", "wait_us")
MORE = ("gate_us", "drain_us", "evaluation_us", "evaluations", "kib_read", "reads")


def costs(runs: list[Run]) -> dict[str, float]:
    """What a configuration costs and finds, and how far queries in flight are from those configured (Little's law)."""
    row = {"seeds": len(runs)}
    for name in COSTS:
        row[name], row[f"{name}_low"], row[f"{name}_high"] = over_seeds(runs, name)
    for name in MORE:
        row[name] = over_seeds(runs, name)[0]
    configured = runs[0].parameters.get("load.concurrency")
    if configured:
        configured *= runs[0].parameters["cluster.compute_nodes"]
        row["configured"] = configured
        row["little_error"] = row["in_flight"] / configured - 1
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


def dominance(runset: RunSet) -> list[dict]:
    """For each U-only and rho-only setting, which impact-aware ones are at least as good in recall and latency (G13).

    ``dominated``: both means are at least as good and neither paired interval is on the wrong side. ``resolved`` if at
    least one is on the right side altogether and the other does not exceed 0.1 points or 1 % in the wrong direction.
    """
    groups = by_gate(runset)
    rows = []
    for name in (name for name in groups if name.startswith(("u-only", "rho-only"))):
        best = None
        for other in (other for other in groups if other.startswith("impact-aware")):
            latency, recall = (paired(groups[other], groups[name], measure) for measure in DOMINANCE)
            if latency["difference"] <= 0 and recall["difference"] >= 0:
                faster, better = latency["difference_high"] < 0, recall["difference_low"] > 0
                rank = (faster and better, faster or better, -latency["difference"])
                verdict = "yes, both resolved" if rank[0] else "yes, one resolved" if rank[1] else "unresolved"
                found = {"by": other, "verdict": verdict, "latency_ratio": latency["ratio"]}
                found |= {"recall_difference": recall["difference"]}
                best = max(best or ((False, False, -math.inf), {}), (rank, found), key=lambda pair: pair[0])
        if best is None:
            # By means it is not. Resolved only if each impact-aware setting loses one measure beyond its interval.
            lost = []
            for other in (other for other in groups if other.startswith("impact-aware")):
                latency, recall = (paired(groups[other], groups[name], measure) for measure in DOMINANCE)
                lost.append(latency["difference_low"] > 0 or recall["difference_high"] < 0)
            best = (None, {"by": "", "verdict": "no" if all(lost) else "unresolved"})
        rows.append({"gate": name, **best[1]})
    return rows


def at_recall(runset: RunSet, name_of: Callable[[Run], str], recall: float) -> list[dict]:
    """Costs of each series at its smallest L that reaches a recall."""
    rows = []
    for name, runs in _named(runset, name_of).items():
        for (L,), own in sorted(by(runs, "search.L").items()):
            if np.mean([run.metrics(["recall"])["recall"] for run in own]) >= recall:
                rows.append({"series": name, "L": L, **costs(own)})
                break
    return rows


def _named(runset: Iterable[Run], name_of: Callable[[Run], str]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runset:
        groups.setdefault(name_of(run), []).append(run)
    return groups


STEPS = ("Remote-Vamana", "+ calibrated pipeline", "+ impact-aware traversal", "+ pipeline balancing")


def steps(runset: RunSet, recall: float) -> list[dict]:
    """The progressive breakdown in its order."""
    return sorted(at_recall(runset, step_of, recall), key=lambda row: STEPS.index(row["series"]))


def step_of(run: Run) -> str:
    p = run.parameters
    if p["system.kind"] == "remote_vamana":
        return "Remote-Vamana"
    if p["system.gate.kind"] == "wait-all":
        return "+ calibrated pipeline"
    return "+ pipeline balancing" if p["system.balancing.kind"] == "adaptive" else "+ impact-aware traversal"


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
        label: pd.DataFrame({run.parameters["seed"]: _burst_of(run) for run in runs}).T
        for label, runs in _named(runset, _balancing).items()
    }
    for label, runs in sorted(_named(runset, _balancing).items()):
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


def _burst_of(run: Run) -> dict[str, float]:
    begin, end = (run.facts["burst"][key] for key in ("start_ps", "end_ps"))
    q, w = run.queries, run.windows
    middle = (begin + end) / 2
    latency_us = (q.end_ps - q.arrival_ps) / 1e6
    inside = (q.arrival_ps >= begin) & (q.arrival_ps < end)
    before, late = w[w.time_ps.between(q.arrival_ps.min(), begin)], w[w.time_ps.between(middle, end)]
    whole = w[w.time_ps.between(begin, end)]
    # Peak: the largest mean over a fortieth of the burst.
    bins = np.floor((whole.time_ps - begin) / (end - begin) * 40)
    row = {
        "defer_peak": whole.groupby(bins).defer_ratio.mean().max(),
        "defer_low": whole.groupby(bins).defer_ratio.mean().min(),
    }
    for name in ("defer_ratio", "busy_workers", "window", "queries_waiting"):
        row |= {
            f"{name}_before": before[name].mean(),
            f"{name}_settled": late[name].mean(),
            f"{name}_burst": whole[name].mean(),
        }
    row["p99_before_us"] = float(np.quantile(latency_us[q.arrival_ps < begin], 0.99, method="inverted_cdf"))
    row["p99_burst_us"] = float(np.quantile(latency_us[inside], 0.99, method="inverted_cdf"))
    row["mean_burst_us"] = float(latency_us[inside].mean())
    row["recall_burst"] = float(q.recall[inside].mean())
    finished = ((q.end_ps >= begin) & (q.end_ps < end)).sum()
    row["completed_qps_burst"] = float(finished / ((end - begin) / PS_PER_MS / 1e3))
    return row


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
    """What the same memory buys: longer codes, or cached records."""
    keys = ("codes.kind", "codes.bytes", "cluster.record_cache.kind", "search.L")
    groups = by(load_runs(folder), *keys)
    names = ("codes", "bytes", "cache", "L")
    return [{**dict(zip(names, values, strict=True)), **costs(runs)} for values, runs in groups.items()]


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
    "verification": ("fig12a_verification", lambda folder: reads(list(load_runs(folder)))),
    "verification_paired": ("fig12a_verification", _compared),
    "full_record": ("full_record", _full_record),
    "full_record_work": ("work/full_record", _full_record),
    "reads_work": ("work/full_record", lambda folder: reads(list(load_runs(folder)))),
    "reads_sim": ("full_record", lambda folder: reads(list(load_runs(folder)))),
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
    "breakdown": ("fig11_breakdown", lambda folder: steps(load_runs(folder), 0.90)),
    "breakdown_work": ("work/fig11_breakdown", lambda folder: steps(load_runs(folder), 0.0)),
    "causes": ("gate_causes", _causes),
    "causes_work": ("work/gate_causes", _causes),
    "burst": ("fig14_burst", lambda folder: burst(load_runs(folder))),
    "burst_work": ("work/fig14_burst", lambda folder: burst(load_runs(folder))),
    "scaling": ("table3_scaling", _scaling),
    "scaling_work": ("work/table3_scaling", _scaling),
    "sensitivity": ("fig14_sensitivity", _sensitivity),
    "remote_cost_beam1": (
        "beam1/fig01_remote_cost",
        lambda folder: at_recall(load_runs(folder), lambda run: run.parameters["system.kind"], 0.95),
    ),
    "remote_cost": (
        "fig01_remote_cost",
        lambda folder: at_recall(load_runs(folder), lambda run: run.parameters["system.kind"], 0.95),
    ),
}
"""Table: which results it is made from, and how."""
