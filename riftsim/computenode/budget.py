"""The memory of a compute node: what is charged to it, and an itemised refusal when it does not suffice."""

from collections.abc import Iterable

from riftsim.errors import BudgetError
from riftsim.units import format_bytes


class MemoryBudget:
    """A limit and the items charged to it.

    Parameters
    ----------
    limit_bytes : int
        Compute-side memory; RiftANN's comparisons allow 24 GB.
    items : iterable of (str, int), optional
        What takes how many bytes.
    """

    def __init__(self, limit_bytes: int, items: Iterable[tuple[str, int]] = ()):
        self.limit_bytes = int(limit_bytes)
        self._items: dict[str, int] = {}
        for name, size_bytes in items:
            self.charge(name, size_bytes)

    def charge(self, name: str, size_bytes: int) -> None:
        """Add an item; the same name twice adds up."""
        if size_bytes < 0:
            raise ValueError(f"{name}: {size_bytes} bytes, expected at least 0")
        self._items[name] = self._items.get(name, 0) + int(size_bytes)

    @property
    def items(self) -> dict[str, int]:
        """Bytes by item, in the order of charging."""
        return dict(self._items)

    @property
    def total_bytes(self) -> int:
        """Sum of all items."""
        return sum(self._items.values())

    def require(self) -> None:
        """Raise unless everything fits.

        Raises
        ------
        BudgetError
            With a table of the items, largest first, their sum and the limit.
        """
        if self.total_bytes <= self.limit_bytes:
            return
        over_bytes = self.total_bytes - self.limit_bytes
        head = f"compute-side memory: {format_bytes(over_bytes)} ({over_bytes} bytes) over cluster.memory_budget_gb"
        raise BudgetError(f"{head}\n{self.table()}")

    def table(self) -> str:
        """Items (largest first), sum and limit as aligned lines."""
        by_size = sorted(self._items.items(), key=lambda item: (-item[1], item[0]))
        rows = [*by_size, ("sum", self.total_bytes), ("limit", self.limit_bytes)]
        texts = [(name, f"{size_bytes:,}", format_bytes(size_bytes)) for name, size_bytes in rows]
        widths = [max(len(text[column]) for text in texts) for column in range(3)]
        return "\n".join(f"  {a:<{widths[0]}}  {b:>{widths[1]}} bytes  {c:>{widths[2]}}" for a, b, c in texts)
