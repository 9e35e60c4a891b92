"""Deserialised partitions in a compute node's memory: least recently used out first, those in use not at all."""

from collections import Counter, OrderedDict


class PartitionCache:
    """A bounded number of partitions of about one size.

    Parameters
    ----------
    capacity : int
        Most partitions, those that are being read into it included; at least 1.
    """

    def __init__(self, capacity: int):
        if capacity < 1:
            raise ValueError(f"capacity {capacity}: expected room for at least 1 partition")
        self.capacity = capacity
        self._held: OrderedDict[int, None] = OrderedDict()
        self._uses: Counter[int] = Counter()

    def __contains__(self, partition: int) -> bool:
        return partition in self._held

    @property
    def held(self) -> list[int]:
        """Partitions in it, the least recently used first."""
        return list(self._held)

    def use(self, partition: int, times: int) -> None:
        """Note that a partition, held or to be reserved, will be searched so many times; it stays until then."""
        self._uses[partition] += times
        if partition in self._held:
            self._held.move_to_end(partition)

    def release(self, partition: int) -> None:
        """Note that it was searched once."""
        self._uses[partition] -= 1
        if not self._uses[partition]:
            del self._uses[partition]

    def reserve(self, partition: int) -> bool:
        """Make room for a partition and hold it; False, and nothing changed, if all that are held are in use."""
        if len(self._held) >= self.capacity:
            victim = next((held for held in self._held if held not in self._uses), None)
            if victim is None:
                return False
            del self._held[victim]
        self._held[partition] = None
        return True
