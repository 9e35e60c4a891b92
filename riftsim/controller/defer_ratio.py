"""Feedback-driven pipeline balancing by the defer ratio (RiftANN, section 3.4 and Algorithm 1)."""

from dataclasses import dataclass

from riftsim.controller.protocol import ControlView, SetPoint
from riftsim.errors import ConfigError


@dataclass(frozen=True)
class DeferRatio:
    """Keeps r = unfinished / generated evaluations between two thresholds.

    Above the upper one a query gets one more worker if the pool has one free, else a smaller window. Below the lower
    one it gives a worker back if it has more than the least, else its window grows. In between nothing changes, and
    neither does it when nothing was generated.

    Attributes
    ----------
    theta_low, theta_high : float
        Thresholds; the paper's are 0.30 and 0.65.
    min_allowance, max_allowance : int
        Bounds of T_q.
    min_window, max_window : int
        Bounds of W_R.
    """

    theta_low: float = 0.30
    theta_high: float = 0.65
    min_allowance: int = 1
    max_allowance: int = 6
    min_window: int = 1
    max_window: int = 8

    def __post_init__(self):
        if not 0 <= self.theta_low <= self.theta_high:
            raise ConfigError(
                "theta_low and theta_high: expected 0 <= theta_low <= theta_high, "
                f"found {self.theta_low} and {self.theta_high}"
            )

    def decide(self, view: ControlView) -> SetPoint:
        """Move by one step."""
        allowance, window = view.allowance, view.window
        if view.generated == 0:
            return SetPoint(allowance, window)
        if view.unfinished > self.theta_high * view.generated:
            if view.free_workers > 0 and allowance < self.max_allowance:
                allowance += 1
            else:
                window = max(self.min_window, window - 1)
        elif view.unfinished < self.theta_low * view.generated:
            if allowance > self.min_allowance:
                allowance -= 1
            else:
                window = min(self.max_window, window + 1)
        return SetPoint(allowance, window)
