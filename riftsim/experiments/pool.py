"""Tasks on several processes, where the death of one process costs only the task it held.

``concurrent.futures`` gives up all tasks when one worker dies (a native crash, the kernel's out-of-memory killer); an
experiment of many hours must not.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

_GRACE_S = 5.0


@dataclass(frozen=True)
class WorkerDied:
    """In place of a result: the process that held the task ended."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def _death(exit_code: int | None) -> WorkerDied:
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return WorkerDied(f"the worker process was ended by {name}{hint}")
    return WorkerDied(f"the worker process ended with exit code {exit_code}")


@dataclass
class _Worker:
    process: multiprocessing.process.BaseProcess
    connection: Connection
    task: int


def run_tasks(function: Callable[[Any], Any], tasks: Sequence[Any], jobs: int) -> Iterator[tuple[int, Any]]:
    """Apply a function to tasks, on this process for one job, else on spawned ones.

    Parameters
    ----------
    function : callable
        Module-level function of one task that returns its error instead of raising.
    tasks : sequence
        Picklable if ``jobs > 1``.
    jobs : int
        Processes at a time; the machine's cores are shared among them.

    Yields
    ------
    position : int
        Of the task, in order of completion.
    result : object
        What the function returned, or `WorkerDied`.

    Notes
    -----
    When the generator is closed or interrupted the processes are ended: first asked, after a few seconds killed.
    """
    if jobs == 1 or len(tasks) <= 1:
        for position, task in enumerate(tasks):
            yield position, function(task)
        return
    waiting = deque(range(len(tasks)))
    workers: dict[Connection, _Worker] = {}
    threads = max(1, len(os.sched_getaffinity(0)) // jobs)
    try:
        while waiting and len(workers) < jobs:
            _start(workers, function, tasks, waiting.popleft(), threads)
        while workers:
            for connection in wait(list(workers)):
                worker = workers[connection]
                position = worker.task
                try:
                    result = connection.recv()
                except (EOFError, OSError):
                    worker.process.join(_GRACE_S)
                    result = _death(worker.process.exitcode)
                    del workers[connection]
                    connection.close()
                    if waiting:
                        _start(workers, function, tasks, waiting.popleft(), threads)
                else:
                    if waiting:
                        worker.task = waiting.popleft()
                        connection.send(tasks[worker.task])
                    else:
                        del workers[connection]
                        connection.close()
                        worker.process.join(_GRACE_S)
                yield position, result
    finally:
        _stop(list(workers.values()))


def _start(
    workers: dict[Connection, _Worker],
    function: Callable[[Any], Any],
    tasks: Sequence[Any],
    task: int,
    threads: int,
) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, function, threads), daemon=True)
    process.start()
    theirs.close()  # so that the end of the process is the end of the pipe
    workers[ours] = _Worker(process, ours, task)
    with contextlib.suppress(OSError):  # died at once: seen as the end of the pipe
        ours.send(tasks[task])


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join(_GRACE_S)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.connection.close()


def _end_with_parent() -> None:
    """End this process when its parent has ended, however: nobody would take the result of its task."""
    wait([multiprocessing.parent_process().sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _serve(connection: Connection, function: Callable[[Any], Any], threads: int) -> None:
    """Work until the pipe is closed or the parent has gone. Ctrl-C reaches the whole terminal group; here the parent
    decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # unfinished files are removed on the way
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(variable, str(threads))
    # What riftsim warns of comes with graphs and codes, and was said when these were prepared.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"riftsim\.")
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            connection.send(function(connection.recv()))
