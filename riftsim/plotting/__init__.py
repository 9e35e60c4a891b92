"""Figures, made from recorded results only.

:func:`make_figures` draws what a list of plots asks for. Every figure is written as PNG, SVG and PDF beside the drawn
numbers (``<figure>.csv``) and the runs they come from (``<figure>.runs.json``). Matplotlib is imported when the first
figure is drawn.
"""

from riftsim.plotting.figures import DEFAULT_PLOTS, KINDS, draw, make_figures

__all__ = ["DEFAULT_PLOTS", "KINDS", "draw", "make_figures"]
