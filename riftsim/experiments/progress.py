"""Progress of a sweep: a bar with rate and time left on a terminal, plain lines elsewhere."""

import time
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from riftsim.experiments.point import Outcome
from riftsim.experiments.runner import Reporter

_WIDE = 50
"""From this many characters on there is room for a bar."""
_ESTIMATES_FROM_S = 2.0
"""Less than this says nothing about the time that is left."""


def reporter_for(stream: TextIO) -> Reporter:
    """Return the reporter that suits a stream."""
    return BarReporter(Console(file=stream)) if stream.isatty() else LineReporter(stream)


def outcome_line(outcome: Outcome) -> str:
    """Say in one line how a point ended; why it failed stands once, below the sweep."""
    if outcome.status == "failed":
        return f"{outcome.point.slug}: failed"
    return f"{outcome.point.slug}: {outcome.seconds:.1f} s"


def time_left(seconds: float) -> str:
    """Say how long something will take, as exactly as can be known."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    return f"about {seconds / 60:.0f} min left" if seconds < 5400 else f"about {seconds / 3600:.1f} h left"


class LineReporter:
    """One line per event."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._total = self._done = self._skipped = 0
        self._first_end_s: float | None = None

    def begin(self, total: int, skipped: int) -> None:
        """Say how many points there are."""
        self._total, self._done, self._skipped = total, skipped, skipped
        already = f", {skipped} complete already" if skipped else ""
        self._print(f"{total} point(s){already}")

    def stage(self, text: str) -> None:
        """Say what is done before the points run."""
        self._print(text)

    def finished(self, outcome: Outcome) -> None:
        """Print the point and, while there is more to come, rate and time left; without the first, which compiles."""
        self._done += 1
        left, timed, rest = self._total - self._done, self._done - self._skipped - 1, ""
        now_s = time.monotonic()
        if self._first_end_s is None:
            self._first_end_s = now_s
        elif left and (elapsed_s := now_s - self._first_end_s) >= _ESTIMATES_FROM_S:
            rest = f" ({60 * timed / elapsed_s:.1f} points/min, {time_left(elapsed_s / timed * left)})"
        self._print(f"[{self._done}/{self._total}] {outcome_line(outcome)}{rest}")

    def end(self) -> None:
        """Print nothing more."""

    def _print(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class _Rate(ProgressColumn):
    def render(self, task) -> Text:
        """Write the rate in points per minute."""
        return Text(f"{60 * task.speed:.1f}/min" if task.speed else "", style="progress.data.speed")


class BarReporter:
    """A bar; finished points scroll above it."""

    def __init__(self, console: Console):
        columns: list[ProgressColumn] = [MofNCompleteColumn(), TimeRemainingColumn(compact=True)]
        if console.width >= _WIDE:
            columns = [TextColumn("{task.description}"), BarColumn(bar_width=None), columns[0], _Rate(), columns[1]]
        self._progress = Progress(
            *columns,
            console=console,
            speed_estimate_period=3600,
            transient=True,
        )
        self._task = self._progress.add_task("points", total=None)

    def begin(self, total: int, skipped: int) -> None:
        """Show the bar."""
        if skipped:
            self._progress.console.print(f"{skipped} of {total} point(s) complete already")
        self._progress.update(self._task, total=total - skipped)
        self._progress.start()

    def stage(self, text: str) -> None:
        """Print what is done before the points run."""
        self._progress.console.print(text, markup=False, highlight=False)

    def finished(self, outcome: Outcome) -> None:
        """Print the point above the bar and move the bar."""
        style = "red" if outcome.status == "failed" else None
        self._progress.console.print(outcome_line(outcome), markup=False, highlight=False, style=style)
        self._progress.advance(self._task)

    def end(self) -> None:
        """Remove the bar."""
        self._progress.stop()
