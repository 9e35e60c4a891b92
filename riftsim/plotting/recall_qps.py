"""Recall against throughput, with each series' Pareto front."""

from riftsim.plotting import style
from riftsim.plotting.curves import draw_against_recall
from riftsim.plotting.output import Drawing
from riftsim.plotting.series import Names
from riftsim.results.store import RunSet


def draw(runset: RunSet, names: Names | None = None) -> Drawing:
    """Draw throughput over recall; the line joins the Pareto front, points behind it are hollow."""
    return draw_against_recall(
        "recall-qps", runset, "qps", "Throughput", style.throughput_unit, front=True, names=names
    )
