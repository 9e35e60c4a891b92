"""Recall against mean latency."""

from riftsim.plotting import style
from riftsim.plotting.curves import draw_against_recall
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names
from riftsim.results.store import RunSet


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw mean latency over recall, one curve per series, one point per candidate-list size."""
    return draw_against_recall(
        "recall-latency", runset, "latency_mean_us", "Mean latency", style.time_unit, names=names
    )
