"""What reading through a port takes on this machine: latency by size, cost of posting and polling, rate by window.

Times are those that a search sees, so whatever language posts and polls is part of them.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riftsim.errors import TransportError
from riftsim.transport.port import Completion, Read, ReadPort, Status

SIZES = (8, 64, 128, 256, 512, 1024, 4096, 16_384, 65_536)
WINDOWS = (1, 2, 4, 8, 16, 32)
CHAINS = (1, 2, 4, 8, 16, 32)
CHAINED_BYTES = 512
"""Size of the reads in chains and windows: a record's neighbour list is about as long."""
LONGEST_WAIT_S = 10.0


@dataclass(frozen=True)
class ReadFigures:
    """Samples, each float64 (samples,).

    Attributes
    ----------
    latency_ns : dict of int to ndarray
        By size in bytes: one read outstanding, from before the post to after the poll that brought it.
    post_ns : dict of int to ndarray
        By length of the chain: the call that posts it.
    chain_ns : dict of int to ndarray
        By length of the chain: from before the post to after the poll that brought the last completion.
    full_poll_ns : dict of int to ndarray
        By number of completions: one poll that finds them all.
    empty_poll_ns : ndarray
        One poll that finds nothing.
    rate_mops : dict of int to ndarray
        By window: million reads per second with as many outstanding, each posted alone.
    """

    latency_ns: dict[int, np.ndarray]
    post_ns: dict[int, np.ndarray]
    chain_ns: dict[int, np.ndarray]
    full_poll_ns: dict[int, np.ndarray]
    empty_poll_ns: np.ndarray
    rate_mops: dict[int, np.ndarray]


def read_figures(port: ReadPort, region_bytes: int, samples: int = 200) -> ReadFigures:
    """Measure.

    Parameters
    ----------
    port : ReadPort
        Its first queue pair is used; the landing buffer has at least 32 slots of 64 KiB.
    region_bytes : int
        Bytes that may be read from offset 0.
    samples : int
        Of each figure; windows take an eighth of as many, of 64 reads each.

    Raises
    ------
    TransportError
        If a read fails or takes more than ten seconds, or the port is too small.
    """
    probe = _Probe(port, region_bytes)
    latency, post, chain, full = {}, {}, {}, {}
    for size in (size for size in SIZES if size <= min(port.slot_bytes, region_bytes)):
        latency[size] = np.array([probe.chain(1, size)[1] for _ in range(samples + 1)][1:])
    for length in (length for length in CHAINS if length <= probe.most):
        times = np.array([probe.chain(length, CHAINED_BYTES) for _ in range(samples + 1)][1:])
        post[length], chain[length] = times.T
        waits_ns = 4 * float(np.median(chain[length]))
        full[length] = np.array([probe.full_poll(length, waits_ns) for _ in range(samples)])
    empty = np.array([probe.empty_poll() for _ in range(4 * samples)])
    rates = {
        window: np.array([probe.rate_mops(window, 64) for _ in range(max(3, samples // 8))])
        for window in WINDOWS
        if window <= probe.most
    }
    return ReadFigures(latency, post, chain, full, empty, rates)


class _Probe:
    def __init__(self, port: ReadPort, region_bytes: int):
        self.port = port
        self.region_bytes = region_bytes
        self.most = min(port.queue_pairs[0].depth, len(port.buffer) // port.slot_bytes)
        if port.slot_bytes < CHAINED_BYTES or region_bytes < CHAINED_BYTES:
            raise TransportError(
                f"calibration: found slots of {port.slot_bytes} bytes and a region of {region_bytes}, "
                f"expected at least {CHAINED_BYTES} of both"
            )
        self._place = 0

    def reads(self, count: int, length_bytes: int) -> list[Read]:
        """Reads of places that go through the region, so that not all come from the same cache lines."""
        made = []
        for slot in range(count):
            if self._place + length_bytes > self.region_bytes:
                self._place = 0
            made.append(Read(slot, self._place, length_bytes))
            self._place += 64 * (1 + length_bytes // 64)
        return made

    def chain(self, count: int, length_bytes: int) -> tuple[int, int]:
        """Post a chain, poll until its last read is there; time of the post and of everything, ns."""
        reads = self.reads(count, length_bytes)
        begin = time.perf_counter_ns()
        self.port.post(0, reads, last_only=True)
        posted = time.perf_counter_ns()
        self._poll_until(1)
        return posted - begin, time.perf_counter_ns() - begin

    def full_poll(self, count: int, wait_ns: float) -> int:
        """Time of one poll that finds ``count`` completions, ns."""
        self.port.post(0, self.reads(count, CHAINED_BYTES), last_only=False)
        end = time.perf_counter_ns() + wait_ns
        while time.perf_counter_ns() < end:
            pass
        begin = time.perf_counter_ns()
        found = self.port.poll()
        took = time.perf_counter_ns() - begin
        _require(found)
        self._poll_until(count - len(found))
        return took

    def empty_poll(self) -> int:
        begin = time.perf_counter_ns()
        self.port.poll()
        return time.perf_counter_ns() - begin

    def rate_mops(self, window: int, count: int) -> float:
        """Million reads per second with ``window`` outstanding."""
        reads = self.reads(window, CHAINED_BYTES)
        done = posted = 0
        begin = time.perf_counter_ns()
        while done < count:
            while posted < count and posted - done < window:
                self.port.post(0, [reads[posted % window]], last_only=False)
                posted += 1
            done += self._poll_until(1)
        return count * 1e3 / (time.perf_counter_ns() - begin)

    def _poll_until(self, count: int) -> int:
        done = 0
        end = time.perf_counter() + LONGEST_WAIT_S
        while done < count:
            found = self.port.poll()
            _require(found)
            done += len(found)
            if not found and time.perf_counter() > end:
                raise TransportError(f"calibration: {count - done} reads did not complete in {LONGEST_WAIT_S:g} s")
        return done


def _require(completions: Sequence[Completion]) -> None:
    for completion in completions:
        if completion.status != Status.SUCCESS:
            raise TransportError(f"calibration: a read failed with {Status(completion.status).name}")


def line(figures: dict[int, np.ndarray]) -> tuple[float, float]:
    """Intercept and slope of the medians over their keys; neither below 0.

    The median of the slopes between all pairs (Theil, 1950; Sen, JASA 1968): one disturbed figure does not move it.
    """
    counts = np.array(sorted(figures), dtype=float)
    medians = np.array([np.median(figures[int(count)]) for count in counts])
    one, other = np.triu_indices(len(counts), 1)
    slopes = (medians[other] - medians[one]) / (counts[other] - counts[one])
    slope = max(0.0, float(np.median(slopes))) if len(slopes) else 0.0
    return max(0.0, float(np.median(medians - slope * counts))), slope
