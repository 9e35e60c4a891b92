"""The compiled engine against the SimPy engine: every event, answer, time, counter and sample is the same."""

from dataclasses import replace

import numpy as np
import pytest
from engine_runs import assert_same_events, run_both
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_runs import system_of
from search_worlds import make_world, random_world

from riftsim.computenode.costs import CpuModel
from riftsim.computenode.drivers.compiled import _Engine, run_compiled
from riftsim.computenode.drivers.sim import SimulatedCluster
from riftsim.computenode.engine import Balancing, CpuBudget
from riftsim.controller.fixed import Fixed
from riftsim.controller.protocol import SetPoint
from riftsim.errors import ConfigError
from riftsim.kernels import query as q
from riftsim.kernels.engine_loop import GROW_EVALUATED, GROW_HEAP, GROW_POOL
from riftsim.memnode.shards import contiguous, hashed
from riftsim.rdma.profiles import list_profiles, load_profile, make_profile

GATES = st.one_of(
    st.sampled_from([{"kind": "wait-all"}, {"kind": "ungated"}]),
    st.fixed_dictionaries({"kind": st.just("u-only"), "bound": st.integers(0, 20)}),
    st.fixed_dictionaries(
        {"kind": st.just("rho-only"), "theta": st.sampled_from([0.0, 0.05, 0.4, 1.0]), "history": st.integers(1, 40)}
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("impact-aware"),
            "epsilon": st.sampled_from([0.0, 0.5, 1.0, 4.0]),
            "history": st.integers(1, 64),
            "max_unfinished": st.integers(0, 40),
        }
    ),
)
BALANCING = st.one_of(
    st.just({"kind": "fixed"}),
    st.fixed_dictionaries(
        {
            "kind": st.just("adaptive"),
            "theta_low": st.sampled_from([0.0, 0.2, 0.3]),
            "theta_high": st.sampled_from([0.3, 0.5, 0.65]),
            "interval": st.integers(1, 12),
            "counted": st.sampled_from(["compute-node", "query"]),
            "min_workers": st.just(1),
            "max_workers": st.integers(1, 6),
            "min_window": st.just(1),
            "max_window": st.integers(1, 8),
        }
    ),
)
VERIFICATION = st.sampled_from(
    [
        {"kind": "expansion-only"},
        {"kind": "calibrated", "alpha": None, "delta": 0.001, "calibration_L": 8},
        {"kind": "calibrated", "alpha": 2.5, "delta": 0.001, "calibration_L": 8},
        {"kind": "verify-all"},
    ]
)
ROUNDS = st.fixed_dictionaries(
    {"beam_width": st.integers(1, 6), "verification": st.sampled_from(["expansion-only", "verify-all"])}
)
RIFTANN = st.fixed_dictionaries(
    {
        "window": st.integers(1, 8),
        "window_counts": st.sampled_from(["reads", "expansions"]),
        "verification_window": st.integers(1, 8),
        "verification_from": st.sampled_from(["entry", "eviction"]),
        "record_reads": st.sampled_from(["state-driven", "full-record"]),
        "verification": VERIFICATION,
        "gate": GATES,
        "balancing": BALANCING,
        "workers": st.integers(0, 4),
        "workers_per_query": st.integers(1, 4),
        "split": st.sampled_from(["dynamic", "static"]),
        "main_threads_help": st.booleans(),
        "chunk": st.sampled_from([0, 0, 1, 3]),
    }
)
SYSTEMS = st.sampled_from(["riftann"] * 5 + ["remote", "async"] * 2 + ["in_memory"]).flatmap(
    lambda name: st.tuples(
        st.just(name), RIFTANN if name == "riftann" else st.just({}) if name == "in_memory" else ROUNDS
    )
)


@st.composite
def runs(draw):
    """A system, a cluster and a load, all random."""
    name, choices = draw(SYSTEMS)
    memory_nodes = draw(st.integers(1, 3))
    world = random_world(draw(st.integers(0, 5)), 60, 6, hidden=draw(st.sampled_from([0, 0, 5])))
    if memory_nodes > 1:
        place = draw(st.sampled_from([contiguous, hashed]))
        world = make_world(
            world.vectors, world.queries, world.graph, codec=world.codec, placement=place(60, memory_nodes)
        )
    # The static split needs a thread beside the workers.
    threads, per_thread = draw(st.integers(choices.get("workers", 1) + 1, 6)), draw(st.integers(1, 3))
    context = {"threads": threads, "queries_per_thread": per_thread}
    system = system_of(name, world, list_size=draw(st.integers(3, 24)), k=3, context=context, **choices)
    profile = draw_profile(draw)
    cpu = CpuModel.of(profile.cpu, code_kind="pq", code_bytes=2, vector_bytes=8)
    cluster = SimulatedCluster(
        profile=profile,
        cpu=replace(cpu, contention_permille=draw(st.sampled_from([0, 0, 44, 333]))),
        budget=CpuBudget(threads=threads, queries_per_thread=per_thread),
        balancing=Balancing(Fixed()),
        compute_nodes=draw(st.integers(1, 3)),
        memory_nodes=memory_nodes,
        signal_last_only=draw(st.booleans()),
    )
    load = {
        "queries": 4,
        "warmup": draw(st.integers(0, 4)),
        "measured": draw(st.integers(1, 8)),
        "sample_ps": draw(st.sampled_from([0, 0, 3_000_000, 17_000_001])),
        "seed": draw(st.integers(0, 2**31)),
    }
    if draw(st.booleans()):
        load["concurrency"] = draw(st.integers(1, 9))
    else:
        gaps = draw(st.lists(st.integers(0, 30), min_size=load["warmup"] + load["measured"] + 1, max_size=20))
        load["arrivals_ps"] = np.cumsum(gaps) * draw(st.sampled_from([1, 7_000, 1_000_000]))
    if profile.network.is_free:
        load["sample_ps"] = 0  # time stands still there
    return cluster, system, load


def draw_profile(draw):
    """A profile of the package, perhaps with random tails, few slots on the wire or few cached requests."""
    profile = load_profile(draw(st.sampled_from(list_profiles())))
    if profile.network.is_free:
        return profile
    if draw(st.booleans()):
        profile = make_profile(replace_in(profile.file, tails=True))
    costs = profile.network
    return replace(
        profile,
        network=replace(
            costs,
            max_outstanding=draw(st.sampled_from([1, 2, costs.max_outstanding])),
            cached_requests=draw(st.sampled_from([2, costs.cached_requests])),
            qp_service_ps=draw(st.sampled_from([0, costs.qp_service_ps])),
        ),
    )


def replace_in(file, **changes):
    """A profile file with some fields changed."""
    return type(file)(**({name: getattr(file, name) for name in file.__struct_fields__} | changes))


CHECKS = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=25, **CHECKS)
@given(runs())
def test_both_engines_give_the_same(run):
    cluster, system, load = run
    run_both(cluster, system, **load)


@pytest.mark.slow
@settings(max_examples=500, **CHECKS)
@given(runs())
def test_both_engines_give_the_same_often(run):
    cluster, system, load = run
    run_both(cluster, system, **load)


def small_run(**changes):
    """A cluster, a system and a load of no interest."""
    profile = load_profile("connectx5-100g")
    cluster = SimulatedCluster(
        profile=profile,
        cpu=CpuModel.of(profile.cpu, code_kind="pq", code_bytes=2, vector_bytes=8),
        budget=CpuBudget(threads=4),
        balancing=Balancing(Fixed()),
        compute_nodes=1,
        memory_nodes=1,
    )
    system = system_of("riftann", random_world(1), list_size=12, k=3, context={"threads": 4}, **changes)
    return cluster, system, {"queries": 4, "warmup": 2, "measured": 6, "concurrency": 3}


def test_tables_and_states_grow_during_a_run(monkeypatch):
    """Everything that can grow starts so small that it must."""
    from riftsim.computenode.drivers import compiled_tables
    from riftsim.search import graph_search

    def tiny_state(**arguments):
        state = original(**arguments)
        return state._replace(
            node_ids=np.full(16, -1, np.int32),
            node_status=np.zeros(16, np.uint8),
            unverified=np.zeros(16, np.uint64),
            pending_ids=np.zeros(8, np.int32),
            pending_distances=np.zeros(8, np.float32),
            tasks=np.zeros((2, state.tasks.shape[1]), np.int64),
            trail=np.zeros((16, state.trail.shape[1]), np.int32),
            kept_nodes=state.kept_nodes[:1],
            kept_lists=state.kept_lists[:1].copy(),
        )

    original = graph_search.new_state
    monkeypatch.setattr(graph_search, "new_state", tiny_state)
    grown: list[int] = []
    grow = _Engine._grow
    monkeypatch.setattr(_Engine, "_grow", lambda engine, demand: (grown.append(demand), grow(engine, demand)))
    monkeypatch.setattr(compiled_tables, "_FIRST_EVENTS", 0)
    monkeypatch.setattr(compiled_tables, "_FIRST_TASKS", 1)
    monkeypatch.setattr(compiled_tables, "_FIRST_POOL", 1)
    monkeypatch.setattr(compiled_tables, "LOG_ROWS", 100)
    cluster, system, load = small_run(
        gate={"kind": "ungated"}, chunk=1, record_reads="full-record", verification={"kind": "verify-all"}
    )
    run_both(cluster, system, **load)
    demands = {q.GROW_NODES, q.GROW_PENDING, q.GROW_TRAIL, q.GROW_KEPT, GROW_HEAP, GROW_POOL, GROW_EVALUATED}
    assert set(grown) == demands


def test_recording_events_changes_nothing():
    cluster, system, load = small_run()
    cluster = replace(cluster, **system.cluster_changes)
    blocks: list[np.ndarray] = []
    with_log = run_compiled(cluster, system.new_program, event_log=blocks, **load)
    without = run_compiled(cluster, system.new_program, **load)
    assert with_log.facts == without.facts
    assert sum(map(len, blocks)) == without.facts["events"]


def test_a_policy_in_python_is_refused_by_name():
    class Steady:
        def decide(self, view):
            return SetPoint(view.allowance, view.window)

    cluster, system, load = small_run()
    cluster = replace(cluster, **system.cluster_changes)
    cluster = replace(cluster, balancing=replace(cluster.balancing, controller=Steady()))
    with pytest.raises(ConfigError, match="the controller Steady is Python"):
        run_compiled(cluster, system.new_program, **load)


def test_the_first_event_that_differs_is_named():
    log = np.array([[0, 1, 10, 0, 0, 0], [5, 0, 12, 0, 1, 0]])
    assert_same_events(log, log)
    other = log.copy()
    other[1, 0] = 7
    with pytest.raises(AssertionError, match=r"event 1 differs: compiled THREAD at 5 ps.*, SimPy THREAD at 7 ps"):
        assert_same_events(log, other)
    with pytest.raises(AssertionError, match="event 1 differs: compiled has ended"):
        assert_same_events(log[:1], log)
