"""Walks over all edges of a graph: which nodes a search can reach, and whether every edge is sound."""

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


OUTSIDE, LOOP, REPEATED, PAST_DEGREE, DEGREE = 1, 2, 3, 4, 5
"""What ``first_flaw`` finds: id out of range, edge to itself, neighbour twice, filled place past the degree, degree."""


@kernel
def first_flaw(neighbors, width, degrees, marks):
    """Find the first flawed place.

    Parameters
    ----------
    neighbors, width, degrees : ndarray (n*width,) int32, int, ndarray (n,) int32
        Flat adjacency lists.
    marks : ndarray (n,) int32
        Scratch, all -1.

    Returns
    -------
    flaw, row, place : int
        Flaw 0 if there is none.
    """
    n = degrees.size
    for row in range(n):
        if degrees[row] < 0 or degrees[row] > width:
            return DEGREE, row, 0
        for place in range(width):
            other = neighbors[np.int64(row) * width + place]
            if place >= degrees[row]:
                if other != -1:
                    return PAST_DEGREE, row, place
                continue
            if other < 0 or other >= n:
                return OUTSIDE, row, place
            if other == row:
                return LOOP, row, place
            if marks[other] == row:
                return REPEATED, row, place
            marks[other] = row
    return 0, 0, 0
