"""Running the pieces of one kernel on several threads, each with scratch arrays of its own."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue


def usable_threads(threads: int | None) -> int:
    """Return ``threads``, or the processors that this process may use."""
    return threads if threads is not None else len(os.sched_getaffinity(0))


class Pieces:
    """A pool that applies kernels, which release the interpreter lock, to ranges of rows.

    Threads of the standard library rather than numba's: they compile faster, do not spin between batches, survive a
    fork and may be used by several callers at once.

    Parameters
    ----------
    threads : int
        Most kernels at a time.
    scratch : callable
        Makes the scratch arrays of one thread.
    """

    def __init__(self, threads: int, scratch: Callable[[], tuple]):
        self._threads = threads
        self._scratch = SimpleQueue()
        for _ in range(threads):
            self._scratch.put(scratch())
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __enter__(self) -> "Pieces":
        return self

    def __exit__(self, *_) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def run(self, piece: Callable[[int, int, tuple], None], first: int, stop: int, least: int = 32) -> None:
        """Call ``piece(begin, end, scratch)`` for ranges that together are ``first`` to ``stop``."""
        step = max(least, -(-(stop - first) // (4 * self._threads)))
        if self._pool is None or stop - first <= step:
            self._one(piece, first, stop)
            return
        begins = range(first, stop, step)
        for done in [self._pool.submit(self._one, piece, at, min(at + step, stop)) for at in begins]:
            done.result()

    def _one(self, piece, begin, end):
        scratch = self._scratch.get()
        try:
            piece(begin, end, scratch)
        finally:
            self._scratch.put(scratch)
