"""A search beside a cache of records: reads of cached nodes are served from local memory, at once."""

from collections.abc import Callable

import numpy as np

from riftsim.kernels import query as q
from riftsim.search.eager import EagerSearch
from riftsim.search.messages import Answer, ReadRequest, Step, Work
from riftsim.search.rounds import RoundSearch

_READS = {q.READ_RECORD: "reads_record", q.READ_VECTOR: "reads_vector", q.READ_ADJACENCY: "reads_adjacency"}


class CachedSearch:
    """Takes the reads of cached nodes out of every chain and completes them in the step that asks for them.

    What is searched, and by which rules, is the inner search's affair; it cannot tell a local read from a fast remote
    one. Local reads are counted as ``reads_cached`` and in no other count of reads, bytes or chains, and their exact
    distances are priced as rows of local memory.

    Parameters
    ----------
    inner : RoundSearch or EagerSearch
        The search.
    cached : bool (n,)
        Which nodes' records lie in local memory.
    """

    def __init__(self, inner: RoundSearch | EagerSearch, cached: np.ndarray):
        self._inner = inner
        self._cached = cached
        self._local: dict[str, int] = {}
        """Counts of the inner search that were local."""
        self._chains = 0
        self._copy: Callable[[ReadRequest], None] | None = None
        """Brings a cached record to where the search looks for it."""
        self._unworked = 0
        """Exact distances of local reads that the inner search has not computed yet."""
        if isinstance(inner, EagerSearch):
            self.counters, self.apply = inner.counters, inner.apply

    @property
    def state_bytes(self) -> int:
        """Bytes of per-query state."""
        return self._inner.state_bytes

    @property
    def landing_slots(self) -> int:
        """Places that the reads of one query need."""
        return self._inner.landing_slots

    def land_in(self, buffer: np.ndarray, first_bytes: int, slot_bytes: int, within=lambda _: 0) -> None:
        """Take in records from a buffer, as of ``GraphSearch.land_in``; cached ones are copied there when asked for."""
        region, slots, inner = self._inner.index.region, self._inner.landing_slots, self._inner

        def copy(request: ReadRequest) -> None:
            start = first_bytes + request.tag % slots * slot_bytes + within(request.offset_bytes)
            source = int(inner.index.region_bases[request.memory_node]) + request.offset_bytes
            buffer[start : start + request.length_bytes] = region[source : source + request.length_bytes]

        self._copy = copy
        self._inner.land_in(buffer, first_bytes, slot_bytes, within)

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query."""
        self._local = dict.fromkeys((*_READS.values(), "bytes_read"), 0)
        self._chains = self._unworked = 0
        return self._serve(self._inner.start(query_index))

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take in completed reads and evaluations."""
        return self._serve(self._inner.receive(reads, tasks))

    def retry(self, reads: list[int]) -> Step:
        """Ask again for reads that failed, which are remote ones."""
        self._chains += 1
        return self._inner.retry(reads)

    def answer(self) -> Answer:
        """Return the results of the search."""
        answer = self._inner.answer()
        for name, count in self._local.items():
            answer.counts[name] -= count
        answer.counts["chains"] = self._chains
        answer.counts["reads_cached"] = sum(self._local[name] for name in _READS.values())
        return answer

    def _serve(self, step: Step) -> Step:
        """Complete local reads until a decision asks for none; all that was decided becomes one step."""
        work, chain, tasks = self._priced(step.work), [], []
        while True:
            local = [request for request in step.chain if self._cached[request.node]]
            chain += [request for request in step.chain if not self._cached[request.node]]
            tasks += step.tasks
            if not local:
                self._chains += bool(chain)
                return step._replace(work=work, chain=tuple(chain), tasks=tuple(tasks))
            for request in local:
                self._local[_READS[request.kind]] += 1
                self._local["bytes_read"] += request.length_bytes
                if self._copy:
                    self._copy(request)
            self._unworked += sum(request.kind != q.READ_ADJACENCY for request in local)
            step = self._inner.receive([request.tag for request in local], [])
            work = Work(*(a + b for a, b in zip(work, self._priced(step.work), strict=True)))

    def _priced(self, work: Work) -> Work:
        """Work with the exact distances of local reads moved to where local rows are priced.

        A lock-step round works on its local reads with the remote ones, when the last of them is in.
        """
        local = min(self._unworked, work.exact)
        self._unworked -= local
        return work._replace(exact=work.exact - local, local_exact=work.local_exact + local)
