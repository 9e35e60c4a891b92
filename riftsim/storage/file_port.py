"""Real reads of a file by threads, behind the port of the live driver: each thread is a queue that it serves in order.

Reads go past the page cache (O_DIRECT) unless told otherwise, so that the drive is measured and not memory.
"""

import mmap
import os
import threading
from collections import deque
from collections.abc import Sequence
from queue import SimpleQueue

import numpy as np

from riftsim.errors import TransportError
from riftsim.index.sectors import SECTOR_BYTES
from riftsim.transport.port import Completion, QueuePairInfo, Read, Status


class FilePort:
    """Threads that read a file into a landing buffer.

    Parameters
    ----------
    path : path-like
        The file.
    slots, slot_bytes : int
        Of the landing buffer; with direct reads, slots are whole sectors.
    threads : int
        Reads that are served at once.
    depth : int
        Reads that may wait for one thread.
    direct : bool
        Whether to read past the page cache.

    Raises
    ------
    TransportError
        If the file cannot be opened in this way: names it and what to do.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        slots: int,
        slot_bytes: int,
        *,
        threads: int = 32,
        depth: int = 64,
        direct: bool = True,
    ):
        self._path = os.fspath(path)
        self._file = _open(self._path, direct)
        if direct and slot_bytes % SECTOR_BYTES:
            os.close(self._file)
            raise ValueError(f"direct reads land in whole sectors; found slots of {slot_bytes} bytes")
        self.slot_bytes = slot_bytes
        memory = mmap.mmap(-1, max(1, slots) * slot_bytes)  # on a page of its own, as direct reads demand
        self.buffer = np.frombuffer(memory, np.uint8)
        self.queue_pairs = [QueuePairInfo(number, 0, self._path, depth) for number in range(threads)]
        self._done: deque[Completion] = deque()
        self._errors: deque[str] = deque()
        self._queues: list[SimpleQueue] = [SimpleQueue() for _ in range(threads)]
        self._threads = [
            threading.Thread(target=self._serve, args=(number,), name=f"file-reader-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def post(self, queue_pair: int, reads: Sequence[Read], *, last_only: bool) -> None:
        """Give reads to a thread; ``last_only`` asks for a completion of the last one alone."""
        self._queues[queue_pair].put((reads, last_only))

    def poll(self) -> list[Completion]:
        """Reads that were served since the last poll.

        Raises
        ------
        TransportError
            If a read failed or found less than it was to read: names the file, the place and what was found.
        """
        if self._errors:
            raise TransportError(self._errors[0])
        done = self._done
        return [done.popleft() for _ in range(len(done))]

    def close(self) -> None:
        """End the threads and close the file; once more is harmless."""
        for queue in self._queues:
            queue.put(None)
        for thread in self._threads:
            thread.join()
        self._threads, self._queues = [], []
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _serve(self, number: int) -> None:
        queue, landing = self._queues[number], memoryview(self.buffer)
        while (given := queue.get()) is not None:
            reads, last_only = given
            for read in reads:
                first = read.slot * self.slot_bytes
                try:
                    count = os.preadv(self._file, [landing[first : first + read.length_bytes]], read.remote_offset)
                    found = f"{count} bytes, the end of the file" if count < read.length_bytes else None
                except OSError as error:
                    found = error.strerror or str(error)
                if found:
                    self._errors.append(
                        f"{self._path}: read of {read.length_bytes} bytes at byte {read.remote_offset}: found {found}"
                    )
                elif not last_only or read is reads[-1]:
                    self._done.append(Completion(read.slot, Status.SUCCESS, number))


def _open(path: str, direct: bool) -> int:
    try:
        return os.open(path, os.O_RDONLY | (os.O_DIRECT if direct else 0))
    except OSError as error:
        hint = "; its file system may have no direct reads: set driver.direct to false" if direct else ""
        raise TransportError(f"{path}: cannot be opened for reading: {error.strerror}{hint}") from error
