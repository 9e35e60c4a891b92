"""RiftANN (section 3): calibrated one-sided pipeline, impact-aware traversal, pipeline balancing.

The three parts are settings of one search: which exact vectors are read (``verification``, ``record_reads``,
``window``), when expansion may run ahead of evaluation (``gate``, ``workers``), and how window and workers follow the
load (``balancing``). Each ablation of the paper's evaluation is one of these settings changed.
"""

from collections.abc import Callable
from typing import Any

from riftsim import plugins
from riftsim.computenode.balancing import Balancing
from riftsim.computenode.engine import CpuBudget
from riftsim.controller.defer_ratio import DeferRatio
from riftsim.controller.fixed import Fixed
from riftsim.controller.protocol import Controller
from riftsim.kernels import gate as gates
from riftsim.kernels import query as q
from riftsim.search.eager import EagerRules, EagerSearch
from riftsim.systems.context import System, SystemContext
from riftsim.systems.remote_vamana import VERIFICATION

_WINDOWS = {"reads": q.WINDOW_OF_READS, "expansions": q.WINDOW_OF_EXPANSIONS}


def build(
    context: SystemContext,
    *,
    window: int,
    window_counts: str,
    verification_window: int,
    verification_from: str,
    record_reads: str,
    verification: dict[str, Any],
    gate: dict[str, Any],
    balancing: dict[str, Any],
    workers: int,
    workers_per_query: int,
    split: str,
    main_threads_help: bool,
    chunk: int,
) -> System:
    """Build the system; the parameters are the keys of ``RiftAnnConfig`` in ``config.systems``."""
    alpha = None
    if verification["kind"] == "calibrated":
        alpha = verification["alpha"]
        if alpha is None:
            alpha = context.calibrated_alpha(verification["delta"], verification["calibration_L"])
    rule = None
    if verification["kind"] == "plugin":
        rule = plugins.make("verification", verification["name"], verification["options"])
    kind, bound, limit, history, policy = _gate(gate)
    controller, interval, per_query, max_window = _balancing(balancing)
    rules = EagerRules(
        window=window,
        max_window=max(window, max_window),
        window_counts=_WINDOWS[window_counts],
        verify_cap=verification_window,
        verify=q.VERIFY_CALIBRATED if rule else VERIFICATION[verification["kind"]],
        alpha=alpha or 1.0,
        verify_evicted=verification_from == "eviction",
        full_record=record_reads == "full-record",
        gate=kind,
        gate_bound=bound,
        gate_limit=limit,
        history=history,
        chunk=chunk,
    )

    def new_program() -> EagerSearch:
        return context.new_search(
            EagerSearch,
            rules=rules,
            gate_policy=policy,
            verification_policy=rule,
            true_ids=context.true_ids if rules.verify == q.VERIFY_ORACLE else None,
        )

    threads, per_thread = context.threads, context.queries_per_thread
    budget = CpuBudget(
        threads=threads,
        workers=workers,
        dynamic=split == "dynamic",
        queries_per_thread=per_thread,
        main_threads_help=main_threads_help or workers == 0,
    )
    return System(
        "riftann",
        new_program,
        state_bytes=new_program().state_bytes,
        cluster_changes={
            "budget": budget,
            "balancing": Balancing(controller, interval, per_query, min(workers_per_query, max(1, workers))),
        },
        facts={} if alpha is None else {"alpha": alpha},
    )


def _gate(settings: dict[str, Any]) -> tuple[int, int, float, int, Any]:
    """Kernel policy, bound, limit, history and policy in Python of a gate block."""
    kind = settings["kind"]
    if kind == "wait-all":
        return gates.GATE_WAIT_ALL, 0, 0.0, 1, None
    if kind == "u-only":
        return gates.GATE_BACKLOG, settings["bound"], 0.0, 1, None
    if kind == "rho-only":
        return gates.GATE_RATIO, 0, settings["theta"], settings["history"], None
    if kind == "impact-aware":
        return gates.GATE_IMPACT, settings["max_unfinished"], settings["epsilon"], settings["history"], None
    if kind == "ungated":
        return gates.GATE_UNGATED, 0, 0.0, 1, None
    if kind == "oracle":
        return gates.GATE_ORACLE, settings["epsilon"], 0.0, 1, None
    policy = plugins.make("gate", settings["name"], settings["options"], Callable)
    return gates.GATE_EXTERNAL, 0, 0.0, 64, policy


def _balancing(settings: dict[str, Any]) -> tuple[Any, int, bool, int]:
    """Controller, interval, whether completions are counted per query, and the largest window it may set."""
    kind = settings["kind"]
    if kind == "fixed":
        return Fixed(), 32, False, 1
    if kind == "adaptive":
        controller = DeferRatio(
            theta_low=settings["theta_low"],
            theta_high=settings["theta_high"],
            min_allowance=settings["min_workers"],
            max_allowance=settings["max_workers"],
            min_window=settings["min_window"],
            max_window=settings["max_window"],
        )
        return controller, settings["interval"], settings["counted"] == "query", settings["max_window"]
    controller = plugins.make("controller", settings["name"], settings["options"], Controller)
    return controller, 32, False, 32
