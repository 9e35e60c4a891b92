"""A search whose records lie in the sectors of a file: it reads whole sectors, and finds the records in them."""

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
    """

    def __init__(self, inner: Program, layout: SectorLayout):
        self._inner = inner
        self._layout = layout
        self._sector_reads = 0

    @property
    def inner(self) -> Program:
        """The search of records."""
        return self._inner

    def start(self, query_index: int) -> Step:
        """Begin the search of one evaluated query."""
        self._sector_reads = 0
        return self._in_sectors(self._inner.start(query_index))

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take in completed reads."""
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
            offset = layout.sector_at(read.offset_bytes // layout.record_bytes)
            chain.append(read._replace(offset_bytes=offset, length_bytes=layout.span_bytes))
        return step._replace(chain=tuple(chain))
