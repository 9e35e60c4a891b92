"""Bounded sorted lists of (distance, id): the candidate list of best-first search, and the k best exact results.

An entry is one uint64: the distance's bits in an order that unsigned comparison understands, then the id, then one flag
bit ("taken": expanded or being expanded). Sorting entries sorts by distance and breaks ties by id, so the list does not
depend on the order in which equal candidates arrive.
"""

import numpy as np

from riftsim.kernels._jit import kernel
from riftsim.kernels.vector_ops import float_bits, float_from_bits, move_up

TAKEN = np.uint64(1)
_SIGN = np.uint32(0x80000000)
_ONES = np.uint32(0xFFFFFFFF)


@kernel(inline=True)
def pack(distance, node):
    """Make the entry of a node that is not taken. ``distance`` float32 (no NaN), ``node`` in [0, 2**31)."""
    bits = float_bits(np.float32(distance) + np.float32(0.0))
    ordered = np.uint32(bits ^ _ONES) if bits & _SIGN else np.uint32(bits | _SIGN)
    return (np.uint64(ordered) << np.uint64(32)) | (np.uint64(node) << np.uint64(1))


@kernel(inline=True)
def distance_of(key):
    """Distance (float32) of an entry."""
    ordered = np.uint32(key >> np.uint64(32))
    bits = np.uint32(ordered ^ _SIGN) if ordered & _SIGN else np.uint32(ordered ^ _ONES)
    return float_from_bits(bits)


@kernel(inline=True)
def id_of(key):
    """Node (int32) of an entry."""
    return np.int32((key & np.uint64(0xFFFFFFFF)) >> np.uint64(1))


@kernel(inline=True)
def is_taken(key):
    """Whether the entry's node is expanded or being expanded."""
    return (key & TAKEN) != np.uint64(0)


@kernel(inline=True)
def insert(keys, size, capacity, key):
    """Put ``key`` into the sorted ``keys[:size]``, dropping the last entry of a full list.

    Returns
    -------
    int
        The position of the new entry, or -1 if a full list holds only nearer ones. The caller adds 1 to its size when
        the list was not full. The node must not be in the list.
    """
    if size == capacity:
        if size == 0 or key >= keys[size - 1]:
            return -1
        size -= 1
    low = 0
    high = size
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    move_up(keys, low, size)
    keys[low] = key
    return low


def unpack(keys, size):
    """Decode a list for people.

    Parameters
    ----------
    keys : uint64 (capacity,)
        The list.
    size : int
        Entries in it.

    Returns
    -------
    ids, distances : int32 (capacity,), float32 (capacity,)
        -1 and inf behind the last entry.
    """
    ids = np.full(len(keys), -1, np.int32)
    distances = np.full(len(keys), np.inf, np.float32)
    ids[:size] = (keys[:size] & np.uint64(0xFFFFFFFF)) >> np.uint64(1)
    ordered = (keys[:size] >> np.uint64(32)).astype(np.uint32)
    distances[:size] = np.where(ordered & _SIGN, ordered ^ _SIGN, ordered ^ _ONES).view(np.float32)
    return ids, distances
