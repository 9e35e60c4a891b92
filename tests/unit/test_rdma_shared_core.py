"""Profiles whose NICs share the core with the search: reads are paid by the core, and both engines agree on it."""

from dataclasses import replace

import pytest
from engine_runs import run_both
from search_runs import system_of

from riftsim.computenode.balancing import Balancing
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.drivers.compiled import python_policy
from riftsim.computenode.drivers.sim import SimulatedCluster, run_simulated
from riftsim.computenode.engine import CpuBudget
from riftsim.constants import Constant
from riftsim.controller.fixed import Fixed
from riftsim.errors import ConfigError
from riftsim.rdma.calibrated import replaced, write_profile
from riftsim.rdma.profiles import load_profile, make_profile
from riftsim.results.trace import trace_of


def file_of(**network_ns):
    """A profile without any network time but that which is named."""
    base = load_profile("zero-wait").file
    constants = {
        f"nic.{key}": Constant(value=value, unit="ns", kind="measured", source="test")
        for key, value in network_ns.items()
    }
    return replaced(base, constants, nic_shares_core=True)


def test_the_stages_of_a_read_are_charged_to_the_core():
    plain = load_profile("zero-wait")
    profile = make_profile(file_of(qp_service_ns=40_000, responder_service_ns=2_000, transit_ns=500))
    assert profile.network.is_free
    assert profile.cpu.build_wr_ps == plain.cpu.build_wr_ps + 42_000_000
    assert profile.cpu.doorbell_ps == plain.cpu.doorbell_ps + 1_000_000


def test_a_rate_is_refused():
    file = replaced(load_profile("connectx5-100g").file, {}, nic_shares_core=True)
    with pytest.raises(ConfigError, match=r"nic_shares_core: found a rate.*expected link\.rate_gbps and pcie"):
        make_profile(file)


def test_a_written_profile_is_read_as_it_was(tmp_path):
    file = file_of(qp_service_ns=40_000)
    write_profile(file, tmp_path / "mine.yaml")
    assert load_profile(tmp_path / "mine.yaml").file == file


def test_a_contradictory_profile_is_not_written(tmp_path):
    wrong = replaced(file_of(), {"nic.qp_service_ns": Constant(value=-1, unit="ns", kind="measured", source="test")})
    with pytest.raises(ConfigError, match=r"nic\.qp_service_ns: found -1"):
        write_profile(wrong, tmp_path / "mine.yaml")
    assert not (tmp_path / "mine.yaml").exists()


def test_the_budget_of_one_core_keeps_the_queries_in_flight():
    budget = CpuBudget(threads=4, workers=2, queries_per_thread=3).on_one_core()
    assert (budget.main_threads, budget.queries_per_thread, budget.workers, budget.dynamic) == (1, 6, 1, True)
    assert budget.workers_first
    assert not CpuBudget(threads=4).on_one_core().workers_first


LOAD = {"queries": 8, "warmup": 1, "measured": 8, "concurrency": 1}


def one_core(photos, name):
    """A system, and the cluster with one core that it runs on."""
    profile = make_profile(file_of(qp_service_ns=40_000))
    system = system_of(name, photos)
    cluster = SimulatedCluster(
        profile=profile,
        cpu=CpuModel.of(profile.cpu, code_kind="pq", code_bytes=16, vector_bytes=128),
        budget=CpuBudget(threads=1),
        balancing=Balancing(Fixed()),
        compute_nodes=1,
        memory_nodes=1,
    )
    cluster = replace(cluster, **system.cluster_changes)
    return replace(system, cluster_changes={}), replace(cluster, budget=cluster.budget.on_one_core())


@pytest.mark.parametrize("name", ["remote", "async"])
def test_nothing_overlaps_on_one_core(photos, name):
    system, cluster = one_core(photos, name)
    run, _ = run_both(cluster, system, **LOAD)
    for query in run.runs:
        assert query.posting_ps >= 40_000_000
        busy_ps = query.evaluation_ps + query.posting_ps + query.polling_ps
        assert (busy_ps, sum(query.waited_ps)) == (query.end_ps - query.start_ps, 0)


def test_a_worker_takes_the_core_before_the_main_thread_goes_on(photos):
    """As threads do that are woken on the processor of their waker; live RiftANN then reads what it reads here."""
    system, cluster = one_core(photos, "riftann")
    trace = trace_of(run_simulated(cluster, system.new_program, traced=range(1, 9), **LOAD).trace, 1)
    tasks = trace.tasks[~trace.tasks["by_main"]]
    assert len(tasks) == len(trace.tasks) > 100
    opened = {row: steps["from_ps"].to_numpy() for row, steps in trace.steps.groupby("row")}
    for each in tasks.itertuples():
        between = (opened[each.row] > each.queued_ps) & (opened[each.row] < each.started_ps)
        assert not between.any()


def test_the_compiled_engine_leaves_workers_on_one_core_to_the_other(photos):
    system, cluster = one_core(photos, "riftann")
    assert python_policy(cluster, system.new_program()) == "the turn of workers on a shared core"
