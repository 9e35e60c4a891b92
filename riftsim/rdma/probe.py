"""Closed-loop load on a simulated network, as read benchmarks make it: what a profile gives before any search runs."""

from dataclasses import dataclass

from riftsim.calendar import Calendar, EventKind
from riftsim.errors import ConfigError
from riftsim.rdma.profiles import HardwareProfile
from riftsim.rdma.simulated import SimulatedNetwork
from riftsim.rng import stream
from riftsim.transport.wr import Chain, WorkRequest
from riftsim.units import PS_PER_S, PS_PER_US

_THREAD = int(EventKind.THREAD)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a closed loop reached.

    Attributes
    ----------
    rate_mops : float
        Million reads per second.
    payload_gbytes : float
        1e9 payload bytes per second.
    batch_us : float
        Mean time from building a batch to its last completion polled.
    outstanding_mean : float
        Reads posted and not completed, averaged over the whole run.
    """

    rate_mops: float
    payload_gbytes: float
    batch_us: float
    outstanding_mean: float


class _Thread:
    """Builds ``depth`` work requests, rings, waits for all, polls, begins again."""

    def __init__(self, probe: "_Probe", number: int, memory_node: int) -> None:
        self.probe = probe
        self.number = number
        self.qp = probe.network.create_qp(0, memory_node, self)
        depth, length = probe.depth, probe.length_bytes
        requests = [WorkRequest(tag, memory_node, tag * length, length, tag == depth - 1) for tag in range(depth)]
        self.chain = Chain(number, requests)
        self.pending = 0
        self.began_ps = 0

    def begin(self, began_ps: int) -> None:
        self.began_ps = began_ps
        probe = self.probe
        probe.calendar.at(began_ps + probe.posting_ps, _THREAD, 0, self.number, 0, self.ring, None)

    def ring(self, _: None) -> None:
        self.pending = len(self.chain)
        self.probe.network.post(self.qp, self.chain)

    def push(self, _: int, is_entry: bool = True) -> None:
        self.pending -= 1
        if not self.pending:
            end = self.probe.calendar.now + self.probe.polling_ps
            self.probe.count(end - self.began_ps)
            self.begin(end)


class _Probe:
    def __init__(
        self, profile: HardwareProfile, threads: int, depth: int, length_bytes: int, memory_nodes: int, extra_ps: int
    ) -> None:
        cpu = profile.cpu
        self.calendar = Calendar()
        self.network = SimulatedNetwork(self.calendar, profile, 1, memory_nodes)
        self.depth = depth
        self.length_bytes = length_bytes
        self.posting_ps = depth * cpu.build_wr_ps + cpu.doorbell_ps
        # The entries of earlier reads are polled while later ones are on their way; the last one is signalled alone.
        self.polling_ps = cpu.poll_ps + cpu.cqe_ps + extra_ps
        self.batches = 0
        self.warm_batches = 4 * threads
        self.wanted = self.warm_batches + max(8 * threads, 8000 // depth)
        self.warm_ps = 0
        self.batch_ps = 0
        self.threads = [_Thread(self, number, number % memory_nodes) for number in range(threads)]

    def count(self, batch_ps: int) -> None:
        self.batches += 1
        if self.batches == self.warm_batches:
            self.warm_ps = self.calendar.now
        elif self.batches > self.warm_batches:
            self.batch_ps += batch_ps
            if self.batches == self.wanted:
                self.calendar.stop()


def closed_loop(
    profile: HardwareProfile,
    threads: int,
    depth: int,
    length_bytes: int,
    memory_nodes: int = 1,
    extra_batch_ps: int = 0,
) -> ProbeResult:
    """Drive one compute node's NIC with threads that always have a batch of reads outstanding.

    Parameters
    ----------
    profile : HardwareProfile
        The hardware; it must take time.
    threads : int
        Each has a queue pair and a core of its own.
    depth : int
        Reads per batch: one chain, its last read signalled.
    length_bytes : int
        Bytes per read.
    memory_nodes : int
        Threads are dealt out over them.
    extra_batch_ps : int
        More time of the thread per batch.

    Returns
    -------
    ProbeResult

    Raises
    ------
    ConfigError
        If nothing takes time in the profile, so that no rate exists.
    """
    if profile.network.is_free:
        raise ConfigError(f"hardware profile {profile.name!r} costs nothing: expected one with a rate to measure")
    probe = _Probe(profile, threads, depth, length_bytes, memory_nodes, extra_batch_ps)
    for thread in probe.threads:
        thread.begin(thread.number * 137_000)  # not in step
    probe.calendar.run()
    batches = probe.wanted - probe.warm_batches
    rate = batches * depth * PS_PER_S / (probe.calendar.now - probe.warm_ps)
    return ProbeResult(
        rate_mops=rate / 1e6,
        payload_gbytes=rate * length_bytes / 1e9,
        batch_us=probe.batch_ps / batches / PS_PER_US,
        outstanding_mean=probe.network.counters()["compute"][0]["outstanding_mean"],
    )


READ_MIX = ((128, 448), (388, 40), (516, 365))
"""Bytes and number of RiftANN's reads per query on 128-byte vectors with R = 96: 853 reads of 306 bytes on average."""


class _Arrivals:
    """Chains on one queue pair with exponential gaps; reads drawn from ``READ_MIX``; times of the 128-byte ones."""

    def __init__(self, network: SimulatedNetwork, number: int, chain: int, gap_ps: float, reads: int, seed: int):
        self.network = network
        self.number = number
        self.qp = network.create_qp(0, 0, self)
        draws = stream(seed, f"probe arrivals {number}")
        chains = -(-reads // chain)
        self.gaps = draws.exponential(gap_ps, chains).astype(int).tolist()
        sizes = [size for size, _ in READ_MIX]
        weights = [count / sum(count for _, count in READ_MIX) for _, count in READ_MIX]
        self.lengths = draws.choice(sizes, size=(chains, chain), p=weights).tolist()
        self.posted_ps: list[int] = []
        self.latencies_ps: list[int] = []
        self.next = 0
        self.arrive_later()

    def arrive_later(self) -> None:
        if self.next < len(self.gaps):
            calendar = self.network.calendar
            calendar.at(calendar.now + self.gaps[self.next], _THREAD, 0, self.number, 0, self.arrive, None)

    def arrive(self, _: None) -> None:
        lengths = self.lengths[self.next]
        first = self.next * len(lengths)
        self.next += 1
        self.posted_ps.append(self.network.calendar.now)
        requests = [WorkRequest(first + i, 0, 0, length) for i, length in enumerate(lengths)]
        self.network.post(self.qp, Chain(self.number, requests))
        self.arrive_later()

    def push(self, tag: int, is_entry: bool = True) -> None:
        chain, position = divmod(tag, len(self.lengths[0]))
        if self.lengths[chain][position] == READ_MIX[0][0]:
            self.latencies_ps.append(self.network.calendar.now - self.posted_ps[chain])


def contended_read_us(
    profile: HardwareProfile, rate_mops: float, chain: int, queue_pairs: int = 32, reads: int = 40_000, seed: int = 0
) -> float:
    """Return the mean latency of a 128-byte read among ``READ_MIX`` at a given rate, Poisson arrivals of chains.

    Parameters
    ----------
    profile : HardwareProfile
        The hardware.
    rate_mops : float
        Million reads per second of all queue pairs together.
    chain : int
        Reads per doorbell; all are signalled.
    queue_pairs : int
        Over which the reads are spread evenly.
    reads : int
        How many are simulated.
    seed : int
        Of gaps and sizes.

    Returns
    -------
    float
        Microseconds as a program sees them: the time of the CPU to build the chain, ring, poll and take one entry is
        included.
    """
    calendar = Calendar()
    network = SimulatedNetwork(calendar, profile, 1, 1)
    gap_ps = queue_pairs * chain * 1e6 / rate_mops
    sources = [_Arrivals(network, i, chain, gap_ps, reads // queue_pairs, seed) for i in range(queue_pairs)]
    calendar.run()
    latencies = [latency for source in sources for latency in source.latencies_ps]
    cpu = profile.cpu
    cpu_ps = chain * cpu.build_wr_ps + cpu.doorbell_ps + cpu.poll_ps + cpu.cqe_ps
    return (sum(latencies) / len(latencies) + cpu_ps) / PS_PER_US
