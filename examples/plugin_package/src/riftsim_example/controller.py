"""A controller of pipeline balancing: additive increase, multiplicative decrease of the window, as in TCP."""

from riftsim.controller.protocol import ControlView, SetPoint


class Aimd:
    """Halve the window above a target of the defer ratio, else widen it by one; leave the workers alone.

    Parameters
    ----------
    target : float
        Of r = unfinished / generated evaluations.
    max_window : int
        Largest window, at most 32.
    """

    def __init__(self, target: float = 0.5, max_window: int = 16):
        if not 1 <= max_window <= 32:
            raise TypeError(f"max_window: found {max_window}, expected 1 to 32")
        self.target = target
        self.max_window = max_window

    def decide(self, view: ControlView) -> SetPoint:
        """Return the set-point until the query's next control point."""
        if view.generated == 0:
            return SetPoint(view.allowance, view.window)
        if view.unfinished > self.target * view.generated:
            return SetPoint(view.allowance, max(1, view.window // 2))
        return SetPoint(view.allowance, min(self.max_window, view.window + 1))
