"""The scale study: what a search costs against the number of vectors, and what follows for 100 M and 1 G of them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from riftsim.reproduction.growth import Growth, grow
from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.scoring import Value
from riftsim.results.store import Run

EXPERIMENT = "scale"
FLIGHTS = (22, 30)
"""Queries in flight on the paper's sets of 100 M vectors and on SIFT1B."""

METRICS = (
    "hops", "expansions", "exact_reads", "reads", "reads_record", "reads_vector", "reads_adjacency",
    "latency_mean_us", "evaluations",
)  # fmt: skip


def study(lab: Lab, recall: str) -> list[dict[str, Any]]:
    """Measure a search at a recall for every size that the level asks for and the data has.

    Parameters
    ----------
    lab : Lab
    recall : {"0.90", "0.95"}
        Of verify-all, which decides L at each size.

    Returns
    -------
    list of dict
        One per size: ``n``, ``L``, ``alpha``, ``candidates`` (what verify-all reads) and the metrics of RiftANN with
        22 queries in flight; ``latency_30_us`` with 30; ``local_us``, ``local_expansions`` of in-memory Vamana and
        ``remote_wait_us`` of Remote-Vamana as section 2 has them.

    Raises
    ------
    NotMeasured
        Fewer than four sizes are there.
    """
    rows: list[dict[str, Any]] = []
    reasons = []
    for size in lab.level.base_sizes:
        try:
            rows.append(_at(lab, size, recall))
        except NotMeasured as reason:
            reasons.append(str(reason))
    if len(rows) < 4:
        raise NotMeasured(f"scale study: {len(rows)} size(s), expected four or more: {reasons[0] if reasons else ''}")
    return rows


def _at(lab: Lab, size: int, recall: str) -> dict[str, Any]:
    dataset = _sized(lab, size)
    L = lab.point(dataset, recall)
    settings = {"search__L": L, "measured_queries": lab.level.queries}
    riftann = {"kind": "riftann", "balancing": {"kind": "fixed"}}
    own, more = (
        lab.runs(EXPERIMENT, dataset, system=riftann, load__concurrency=flights, **settings).runs[0]
        for flights in FLIGHTS
    )
    row: dict[str, Any] = {"n": size, "dataset": dataset["dataset.name"], "L": L, "alpha": own.facts["system"]["alpha"]}
    row |= own.metrics(METRICS)
    row["latency_30_us"] = more.metrics(["latency_mean_us"])["latency_mean_us"]
    every = lab.runs("operating_points", dataset, search__L=L, dataset__split_seed=0)
    row["candidates"] = every.runs[0].metrics(["exact_reads"])["exact_reads"]
    return row | _section2(lab, dataset, float(recall))


def _sized(lab: Lab, size: int) -> dict[str, Any]:
    return {"dataset.queries": lab.level.queries, **_largest_set(lab), "dataset.n": size}


def _section2(lab: Lab, dataset: dict[str, Any], recall: float, hardware: str | None = None) -> dict[str, float]:
    """Return what in-memory Vamana and Remote-Vamana of section 2 spend at the same recall (M04, M05)."""
    local = _at_recall(lab, dataset, recall, {"kind": "in_memory_vamana"}, hardware)
    remote = _at_recall(lab, dataset, recall, {"kind": "remote_vamana", "beam_width": 4}, hardware)
    row = local.metrics(["latency_mean_us", "expansions"])
    return {
        "local_us": row["latency_mean_us"],
        "local_expansions": row["expansions"],
        "remote_wait_us": remote.metrics(["wait_us"])["wait_us"],
    }


def _at_recall(lab: Lab, dataset: dict[str, Any], recall: float, system: dict[str, Any], hardware: str | None) -> Run:
    """Return the run of a system of section 2 at its smallest L; what it searches does not depend on the hardware."""
    settings = {"system": system, "measured_queries": lab.level.queries, "load__concurrency": 32}
    settings["codes"] = {"kind": "pq", "bytes": 64}
    L = lab.matched(EXPERIMENT, dataset, recall, **settings)
    if hardware is not None:
        settings["hardware"] = hardware
    return lab.runs(EXPERIMENT, dataset, search__L=L, **settings).runs[0]


def section2_at(lab: Lab, recall: str, n: float, hardware: str) -> dict[str, float]:
    """Return ``local_us`` and ``remote_wait_us`` of a hardware profile, extrapolated to n vectors."""
    rows = [{"n": size, **_section2(lab, _sized(lab, size), float(recall), hardware)} for size in _sizes(lab)]
    sizes = [row["n"] for row in rows]
    return {name: grow(sizes, [row[name] for row in rows]).predict(n)[0] for name in ("local_us", "remote_wait_us")}


def data_of(lab: Lab) -> str:
    """Say what the scale study is run on."""
    sizes = _sizes(lab)
    name = _largest_set(lab)["dataset.name"]
    return f"{name}, {', '.join(f'{size:,}' for size in sizes)} vectors, {lab.level.queries} queries"


def _sizes(lab: Lab) -> list[int]:
    """Return the sizes that are there."""
    found = []
    for size in lab.level.base_sizes:
        try:
            lab.runs("operating_points", _sized(lab, size), search__L=10, dataset__split_seed=0)
        except NotMeasured:
            continue
        found.append(size)
    return found


def _largest_set(lab: Lab) -> dict[str, Any]:
    """Return the largest set that is there: all sizes are taken from one."""
    reason = None
    for chosen in lab.level.scale_sets:
        probe = {**chosen, "dataset.n": min(lab.level.base_sizes), "dataset.queries": min(200, lab.level.queries)}
        try:
            lab.runs("operating_points", probe, search__L=10, dataset__split_seed=0)
        except NotMeasured as error:
            reason = reason or str(error)
        else:
            return dict(chosen)
    raise NotMeasured(f"scale study: no data set: {reason}")


def law(lab: Lab, quantity: str, recall: str) -> Growth:
    """Return the growth law of a quantity of `study`."""
    rows = study(lab, recall)
    return grow([row["n"] for row in rows], [row[quantity] for row in rows])


def at_scale(lab: Lab, quantity: str, recall: str, n: float, scale: float = 1.0) -> Value:
    """Return a quantity of `study` extrapolated to n vectors, with its prediction interval."""
    found = law(lab, quantity, recall)
    value, low, high = (scale * number for number in found.predict(n))
    return Value(value, low, high, extrapolated=True, on=_on(lab, recall, n, found))


def growth_at_scale(lab: Lab, quantity: str, recall: str, n: float, base: float) -> Value:
    """Return the growth of a quantity from one number of vectors to another."""
    found = law(lab, quantity, recall)
    value, low, high = found.ratio(n, base)
    return Value(value, min(low, high), max(low, high), extrapolated=True, on=_on(lab, recall, n, found))


def _on(lab: Lab, recall: str, n: float, found: Growth) -> str:
    rows = study(lab, recall)
    sizes = [row["n"] for row in rows]
    check = "holds" if found.is_checked else "does not hold"
    name = found.laws[0].name
    return (
        f"{rows[0]['dataset']}, recall {recall}, {min(sizes):,} to {max(sizes):,} vectors, {name} law to {n:.0e}; "
        f"the law of the smaller n {check} for the largest"
    )


def table(lab: Lab, recall: str) -> list[dict[str, Any]]:
    """Return the laws of all quantities: growth per decade, check by the largest n, values at 100 M and 1 G."""
    rows = study(lab, recall)
    sizes = [row["n"] for row in rows]
    found = []
    for quantity in rows[0]:
        values = [row[quantity] for row in rows]
        if quantity in ("n", "dataset") or not np.isfinite(values).all():
            continue
        growth = grow(sizes, values)
        largest, measured, predicted, low, high = growth.held_out[growth.laws[0].name]
        line = {"recall": recall, "quantity": quantity, "law": growth.laws[0].name, "slope": growth.laws[0].slope}
        line |= {"n": largest, "measured": measured, "predicted": predicted, "predicted_low": low}
        line |= {"predicted_high": high, "is_checked": growth.is_checked}
        for n, name in ((1e8, "100M"), (1e9, "1B")):
            line |= dict(zip((f"at_{name}", f"at_{name}_low", f"at_{name}_high"), growth.predict(n), strict=True))
        found.append(line)
    return found


def curves(lab: Lab, recall: str, quantities: Iterable[str]) -> list[dict[str, Any]]:
    """Return what was measured and what the laws give at every half decade up to 1 G vectors, as a figure needs it."""
    measured = study(lab, recall)
    least = measured[0]["n"]
    rows: list[dict[str, Any]] = []
    for quantity in quantities:
        found = law(lab, quantity, recall)
        rows += [
            {"quantity": quantity, "n": row["n"], "value": row[quantity], "low": None, "high": None} for row in measured
        ]
        for n in np.geomspace(least, 1e9, 1 + round(2 * np.log10(1e9 / least))):
            value, low, high = found.predict(float(n))
            rows.append({"quantity": quantity, "n": float(n), "value": value, "low": low, "high": high})
    return rows
