"""Records in sectors: where DiskANN's on-disk index keeps the record of a row.

Sector 0 is metadata. Records do not cross sectors unless one is longer than a sector; then each begins at a sector of
its own.
"""

from dataclasses import dataclass

SECTOR_BYTES = 4096


@dataclass(frozen=True)
class SectorLayout:
    """Sizes and places of records.

    Parameters
    ----------
    record_bytes : int
        Of one record, at least 1.
    """

    record_bytes: int

    @property
    def per_sector(self) -> int:
        """Records in a sector; 0 where a record takes several sectors."""
        return SECTOR_BYTES // self.record_bytes

    @property
    def span_bytes(self) -> int:
        """Bytes of the sectors that a record lies in: what is read for it."""
        return SECTOR_BYTES * max(1, -(-self.record_bytes // SECTOR_BYTES))

    def sector_at(self, row: int) -> int:
        """First byte in the file of the sectors of a row."""
        if self.per_sector:
            return SECTOR_BYTES * (1 + row // self.per_sector)
        return SECTOR_BYTES + row * self.span_bytes

    def within(self, row: int) -> int:
        """First byte of a row's record within its sectors."""
        return row % self.per_sector * self.record_bytes if self.per_sector else 0

    def file_bytes(self, rows: int) -> int:
        """Size of the file."""
        return self.sector_at(rows - 1) + self.span_bytes
