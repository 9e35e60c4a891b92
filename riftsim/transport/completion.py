"""What a network or a drive needs of a completion queue."""

from typing import Protocol


class CompletionQueue(Protocol):
    """Where completions become visible."""

    def push(self, tag: int, is_entry: bool = True) -> None:
        """Take the tag of a completed read, in the event in which it becomes visible.

        ``is_entry`` is whether it has an entry of its own; an unsignalled read is seen with the next entry of its queue
        pair.
        """
