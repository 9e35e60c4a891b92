"""The local driver: every chain completes at once, in posting order. Recall and counts, no clock."""

from collections.abc import Callable, Sequence

from riftsim.errors import ProtocolError
from riftsim.search.messages import Answer, Program


def run_local(
    new_program: Callable[[], Program], queries: Sequence[int], on_progress: Callable[[int], None] | None = None
) -> list[Answer]:
    """Search for queries one after the other.

    Parameters
    ----------
    new_program : callable
        Makes the search program. If it has a method ``run(query_index) -> Answer`` (a search in one kernel), that is
        used.
    queries : sequence of int
        Which evaluated queries.
    on_progress : callable or None
        Told the number of queries done, after each.

    Returns
    -------
    list of Answer
        In the order of ``queries``.
    """
    program = new_program()
    search = getattr(program, "run", None) or (lambda query: step_through(program, query))
    answers = []
    for query in queries:
        answers.append(search(query))
        if on_progress:
            on_progress(len(answers))
    return answers


def step_through(program: Program, query_index: int) -> Answer:
    """Run one search message by message: what a step asks for is told as completed in order, in one call."""
    steps = program.start(query_index).parts()
    while not steps[-1].done:
        reads = [request.tag for step in steps for request in (*step.chain, *step.calls)]
        tasks = [task.number for step in steps for task in step.tasks]
        if not reads and not tasks and not steps[-1].resume:
            raise ProtocolError(f"query {query_index} waits, but nothing is in flight and it has not ended")
        steps = program.receive(reads, tasks).parts()
    return program.answer()
