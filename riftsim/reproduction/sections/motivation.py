"""Sections 1 and 2: what remote memory costs, what asynchrony hides, and how other systems scale."""

from dataclasses import replace

import numpy as np

from riftsim.rdma.probe import closed_loop, contended_read_us
from riftsim.reproduction.groups import burst, by
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import (
    difference,
    every,
    exactly,
    measures,
    metric,
    of_runs,
    ratio,
)
from riftsim.reproduction.scoring import Order, Value
from riftsim.reproduction.studies import at_recall, block, bursts, gates, repeated, section2
from riftsim.reproduction.variants import base_profile
from riftsim.results.intervals import ratio_interval
from riftsim.results.metric_rows import latency_us
from riftsim.results.store import Run
from riftsim.units import PS_PER_US

_CONTENDED_MOPS = 17.1
"""Reads per second on SIFT100M: 20.1 KQPS (P15) of 853 requests (P01)."""

_ON = "recall 0.95, codes of 64 bytes"
_ON_ASYNC = "recall 0.95, codes of 128 bytes"
_ON_DELAYED = "beam of 8, at the L with 0.9947 without the delay"


@measures("M01")
def lone_read(lab: Lab) -> list[Value]:
    """Latency of a lone one-sided READ of 128 B (M01)."""
    read = closed_loop(base_profile(lab.hardware), threads=1, depth=1, length_bytes=128)
    return [exactly(read.batch_us, same_data=True, on="one thread, one READ of 128 B at a time")]


@measures("M02", "admission_policies")
def contended_read(lab: Lab) -> list[Value]:
    """Latency of a READ of 128 B under contention (M02)."""
    default = gates(lab, "SIFT", "work")["impact-aware 1.0"]
    chain = max(1, round(metric(default, "reads_per_chain").value))
    read_us = contended_read_us(base_profile(lab.hardware), _CONTENDED_MOPS, chain)
    on = f"{_CONTENDED_MOPS} M reads/s of RiftANN's sizes, {chain} per doorbell as at 405 expansions"
    return [exactly(read_us, same_data=True, on=on)]


def _rest_us(run: Run) -> np.ndarray:
    return latency_us(run.queries) - run.queries["wait_ps"].to_numpy() / PS_PER_US


@measures("M03", "fig01_remote_cost")
def remote_over_local(lab: Lab) -> list[Value]:
    """Latency, Remote-Vamana over in-memory Vamana (M03)."""
    return [_on(ratio(section2(lab, "remote_vamana"), section2(lab, "in_memory_vamana")))]


def _on(value: Value, on: str = _ON) -> Value:
    return replace(value, on=on)


@measures("M04", "fig01_remote_cost")
def remote_access(lab: Lab) -> list[Value]:
    """Time that Remote-Vamana spends on remote accesses, per query (M04)."""
    return [_on(metric(section2(lab, "remote_vamana"), "wait_us"))]


@measures("M05", "fig01_remote_cost")
def local_time(lab: Lab) -> list[Value]:
    """Time that in-memory Vamana spends, per query (it reads nothing remote) (M05)."""
    return [_on(metric(section2(lab, "in_memory_vamana"), "latency_mean_us"))]


@measures("M06", "fig01_remote_cost")
def remote_rest(lab: Lab) -> list[Value]:
    """Time that Remote-Vamana spends on all but remote accesses, per query (M06)."""
    return [_on(of_runs(section2(lab, "remote_vamana"), lambda run: float(_rest_us(run).mean())))]


@measures("M07", "fig01_remote_cost")
def idle(lab: Lab) -> list[Value]:
    """CPU idle time per query that dependent stages cause (M07)."""
    return remote_access(lab)


@measures("M27", "fig01_remote_cost")
def rest_over_local(lab: Lab) -> list[Value]:
    """Time but for remote accesses, Remote-Vamana over in-memory Vamana (374 / 291) (M27)."""
    remote, local = section2(lab, "remote_vamana"), section2(lab, "in_memory_vamana")
    ratios = {
        run.path: float(_rest_us(run).mean() / latency_us(other.queries).mean())
        for run, other in zip(remote, local, strict=True)
    }
    return [_on(of_runs(remote, lambda run: ratios[run.path]))]


@measures("M09", "fig02b_read_size")
def climbs(lab: Lab) -> list[Order]:
    """A READ of 4 KiB takes longer over one of 1 KiB than one of 1 KiB over one of 256 B."""
    groups = by(lab.runs("fig02b_read_size", "SIFT", measured_queries=min(300, lab.level.queries)), "index.R")
    points = [tuple(runs[0].metrics(["bytes_per_read", "wait_per_chain_us"]).values()) for runs in groups.values()]
    sizes, waits_us = np.array(sorted(points)).T
    at = np.interp(np.log([256, 1024, 4096]), np.log(sizes), waits_us)
    on = f"256 B {at[0]:.2f}, 1 KiB {at[1]:.2f}, 4 KiB {at[2]:.2f} us"
    return [Order(bool(at[2] / at[1] > at[1] / at[0]), on)]


def _by_degree(lab: Lab, degree: int) -> list[Run]:
    settings = {"index__R": degree, "dataset__split_seed": 0}
    L = lab.matched("reads_per_degree", "SIFT", 0.95, **settings)
    return list(lab.runs("reads_per_degree", "SIFT", search__L=L, **settings))


@measures("M10", "reads_per_degree")
def reads_at_32(lab: Lab) -> list[Value]:
    """Exact-vector reads per query if every newly discovered neighbour is read, SIFT100M, degree 32 (M10)."""
    return [_on(metric(_by_degree(lab, 32), "exact_reads"), "recall 0.95")]


@measures("M11", "reads_per_degree")
def reads_at_128(lab: Lab) -> list[Value]:
    """Exact-vector reads per query at degree 128 (M11)."""
    return [_on(metric(_by_degree(lab, 128), "exact_reads"), "recall 0.95")]


@measures("M12", "reads_per_degree")
def never_expanded(lab: Lab) -> list[Value]:
    """Share of fetched candidates that are never expanded, degrees 32 to 128 (M12)."""
    shares = []
    for degree in (32, 128):
        q = _by_degree(lab, degree)[0].queries
        reads = (q["reads_record"] + q["reads_vector"]).to_numpy(float)
        unexpanded = reads - q["expansions"].to_numpy(float)
        low, high = ratio_interval(unexpanded, reads, q["query"].to_numpy())
        shares.append(Value(unexpanded.sum() / reads.sum(), low, high, on=f"recall 0.95, degree {degree}"))
    return shares


def _async(lab: Lab, kind: str) -> list[Run]:
    return at_recall(lab, "async_vamana", "SIFT", 0.95, system=block(lab, "async_vamana", kind))


@measures("M13", "async_vamana")
def async_latency(lab: Lab) -> list[Value]:
    """Mean latency of Async-Vamana, SIFT100M, high-precision codes (M13)."""
    return [_on(metric(_async(lab, "async_vamana"), "latency_mean_us"), _ON_ASYNC)]


@measures("M25", "async_vamana")
def remote_latency(lab: Lab) -> list[Value]:
    """Mean latency of Remote-Vamana, SIFT100M, high-precision codes (M25)."""
    return [_on(metric(_async(lab, "remote_vamana"), "latency_mean_us"), _ON_ASYNC)]


@measures("M14", "async_vamana")
def remote_over_async(lab: Lab) -> list[Value]:
    """Latency, Remote-Vamana over Async-Vamana (550 / 368) (M14)."""
    return [_on(ratio(_async(lab, "remote_vamana"), _async(lab, "async_vamana")), _ON_ASYNC)]


@measures("M15", "async_vamana")
def evaluation_share(lab: Lab) -> list[Value]:
    """Share of candidate evaluation in the time of Async-Vamana (M15)."""
    return [_on(metric(_async(lab, "async_vamana"), "evaluation_share"), _ON_ASYNC)]


def _delayed(lab: Lab, delayed: bool) -> list[Run]:
    undelayed = {"kind": "one_hop_delay", "beam_width": 8, "delayed": False}
    L = lab.matched("one_hop_delay", "SIFT", 0.9947, system=undelayed, dataset__split_seed=0)
    system = {"kind": "one_hop_delay", "beam_width": 8} if delayed else undelayed
    return repeated(lab, "one_hop_delay", "SIFT", search__L=L, system=system)


@measures("M16", "one_hop_delay")
def delayed_recall(lab: Lab) -> list[Value]:
    """Recall@10 if every finished evaluation reaches the list one expansion hop late (M16)."""
    return [_on(difference(_delayed(lab, True), _delayed(lab, False)), _ON_DELAYED)]


@measures("M26", "one_hop_delay")
def undelayed_recall(lab: Lab) -> list[Value]:
    """Recall@10 without that delay (M26)."""
    return [_on(metric(_delayed(lab, False), "recall"), _ON_DELAYED)]


@measures("M17", "fig03_evaluation_share")
def evaluation_over_fetching(lab: Lab) -> list[Value]:
    """Least and most over sets, beam widths and queries in flight."""
    found: list[Value] = []
    for dataset in lab.sets():
        L = lab.matched(
            "fig03_evaluation_share",
            dataset,
            0.95,
            system={"kind": "async_vamana", "beam_width": 4},
            load__concurrency=32,
            measured_queries=lab.level.queries,
        )
        for run in lab.runs("fig03_evaluation_share", dataset, search__L=L, measured_queries=lab.level.queries):
            parameters = run.parameters
            on = f"{dataset}, beam {parameters['system.beam_width']}, {parameters['load.concurrency']} in flight"
            found.append(_on(metric([run], "work_over_wait"), on))
    return [min(found, key=lambda one: one.value), max(found, key=lambda one: one.value)]


@measures("M28", "fig14_burst")
def rise_of_p99(lab: Lab) -> list[Value]:
    """P99 of a fixed configuration, doubled arrival rate over steady (3.02 / 1.46 ms) (M28)."""
    fixed = bursts(lab)[1]
    rise = of_runs(fixed, lambda run: burst(run)["p99_burst_us"] / burst(run)["p99_before_us"])
    return [_on(rise, lab.on("SIFT", "0.95"))]


@measures("M30", "fig07_concurrency")
def more_queries(lab: Lab) -> list[Order]:
    """Each doubling raises throughput (or leaves it within 1 %), and by a factor that does not grow (within 5 %)."""
    runs = lab.runs(
        "fig07_concurrency", "SIFT", search__L=lab.point("SIFT", "0.95"), measured_queries=lab.level.queries
    )
    rates = {run.parameters["load.concurrency"]: run.metrics(["qps"])["qps"] for run in runs}
    steps = np.array([rates[count] for count in sorted(rates)])
    factors = steps[1:] / steps[:-1]
    holds = bool((factors > 0.99).all() and (factors[1:] <= 1.05 * factors[:-1]).all() and factors[-1] < factors[0])
    return [Order(holds, ", ".join(f"{count}: {rates[count] / 1e3:.1f} kQPS" for count in sorted(rates)))]


@measures("M31", "fig07_concurrency")
def more_workers(lab: Lab) -> list[Order]:
    """From 1 to 6 workers, evaluation time falls and the wait per read stays within 10 %."""
    runs = repeated(
        lab,
        "fig07_concurrency",
        "SIFT",
        file="workers.yaml",
        search__L=lab.point("SIFT", "0.95"),
        measured_queries=lab.level.queries,
    )
    groups = by(runs, "system.workers")
    one, most = groups[1,], groups[6,]
    slow, fast = metric(one, "evaluation_whole_us"), metric(most, "evaluation_whole_us")
    waits = [metric(side, "wait_per_read_us").value for side in (one, most)]
    on = f"evaluation {slow.value:.1f} to {fast.value:.1f} us, wait per read {waits[0]:.3f} to {waits[1]:.3f} us"
    falls = True if fast.high < slow.low else False if fast.low > slow.high else None
    return [every([falls, abs(waits[1] / waits[0] - 1) <= 0.1], on)]
