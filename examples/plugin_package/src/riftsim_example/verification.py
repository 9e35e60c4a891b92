"""A verification rule: a generous alpha while the search still moves, a tight one when it has settled."""

from riftsim.search.eager import VerificationView


class Cooling:
    """alpha falls from ``first`` to ``last`` with the share of recent evaluations that inserted.

    Parameters
    ----------
    first, last : float
        alpha while every recent evaluation inserts, and when none does.
    """

    def __init__(self, first: float = 1.3, last: float = 1.1):
        if not 1.0 <= last <= first:
            raise TypeError(f"first and last: expected 1 <= last <= first, found {first} and {last}")
        self.first = first
        self.last = last

    def __call__(self, view: VerificationView) -> float:
        """alpha of the coming decision."""
        share = view.inserted / view.completed if view.completed else 1.0
        return self.last + (self.first - self.last) * share
