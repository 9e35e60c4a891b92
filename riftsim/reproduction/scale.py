"""The scale study: what a search costs against the number of vectors, and what follows for 100 M and 1 G of them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riftsim.reproduction.growth import Growth, grow
from riftsim.reproduction.lab import Lab, NotMeasured
from riftsim.reproduction.scoring import Value
from riftsim.results.store import Run

EXPERIMENT = "scale"
FLIGHTS = (22, 30)
"""Queries in flight on the paper's sets of 100 M vectors and on SIFT1B."""

TOGETHER = ("latency_mean_us", "latency_30_us")
"""One search with 22 and with 30 in flight: their latencies take one law, so that growth and latencies agree."""

Row = dict[str, Any]
"""What was measured at a size: ``n``, the ``dataset``, the recall it was matched by as ``target``, and quantities."""

METRICS = (
    "hops", "expansions", "exact_reads", "reads", "reads_record", "reads_vector", "reads_adjacency",
    "latency_mean_us", "evaluations",
)  # fmt: skip


def study(lab: Lab, recall: str) -> list[Row]:
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
        22 queries in flight; ``latency_30_us`` with 30, and what waiting for all evaluations gives instead:
        ``wait_all_30_us`` and ``recall_lost``, its recall less that of the gate; ``local_us``, ``local_expansions`` of
        in-memory Vamana and ``remote_wait_us`` of Remote-Vamana as section 2 has them.

    Raises
    ------
    NotMeasured
        Fewer than four sizes are there.
    """
    return at_each(lab.sizes_of(lab.level.base_sizes), lambda size: _at(lab, size, recall))


def at_each(sizes: Iterable[int], measure: Callable[[int], Row]) -> list[Row]:
    """Measure at every size that the data has.

    Raises
    ------
    NotMeasured
        Fewer than four sizes are there.
    """
    rows: list[Row] = []
    reasons = []
    for size in sizes:
        try:
            rows.append(measure(size))
        except NotMeasured as reason:
            reasons.append(str(reason))
    if len(rows) < 4:
        found = f"scale study: {len(rows)} size(s), expected four or more"
        raise NotMeasured(": ".join([found, *reasons[:1]]))
    return rows


def _at(lab: Lab, size: int, recall: str) -> Row:
    dataset = sized(lab, size)
    L = lab.point(dataset, recall)
    settings = {"search__L": L, "measured_queries": lab.level.queries}
    riftann = {"kind": "riftann", "balancing": {"kind": "fixed"}}
    own, more = (
        lab.runs(EXPERIMENT, dataset, system=riftann, load__concurrency=flights, **settings).runs[0]
        for flights in FLIGHTS
    )
    row: Row = {"n": size, "dataset": dataset["dataset.name"], "target": recall, "L": L}
    row |= {"alpha": own.facts["system"]["alpha"], **own.metrics(METRICS)}
    waiting = {**riftann, "gate": {"kind": "wait-all"}}
    last = lab.runs(EXPERIMENT, dataset, system=waiting, load__concurrency=FLIGHTS[1], **settings).runs[0]
    gated, whole = (run.metrics(["latency_mean_us", "recall"]) for run in (more, last))
    row |= {"latency_30_us": gated["latency_mean_us"], "wait_all_30_us": whole["latency_mean_us"]}
    row |= {"gate_over_wait_all": gated["latency_mean_us"] / whole["latency_mean_us"]}
    row |= {"recall_lost": whole["recall"] - gated["recall"]}
    every = lab.runs("operating_points", dataset, search__L=L, dataset__split_seed=0)
    row["candidates"] = every.runs[0].metrics(["exact_reads"])["exact_reads"]
    return row | _section2(lab, dataset, float(recall))


def sized(lab: Lab, size: int) -> dict[str, Any]:
    """Return the settings that choose so many vectors of the largest set that is there."""
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


def section2_at(lab: Lab, recall: str, n: float, hardware: str | None = None) -> dict[str, float]:
    """Return ``local_us`` and ``remote_wait_us`` of a hardware profile (the lab's), extrapolated to n vectors."""
    rows = [{"n": size, **_section2(lab, sized(lab, size), float(recall), hardware)} for size in _sizes(lab)]
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
    for size in lab.sizes_of(lab.level.base_sizes):
        try:
            lab.runs("operating_points", sized(lab, size), search__L=10, dataset__split_seed=0)
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


def law(rows: Sequence[Row], quantity: str) -> Growth:
    """Return the growth law of a quantity of some rows."""
    others = [name for name in TOGETHER if name != quantity] if quantity in TOGETHER else []
    return grow(
        [row["n"] for row in rows],
        [row[quantity] for row in rows],
        [[row[name] for row in rows] for name in others],
    )


def at_scale(rows: Sequence[Row], quantity: str, n: float, scale: float = 1.0) -> Value:
    """Return a quantity extrapolated to n vectors, with its prediction interval."""
    found = law(rows, quantity)
    value, low, high = (scale * number for number in found.predict(n))
    return Value(value, low, high, extrapolated=True, on=_on(rows, n, found))


def growth_at_scale(rows: Sequence[Row], before: tuple[str, float], after: tuple[str, float]) -> Value:
    """Return a quantity at one number of vectors over another quantity at a smaller number.

    It is the growth of the latter by its law, times what the former was over the latter at the largest size measured;
    the prediction interval is that of the growth, times the same.

    Parameters
    ----------
    rows : sequence of dict
    before, after : tuple of (str, float)
        Quantity and number of vectors.
    """
    (quantity, base), (then, n) = before, after
    found = law(rows, quantity)
    largest = max(rows, key=lambda row: row["n"])
    factor = largest[then] / largest[quantity]
    value, low, high = (factor * number for number in found.ratio(n, base))
    on = f"{_on(rows, n, found)}; times {factor:.3f}, {then} over {quantity} there"
    return Value(value, low, high, extrapolated=True, on=on)


def rate_at_scale(latency_ms: Value, in_flight: int) -> Value:
    """Return the kqps that follow from an extrapolated latency with so many queries in flight (Little's law)."""
    high = in_flight / latency_ms.low if latency_ms.low > 0 else math.inf
    return replace(latency_ms, value=in_flight / latency_ms.value, low=in_flight / latency_ms.high, high=high)


def _on(rows: Sequence[Row], n: float, found: Growth) -> str:
    sizes = [row["n"] for row in rows]
    check = "holds" if found.is_checked else "does not hold"
    name = found.laws[0].name
    return (
        f"{rows[0]['dataset']}, recall {rows[0]['target']}, {min(sizes):,} to {max(sizes):,} vectors, "
        f"{name} law to {n:.0e}; the law of the smaller n {check} for the largest"
    )


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the laws of all quantities: growth per decade, check by the largest n, values at 100 M and 1 G."""
    found = []
    for quantity in rows[0]:
        if quantity in ("n", "dataset", "target") or not np.isfinite([row[quantity] for row in rows]).all():
            continue
        growth = law(rows, quantity)
        largest, measured, predicted, low, high = growth.held_out[growth.laws[0].name]
        line = {"recall": rows[0]["target"], "quantity": quantity, "law": growth.laws[0].name}
        line |= {"slope": growth.laws[0].slope, "n": largest, "measured": measured, "predicted": predicted}
        line |= {"predicted_low": low, "predicted_high": high, "is_checked": growth.is_checked}
        for n, name in ((1e8, "100M"), (1e9, "1B")):
            line |= dict(zip((f"at_{name}", f"at_{name}_low", f"at_{name}_high"), growth.predict(n), strict=True))
        found.append(line)
    return found


def curves(rows: Sequence[Row], quantities: Iterable[str]) -> list[dict[str, Any]]:
    """Return what was measured and what the laws give at every half decade up to 1 G vectors, as a figure needs it."""
    least = rows[0]["n"]
    points: list[dict[str, Any]] = []
    for quantity in quantities:
        found = law(rows, quantity)
        points += [
            {"quantity": quantity, "n": row["n"], "value": row[quantity], "low": None, "high": None} for row in rows
        ]
        for n in np.geomspace(least, 1e9, 1 + round(2 * np.log10(1e9 / least))):
            value, low, high = found.predict(float(n))
            points.append({"quantity": quantity, "n": float(n), "value": value, "low": low, "high": high})
    return points
