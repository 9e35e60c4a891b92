"""The conformance kit for search programs: built-in programs keep the contract, and every way to break it is named."""

import numpy as np
import pytest
from search_runs import system_of
from search_stubs import StubSearch
from search_worlds import random_world

from riftsim.errors import PluginError, ProtocolError
from riftsim.search.messages import Answer, EvaluationTask, ReadRequest, Step, Work
from riftsim.testing import check_program

SYSTEMS = [
    ("in_memory", {}),
    ("remote", {"verification": "verify-all"}),
    ("async", {"verification": "verify-all"}),
    ("riftann", {"window_counts": "reads"}),
    ("riftann", {"record_reads": "full-record", "gate": {"kind": "ungated"}, "chunk": 2}),
]


@pytest.mark.parametrize(("name", "settings"), SYSTEMS, ids=[f"{name}-{'-'.join(keys)}" for name, keys in SYSTEMS])
def test_built_in_programs_keep_the_contract(name, settings):
    system = system_of(name, random_world(1, n=90, degree=7), list_size=12, k=4, **settings)
    check_program(system.new_program, range(4))


class Sound(StubSearch):
    """Three reads and two tasks, then one read; refuses what it did not ask for."""

    def __init__(self):
        super().__init__(reads=[3, 1], tasks=[2, 0])

    def receive(self, reads, tasks):
        told = [("read", tag) for tag in reads] + [("task", number) for number in tasks]
        if len(set(told)) < len(told) or not set(told) <= self._open:
            raise ProtocolError("not asked for")
        return super().receive(reads, tasks)


def test_a_sound_stub_passes():
    check_program(Sound, range(2))


class Trusting(StubSearch):
    def __init__(self):
        super().__init__(reads=[2], tasks=[1])


class Impatient(Sound):
    def receive(self, reads, tasks):
        return super().receive(reads, tasks)._replace(done=True)


class Stuck(Sound):
    def start(self, query_index):
        super().start(query_index)
        self._open = set()
        return Step(Work())


class TwiceTheTag(Sound):
    def start(self, query_index):
        step = super().start(query_index)
        return step._replace(chain=(step.chain[0], step.chain[0]))


class HugeTag(Sound):
    def start(self, query_index):
        return Step(Work(), (ReadRequest(1 << 24, 0, 0, 0, 0, 8),))


class EmptyTask(Sound):
    def start(self, query_index):
        return Step(Work(), tasks=(EvaluationTask(0, 0),))


class NegativeWork(Sound):
    def start(self, query_index):
        return super().start(query_index)._replace(work=Work(merged=-3))


class NoStep(Sound):
    def start(self, query_index):
        return None


class Forgetful(Sound):
    """The number of searches so far leaks into the answer."""

    searches = 0

    def start(self, query_index):
        self.searches += 1
        return super().start(query_index)

    def answer(self):
        return super().answer()._replace(counts={"searches": self.searches})


def answering(ids, distances, dtype=np.int32):
    class Answering(Sound):
        def answer(self):
            return Answer(np.array(ids, dtype), np.array(distances, np.float32), {})

    return Answering


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (Trusting, r"took in reads .* expected ProtocolError"),
        (Impatient, r"has ended with reads"),
        (Stuck, r"waits with reads \[\] and tasks \[\] open"),
        (TwiceTheTag, r"asks for read 0 with \[\] open"),
        (HugeTag, r"asks for read 16777216"),
        (EmptyTask, r"task 0 has size 0"),
        (NegativeWork, r"has done \{'merged': -3\}"),
        (NoStep, r"answered with a NoneType"),
        (Forgetful, r"counts \{'searches': 1\} by a new program"),
        (answering([1, 1], [0.0, 0.0]), r"expected different ids"),
        (answering([1, 2], [1.0, 0.0]), r"nearest first"),
        (answering([-1, 2], [1.0, 1.0]), r"then -1 at infinity"),
        (answering([1, -1], [1.0, 2.0]), r"then -1 at infinity"),
        (answering([1], [1.0], np.int64), r"returned ids int64 \(1,\)"),
    ],
)
def test_what_breaks_it(program, message):
    with pytest.raises(PluginError, match=message):
        check_program(program, range(2))
