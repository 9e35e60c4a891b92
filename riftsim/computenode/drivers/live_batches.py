"""The live driver of a system that works in batches (d-HNSW): whole partitions are really read and deserialised.

One thread does all: while partitions are on their way, it deserialises and searches those that have come. Batches, the
cache and the limits are those of the simulated node (``computenode.batches``).
"""

import time
from collections import deque
from collections.abc import Callable

import numpy as np

from riftsim.computenode.batches import COUNTERS, Batched
from riftsim.computenode.drivers.live import Connect, slot_bytes_for
from riftsim.computenode.drivers.sim import SimulatedRun, outcome_of
from riftsim.computenode.live_load import LiveLoad
from riftsim.computenode.run import QueryRun
from riftsim.errors import IndexFileError, TransportError
from riftsim.index.partitions import deserialised
from riftsim.search.messages import Blocked
from riftsim.search.partitioned import Found
from riftsim.storage.partition_cache import PartitionCache
from riftsim.transport.pipeline import ReadPipeline
from riftsim.transport.port import Read
from riftsim.units import PS_PER_NS, PS_PER_S


def run_live_batches(
    batched: Batched,
    connect: Connect,
    *,
    queries: int,
    warmup: int,
    measured: int,
    concurrency: int | None = None,
    arrivals_ps: np.ndarray | None = None,
    on_progress: Callable[[int], None] | None = None,
    signal_last_only: bool = False,
    deadline_s: float = 10.0,
) -> SimulatedRun:
    """Search batches of queries over partitions that are really read.

    Parameters
    ----------
    batched : Batched
        Of its deserialisation price nothing is used: what that takes is measured.
    connect : callable
        Makes the port, whose landing slots hold a partition each.
    queries, warmup, measured, concurrency, arrivals_ps, on_progress
        As for ``run_simulated``.
    signal_last_only : bool
        Whether only the last read of a chain asks for a completion entry.
    deadline_s : float
        Longest time without a partition that comes.

    Returns
    -------
    SimulatedRun
        The measured queries, with times in ps as in simulation, and ``facts.batches``.

    Raises
    ------
    TransportError
        If a read fails for which no other memory node is left, nothing comes in time, or what came is no partition.
    """
    load = LiveLoad(
        queries=queries,
        warmup=warmup,
        measured=measured,
        concurrency=concurrency,
        arrivals_ps=arrivals_ps,
        on_progress=on_progress,
    )
    port = connect(batched.settings.buffers, slot_bytes_for(int(batched.search.index.blob_bytes.max())))
    try:
        node = _Node(batched, port, load, signal_last_only, deadline_s)
        node.run()
    finally:
        port.close()
    facts = {
        "event_loops": 1,
        "workers": 0,
        "batches": [node.counters],
        "failures": [str(failure) for failure in node.pipeline.failures],
    }
    return outcome_of(load.finished, measured, closed_loops=concurrency, windows=None, trace=None, facts=facts)


class _Node:
    """The state of a live run."""

    def __init__(self, batched: Batched, port, load: LiveLoad, signal_last_only: bool, deadline_s: float):
        self.pipeline = ReadPipeline(port, signal_last_only=signal_last_only)
        self.counters = dict.fromkeys(COUNTERS, 0)
        self._search = batched.search
        self._settings = batched.settings
        self._load = load
        self._deadline_ps = int(deadline_s * PS_PER_S)
        self._slots = port.buffer.reshape(-1, port.slot_bytes)
        self._free = list(range(len(self._slots)))[::-1]
        self._reading: dict[int, tuple[int, int, Read]] = {}
        """By slot: partition, memory node, and the read itself."""
        self._cache = PartitionCache(self._settings.cached)
        self._indices: dict[int, object] = {}
        """Deserialised partitions, those that the cache holds."""
        self._began_ns = time.perf_counter_ns()

    def _now_ps(self) -> int:
        return (time.perf_counter_ns() - self._began_ns) * PS_PER_NS

    def run(self) -> None:
        """Work on batches until all measured queries have ended."""
        while not self._load.complete:
            batch: list[QueryRun] = []
            while len(batch) < self._settings.batch and (run := self._load.take(self._now_ps())) is not None:
                batch.append(run)
            if batch:
                self._work_on(batch)
            else:
                time.sleep(0)

    # ------------------------------------------------------------ a batch

    def _work_on(self, batch: list[QueryRun]) -> None:
        begin_ps = self._now_ps()
        users = self._route(batch, begin_ps)
        routed_ps = self._now_ps()
        found: dict[int, list[Found]] = {run.ordinal: [] for run in batch}
        read_for: dict[int, list[int]] = {run.ordinal: [] for run in batch}
        ready = deque(partition for partition in users if partition in self._cache)
        to_read = deque(partition for partition in users if partition not in self._cache)
        for partition, its in users.items():
            self._cache.use(partition, len(its))
        for partition in to_read:
            read_for[users[partition][0].ordinal].append(partition)
        landed: deque[int] = deque()
        left, progress_ps = len(users), self._now_ps()
        while left:
            self._post(to_read)
            arrived = self._poll()
            landed.extend(arrived)
            if ready:
                partition = ready.popleft()
                for run in users[partition]:
                    found[run.ordinal].append(self._searched(run.query, partition))
                    self._cache.release(partition)
                left -= 1
            elif landed:
                ready.append(self._deserialise(landed.popleft()))
            elif not arrived and self._now_ps() - progress_ps > self._deadline_ps:
                raise self.pipeline.overdue(set(self._reading), self._deadline_ps / PS_PER_S)
            else:
                time.sleep(0)
                continue
            progress_ps = self._now_ps()
        end_ps = self._now_ps()
        self.counters["batches"] += 1
        self.counters["partitions_wanted"] += len(users)
        self.counters["routing_ps"] += routed_ps - begin_ps
        self.counters["batch_ps"] += end_ps - begin_ps
        for run in batch:
            run.end_ps = end_ps
            run.waited_ps[Blocked.READS] += end_ps - run.start_ps - run.evaluation_ps
            run.answer = self._search.merged(run.query, found[run.ordinal], read_for[run.ordinal])
            self._load.finish(run)

    def _route(self, batch: list[QueryRun], begin_ps: int) -> dict[int, list[QueryRun]]:
        """Queries by the partition that they are routed to."""
        users: dict[int, list[QueryRun]] = {}
        for run in batch:
            run.start_ps, run.thread = begin_ps, 0
            before_ps = self._now_ps()
            for partition in self._search.route(run.query)[0]:
                users.setdefault(partition, []).append(run)
            run.evaluation_ps += self._now_ps() - before_ps
        return users

    # ------------------------------------------------------------ reading

    def _post(self, to_read: deque[int]) -> None:
        """Read partitions for as long as there are landing slots and room in memory for them."""
        by_node: dict[int, list[Read]] = {}
        while to_read and self._free and self._cache.reserve(to_read[0]):
            partition, slot = to_read.popleft(), self._free.pop()
            memory_node, offset, length = self._search.place(partition)
            read = Read(slot, offset, length)
            self._reading[slot] = partition, memory_node, read
            by_node.setdefault(memory_node, []).append(read)
        if by_node:
            for partition in self._indices.keys() - set(self._cache.held):
                del self._indices[partition]
        for memory_node, reads in by_node.items():
            for first in range(0, len(reads), self._settings.doorbell):
                self.pipeline.submit(memory_node, reads[first : first + self._settings.doorbell])

    def _poll(self) -> list[int]:
        """Slots whose partitions have come; what was lost is asked for again elsewhere."""
        completed, lost = self.pipeline.poll()
        for slot in lost:
            _, memory_node, read = self._reading[slot]
            self.pipeline.submit(memory_node, [read])
        return completed

    def _deserialise(self, slot: int) -> int:
        """Make an index of what has come, and give its slot free; return the partition."""
        partition, memory_node, read = self._reading.pop(slot)
        before_ps = self._now_ps()
        try:
            self._indices[partition] = deserialised(self._slots[slot, : read.length_bytes])
        except IndexFileError as error:
            raise TransportError(
                f"memory node {memory_node}, bytes {read.remote_offset} to {read.remote_offset + read.length_bytes}: "
                f"found no partition {partition}: {error}"
            ) from error
        self._free.append(slot)
        self.counters["partitions_read"] += 1
        self.counters["deserialize_ps"] += self._now_ps() - before_ps
        return partition

    def _searched(self, query: int, partition: int) -> Found:
        before_ps = self._now_ps()
        found = self._search.search_in(self._indices[partition], query, partition)
        self.counters["search_ps"] += self._now_ps() - before_ps
        return found


def partitions_of(batched: Batched, memory_node: int) -> np.ndarray:
    """Return the bytes that a memory node serves: its partitions, one after the other, uint8."""
    index = batched.search.index
    own = range(memory_node, len(index.blob_bytes), batched.search.memory_nodes)
    starts = index.blob_starts
    return np.concatenate([index.blobs[starts[part] : starts[part + 1]] for part in own])
