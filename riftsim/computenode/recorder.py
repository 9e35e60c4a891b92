"""Writing down what happens to traced queries in the SimPy engine: the rows of ``kernels.engine_trace``."""

from collections.abc import Callable

import numpy as np

from riftsim.kernels.engine_trace import packed

Note = Callable[..., None]
"""``note(kind, query, number, *values)``: a row of ``kernels.engine_trace``."""


def note_nothing(kind: int, query: int, number: int, *values: int) -> None:
    """Trace no query."""


class TraceRecorder:
    """Keeps the rows of some queries.

    Parameters
    ----------
    traced : range
        Numbers of arrival.
    """

    def __init__(self, traced: range):
        self._traced = traced
        self._words: list[int] = []

    def note(self, kind: int, query: int, number: int, *values: int) -> None:
        """Keep a row, if the query is traced."""
        if query in self._traced:
            self._words += (packed(kind, query, number), *values)

    def words(self) -> np.ndarray:
        """What was written down, in order: int64 (words,)."""
        return np.array(self._words, np.int64)
