"""Reads that are posted and not completed, counted over simulated time."""


class OutstandingReads:
    """What a simulated device counts of them.

    Attributes
    ----------
    outstanding, outstanding_max : int
        Reads posted and not completed, and the most there were.
    outstanding_area : int
        Integral of ``outstanding`` over time in picoseconds, up to ``changed_ps``.
    """

    __slots__ = ("changed_ps", "outstanding", "outstanding_area", "outstanding_max")

    def __init__(self) -> None:
        self.outstanding = self.outstanding_max = self.outstanding_area = self.changed_ps = 0

    def change_outstanding(self, by: int, now_ps: int) -> None:
        """Count reads that are posted or complete now."""
        self.outstanding_area += self.outstanding * (now_ps - self.changed_ps)
        self.changed_ps = now_ps
        self.outstanding += by
        if self.outstanding > self.outstanding_max:
            self.outstanding_max = self.outstanding

    def outstanding_counters(self, now_ps: int) -> dict[str, float]:
        """Return the most there were, and their mean from 0 to now."""
        area = self.outstanding_area + self.outstanding * (now_ps - self.changed_ps)
        return {
            "outstanding_max": self.outstanding_max,
            "outstanding_mean": area / now_ps if now_ps else 0.0,
        }
