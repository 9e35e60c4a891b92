"""Tables for people: aligned where they fit, one block per row where the terminal is too narrow."""

import logging
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

_PIPE_WIDTH = 160  # a file or pipe has no width of its own: leave room for every column
_MIN_TEXT_WIDTH = 24
_GAP = 3  # columns of characters that the table puts between two of its columns


@dataclass(frozen=True)
class Column:
    """Heading and layout of a column."""

    title: str
    numeric: bool = False
    wraps: bool = False
    """Long text, which may go on in the next line."""


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """Print a table to stdout."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    known_width = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(width=None if known_width else _PIPE_WIDTH, highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.numeric else "left",
            no_wrap=not column.wraps,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    if title:
        print(title)
    if sum(_least_width(column, index, rows) + _GAP for index, column in enumerate(columns)) <= console.width:
        with console.capture() as capture:
            console.print(table)
        print("\n".join(line.rstrip() for line in capture.get().strip("\n").splitlines()))
        return
    width = max(len(column.title) for column in columns)
    for row in rows:
        print()
        for column, cell in zip(columns, row, strict=True):
            if cell:
                print(f"{column.title:<{width}}  {cell}")


def _least_width(column: Column, index: int, rows: Sequence[Sequence[str]]) -> int:
    from rich.cells import cell_len

    longest = max(cell_len(text) for text in (column.title, *(row[index] for row in rows)))
    return min(longest, _MIN_TEXT_WIDTH) if column.wraps else longest


def show_warnings_plainly() -> None:
    """Print riftsim's own warnings as one line on stderr, each text once; leave those of other packages alone."""
    shown = set()
    standard = warnings.showwarning

    def show(message, category, filename, lineno, file=None, line=None):
        if category is not UserWarning or f"{os.sep}riftsim{os.sep}" not in filename:
            standard(message, category, filename, lineno, file, line)
        elif str(message) not in shown:
            shown.add(str(message))
            print(f"riftsim: warning: {message}", file=file or sys.stderr)

    warnings.showwarning = show


class _Notices(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Print a line on what stderr is now: a progress bar puts its own in place."""
        print(f"riftsim: {record.getMessage()}", file=sys.stderr, flush=True)


def show_notices() -> None:
    """Print what riftsim logs as lines on stderr."""
    log = logging.getLogger("riftsim")
    log.setLevel(logging.INFO)
    log.handlers = [_Notices()]


def print_json(value: object) -> None:
    """Print JSON to stdout; numbers that JSON cannot write become null."""
    import json
    import math

    def plain(item: object) -> object:
        if isinstance(item, dict):
            return {str(key): plain(inner) for key, inner in item.items()}
        if isinstance(item, list | tuple):
            return [plain(inner) for inner in item]
        if isinstance(item, float) and not math.isfinite(item):
            return None
        if isinstance(item, str | int | float | bool) or item is None:
            return item
        return plain(item.tolist()) if hasattr(item, "tolist") else str(item)

    print(json.dumps(plain(value), indent=2, allow_nan=False))


def number(value: float, digits: int = 1) -> str:
    """Write a number with thousands separated, a dash if there is none."""
    return "–" if value != value else f"{value:,.{digits}f}"
