"""The cluster as one would first write it with SimPy: every query, read and evaluation is a process.

The searches and the prices are riftsim's; servers are ``simpy.Resource`` and time passes by ``timeout``. It follows the
path of a read stage by stage, but has none of the engine's order of simultaneous events, so it gives about the same
latencies, not the same events. It is here to be measured.
"""

import simpy

from riftsim.rdma.costs import work_request_ps
from riftsim.rdma.simulated import ReadPrices


class IdiomaticCluster:
    """One compute node and one memory node.

    Parameters
    ----------
    cluster : SimulatedCluster
        Its hardware and prices.
    new_program : callable
        Makes a search program.
    """

    def __init__(self, cluster, new_program):
        self.env = env = simpy.Environment()
        self.cpu, self.costs, self.new_program = cluster.cpu, cluster.profile.network, new_program
        budget = cluster.budget
        self.threads = simpy.Resource(env, budget.threads - (0 if budget.dynamic else budget.workers))
        self.workers = simpy.Resource(env, max(1, budget.workers))
        self.nic, self.egress, self.ingress, self.pcie = (simpy.Resource(env, 1) for _ in range(4))
        self.responder, self.remote_pcie, self.remote_link = (simpy.Resource(env, 1) for _ in range(3))
        self.outstanding = 0
        self.latencies_ps = []

    def run(self, queries, measured, concurrency):
        """Keep ``concurrency`` queries in flight until ``measured`` have ended."""
        self.left = measured
        for number in range(concurrency):
            self.env.process(self._client(number, queries))
        self.env.run()

    def _client(self, query, queries):
        while self.left > 0:
            self.left -= 1
            began = self.env.now
            yield self.env.process(self._query(query % queries))
            self.latencies_ps.append(self.env.now - began)
            query += 1

    def _query(self, query):
        env, cpu = self.env, self.cpu
        program, inbox = self.new_program(), simpy.Store(self.env)
        with self.threads.request() as thread:
            yield thread
            step = program.start(query)
            while True:
                yield env.timeout(cpu.work_ps(step.work, self.threads.count + self.workers.count))
                if step.chain:
                    yield env.timeout(cpu.post_ps(len(step.chain)))
                    for read in step.chain:
                        env.process(self._read(read, len(step.chain), inbox))
                for task in step.tasks:
                    env.process(self._evaluate(task, inbox))
                if step.done:
                    return
                seen = [(yield inbox.get())]
                while inbox.items:
                    seen.append((yield inbox.get()))
                yield env.timeout(cpu.poll_ps(len(seen)))
                reads = [number for kind, number in seen if kind == "read"]
                step = program.receive(reads, [number for kind, number in seen if kind == "task"])

    def _serve(self, server, duration_ps):
        with server.request() as turn:
            yield turn
            yield self.env.timeout(duration_ps)

    def _read(self, read, chain, inbox):
        env, costs = self.env, self.costs
        price = ReadPrices(costs, read.length_bytes)
        yield env.timeout(costs.doorbell_ps + (costs.wqe_fetch_ps if chain > 1 else 0))
        self.outstanding += 1
        service = work_request_ps(costs.wr_service_ps, costs.wr_miss_ps, costs.cached_requests, self.outstanding)
        yield from self._serve(self.nic, service)
        yield from self._serve(self.egress, costs.request_wire_ps)
        yield env.timeout(costs.transit_ps)
        yield from self._serve(self.responder, costs.responder_service_ps)
        yield from self._serve(self.remote_pcie, price.pcie_whole)
        yield env.timeout(costs.pcie_read_ps)
        yield from self._serve(self.remote_link, price.wire_whole)
        yield env.timeout(costs.transit_ps)
        yield from self._serve(self.ingress, price.wire_whole)
        yield from self._serve(self.pcie, price.pcie_whole)
        yield env.timeout(costs.pcie_write_ps)
        self.outstanding -= 1
        yield inbox.put(("read", read.tag))

    def _evaluate(self, task, inbox):
        with self.workers.request() as worker:
            yield worker
            yield self.env.timeout(self.cpu.task_ps(task.neighbors, self.threads.count + self.workers.count))
        yield inbox.put(("task", task.number))
