"""The cluster as one would write it with SimPy for speed: no processes, one bare event per turn, read and task.

The searches and the prices are riftsim's. A server is the time at which it is free, reserved for a read's whole path
when the read is posted; what is seen is taken in at once, and the poll charged to the turn that follows. So it gives
about the latencies of the model in processes (``_idiomatic.py``), with a third of its events. It is here to be
measured.
"""

from collections import deque
from functools import cache
from heapq import heapreplace

import simpy

from riftsim.rdma.costs import work_request_ps
from riftsim.rdma.simulated import ReadPrices


class LeanCluster:
    """One compute node and one memory node.

    Parameters
    ----------
    cluster : SimulatedCluster
        Its hardware and prices.
    new_program : callable
        Makes a search program.
    """

    def __init__(self, cluster, new_program):
        self.env = simpy.Environment()
        self.cpu, self.costs, self.new_program = cluster.cpu, cluster.profile.network, new_program
        budget = cluster.budget
        self.free_threads = budget.threads - (0 if budget.dynamic else budget.workers)
        self.waiting = deque()
        self.workers_free_at = [0] * max(1, budget.workers)
        self.stages_of = cache(self._stages)
        self.nic_free_at = 0
        self.servers_free_at = [0] * len(self.stages_of(0))
        self.busy = self.outstanding = 0
        self.idle_programs = []
        self.latencies_ps = []

    def run(self, queries, measured, concurrency):
        """Keep ``concurrency`` queries in flight until ``measured`` have ended."""
        self.left, self.queries = measured, queries
        for number in range(concurrency):
            self._arrive(number)
        self.env.run()

    def _after(self, delay_ps, function, *arguments):
        self.env.timeout(delay_ps).callbacks.append(lambda _: function(*arguments))

    def _arrive(self, number):
        if self.left:
            self.left -= 1
            self.waiting.append(_Query(number, self.env.now))
            self._admit()

    def _admit(self):
        while self.free_threads and self.waiting:
            self.free_threads -= 1
            query = self.waiting.popleft()
            query.program = self.idle_programs.pop() if self.idle_programs else self.new_program()
            self._turn(query, query.program.start(query.number % self.queries))

    def _turn(self, query, step, polled_ps=0):
        query.is_waiting = False
        self.busy += 1
        post_ps = self.cpu.post_ps(len(step.chain)) if step.chain else 0
        self._after(polled_ps + self.cpu.work_ps(step.work, self.busy) + post_ps, self._turned, query, step)

    def _turned(self, query, step):
        self.busy -= 1
        for read in step.chain:
            self._read(query, read, len(step.chain))
        for task in step.tasks:
            self._evaluate(query, task)
        query.is_waiting = not step.done
        if step.done:
            self.latencies_ps.append(self.env.now - query.arrival_ps)
            self.idle_programs.append(query.program)
            self.free_threads += 1
            self._admit()
            self._arrive(query.number + 1)
        elif query.reads or query.tasks:
            self._take_in(query)

    def _take_in(self, query):
        reads, tasks = query.reads.copy(), query.tasks.copy()
        query.reads.clear()
        query.tasks.clear()
        self._turn(query, query.program.receive(reads, tasks), self.cpu.poll_ps(len(reads) + len(tasks)))

    def _completed(self, query, seen, number):
        seen.append(number)
        if query.is_waiting:
            self._take_in(query)

    def _stages(self, length_bytes):
        """What each server after the NIC takes for a read, and how long it is on its way from there."""
        costs, price = self.costs, ReadPrices(self.costs, length_bytes)
        return (
            (costs.request_wire_ps, costs.transit_ps),
            (costs.responder_service_ps, 0),
            (price.pcie_whole, costs.pcie_read_ps),
            (price.wire_whole, costs.transit_ps),
            (price.wire_whole, 0),
            (price.pcie_whole, costs.pcie_write_ps),
        )

    def _read(self, query, read, chain):
        costs, free_at = self.costs, self.servers_free_at
        self.outstanding += 1
        at = self.env.now + costs.doorbell_ps + (costs.wqe_fetch_ps if chain > 1 else 0)
        at = self.nic_free_at = max(at, self.nic_free_at) + work_request_ps(
            costs.wr_service_ps, costs.wr_miss_ps, costs.cached_requests, self.outstanding
        )
        for server, (took_ps, on_its_way_ps) in enumerate(self.stages_of(read.length_bytes)):
            free_at[server] = max(at, free_at[server]) + took_ps
            at = free_at[server] + on_its_way_ps
        self._after(at - self.env.now, self._arrived, query, read.tag)

    def _arrived(self, query, tag):
        self.outstanding -= 1
        self._completed(query, query.reads, tag)

    def _evaluate(self, query, task):
        start = max(self.env.now, self.workers_free_at[0])
        end = start + self.cpu.task_ps(task.neighbors, self.busy)
        heapreplace(self.workers_free_at, end)
        self._after(end - self.env.now, self._completed, query, query.tasks, task.number)


class _Query:
    __slots__ = ("arrival_ps", "is_waiting", "number", "program", "reads", "tasks")

    def __init__(self, number, arrival_ps):
        self.number, self.arrival_ps = number, arrival_ps
        self.reads, self.tasks = [], []
