"""Which nodes of a graph a search can reach."""

import numpy as np

from riftsim.kernels._jit import kernel


@kernel
def spread(neighbors, width, degrees, start, reached, queue):
    """Mark ``start`` and every node that can be reached from it, except through nodes already marked.

    Parameters
    ----------
    neighbors, width, degrees : ndarray (n*width,) int32, int, ndarray (n,) int32
        Flat adjacency lists.
    start : int
        A node that is not marked.
    reached : ndarray (n,) uint8
        Marks, updated.
    queue : ndarray (n,) int32
        Scratch.

    Returns
    -------
    int
        Nodes newly marked.
    """
    reached[start] = 1
    queue[0] = start
    head = 0
    tail = 1
    while head < tail:
        node = np.int64(queue[head])
        head += 1
        for at in range(node * width, node * width + degrees[node]):
            other = neighbors[at]
            if reached[other] == 0:
                reached[other] = 1
                queue[tail] = other
                tail += 1
    return tail
