"""Robust pruning: which candidates a node keeps as neighbours (DiskANN, NeurIPS 2019, section 2.2).

A candidate t of node p is occluded at a factor alpha by a kept neighbour c that is nearer to p when
``alpha * d(c, t) < d(p, t)``. As in DiskANN's code, two rounds run over the candidates, first with factor 1, then with
alpha for the places that are left, and the factor applies to internal distances (squared for L2).
"""

import numpy as np

from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import distance_of, id_of
from riftsim.kernels.vector_ops import distance_at

_SETTLED = np.int32(-1)


@kernel
def robust_prune(metric, vectors, d, pool, count, limit, alpha, kept, resume, nearer):
    """Choose at most ``limit`` neighbours of a node among ``pool[:count]``.

    A candidate is tested against the kept ones in order and left at its first occluder. The second round goes on where
    the first stopped, so no pair is measured twice. For negative distances (inner product) the bound is
    ``d(p, t) * alpha``, which keeps it at or below ``d(p, t)``. A copy of a kept neighbour is always occluded under L2.

    Parameters
    ----------
    metric : int
        0 for squared L2, 1 for minus the inner product.
    vectors : ndarray, (n*d,), uint8/int8/float32
        Flat vectors.
    d : int
        Dimension.
    pool : ndarray of uint64
        Entries (``candidates.pack``) of distance to the node, ascending, without the node itself and without repeats.
    count, limit : int
        Entries in ``pool``; most neighbours to keep.
    alpha : float32
        Factor of the second round, at least 1; with 1 there is no second round.
    kept : ndarray of int32, at least ``limit``
        Receives the neighbours: those of the first round by distance, then those of the second.
    resume, nearer : ndarray of int32, at least ``count``
        Scratch.

    Returns
    -------
    int
        How many were kept.
    """
    first_kept = 0
    seen = 0
    while seen < count and first_kept < limit:
        key = pool[seen]
        node = id_of(key)
        distance = distance_of(key)
        start = np.int64(node) * d
        between = np.float32(0.0)
        at = 0
        while at < first_kept:
            between = distance_at(metric, vectors, start, vectors, np.int64(kept[at]) * d, d)
            if between < distance or (metric == 0 and between == 0):
                break
            at += 1
        resume[seen] = _SETTLED
        if at == first_kept:
            kept[first_kept] = node
            first_kept += 1
        elif between >= _bound(distance, alpha) and (metric != 0 or between != 0):
            resume[seen] = at + 1
            nearer[seen] = first_kept
        seen += 1
    total = first_kept
    if alpha <= 1.0 or total == limit:
        return total
    for candidate in range(count):
        if resume[candidate] == _SETTLED:
            continue
        key = pool[candidate]
        node = id_of(key)
        bound = _bound(distance_of(key), alpha)
        start = np.int64(node) * d
        occluded = False
        at = resume[candidate]
        while at < total and not occluded:
            if at == nearer[candidate]:  # first-round neighbours further on are farther from the node than this one
                at = first_kept
                if at == total:
                    break
            between = distance_at(metric, vectors, start, vectors, np.int64(kept[at]) * d, d)
            occluded = between < bound or (metric == 0 and between == 0)
            at += 1
        if not occluded:
            kept[total] = node
            total += 1
            if total == limit:
                break
    return total


@kernel(inline=True)
def _bound(distance, alpha):
    """Largest distance at which a kept neighbour does not occlude at factor ``alpha``."""
    return distance / alpha if distance >= 0 else distance * alpha
