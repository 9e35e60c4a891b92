"""Matching: the candidate list at which a system is compared.

By recall: the smallest integer L whose mean strict recall reaches the target. By work: the smallest L that expands the
target number of nodes per query. Nothing is interpolated: the L is one that was run.
"""

from collections.abc import Callable

from riftsim.errors import ResultsError


def smallest_list(value_at: Callable[[int], float], target: float, least: int, most: int) -> int:
    """Return the smallest L whose value reaches a target.

    The value (mean recall, mean expansions) grows with L, apart from noise: L is doubled until the value is reached,
    halved in between, and then lowered one by one while the value is still reached.

    Parameters
    ----------
    value_at : callable
        Mean over all queries at an integer L; called once for each L that is looked at.
    target : float
    least, most : int
        Bounds of L, both allowed.

    Returns
    -------
    int
        ``value_at(L) >= target``, and not for ``L - 1`` unless L is ``least``.

    Raises
    ------
    ResultsError
        Not even the longest list reaches it.
    """
    known: dict[int, float] = {}

    def reaches(size: int) -> bool:
        if size not in known:
            known[size] = value_at(size)
        return known[size] >= target

    low, high = least - 1, least
    while not reaches(high):
        if high == most:
            raise ResultsError(f"matching: found {known[most]:.4g} at L = {most}, expected at least {target:g}")
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    while high > least and reaches(high - 1):
        high -= 1
    return high
