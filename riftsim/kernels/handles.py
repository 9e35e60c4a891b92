"""Queries and indices as arrays of addresses, so that one argument carries them into a kernel.

A call from Python takes about 0.3 us for each array argument; a query has twenty. A handle is one int64 array that
holds the address and the lengths of each of them, from which a kernel makes the same ``QueryState`` or
``RemoteIndex`` without copying anything. Whoever makes a handle keeps the arrays alive for as long as it is used.
"""

import numpy as np

from riftsim.kernels._jit import kernel
from riftsim.kernels.addresses import array_at, matrix_at
from riftsim.kernels.query import OUT_COLUMNS, TASK_COLUMNS, TRAIL_COLUMNS, QueryState
from riftsim.kernels.traversal import RemoteIndex


def state_handle(state: QueryState) -> np.ndarray:
    """Handle of a query's state: int64 (3 * fields,)."""
    words = []
    for array in state:
        words += [array.ctypes.data, array.shape[0], array.shape[1] if array.ndim == 2 else 0]
    return np.array(words, np.int64)


def index_handle(index: RemoteIndex) -> np.ndarray:
    """Handle of an index: address and length of its arrays, then its numbers; int64."""
    words = []
    for value in index:
        words += [value.ctypes.data, value.shape[0]] if isinstance(value, np.ndarray) else [value]
    return np.array(words, np.int64)


@kernel(inline=True)
def state_of(handle):
    """The state of a handle."""
    h = handle
    return QueryState(
        array_at(h[0], h[1], np.int64),
        array_at(h[3], h[4], np.int64),
        array_at(h[6], h[7], np.uint64),
        array_at(h[9], h[10], np.uint64),
        array_at(h[12], h[13], np.float32),
        array_at(h[15], h[16], np.int32),
        array_at(h[18], h[19], np.uint8),
        array_at(h[21], h[22], np.uint64),
        array_at(h[24], h[25], np.int32),
        array_at(h[27], h[28], np.float32),
        matrix_at(h[30], h[31], TASK_COLUMNS, np.int64),
        array_at(h[33], h[34], np.uint8),
        matrix_at(h[36], h[37], TRAIL_COLUMNS, np.int32),
        array_at(h[39], h[40], np.int64),
        array_at(h[42], h[43], np.int32),
        array_at(h[45], h[46], np.uint8),
        array_at(h[48], h[49], np.int32),
        array_at(h[51], h[52], np.int32),
        matrix_at(h[54], h[55], h[56], np.int32),
        matrix_at(h[57], h[58], OUT_COLUMNS, np.int64),
        array_at(h[60], h[61], np.int32),
    )


@kernel(inline=True)
def index_of(handle):
    """The index of a handle."""
    h = handle
    return RemoteIndex(
        array_at(h[0], h[1], np.uint8),
        array_at(h[2], h[3], np.uint8),
        array_at(h[4], h[5], np.int64),
        array_at(h[6], h[7], np.int64),
        array_at(h[8], h[9], np.int32),
        array_at(h[10], h[11], np.uint8),
        h[12],
        h[13],
        h[14],
        h[15],
        h[16],
        h[17],
        h[18],
    )
