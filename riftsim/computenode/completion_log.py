"""The log of a live run: every call into its searches, in the order in which they were made.

Not the completions alone: what an eager search decides depends on which of them it is told of together. With the
answers and the requests that followed, a replay can tell whether the search decides the same again.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from riftsim.errors import ResultsError
from riftsim.files import atomic_write
from riftsim.search.messages import Answer, Program, Step

START, RECEIVE, RETRY, APPLY, ANSWER = "start", "receive", "retry", "apply", "answer"


def _schema():
    import pyarrow as pa  # here and below, so that runs without a log do not wait for it

    return pa.schema(
        [
            pa.field("search", pa.int64(), metadata={"is": "number of the search, in the order of starting"}),
            pa.field("call", pa.string(), metadata={"is": "start, receive, retry, apply or answer"}),
            pa.field("number", pa.int64(), metadata={"is": "start: the query; apply: the window; else -1"}),
            pa.field("reads", pa.list_(pa.int64()), metadata={"is": "tags that the search was told of"}),
            pa.field("tasks", pa.list_(pa.int64()), metadata={"is": "evaluation tasks that it was told of"}),
            pa.field(
                "requests", pa.list_(pa.list_(pa.int64(), 3)), metadata={"is": "tag, node and kind of what it asked"}
            ),
            pa.field("ids", pa.list_(pa.int64()), metadata={"is": "answer: the results"}),
        ],
        metadata={"riftsim_completion_log": "1"},
    )


class Call(NamedTuple):
    """One call into a search, and what came of it."""

    search: int
    call: str
    number: int = -1
    reads: Sequence[int] = ()
    tasks: Sequence[int] = ()
    requests: Sequence[list[int]] = ()
    ids: Sequence[int] = ()


def requests_of(step: Step) -> list[list[int]]:
    """Tag, node and kind of every read that a step asks for."""
    return [[read.tag, read.node, read.kind] for part in step.parts() for read in part.chain]


class CompletionLog:
    """Records the searches of a run.

    Parameters
    ----------
    path : path-like
        The file to be written; it must not exist.
    """

    def __init__(self, path: str | Path):
        self._path = Path(path)
        if self._path.exists():
            raise ResultsError(f"driver.record: {path} is there already; expected a new file")
        self._calls: list[Call] = []
        self._numbers = itertools.count()

    def recorded(self, program: Program) -> "RecordedProgram":
        """The program, with every call written down."""
        return RecordedProgram(program, self)

    def begin(self) -> int:
        """Number of a search that starts."""
        return next(self._numbers)

    def note(self, call: Call) -> None:
        """Append a call; any thread may."""
        self._calls.append(call)

    def write(self) -> None:
        """Write the file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with atomic_write(self._path) as partial:
            rows = [call._asdict() for call in self._calls]
            pq.write_table(pa.Table.from_pylist(rows, _schema()), partial)


def read_log(path: str | Path) -> list[Call]:
    """Read a log.

    Raises
    ------
    ResultsError
        If it cannot be read or is something else.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise ResultsError(f"driver.log: {path}: found {error}, expected the completion log of a live run") from error
    expected = _schema()
    if not table.schema.equals(expected, check_metadata=False) or b"riftsim_completion_log" not in (
        table.schema.metadata or {}
    ):
        raise ResultsError(f"driver.log: {path}: found columns {table.column_names}, expected {expected.names}")
    return [Call(**row) for row in table.to_pylist()]


class RecordedProgram:
    """A search program that writes down what it is told and what it answers; all else is the inner program's."""

    def __init__(self, inner: Program, log: CompletionLog):
        self._inner = inner
        self._log = log
        self._search = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def start(self, query_index: int) -> Step:
        """Begin a search, under a new number."""
        self._search = self._log.begin()
        step = self._inner.start(query_index)
        self._log.note(Call(self._search, START, query_index, requests=requests_of(step)))
        return step

    def receive(self, reads: list[int], tasks: list[int]) -> Step:
        """Take in completions."""
        step = self._inner.receive(reads, tasks)
        self._log.note(Call(self._search, RECEIVE, -1, reads, tasks, requests_of(step)))
        return step

    def retry(self, reads: list[int]) -> Step:
        """Ask again for reads that failed."""
        step = self._inner.retry(reads)
        self._log.note(Call(self._search, RETRY, -1, reads, requests=requests_of(step)))
        return step

    def apply(self, window: int) -> None:
        """Set W_R."""
        self._inner.apply(window)
        self._log.note(Call(self._search, APPLY, window))

    def answer(self) -> Answer:
        """Return the results."""
        answer = self._inner.answer()
        self._log.note(Call(self._search, ANSWER, ids=answer.ids.tolist()))
        return answer
