"""Distances from compact codes: one query table, then one cheap sum per node.

The codes of all nodes are one flat uint8 array, ``code_bytes`` per node. What a code means is its kind:

=============  ==================================  =====================================================
kind           table (float32)                     parameters (float32)
=============  ==================================  =====================================================
``CODE_FULL``  none                                none; the code is the exact vector
``CODE_PQ``    256 per chunk                       pivots (d, 256), centroid (d), rotation (d, d) or none
``CODE_SQ8``   2 per dimension                     least value (d), step (d)
=============  ==================================  =====================================================
"""

import numpy as np

from riftsim.kernels._jit import kernel
from riftsim.kernels.codes_ops import CODE_FULL, CODE_PQ, CODE_SQ8, distance_of_code, prefetch_bytes

__all__ = [
    "CENTROIDS",
    "CODE_FULL",
    "CODE_PQ",
    "CODE_SQ8",
    "code_distance",
    "code_distances",
    "fill_table",
    "prefetch_code",
]

CENTROIDS = 256
_AHEAD = 8


@kernel(inline=True)
def code_distance(kind, metric, table, query, codes, code_bytes, node, d):
    """Compact distance of one node, float32: smaller is nearer, squared L2 or minus the inner product.

    Parameters
    ----------
    kind : int
        ``CODE_FULL``, ``CODE_PQ`` or ``CODE_SQ8``.
    metric : int
        0 squared L2, 1 minus the inner product.
    table : float32 (table_entries,)
        From :func:`fill_table`; not read for ``CODE_FULL``.
    query : uint8, int8 or float32 (d,)
        Read for ``CODE_FULL`` only, where it has the dtype of the vectors.
    codes : uint8 (n * code_bytes,)
        The codes of all nodes.
    code_bytes, node, d : int
        Bytes of one code, the node, and the dimension of the vectors.
    """
    place = np.int64(node) * np.int64(code_bytes)
    return distance_of_code(kind, metric, table, query, codes, place, code_bytes, d)


@kernel(inline=True)
def prefetch_code(codes, code_bytes, node):
    """Ask the caches for every line of the code of ``node``."""
    prefetch_bytes(codes, np.int64(node) * np.int64(code_bytes), code_bytes)


@kernel
def code_distances(kind, metric, table, query, codes, code_bytes, d, ids, out):
    """Compact distances of ``ids`` (int32 (count,)) into ``out[:count]`` (float32); see :func:`code_distance`."""
    count = ids.shape[0]
    for i in range(min(_AHEAD, count)):
        prefetch_code(codes, code_bytes, ids[i])
    for i in range(count):
        if i + _AHEAD < count:
            prefetch_code(codes, code_bytes, ids[i + _AHEAD])
        out[i] = code_distance(kind, metric, table, query, codes, code_bytes, ids[i], d)


@kernel(allocates=True)
def fill_table(kind, metric, query, d, chunk_starts, parameters, table):
    """Fill the table of one query.

    The centroid of a product quantiser is subtracted from the query (squared L2), or its inner product with the query
    is put into the entries of the first chunk (inner product), so that sums of entries are whole distances.

    Parameters
    ----------
    kind, metric : int
        As in :func:`code_distance`.
    query : uint8, int8 or float32 (d,)
        The query.
    d : int
        Its dimension.
    chunk_starts : int32 (m + 1,)
        First dimension of each chunk, then d (``CODE_PQ``); empty otherwise.
    parameters : float32
        Of the trained codec, as the module says.
    table : float32 (table_entries,)
        Overwritten.
    """
    point = np.empty(d, np.float32)  # so that what follows is compiled once, not once per dtype of queries
    for i in range(d):
        point[i] = query[i]
    _fill_table(kind, metric, point, chunk_starts, parameters, table)


@kernel(allocates=True)
def _fill_table(kind, metric, point, chunk_starts, parameters, table):
    if kind == CODE_PQ:
        _fill_pq_table(metric, point, chunk_starts, parameters, table)
    elif kind == CODE_SQ8:
        d = point.shape[0]
        for i in range(d):
            least, step = parameters[i], parameters[d + i]
            if metric == 0:
                table[i] = (point[i] - least) / step
                table[d + i] = step * step
            else:
                table[i] = -(point[i] * least)
                table[d + i] = -(point[i] * step)


@kernel(allocates=True)
def _fill_pq_table(metric, point, chunk_starts, parameters, table):
    d = point.shape[0]
    centroid = d * CENTROIDS
    rotation = centroid + d
    moved = np.empty(d, np.float32)
    shift = np.float32(0.0)
    for i in range(d):
        if metric == 0:
            moved[i] = point[i] - parameters[centroid + i]
        else:
            moved[i] = point[i]
            shift -= point[i] * parameters[centroid + i]
    if parameters.shape[0] > rotation:
        unrotated = moved
        moved = np.zeros(d, np.float32)
        for i in range(d):
            row = parameters[rotation + i * d : rotation + (i + 1) * d]
            for j in range(d):
                moved[j] += unrotated[i] * row[j]
    for chunk in range(chunk_starts.shape[0] - 1):
        entries = table[chunk * CENTROIDS : (chunk + 1) * CENTROIDS]
        entries[:] = shift
        shift = np.float32(0.0)
        for i in range(chunk_starts[chunk], chunk_starts[chunk + 1]):
            pivots = parameters[i * CENTROIDS : (i + 1) * CENTROIDS]
            value = moved[i]
            if metric == 0:
                for j in range(CENTROIDS):
                    difference = value - pivots[j]
                    entries[j] += difference * difference
            else:
                for j in range(CENTROIDS):
                    entries[j] -= value * pivots[j]
