"""Evaluation workers as threads of this process (RiftANN, sections 3.3 and 3.4): the pool of a live run.

The rules are those of the simulated pool (``workers``): one queue, the oldest task whose query may have one more
running, no worker reserved for a query.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from riftsim.kernels import worker_pool as p
from riftsim.search.messages import EvaluationTask

_PTHREAD_BYTES = 64
"""At least the size of a mutex or a condition; one filled with zeros is initialised (POSIX threads under Linux)."""
_FIRST_CAPACITY = 256


class HasHandle(Protocol):
    """A search that shows where its state is."""

    @property
    def handle(self) -> np.ndarray:
        """Handle of the state; int64 (words,)."""


class WorkerThreads:
    """Threads that evaluate, and their queue.

    Parameters
    ----------
    index : int64 (words,)
        Handle of the index.
    queries : ndarray (q, d)
        The evaluated queries.
    slots : int
        Queries that may be open at once.
    workers : int
        Threads.
    """

    def __init__(self, index: np.ndarray, queries: np.ndarray, slots: int, workers: int):
        self.workers = workers
        self._queries = queries
        self._index = index
        self._locks = np.zeros((3, _PTHREAD_BYTES), np.uint8)
        self._slots = np.zeros((slots, p.SLOT_COLUMNS), np.int64)
        self._handles: list[np.ndarray | None] = [None] * slots
        self._growing = threading.Lock()
        self._tables = [np.zeros((_FIRST_CAPACITY, p.QUEUE_COLUMNS), np.int64) for _ in range(2)]
        self._pool = np.zeros(p.POOL_WORDS, np.int64)
        for position, lock in zip((p.MUTEX, p.WORK, p.REST), self._locks, strict=True):
            self._pool[position] = lock.ctypes.data
        self._pool[p.INDEX], self._pool[p.INDEX_WORDS] = index.ctypes.data, len(index)
        self._pool[p.QUEUE], self._pool[p.DONE] = (table.ctypes.data for table in self._tables)
        self._pool[p.CAPACITY] = _FIRST_CAPACITY
        self._pool[p.SLOTS], self._pool[p.SLOT_ROWS] = self._slots.ctypes.data, slots
        self._compile()
        self._threads = [
            threading.Thread(target=p.work, args=(self._pool, queries), name=f"evaluation-{i}", daemon=True)
            for i in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def free(self) -> int:
        """Workers without a task at this moment."""
        return self.workers - int(self._pool[p.BUSY])

    def open_slot(self, slot: int, owner: int, state: np.ndarray, query: int, allowance: int) -> None:
        """Begin a query: the event loop that drives it, the handle of its state, its row, its T_q."""
        self._handles[slot] = state
        p.open_slot(self._pool, slot, owner, state.ctypes.data, len(state), query, allowance)

    def allow(self, slot: int, allowance: int) -> None:
        """Set T_q of a query."""
        p.allow(self._pool, slot, allowance)

    def submit(self, slot: int, tasks: tuple[EvaluationTask, ...]) -> None:
        """Queue tasks that a query has just handed over."""
        numbers = np.array([task.number for task in tasks], np.int64)
        while not p.submit(self._pool, slot, numbers):
            self._enlarge()

    def collect(self, owner: int, out: np.ndarray) -> list[tuple[int, int]]:
        """Slot and number of evaluated tasks of an event loop's queries; ``out`` (int64 (rows, 2)) is scratch."""
        count = p.collect(self._pool, owner, out)
        return out[:count].tolist() if count else []

    def evaluate_own(self, owner: int) -> bool:
        """Evaluate the oldest queued task of an event loop's queries on the calling thread, if there is one."""
        return p.evaluate_own(self._pool, self._queries, owner)

    @contextmanager
    def held(self, slot: int, search: HasHandle) -> Iterator[None]:
        """Keep workers off the state of a query while its search replaces the arrays."""
        p.hold(self._pool, slot)
        try:
            yield
        finally:
            state = search.handle
            p.go_on(self._pool, slot, state.ctypes.data, len(state))
            self._handles[slot] = state

    def close(self) -> None:
        """Let the threads end; once more is harmless."""
        p.stop(self._pool)
        for thread in self._threads:
            thread.join()

    def _compile(self) -> None:
        """Call every kernel once, with nothing to do: none is compiled while queries are under way."""
        pool, nothing = self._pool, np.zeros(0, np.int64)
        pool[p.STOP] = 1
        p.work(pool, self._queries)
        p.submit(pool, 0, nothing)
        p.collect(pool, 0, np.zeros((1, p.QUEUE_COLUMNS), np.int64))
        p.evaluate_own(pool, self._queries, 0)
        p.open_slot(pool, 0, 0, 0, 0, 0, 0)
        p.allow(pool, 0, 0)
        p.hold(pool, 0)
        p.go_on(pool, 0, 0, 0)
        p.enlarge(pool, *(table.ctypes.data for table in self._tables), _FIRST_CAPACITY)
        pool[p.STOP] = 0

    def _enlarge(self) -> None:
        with self._growing:
            capacity = 2 * int(self._pool[p.CAPACITY])
            larger = [np.zeros((capacity, p.QUEUE_COLUMNS), np.int64) for _ in range(2)]
            p.enlarge(self._pool, larger[0].ctypes.data, larger[1].ctypes.data, capacity)
            self._tables = larger
