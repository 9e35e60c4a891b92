"""A simulated compute node that works on batches of queries over whole partitions (d-HNSW, arXiv 2505.11783).

A batch is all queries that wait when the node is free, up to a limit. They are routed; each distinct partition that
they need is read at most once, by a thread of its own; the other threads deserialise what has come and search it for
every query that is routed to it, while further partitions are on their way. The results of a batch return together.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from riftsim.calendar import Calendar, EventKind
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.engine import CpuBudget
from riftsim.computenode.run import QueryRun
from riftsim.errors import ConfigError
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.search.messages import Blocked
from riftsim.search.partitioned import PartitionSearch, RoutedSearch
from riftsim.storage.partition_cache import PartitionCache
from riftsim.transport.wr import Chain, WorkRequest


@dataclass(frozen=True)
class BatchSettings:
    """How batches are made and worked on.

    Attributes
    ----------
    batch : int
        Most queries of one.
    doorbell : int
        Most partitions read with one doorbell.
    buffers : int
        Serialised partitions on their way or not deserialised yet, at most.
    cached : int
        Deserialised partitions in memory, at most.
    deserialize_ps_per_byte : int
        Time of a thread.
    """

    batch: int
    doorbell: int
    buffers: int
    cached: int
    deserialize_ps_per_byte: int


@dataclass(frozen=True)
class Batched:
    """A search over whole partitions, and how its batches are made: what a simulated or a live node works by.

    Attributes
    ----------
    search : PartitionSearch
    settings : BatchSettings
    """

    search: PartitionSearch
    settings: BatchSettings


COUNTERS = (
    "batches",
    "partitions_wanted",  # distinct ones of a batch
    "partitions_read",
    "search_ps",  # of all threads together
    "deserialize_ps",
    "routing_ps",  # from the beginning of a batch until all its queries are routed
    "batch_ps",  # until its end
)


class _NoPool:
    """In place of shared evaluation workers, which this node has not."""

    busy = queued = busy_ps = 0


@dataclass(frozen=True)
class _Job:
    """Something for any free thread to do.

    Attributes
    ----------
    alone_ps : int
        What it takes while no other thread is busy.
    count : callable
        Told what it takes, when it begins.
    done : callable
        Called when it is done.
    """

    alone_ps: int
    count: Callable[[int], None]
    done: Callable[[], None]


class BatchNode:
    """Stands where ``ComputeNode`` stands; parameters of the same names are the same.

    Parameters
    ----------
    settings : BatchSettings
    others
        As for ``ComputeNode``; what concerns single reads and shared workers is not looked at.
    """

    pool = _NoPool()

    def __init__(
        self,
        calendar: Calendar,
        network: SimulatedNetwork,
        cpu: CpuModel,
        *,
        settings: BatchSettings,
        node: int,
        memory_nodes: int,
        budget: CpuBudget,
        new_program: Callable[[], RoutedSearch],
        on_finish: Callable[[QueryRun], None],
        **_others: Any,
    ):
        if budget.threads < 2:
            raise ConfigError(f"cluster.threads: found {budget.threads}, expected at least 2: one reads partitions")
        self._calendar = calendar
        self._network = network
        self._cpu = cpu
        self._settings = settings
        self._node = node
        self._program = new_program()
        self._search = self._program.search
        self._on_finish = on_finish
        self._queue_pairs = [network.create_qp(node, other, self) for other in range(memory_nodes)]
        self._threads = budget.threads - 1
        self._searches: deque[_Job] = deque()
        self._others: deque[_Job] = deque()
        """Routing and deserialising; searches come first, so that memory is given free."""
        self._jobs = 0
        self._fetcher_free_ps = 0
        self._waiting: deque[QueryRun] = deque()
        self._begin_due = False
        self._cache = PartitionCache(settings.cached)
        self._batch: list[QueryRun] = []
        self._batches = 0
        self._open = 0
        """Routings or searches of the batch that are not done."""
        self._users: dict[int, list[QueryRun]] = {}
        self._to_read: deque[int] = deque()
        self._buffers_free = settings.buffers
        self._read_for: dict[int, list[int]] = {}
        self._routed_ps = 0
        self.busy_threads = 0
        self.active: dict[int, QueryRun] = {}
        """Queries of the batch, by number of arrival."""
        self.counters = dict.fromkeys(COUNTERS, 0)

    @property
    def waiting(self) -> int:
        """Queries that wait for a batch."""
        return len(self._waiting)

    # ------------------------------------------------------------ batches

    def submit(self, run: QueryRun) -> None:
        """Take an arriving query."""
        self._waiting.append(run)
        self._begin_soon()

    def _begin_soon(self) -> None:
        """Begin a batch once all that happens at this instant has happened."""
        if not self._batch and not self._begin_due and self._waiting:
            self._begin_due = True
            self._after(0, self._begin)

    def _begin(self) -> None:
        self._begin_due = False
        self._batches += 1
        self._batch = [self._waiting.popleft() for _ in range(min(self._settings.batch, len(self._waiting)))]
        self._open = len(self._batch)
        for run in self._batch:
            run.start_ps = self._calendar.now
            run.program = self._program
            self.active[run.ordinal] = run
            alone_ps = self._cpu.work_ps(self._search.route(run.query)[1], 1)
            self._others.append(_Job(alone_ps, run.count_evaluation, self._routed))
        self._dispatch()

    def _routed(self) -> None:
        self._open -= 1
        if self._open:
            return
        self._routed_ps = self._calendar.now
        self._users = {}
        for run in self._batch:
            for partition in self._search.route(run.query)[0]:
                self._users.setdefault(partition, []).append(run)
        self._open = sum(map(len, self._users.values()))
        self._read_for = {run.ordinal: [] for run in self._batch}
        for partition, users in self._users.items():
            self._cache.use(partition, len(users))
            if partition in self._cache:
                self._search_for_all(partition)
            else:
                self._to_read.append(partition)
                self._read_for[users[0].ordinal].append(partition)
        self.counters["partitions_wanted"] += len(self._users)
        self._read()

    def _end(self) -> None:
        now, ended = self._calendar.now, self._batch
        self.counters["batches"] += 1
        self.counters["routing_ps"] += self._routed_ps - ended[0].start_ps
        self.counters["batch_ps"] += now - ended[0].start_ps
        self._batch = []
        for run in ended:
            run.end_ps = now
            run.waited_ps[Blocked.READS] += now - run.start_ps - run.evaluation_ps
            run.answer = self._search.answer(run.query, self._read_for[run.ordinal])
            run.program = None
            del self.active[run.ordinal]
        for run in ended:
            self._on_finish(run)
        self._begin_soon()

    # ------------------------------------------------------------ reading

    def _read(self) -> None:
        """Read partitions for as long as there are landing buffers and room in memory for them."""
        chosen: list[int] = []
        while self._to_read and self._buffers_free and self._cache.reserve(self._to_read[0]):
            chosen.append(self._to_read.popleft())
            self._buffers_free -= 1
        for memory_node, queue_pair in enumerate(self._queue_pairs):
            places = [(part, *self._search.place(part)) for part in chosen]
            requests = [WorkRequest(part, node, at, size) for part, node, at, size in places if node == memory_node]
            for first in range(0, len(requests), self._settings.doorbell):
                chain = Chain(self._batches, requests[first : first + self._settings.doorbell])
                at_ps = self._fetch(self._cpu.post_ps(len(chain)))
                tag = chain.requests[0].tag
                self._calendar.at(
                    at_ps, EventKind.RING, self._node, self._batches, tag, self._ring, (queue_pair, chain)
                )

    def _fetch(self, took_ps: int) -> int:
        """Let the reading thread work; return when it is done."""
        self._fetcher_free_ps = max(self._fetcher_free_ps, self._calendar.now) + took_ps
        return self._fetcher_free_ps

    def _ring(self, posting: tuple) -> None:
        self._network.post(*posting)

    def push(self, tag: int, is_entry: bool = True) -> None:
        """Take a partition that has come: the reading thread hands it on to be deserialised."""
        at_ps = self._fetch(self._cpu.poll_ps(is_entry))
        self._after(at_ps - self._calendar.now, lambda: self._landed(tag))

    def _landed(self, partition: int) -> None:
        alone_ps = self._search.place(partition)[2] * self._settings.deserialize_ps_per_byte
        self.counters["partitions_read"] += 1
        self._others.append(_Job(alone_ps, self._adder("deserialize_ps"), lambda: self._deserialized(partition)))
        self._dispatch()

    def _deserialized(self, partition: int) -> None:
        self._buffers_free += 1
        self._search_for_all(partition)
        self._read()

    # ------------------------------------------------------------ searching

    def _search_for_all(self, partition: int) -> None:
        for run in self._users[partition]:
            alone_ps = self._cpu.work_ps(self._search.search(run.query, partition).work, 1)
            self._searches.append(_Job(alone_ps, self._adder("search_ps"), lambda: self._searched(partition)))
        self._dispatch()

    def _searched(self, partition: int) -> None:
        self._cache.release(partition)
        self._open -= 1
        if self._open:
            self._read()
        else:
            self._end()

    # ------------------------------------------------------------ threads

    def _adder(self, counter: str) -> Callable[[int], None]:
        def add(took_ps: int) -> None:
            self.counters[counter] += took_ps

        return add

    def _dispatch(self) -> None:
        """Give free threads what is to be done; the reading thread touches no bytes and slows nobody."""
        while self.busy_threads < self._threads and (self._searches or self._others):
            job = (self._searches or self._others).popleft()
            self.busy_threads += 1
            took_ps = self._cpu.contended_ps(job.alone_ps, self.busy_threads)
            job.count(took_ps)
            self._after(took_ps, lambda job=job: self._job_done(job))

    def _job_done(self, job: _Job) -> None:
        self.busy_threads -= 1
        job.done()
        self._dispatch()

    def _after(self, delay_ps: int, action: Callable[[], None]) -> None:
        """Schedule an action under a number of its own."""
        self._jobs += 1
        at_ps = self._calendar.now + delay_ps
        self._calendar.at(at_ps, EventKind.THREAD, self._node, self._jobs, 0, lambda _: action(), None)
