"""Placement: which memory node holds which record, and in which slot.

Contiguous and hash placement are formulas, so a compute node needs no table. Hash placement spreads ids by a
permutation ``p = (a * id + b) mod n`` and cuts the permuted order into equal parts; ``a / n`` is near the fraction of
the golden ratio, which spreads runs of neighbouring ids evenly (Knuth, The Art of Computer Programming, vol. 3, section
6.4). Any other placement keeps a table of positions at the compute node, 4 bytes per record.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

import numpy as np

from riftsim.errors import ConfigError, PluginError
from riftsim.kernels.placement import PLACED_BY_HASH, PLACED_BY_TABLE, PLACED_CONTIGUOUSLY, locate_all

_GOLDEN = (5**0.5 - 1) / 2
_LARGEST_N = 2**31


@dataclass(frozen=True)
class Placement:
    """Where the records of ids 0 to n - 1 lie.

    Attributes
    ----------
    parameters : int64
        Of the formula, as :mod:`riftsim.kernels.placement` takes them.
    positions : int32 (n,) or (0,)
        Rank of each record among the records of all memory nodes; empty where a formula gives it.
    """

    parameters: np.ndarray
    positions: np.ndarray

    @property
    def n(self) -> int:
        """Records."""
        return int(self.parameters[3])

    @property
    def memory_nodes(self) -> int:
        """Memory nodes."""
        return int(self.parameters[5])

    @property
    def bases(self) -> np.ndarray:
        """int64 (memory_nodes + 1,): records on the memory nodes before each one, then n."""
        return self.parameters[6:]

    @property
    def table_bytes(self) -> int:
        """Bytes that a compute node keeps to find records."""
        return self.positions.nbytes

    def locate(self, ids) -> tuple[np.ndarray, np.ndarray]:
        """Memory node and slot of records.

        Parameters
        ----------
        ids : int or integer (count,)
            In [0, n).

        Returns
        -------
        memory_nodes : int32 (count,)
        slots : int64 (count,)
        """
        ids = np.atleast_1d(np.asarray(ids, np.int64))
        if ids.size and (ids.min() < 0 or ids.max() >= self.n):
            raise ValueError(f"ids reach from {ids.min()} to {ids.max()}, expected within [0, {self.n})")
        memory_nodes, slots = np.empty(len(ids), np.int32), np.empty(len(ids), np.int64)
        locate_all(self.parameters, self.positions, ids, memory_nodes, slots)
        return memory_nodes, slots

    def ranks(self, ids) -> np.ndarray:
        """Rank (int64) of records among the records of all memory nodes, in the order of the memory nodes."""
        memory_nodes, slots = self.locate(ids)
        return self.bases[memory_nodes] + slots


def contiguous(n: int, memory_nodes: int) -> Placement:
    """Give memory node ``y`` the ids from ``y * per`` on, with ``per = ceil(n / memory_nodes)``."""
    return _by_formula(PLACED_CONTIGUOUSLY, 0, 0, n, memory_nodes)


def hashed(n: int, memory_nodes: int) -> Placement:
    """Spread neighbouring ids over all memory nodes, ``ceil(n / memory_nodes)`` records each, the rest on the last."""
    _require(n, memory_nodes)
    multiplier = max(1, round(n * _GOLDEN))
    while gcd(multiplier, n) != 1:
        multiplier += 1
    return _by_formula(PLACED_BY_HASH, multiplier, n // 2, n, memory_nodes)


def by_table(n: int, memory_nodes: int, place: Callable[[np.ndarray, int], np.ndarray]) -> Placement:
    """Place records as a function says.

    Parameters
    ----------
    n, memory_nodes : int
        Records and memory nodes.
    place : callable
        ``place(ids int64 (n,), memory_nodes)`` returns the memory node of each id, integers (n,) in [0, memory_nodes).

    Raises
    ------
    PluginError
        If it returns anything else.
    """
    _require(n, memory_nodes)
    chosen = np.asarray(place(np.arange(n, dtype=np.int64), memory_nodes))
    if chosen.shape != (n,) or chosen.dtype.kind not in "iu":
        raise PluginError(f"placement: found {chosen.dtype} {chosen.shape}, expected integers of shape ({n},)")
    wrong = np.flatnonzero((chosen < 0) | (chosen >= memory_nodes))
    if len(wrong):
        found = f"memory node {chosen[wrong[0]]} for id {wrong[0]}"
        raise PluginError(f"placement: found {found}, expected 0 to {memory_nodes - 1}")
    positions = np.empty(n, np.int32)
    positions[np.argsort(chosen, kind="stable")] = np.arange(n, dtype=np.int32)
    bases = np.concatenate([[0], np.cumsum(np.bincount(chosen, minlength=memory_nodes))])
    return Placement(np.array([PLACED_BY_TABLE, 0, 0, n, 0, memory_nodes, *bases], np.int64), positions)


def placement_for(kind: str, n: int, memory_nodes: int, plugin: Callable | None = None) -> Placement:
    """Make the placement of a configuration: ``"contiguous"``, ``"hash"``, or ``"plugin"`` with its function."""
    if kind == "contiguous":
        return contiguous(n, memory_nodes)
    if kind == "hash":
        return hashed(n, memory_nodes)
    if kind == "plugin" and plugin is not None:
        return by_table(n, memory_nodes, plugin)
    raise ConfigError(f"placement: found kind {kind!r}, expected contiguous, hash, or plugin with a function")


def _require(n: int, memory_nodes: int) -> None:
    if not 1 <= n < _LARGEST_N:
        raise ConfigError(f"placement: found {n} records, expected 1 to 2**31 - 1")
    if not 1 <= memory_nodes <= n:
        raise ConfigError(f"placement: found {memory_nodes} memory nodes for {n} records, expected 1 to {n}")


def _by_formula(kind: int, a: int, b: int, n: int, memory_nodes: int) -> Placement:
    _require(n, memory_nodes)
    per = -(-n // memory_nodes)
    bases = np.minimum(np.arange(memory_nodes + 1) * per, n)
    return Placement(np.array([kind, a, b, n, per, memory_nodes, *bases], np.int64), np.zeros(0, np.int32))
