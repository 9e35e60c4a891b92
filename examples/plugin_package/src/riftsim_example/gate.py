"""A gate: the impact rule with a smoothed update ratio."""

from riftsim.search.eager import GateView


class RuleOfSuccession:
    """Open while the expected hidden updates are few, by Laplace's rule of succession.

    The paper's rho = inserted / completed is 0 as soon as no recent evaluation inserted, however few they were. Here an
    evaluation is expected to insert with probability (inserted + 1) / (completed + 2).

    Parameters
    ----------
    epsilon : float
        Most hidden updates, as expected.
    """

    def __init__(self, epsilon: float = 1.0):
        if epsilon < 0:
            raise TypeError(f"epsilon: found {epsilon}, expected at least 0")
        self.epsilon = epsilon

    def __call__(self, view: GateView) -> bool:
        """Whether expansions may start; never asked to hold a search in which nothing is unfinished."""
        return (view.inserted + 1) / (view.completed + 2) * view.unfinished <= self.epsilon
