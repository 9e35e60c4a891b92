"""A search whose records lie in the sectors of a file: it reads whole sectors, and finds the records in them."""

import numpy as np

from riftsim.errors import IndexFileError
from riftsim.index.sectors import SectorLayout
from riftsim.kernels.query import READ_RECORD
from riftsim.search.messages import Answer, Program, Step


class SectorSearch:
    """Turns the reads of records into reads of the sectors that they lie in.

    What is searched, and by which rules, is the inner search's affair.

    Parameters
    ----------
    inner : Program
        A search that reads whole records, placed one after the other.
    layout : SectorLayout
        Of the file.
    rows : int
        Records in it.
    vector_dtype, vector_bytes : dtype, int
        Of the exact vector that a record begins with.
    """

    def __init__(self, inner: Program, layout: SectorLayout, rows: int, vector_dtype: np.dtype, vector_bytes: int):
        self._inner = inner
        self._layout = layout
        self._rows = rows
        self._vector_dtype, self._vector_bytes = np.dtype(vector_dtype), vector_bytes
        self._sector_reads = 0
        self._landing: tuple[np.ndarray, int, int] | None = None
        self._row_of: dict[int, int] = {}
        """Row of each read in flight, while records land in a buffer."""

    @property
    def inner(self) -> Program:
        """The search of records."""
        return self._inner

    @property
    def landing_slots(self) -> int:
        """Places that the reads of one query need."""
        return self._inner.landing_slots

    @property
    def read_bytes(self) -> int:
        """Bytes of each read."""
        return self._layout.span_bytes

    def land_in(self, buffer: np.ndarray, first_bytes: int, slot_bytes: int) -> None:
        """Take in sectors from a buffer that they are read into, as of ``GraphSearch.land_in``.

        From now on every record is checked before it is taken in.
        """
        layout = self._layout
        self._landing = buffer, first_bytes, slot_bytes
        self._inner.land_in(
            buffer, first_bytes, slot_bytes, lambda offset: layout.within(offset // layout.record_bytes)
        )

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query."""
        self._sector_reads = 0
        self._row_of.clear()
        return self._in_sectors(self._inner.start(query_index))

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take in completed reads.

        Raises
        ------
        IndexFileError
            If a record that landed cannot be one of the index: names its row, its byte in the file and what is wrong.
        """
        if self._landing:
            for tag in reads:
                if tag in self._row_of:
                    self._check(tag, self._row_of.pop(tag))
        return self._in_sectors(self._inner.receive(reads, tasks))

    def retry(self, reads: list[int]) -> Step:
        """Ask again for reads that failed."""
        return self._in_sectors(self._inner.retry(reads))

    def answer(self) -> Answer:
        """Return the results of the search; bytes are those of the sectors."""
        answer = self._inner.answer()
        answer.counts["bytes_read"] = self._sector_reads * self._layout.span_bytes
        return answer

    def _in_sectors(self, step: Step) -> Step:
        if step.then is not None:
            step = step._replace(then=self._in_sectors(step.then))
        if not step.chain:
            return step
        self._sector_reads += len(step.chain)
        layout, chain = self._layout, []
        for read in step.chain:
            if read.kind != READ_RECORD:
                raise ValueError(f"{read}: only whole records lie in sectors")
            row = read.offset_bytes // layout.record_bytes
            if self._landing:
                self._row_of[read.tag] = row
            chain.append(read._replace(offset_bytes=layout.sector_at(row), length_bytes=layout.span_bytes))
        return step._replace(chain=tuple(chain))

    def _check(self, tag: int, row: int) -> None:
        """Refuse a record that would lead the search outside of the index."""
        buffer, first_bytes, slot_bytes = self._landing
        layout, split = self._layout, self._vector_bytes
        start = first_bytes + tag % self.landing_slots * slot_bytes + layout.within(row)
        record = buffer[start : start + layout.record_bytes]
        words = record[split:].view("<u4") if (start + split) % 4 == 0 else record[split:].copy().view("<u4")
        degree, width = int(words[0]), len(words) - 1
        if degree > width:
            self._refuse(row, f"degree {degree}", f"at most {width}")
        if degree and (largest := int(words[1 : 1 + degree].max())) >= self._rows:
            self._refuse(row, f"neighbour {largest}", f"rows 0 to {self._rows - 1}")
        if self._vector_dtype.kind == "f" and not np.isfinite(record[:split].copy().view(self._vector_dtype)).all():
            self._refuse(row, "a vector with values that are not finite", "finite ones")

    def _refuse(self, row: int, found: str, expected: str) -> None:
        layout = self._layout
        at = layout.sector_at(row) + layout.within(row)
        raise IndexFileError(f"byte {at}: record of row {row}: found {found}, expected {expected}")
