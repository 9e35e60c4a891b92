"""Growth of a search's costs with the number of vectors: measured sizes, the law, and its prediction interval."""

from collections.abc import Sequence
from typing import Any

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.results.store import Run

LABELS = {
    "L": "List size L",
    "expansions": "Expansions",
    "exact_reads": "Exact-vector reads",
    "candidates": "Candidates (verify-all)",
    "alpha": "alpha",
    "latency_mean_us": "Mean latency (us)",
}
"""Quantities that are drawn, with their labels."""


def drawing_of(rows: Sequence[dict[str, Any]], runs: Sequence[Run] = ()) -> Drawing:
    """Make the figure of some rows, a panel per quantity, both axes logarithmic.

    Parameters
    ----------
    rows : sequence of dict
        ``quantity`` (of `LABELS`), ``n``, ``value``; ``low`` and ``high`` of what the law gives, None for what was
        measured.
    runs : sequence of Run
        From which they are.

    Returns
    -------
    Drawing
    """
    return Drawing("growth", lambda: _render(list(rows)), list(rows), list(runs))


def _render(rows: list[dict[str, Any]]):
    quantities = [name for name in LABELS if any(row["quantity"] == name for row in rows)]
    lines = max(1, -(-len(quantities) // 3))
    figure, axes = style.new_panels(lines, 3, style.PAGE_IN, 1.6, legend_rows=1, share_x=False)
    handles: list[Any] = []
    for panel, name in zip(axes, quantities, strict=False):
        own = [row for row in rows if row["quantity"] == name]
        handles = _panel(panel, own)
        panel.set_ylabel(LABELS[name])
        panel.set_xlabel("Vectors")
    for panel in axes[len(quantities) :]:
        panel.set_axis_off()
    labels = ["measured", "law", "95 % prediction interval"]
    style.add_legend(figure, handles, labels, style.legend_columns(labels, style.PAGE_IN))
    return figure


def _panel(panel, rows: list[dict[str, Any]]) -> list[Any]:
    measured = [row for row in rows if row["low"] is None]
    law = sorted((row for row in rows if row["low"] is not None), key=lambda row: row["n"])
    panel.set_xscale("log")
    panel.set_yscale("log")
    (points,) = panel.plot(
        [row["n"] for row in measured], [row["value"] for row in measured], "o", color="#000000", zorder=3
    )
    x = [row["n"] for row in law]
    (line,) = panel.plot(x, [row["value"] for row in law], color="#0072B2")
    least = min(row["value"] for row in rows) / 10  # a logarithmic axis has no place for what is not positive
    band = panel.fill_between(
        x,
        [max(row["low"], least) for row in law],
        [row["high"] for row in law],
        color="#0072B2",
        alpha=0.2,
        linewidth=0,
    )
    return [points, line, band]
