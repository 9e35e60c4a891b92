"""A rehearsal of live searches over a made-up index: what an event loop and the steps of a search take in Python.

No loop around a kernel shows that. What these searches take beyond what a profile explains follows a plane over rounds
and adjacency lists, whose numbers are charged to a query's set-up, to a chain and to a list.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from riftsim.computenode.balancing import Balancing
from riftsim.computenode.calibration import summary
from riftsim.computenode.costs import CpuModel
from riftsim.computenode.cpu_probe import DEGREE, DIMENSION, records
from riftsim.computenode.drivers.live import LiveNode, run_live
from riftsim.computenode.drivers.sim import SimulatedCluster, run_simulated
from riftsim.computenode.engine import CpuBudget
from riftsim.constants import Constant
from riftsim.controller.fixed import Fixed
from riftsim.errors import TransportError
from riftsim.kernels.codes import CODE_PQ, fill_table
from riftsim.kernels.traversal import RemoteIndex
from riftsim.rdma.calibrated import replaced
from riftsim.rdma.profiles import ProfileFile, make_profile
from riftsim.rng import stream
from riftsim.search.graph_search import FillTable
from riftsim.search.rounds import RoundSearch
from riftsim.transport.port import ReadPort

KINDS = tuple((beam_width, list_size) for list_size in (16, 64) for beam_width in (1, 2, 4, 8))
"""Beam width and L of each kind of search."""
QUERIES = 20
CODE_BYTES = 20
_NODES = 16_384
_WARMUP = 3
_DEADLINE_S = 60.0
_K = 10
_RECORD_BYTES = DIMENSION + 4 + 4 * DEGREE


@dataclass(frozen=True)
class Rehearsed:
    """Live searches of one kind; ``rounds`` and ``lists`` are means over its queries.

    Attributes
    ----------
    beam_width, list_size : int
    nodes : int
        Of the made-up index.
    rounds, lists : float
    latency_ns : float64 (QUERIES,)
    """

    beam_width: int
    list_size: int
    nodes: int
    rounds: float
    lists: float
    latency_ns: np.ndarray


class _MadeUpSearch(RoundSearch):
    """A search of records of its own, whatever its reads bring: any memory node will do."""

    def land_in(self, *_: Any) -> None:
        """Leave what was read where it landed."""


def rehearse(connect: Callable[[int, int], ReadPort], region_bytes: int) -> list[Rehearsed]:
    """Search live, a query at a time.

    Parameters
    ----------
    connect : callable
        As for ``run_live``.
    region_bytes : int
        Bytes that may be read from offset 0.

    Raises
    ------
    TransportError
        If a read fails, or the region is smaller than a thousand records.
    """
    nodes = min(_NODES, region_bytes // _RECORD_BYTES)
    if nodes < 1000:
        raise TransportError(
            f"calibration: found a region of {region_bytes} bytes, expected at least {1000 * _RECORD_BYTES}"
        )
    node = LiveNode(CpuBudget(threads=1), Balancing(Fixed()), deadline_s=_DEADLINE_S)
    found = []
    for beam_width, list_size in KINDS:
        runs = run_live(
            node, connect, _programs(nodes, beam_width, list_size), **_LOAD, record_bytes=_RECORD_BYTES
        ).runs
        counts = [run.answer.counts for run in runs]
        found.append(
            Rehearsed(
                beam_width,
                list_size,
                nodes,
                rounds=float(np.mean([each["hops"] for each in counts])),
                lists=float(np.mean([each["expansions"] for each in counts])),
                latency_ns=np.array([run.end_ps - run.start_ps for run in runs]) / 1e3,
            )
        )
    return found


def with_steps(file: ProfileFile, rehearsed: Sequence[Rehearsed]) -> ProfileFile:
    """Charge a profile with what rehearsed searches took beyond what it explains.

    Parameters
    ----------
    file : ProfileFile
        Of the machine of the rehearsal, with its times of computing and of reading.
    rehearsed : sequence of Rehearsed

    Returns
    -------
    ProfileFile
        With other prices of a query's set-up, of a chain and of a list; none is below 0.
    """
    live_ns = np.array([np.median(each.latency_ns) for each in rehearsed])
    left_ns = live_ns - [_simulated_ns(file, each) for each in rehearsed]
    counts = np.array([[1.0, each.rounds, each.lists] for each in rehearsed])
    # Relative to the latencies: long searches shall not drown short ones.
    query_ns, chain_ns, list_ns = np.linalg.lstsq(counts / live_ns[:, None], left_ns / live_ns, rcond=None)[0].tolist()
    missed = np.max(np.abs(left_ns - counts @ [query_ns, chain_ns, list_ns]) / live_ns)
    what = f"{len(rehearsed)} kinds of {QUERIES} rehearsed live searches, explained within {missed:.1%}"
    found = {"query_setup_ns": query_ns, "doorbell_ns": chain_ns, "list_ns": list_ns}
    constants = {f"cpu.{key}": _more(file, key, more_ns, what) for key, more_ns in found.items()}
    rows = [
        summary(f"rehearsal: beam width {each.beam_width}, L = {each.list_size}", "us", each.latency_ns / 1e3)
        for each in rehearsed
    ]
    return replaced(file, constants, measurements=[*file.measurements, *rows])


_LOAD: dict[str, int] = {"queries": QUERIES, "warmup": _WARMUP, "measured": QUERIES, "concurrency": 1}


def _simulated_ns(file: ProfileFile, kind: Rehearsed) -> float:
    profile = make_profile(file)
    budget = CpuBudget(threads=1)
    cluster = SimulatedCluster(
        profile=profile,
        cpu=CpuModel.of(profile.cpu, code_kind="pq", code_bytes=CODE_BYTES, vector_bytes=DIMENSION),
        budget=budget.on_one_core() if file.nic_shares_core else budget,
        balancing=Balancing(Fixed()),
        compute_nodes=1,
        memory_nodes=1,
    )
    runs = run_simulated(cluster, _programs(kind.nodes, kind.beam_width, kind.list_size), **_LOAD).runs
    return float(np.median([run.end_ps - run.start_ps for run in runs])) / 1e3


@cache
def _made_up(nodes: int) -> tuple[RemoteIndex, np.ndarray, FillTable]:
    """Records, queries, and what fills the distance table of one of these."""
    draws = stream(7, "cpu costs")
    queries = draws.integers(0, 256, (QUERIES, DIMENSION), dtype=np.uint8)
    starts = np.linspace(0, DIMENSION, CODE_BYTES + 1).astype(np.int32)
    parameters = draws.random(DIMENSION * 257, dtype=np.float32)

    def fill(query: np.ndarray, table: np.ndarray) -> None:
        fill_table(CODE_PQ, 0, query, DIMENSION, starts, parameters, table)

    return records(nodes), queries, fill


def _programs(nodes: int, beam_width: int, list_size: int) -> Callable[[], RoundSearch]:
    """Makes searches of a kind, all of the same records and queries."""
    index, queries, fill = _made_up(nodes)

    def new_program() -> RoundSearch:
        return _MadeUpSearch(index, queries, fill, 256 * CODE_BYTES, list_size=list_size, k=_K, beam_width=beam_width)

    return new_program


def _more(file: ProfileFile, key: str, more_ns: float, what: str) -> Constant:
    constant: Constant = getattr(file.cpu, key)
    clock_ghz = file.cpu.clock_ghz.value
    at_clock_ns = constant.value * (constant.measured_ghz or clock_ghz) / clock_ghz
    return Constant(
        value=round(max(0.0, at_clock_ns + more_ns), 3),
        unit="ns",
        kind="fitted",
        source=f"{constant.source}; {more_ns:+,.0f} ns by {what}",
    )
