"""What a controller sees and sets."""

from typing import NamedTuple, Protocol, runtime_checkable


class ControlView(NamedTuple):
    """Counters of one query at a control point."""

    unfinished: int
    """Evaluations queued or running."""
    generated: int
    """Evaluations generated since the last control point."""
    allowance: int
    """T_q: workers that may work for the query at once."""
    window: int
    """W_R: most reads in flight."""
    free_workers: int
    """Workers of the pool without a task at this moment."""


class SetPoint(NamedTuple):
    """What holds until the next control point."""

    allowance: int
    window: int


@runtime_checkable
class Controller(Protocol):
    """A policy of pipeline balancing; a plug-in ``controller:NAME`` provides a class of this form."""

    def decide(self, view: ControlView) -> SetPoint:
        """Return the set-point of a query."""
