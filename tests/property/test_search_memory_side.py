"""DistVS's search: the results of a lock-step search that verifies everything, and an oracle of its calls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_runs import answers_of, local_answers, simulate, system_of
from search_worlds import random_world

from riftsim.computenode.drivers.compiled import run_compiled
from riftsim.computenode.drivers.local import step_through
from riftsim.errors import ConfigError, ProtocolError
from riftsim.kernels import query as q
from riftsim.kernels.candidates import TAKEN, id_of
from riftsim.search.memory_side import HEADER_BYTES, MemorySideSearch
from riftsim.search.rounds import RoundSearch
from riftsim.testing import check_program


def oracle(world, query, list_size, beam):
    """Of each call the survivors sent, the nodes expanded and their unseen neighbours, and all that ever entered.

    Plain lists, each in order.
    """
    compact = world.compact(query)
    key = lambda node: (float(compact[node]), node)  # noqa: E731
    sent, taken, replied, entered, expanded = [], [], [], set(), set()
    candidates, seen, survivors = [], {world.graph.start}, [world.graph.start]
    while True:
        sent.append(survivors)
        candidates = sorted([*candidates, *survivors], key=key)[:list_size]
        entered |= set(candidates)
        chosen = [node for node in candidates if node not in expanded][:beam]
        expanded |= set(chosen)
        taken.append(chosen)
        unseen = []
        for node in chosen:
            for other in world.neighbors(node):
                if other not in seen:
                    seen.add(other)
                    unseen.append(other)
        replied.append(unseen)
        if not chosen:
            return sent, taken, replied, entered
        worst = compact[candidates[-1]] if len(candidates) == list_size else np.inf
        survivors = [node for node in unseen if compact[node] <= worst]


class WatchedSearch(MemorySideSearch):
    """Writes down what goes with each call, and what its thread at the memory node took and found."""

    def start(self, query_index):
        self.sent, self.taken, self.replied = [], [], []
        return super().start(query_index)

    def _call(self, work, survivors, query_bytes=0):
        self.sent.append(self._pending() if self.sent else self._listed())
        before = set(self._listed(taken=True))
        step = super()._call(work, survivors, query_bytes)
        self.taken.append([node for node in self._listed(taken=True) if node not in before])
        self.replied.append(self._pending())
        return step

    def _listed(self, taken=False):
        entries = self.state.candidates[: self.state.numbers[q.LIST_SIZE]]
        return [int(id_of(entry)) for entry in entries if not taken or entry & TAKEN]

    def _pending(self):
        numbers, state = self.state.numbers, self.state
        tasks = [state.tasks[n % len(state.tasks)] for n in range(numbers[q.TASK_HEAD], numbers[q.TASK_TAIL])]
        places = [at for task in tasks for at in range(task[q.TASK_START], task[q.TASK_STOP])]
        return [int(state.pending_ids[at % len(state.pending_ids)]) for at in places]


@settings(max_examples=60)
@given(seed=st.integers(0, 30), query=st.integers(0, 3), list_size=st.integers(4, 20), beam=st.integers(1, 4))
def test_calls_are_the_oracles_and_results_those_of_verifying_everything(seed, query, list_size, beam):
    world = random_world(seed)
    size = {"list_size": list_size, "k": 4, "beam_width": beam}
    search = WatchedSearch(*world.search_arguments(), **size)
    plain = RoundSearch(*world.search_arguments(), **size, verify=q.VERIFY_ALL)
    calls = []
    step = search.start(query)
    while not step.done:
        calls += step.calls
        step = search.receive([step.calls[0].tag], [])
    answer, expected = search.answer(), plain.run(query)
    assert np.array_equal(answer.ids, expected.ids)
    assert np.array_equal(answer.distances, expected.distances)
    for name in ("expansions", "exact_evaluations", "evaluations", "insertions"):
        assert answer.counts[name] == expected.counts[name], name
    sent, taken, replied, entered = oracle(world, query, list_size, beam)
    assert search.sent == sent
    assert search.taken == taken
    assert search.replied == replied
    requests = [HEADER_BYTES + 8 * len(survivors) for survivors in sent]
    requests[0] += world.queries[query].nbytes
    replies = [HEADER_BYTES + 4 * len(unseen) for unseen in replied[:-1]] + [HEADER_BYTES + 4 * 8]
    assert [call.request_bytes for call in calls] == requests
    assert [call.reply_bytes for call in calls] == replies
    assert answer.counts["exact_evaluations"] == len(entered)
    assert answer.counts["calls"] == len(calls)
    assert answer.counts["bytes_read"] == sum(replies)


def test_it_keeps_the_contract():
    world = random_world(1, n=90, degree=7)
    check_program(system_of("distvs", world, list_size=12, k=4).new_program, range(4))
    program = system_of("distvs", world, list_size=12, k=4).new_program()
    program.start(0)
    with pytest.raises(ProtocolError, match="expected replies"):
        program.receive([7], [])
    with pytest.raises(ProtocolError, match="taken up again"):
        program.retry([1])
    assert step_through(program, 1).counts["calls"] > 1


def test_memory_threads_saturate_and_littles_law_holds(photos):
    """With one thread at the memory node its work bounds the rate, whatever the compute node has; two give twice."""
    rates = {}
    for memory_threads, threads in ((1, 9), (1, 17), (2, 18)):
        context = {"threads": threads}
        system = system_of("distvs", photos, memory_threads=memory_threads, queries_per_thread=4, context=context)
        run = simulate(system, concurrency=48, measured=200)
        counters = run.facts["memory_threads"][0]
        rates[memory_threads, threads] = run.throughput_qps
        busy = counters["busy_ps"] / counters["threads"] / run.facts["network"]["span_ps"]
        assert 0.95 < busy <= 1.001
        latency_ps = np.mean([each.end_ps - each.arrival_ps for each in run.runs])
        assert run.throughput_qps * latency_ps / 1e12 == pytest.approx(48, rel=0.1), "Little's law"
        for query, answer in answers_of(run).items():
            assert np.array_equal(answer.ids, local_answers(system)[query].ids)
    assert rates[1, 17] == pytest.approx(rates[1, 9], rel=0.03)
    assert rates[2, 18] == pytest.approx(2 * rates[1, 9], rel=0.06)


def test_threads_are_counted_within_the_budget():
    world = random_world(1)
    system = system_of("distvs", world, context={"threads": 32})
    assert system.cluster_changes["budget"].threads == 26
    with pytest.raises(ConfigError, match="expected fewer"):
        system_of("distvs", world, memory_threads=8)


def test_calls_of_one_turn_share_a_doorbell(photos):
    """A thread that finds several replies makes the next calls together."""
    doorbells = {}
    for per_thread in (1, 16):
        system = system_of("distvs", photos, memory_threads=4, queries_per_thread=per_thread, context={"threads": 5})
        run = simulate(system, concurrency=16, measured=40)
        calls = sum(each.answer.counts["calls"] for each in run.runs)
        served = run.facts["memory_threads"][0]["served"]
        doorbells[per_thread] = run.facts["network"]["compute"][0]["doorbells"] / served
        assert served >= calls
    assert doorbells[1] == pytest.approx(1.0, abs=0.02)
    assert doorbells[16] < 0.9


@pytest.mark.parametrize("name", ["distvs", "cxl_ann"])
def test_the_compiled_engine_names_what_it_does_not_run(name):
    world = random_world(1)
    with pytest.raises(ConfigError, match="compiled engine needs kernels"):
        simulate(system_of(name, world), engine=run_compiled, queries=2, concurrency=2)
