"""A completion queue that writes down what was told to it, and when."""

from collections.abc import Callable

from riftsim.calendar import Calendar


class CompletionTimes:
    """Takes completions from a simulated network or drive.

    Parameters
    ----------
    calendar : Calendar
        Tells the time.
    then : callable or None
        Called after each completion.
    """

    def __init__(self, calendar: Calendar, then: Callable[[], None] | None = None):
        self._calendar, self._then = calendar, then
        self.entries: list[tuple[int, int]] = []
        """Tag and time in ps, in order of arrival."""

    def push(self, tag: int, is_entry: bool = True) -> None:
        self.entries.append((tag, self._calendar.now))
        if self._then:
            self._then()

    @property
    def tags(self) -> list[int]:
        return [tag for tag, _ in self.entries]
