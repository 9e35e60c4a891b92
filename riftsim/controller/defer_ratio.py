"""Feedback-driven pipeline balancing by the defer ratio (RiftANN, section 3.4 and Algorithm 1)."""

from dataclasses import dataclass

from riftsim.controller.protocol import ControlView, SetPoint
from riftsim.errors import ConfigError
from riftsim.kernels.balance import PER_UNIT, defer_ratio_step

# The Python engine calls the kernel's source, a compiled engine the kernel.
_step = defer_ratio_step.py_func


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
        step = _step(
            view.unfinished, view.generated, view.allowance, view.window, view.free_workers, *self.integer_settings()
        )
        return SetPoint(*step)

    def integer_settings(self) -> tuple[int, int, int, int, int, int]:
        """Thresholds in parts per million, then the bounds: the settings of ``kernels.balance``."""
        return (
            round(self.theta_low * PER_UNIT),
            round(self.theta_high * PER_UNIT),
            self.min_allowance,
            self.max_allowance,
            self.min_window,
            self.max_window,
        )
