"""What an index file of another tool holds, once it is read."""

from dataclasses import dataclass

import numpy as np

from riftsim.index.graph import Graph


@dataclass(frozen=True)
class ImportedIndex:
    """A graph over rows, with what is needed to search it and to name what was found.

    Attributes
    ----------
    graph : Graph
        Over all rows, routing-only ones included.
    vectors : ndarray (rows, d) or None
        uint8, int8 or float32; None if the file holds none.
    ids : ndarray (rows,) int64
        External id of each row. Without meaning for routing-only rows that never had one.
    routing_only : ndarray (rows,) bool
        Rows that a search may pass through but must not return: frozen and deleted ones.
    metric : str or None
        "l2", "ip", "cosine", or None if the file does not say.
    source : str
        Path of the file.
    """

    graph: Graph
    vectors: np.ndarray | None
    ids: np.ndarray
    routing_only: np.ndarray
    metric: str | None
    source: str
