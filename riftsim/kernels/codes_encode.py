"""Encoding by a product quantiser: the nearest centroid of each chunk.

faiss would do it too, at ten times the cost where a chunk is not 1, 2, 4 or 8 dimensions wide (a 20-byte code of 128
dimensions has chunks of 6 and 7). The sums are those of ``codes.fill_table``, so a code is where a table is least.
"""

import numpy as np

from riftsim.kernels._jit import kernel
from riftsim.kernels.codes import CENTROIDS


@kernel(allocates=True)
def encode_chunks(points, chunk_starts, parameters, codes):
    """Write the nearest pivot (squared L2, the first among equals) of every chunk of every point.

    Parameters
    ----------
    points : float32 (rows, d)
        Centred, and rotated if the quantiser rotates.
    chunk_starts : int32 (m + 1,)
        First dimension of each chunk, then d.
    parameters : float32
        Begins with the pivots, (d, 256).
    codes : uint8 (rows, m)
        Overwritten.
    """
    distances = np.empty(CENTROIDS, np.float32)
    bits = distances.view(np.int32)  # in the order of the distances, which are not negative
    for row in range(points.shape[0]):
        for chunk in range(chunk_starts.shape[0] - 1):
            distances[:] = np.float32(0.0)
            for i in range(chunk_starts[chunk], chunk_starts[chunk + 1]):
                pivots = parameters[i * CENTROIDS : (i + 1) * CENTROIDS]
                value = points[row, i]
                for j in range(CENTROIDS):
                    difference = value - pivots[j]
                    distances[j] += difference * difference
            least = bits[0]
            for j in range(1, CENTROIDS):
                least = min(least, bits[j])
            nearest = 0
            while bits[nearest] != least:
                nearest += 1
            codes[row, chunk] = nearest
