"""How figures look: sizes of print columns, fonts, colours that colour-blind readers tell apart, axes and legends.

A system has one colour and one marker in all figures. Colours are those of Okabe and Ito ("Color Universal Design",
2008), and two of Paul Tol's schemes. Several series of one system share its colour in different shades and
differ in marker and line as well.
"""

import dataclasses
import hashlib
import math
from collections.abc import Sequence
from typing import Any

COLUMN_IN = 3.3
PAGE_IN = 7.0
AXES_HEIGHT_IN = 2.0
FONT_PT = 8
SMALL_PT = 7
_CHARACTER_IN = 0.055  # mean width of a character of the small font
_ENTRY_IN = 0.5  # what a legend's entry needs beside its text

_COLOURS = {
    "in_memory_vamana": "#000000",
    "remote_vamana": "#D55E00",
    "async_vamana": "#0072B2",
    "riftann": "#009E73",
    "d_hnsw": "#CC79A7",
    "distvs": "#E69F00",
    "cxl_ann": "#56B4E9",
    "diskann": "#882255",
    "pipeann": "#999933",
}
# Orders in which neighbours differ in lightness as well as in hue.
_NUMBERED = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#882255", "#999933")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))

# Parts of the latency, bottom to top: what the network costs first.
PART_LOOKS = {
    "wait": ("#D55E00", ""),
    "gate": ("#CC79A7", "xxxx"),
    "drain": ("#F0E442", "----"),
    "evaluation": ("#0072B2", ""),
    "posting": ("#E69F00", "////"),
    "polling": ("#56B4E9", "\\\\\\\\"),
    "queue": ("#BBBBBB", "...."),
    "idle": ("#FFFFFF", ""),
}

RC = {
    "font.family": "DejaVu Sans",
    "font.size": FONT_PT,
    "axes.labelsize": FONT_PT,
    "axes.titlesize": FONT_PT,
    "xtick.labelsize": SMALL_PT,
    "ytick.labelsize": SMALL_PT,
    "legend.fontsize": SMALL_PT,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.2,
    "legend.labelspacing": 0.3,
    "legend.borderaxespad": 0.2,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.linewidth": 0.4,
    "grid.color": "#DDDDDD",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "hatch.linewidth": 0.5,
    "axes.formatter.useoffset": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "riftsim",
    "svg.fonttype": "path",
}


@dataclasses.dataclass(frozen=True)
class Look:
    """How one series is drawn."""

    colour: str
    marker: str
    line: Any


def look(system: str, variant: int = 0, variants: int = 1) -> Look:
    """Return the look of a series.

    Parameters
    ----------
    system : str
        Kind of system or name of a plug-in. An unknown name gets a colour and marker that depend on the name alone.
    variant, variants : int
        Which of how many series of this system.
    """
    names = list(_COLOURS)
    if system in _COLOURS:
        number = names.index(system)
    else:
        number = int.from_bytes(hashlib.sha256(system.encode()).digest()[:4], "big")
    colour = _COLOURS[names[number % len(names)]]
    return Look(
        _shade(colour, variant, variants),
        _MARKERS[(number + variant) % len(_MARKERS)],
        _LINES[variant % len(_LINES)],
    )


def numbered_look(number: int) -> Look:
    """Return the look of a series that a figure names itself: every one has a colour, marker and line of its own."""
    return Look(_NUMBERED[number % len(_NUMBERED)], _MARKERS[number % len(_MARKERS)], _LINES[number % len(_LINES)])


def new_figure(width_in: float = COLUMN_IN, height_in: float | None = None, legend_rows: int = 0):
    """Make a figure with one set of axes; the legend's rows come on top of the height.

    Parameters
    ----------
    width_in : float
        ``COLUMN_IN`` or ``PAGE_IN``.
    height_in : float, optional
        Of the axes; by default 2 in in a column and 2.6 in on a page.
    legend_rows : int

    Returns
    -------
    (matplotlib.figure.Figure, matplotlib.axes.Axes)
    """
    # The class rather than pyplot: no global state, no window system; each output format brings its own canvas.
    from matplotlib.figure import Figure

    if height_in is None:
        height_in = AXES_HEIGHT_IN if width_in <= COLUMN_IN else 1.3 * AXES_HEIGHT_IN
    figure = Figure(figsize=(width_in, height_in + 0.4 + 0.15 * legend_rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)
    return figure, figure.add_subplot()


def new_panels(rows: int, columns: int, width_in: float, height_in: float, legend_rows: int = 0, share_x: bool = True):
    """Make a figure with a grid of axes; the legend's rows come on top.

    Parameters
    ----------
    rows, columns : int
    width_in : float
        Of the figure.
    height_in : float
        Of each row.
    legend_rows : int
    share_x : bool
        Whether axes below one another share their x axis.

    Returns
    -------
    (matplotlib.figure.Figure, ndarray of matplotlib.axes.Axes, (rows * columns,))
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, rows * height_in + 0.4 + 0.15 * legend_rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)
    axes = figure.subplots(rows, columns, sharex="col" if share_x else False, squeeze=False)
    return figure, axes.ravel()


def legend_columns(labels: Sequence[str], width_in: float = COLUMN_IN) -> int:
    """Return how many columns of a legend fit."""
    return max(1, min(len(labels), int(width_in / _widest_in(labels))))


def figure_width(labels: Sequence[str]) -> float:
    """Return one print column, or the page where a legend of many or long names would tower over one."""
    rows = math.ceil(len(labels) / legend_columns(labels))
    return COLUMN_IN if rows <= 6 and _widest_in(labels) <= COLUMN_IN else PAGE_IN


def fitted(label: str, width_in: float) -> str:
    """Cut a label that is wider than a figure; the CSV file has it whole."""
    most = int((width_in - _ENTRY_IN) / _CHARACTER_IN)
    return label if len(label) <= most else label[: most - 1] + "…"


def _widest_in(labels: Sequence[str]) -> float:
    """Estimate the width of a legend's widest entry."""
    return max((len(label) for label in labels), default=0) * _CHARACTER_IN + _ENTRY_IN


def add_legend(figure, handles: Sequence, labels: Sequence[str], columns: int) -> None:
    """Put a legend above the axes, where it hides nothing."""
    if handles:
        labels = [fitted(label, figure.get_figwidth()) for label in labels]
        figure.legend(handles, labels, loc="outside upper center", ncols=columns)


def say_nothing_to_draw(axes, reason: str) -> None:
    """Write into empty axes why they are empty."""
    axes.grid(False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", va="center", color="#555555", wrap=True)


def choose_scale(axis, values: Sequence[float]) -> None:
    """Make an axis logarithmic if its positive values span more than a factor of 20, with plain numbers if they fit."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    finite = [value for value in values if math.isfinite(value)]
    if not finite or min(finite) <= 0 or max(finite) <= 20 * min(finite):
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
        return
    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    set_scale("log")
    decades = math.log10(max(finite) / min(finite))
    if decades <= 4:
        few = axis.axis_name == "x" and decades > 2
        axis.set_major_locator(LogLocator(subs=(1,) if few else (1, 2, 5) if decades < 2.5 else (1, 3)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def choose_few_ticks(axis) -> None:
    """Give an axis of a low panel three or four ticks."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=3, steps=[1, 2, 2.5, 5, 10], min_n_ticks=2))


def handle(look: Look):
    """Return a line as a legend shows it."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=look.colour, marker=look.marker, linestyle=look.line, mec="white", mew=0.4)


def time_unit(largest_us: float) -> tuple[float, str]:
    """Return what to multiply microseconds by, and the unit's name, so that numbers stay short."""
    if largest_us >= 10_000_000:
        return 1e-6, "s"
    if largest_us >= 10_000:
        return 1e-3, "ms"
    return (1e3, "ns") if 0 < largest_us < 1 else (1.0, "µs")


def throughput_unit(largest_qps: float) -> tuple[float, str]:
    """Return what to multiply queries per second by, and the unit's name."""
    if largest_qps >= 10_000_000:
        return 1e-6, "MQPS"
    return (1e-3, "kQPS") if largest_qps >= 1000 else (1.0, "QPS")


def short_number(value: float) -> str:
    """Write a number with three digits or, above 1000, in whole units."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _shade(colour: str, variant: int, variants: int) -> str:
    """Mix a colour with white, the more the later the variant; no further than lines stay visible on paper."""
    white = variant * min(0.3, 0.6 / max(1, variants - 1))
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * white):02X}" for part in parts)


def hide_overlapping(figure, notes: Sequence) -> None:
    """Hide each text that would lie on one before it in the list; the figure's numbers stay in its CSV."""
    figure.draw_without_rendering()
    kept = []
    for note in notes:
        box = note.get_window_extent()
        if any(box.overlaps(other) for other in kept):
            note.set_visible(False)
        else:
            kept.append(box)
