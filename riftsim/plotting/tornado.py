"""A tornado figure: how much each group of latency constants moves a conclusion, the widest bar first."""

from collections.abc import Sequence
from typing import Any

from riftsim.plotting import style
from riftsim.plotting.output import Drawing
from riftsim.results.store import Run

_SHORTER, _LONGER = "#56B4E9", "#D55E00"


def drawing_of(rows: Sequence[dict[str, Any]], most_bars: int = 8, runs: Sequence[Run] = ()) -> Drawing:
    """Make the figure of some rows.

    Parameters
    ----------
    rows : sequence of dict
        ``conclusion``, ``constants``, ``factor``, ``effect``; the row with factor 1 is the profile as it is. A bar
        spans the effects of the smallest and the largest factor; the conclusion changes where it crosses 1.
    most_bars : int
        Per conclusion.
    runs : sequence of Run
        From which they are.

    Returns
    -------
    Drawing
    """
    return Drawing("tornado", lambda: _render(list(rows), most_bars), list(rows), list(runs))


def _render(rows: list[dict[str, Any]], most_bars: int):
    conclusions = list(dict.fromkeys(row["conclusion"] for row in rows))
    lines = max(1, -(-len(conclusions) // 2))
    figure, axes = style.new_panels(lines, 2, style.PAGE_IN, 1.8, legend_rows=1, share_x=False)
    handles: list[Any] = []
    extremes = (min(row["factor"] for row in rows), max(row["factor"] for row in rows))
    for panel, conclusion in zip(axes, conclusions, strict=False):
        own = [row for row in rows if row["conclusion"] == conclusion]
        handles = _bars(panel, own, extremes, most_bars)
        panel.set_title(conclusion, fontsize=style.SMALL_PT)
        panel.set_xlabel("Latency behind / ahead")
    for panel in axes[len(conclusions) :]:
        panel.set_axis_off()
    labels = [f"constants x {factor:g}" for factor in extremes]
    style.add_legend(figure, handles, labels, style.legend_columns(labels, style.PAGE_IN))
    return figure


def _bars(panel, rows: list[dict[str, Any]], extremes: tuple[float, float], most_bars: int) -> list[Any]:
    as_is = next(row["effect"] for row in rows if row["factor"] == 1.0)
    effects = {(row["constants"], row["factor"]): row["effect"] for row in rows}
    names = [name for name in dict.fromkeys(row["constants"] for row in rows) if name]
    names.sort(key=lambda name: max(abs(effects[name, factor] - as_is) for factor in extremes))
    names = names[-most_bars:]
    handles = []
    for factor, colour in zip(extremes, (_SHORTER, _LONGER), strict=True):
        widths = [effects[name, factor] - as_is for name in names]
        handles.append(panel.barh(names, widths, left=as_is, color=colour, height=0.7))
    panel.axvline(as_is, color="#888888", linewidth=0.8)
    panel.axvline(1.0, color="#000000", linewidth=1.0, linestyle=":")
    panel.tick_params(axis="y", labelsize=style.SMALL_PT)
    panel.grid(axis="y", visible=False)
    return handles
