"""A placement of records on memory nodes: stripes dealt out in turn, as disk arrays do it."""

import numpy as np


class Striped:
    """Deal runs of consecutive ids to the memory nodes in turn.

    Parameters
    ----------
    run : int
        Consecutive ids on one memory node.
    """

    def __init__(self, run: int = 1):
        if run < 1:
            raise TypeError(f"run: found {run}, expected at least 1")
        self.run = run

    def __call__(self, ids: np.ndarray, memory_nodes: int) -> np.ndarray:
        """Return the memory node of each id.

        Parameters
        ----------
        ids : int64 (n,)
            All ids, 0 to n - 1.
        memory_nodes : int

        Returns
        -------
        int64 (n,)
            In [0, memory_nodes).
        """
        return ids // self.run % memory_nodes
