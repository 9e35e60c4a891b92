"""Programs that do a set amount of work and search for nothing, for tests of the engine."""

import numpy as np

from riftsim.search.messages import Answer, EvaluationTask, ReadRequest, Step, Work


class StubSearch:
    """Rounds of some reads, then of some tasks; a query's work is one unit for its set-up and one for each step.

    Parameters
    ----------
    reads, tasks : list of int
        How many of each a round asks for; the search ends after the last round.
    task_size : int
        Neighbours per task.
    """

    def __init__(self, reads=(), tasks=(), task_size: int = 10):
        self._plan = list(zip(reads, tasks, strict=True))
        self._task_size = task_size

    def start(self, query_index: int) -> Step:
        self._round, self._open = 0, set()
        return self._next(Work(queries=1))

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        self._open -= {("read", tag) for tag in reads} | {("task", number) for number in tasks}
        work = Work(exact=len(reads), merged=len(tasks) * self._task_size)
        return Step(work) if self._open else self._next(work)

    def _next(self, work: Work) -> Step:
        if self._round == len(self._plan):
            return Step(work, done=True)
        reads, tasks = self._plan[self._round]
        first = 1000 * self._round
        self._round += 1
        self._open = {("read", first + i) for i in range(reads)} | {("task", first + i) for i in range(tasks)}
        chain = tuple(ReadRequest(first + i, 0, 0, 0, 0, 256) for i in range(reads))
        return Step(work, chain, tuple(EvaluationTask(first + i, self._task_size) for i in range(tasks)))

    def answer(self) -> Answer:
        return Answer(np.zeros(1, np.int32), np.zeros(1, np.float32), {})
