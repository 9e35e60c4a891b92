"""Where a node's record lies: formulas and tables that both Python and other kernels evaluate.

A placement is two arrays. ``parameters`` (int64) is ``[kind, a, b, n, per, nodes, base_0 .. base_nodes]``, where
``base_y`` is the number of records on the memory nodes before ``y``; ``positions`` (int32) is the rank of each node's
record among all records, and is empty unless the kind is ``PLACED_BY_TABLE``.
"""

import numpy as np

from riftsim.kernels._jit import kernel

PLACED_CONTIGUOUSLY = 0
PLACED_BY_HASH = 1
PLACED_BY_TABLE = 2

_BASES = 6


@kernel(inline=True)
def position_of(parameters, positions, node):
    """Rank (int64) of the record of ``node`` among the records of all memory nodes in their order."""
    kind = parameters[0]
    if kind == PLACED_BY_HASH:  # a and node are below 2**31, so the product fits
        return (parameters[1] * np.int64(node) + parameters[2]) % parameters[3]
    if kind == PLACED_BY_TABLE:
        return np.int64(positions[node])
    return np.int64(node)


@kernel(inline=True)
def locate(parameters, positions, node):
    """Memory node of ``node``'s record and the record's slot there, both int64."""
    position = position_of(parameters, positions, node)
    if parameters[0] == PLACED_BY_TABLE:
        memory_node = np.int64(0)
        while parameters[_BASES + memory_node + 1] <= position:
            memory_node += 1
    else:
        memory_node = position // parameters[4]
    return memory_node, position - parameters[_BASES + memory_node]


@kernel
def locate_all(parameters, positions, nodes, memory_nodes, slots):
    """:func:`locate` for ``nodes`` (integers (count,)), into ``memory_nodes`` (int32) and ``slots`` (int64)."""
    for i in range(nodes.shape[0]):
        memory_nodes[i], slots[i] = locate(parameters, positions, nodes[i])
