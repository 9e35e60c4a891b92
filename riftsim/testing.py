"""Checks for authors of plug-ins: does it keep its contract?

Call them from the tests of your package, with what its entry point names:

    >>> from riftsim.testing import check_placement
    >>> check_placement(lambda: lambda ids, memory_nodes: ids % memory_nodes)

Each check raises `riftsim.errors.PluginError` with what was found and what was expected, and returns nothing.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from riftsim import plugins
from riftsim.errors import PluginError, ProtocolError
from riftsim.memnode.shards import by_table
from riftsim.search.messages import Answer, Program, Step

_TAGS = 1 << 24
"""Tags of a query's reads are below this."""


def check_installed(kind: str, name: str) -> None:
    """Check that a plug-in is announced once and can be imported.

    Parameters
    ----------
    kind : str
        One of `riftsim.plugins.KINDS`.
    name : str
        As in an experiment file.
    """
    plugins.load(kind, name)


def check_placement(factory: Callable[..., Any], options: dict[str, Any] | None = None) -> None:
    """Check a placement: a factory whose product maps ids to memory nodes.

    ``factory(**options)`` gives ``place(ids, memory_nodes)``, which returns for ``ids`` (int64 (n,), 0 to n - 1) the
    memory node of each: integers (n,) in [0, memory_nodes). It must give the same answer each time, also when made
    anew, since every compute node works it out for itself, and must leave ``ids`` alone.

    Parameters
    ----------
    factory : callable
        What the entry point names.
    options : dict, optional
        Keyword arguments of the factory.
    """
    for n, memory_nodes in ((1, 1), (10, 1), (10, 10), (1000, 3), (1000, 8)):
        place = factory(**(options or {}))
        if not callable(place):
            raise PluginError(
                f"placement: the factory made a {type(place).__name__}, expected place(ids, memory_nodes)"
            )
        by_table(n, memory_nodes, place)
        ids = np.arange(n, dtype=np.int64)
        ids.flags.writeable = False
        try:
            first = np.asarray(place(ids, memory_nodes)).copy()
        except ValueError as error:
            if "read-only" in str(error):
                raise PluginError(
                    "placement: changes the ids that it is given, expected to leave them alone"
                ) from error
            raise
        anew = factory(**(options or {}))
        for again in (place(ids, memory_nodes), anew(ids, memory_nodes)):
            differing = np.flatnonzero(np.asarray(again) != first)
            if len(differing):
                raise PluginError(
                    f"placement: another memory node for id {differing[0]} in a second call (n = {n}, "
                    f"{memory_nodes} memory nodes), expected the same each time"
                )


def check_program(
    new_program: Callable[[], Program], queries: Iterable[int], *, schedules: int = 5, seed: int = 0
) -> None:
    """Check the search program of a system: what it asks for may complete in any order and in any company.

    Each query is searched under several random schedules of completions, by a new program and by one that has searched
    before. Checked are: tags and task numbers are unique among those that are open, and within 24 bits; reads and tasks
    have a size; no step waits for nothing; a search ends only when nothing is open; completions that were never asked
    for, or that come twice, are refused with ``ProtocolError`` and change nothing; the answer has its types, is sorted,
    names no node twice, and depends on nothing but the query and the schedule.

    Parameters
    ----------
    new_program : callable
        Makes a program, as ``System.new_program`` does.
    queries : iterable of int
        Which evaluated queries to search for.
    schedules : int
        Random schedules per query.
    seed : int
        Of the schedules.
    """
    used = new_program()
    for query in queries:
        for schedule in range(schedules):
            key = (seed, query, schedule)
            calm = _search(new_program(), query, np.random.default_rng(key), provoke=False)
            again = _search(used, query, np.random.default_rng(key), provoke=True)
            _check_answer(calm, query)
            same = np.array_equal(calm.ids, again.ids) and np.array_equal(calm.distances, again.distances)
            if not same or calm.counts != again.counts:
                raise PluginError(
                    f"program: query {query} gave ids {calm.ids.tolist()} and counts {calm.counts} by a new program, "
                    f"ids {again.ids.tolist()} and counts {again.counts} by a used one that was also told of "
                    "completions it had to refuse; expected the same under the same schedule"
                )


def _search(program: Program, query: int, order: np.random.Generator, *, provoke: bool) -> Answer:
    open_reads: list[int] = []
    open_tasks: list[int] = []
    step = program.start(query)
    while True:
        _check_step(step, query, open_reads, open_tasks)
        for part in step.parts():
            open_reads += [read.tag for read in (*part.chain, *part.calls)]
            open_tasks += [task.number for task in part.tasks]
        step = part
        if step.done != (not open_reads and not open_tasks and not step.resume):
            state = "has ended" if step.done else "waits"
            raise PluginError(
                f"program: query {query} {state} with reads {open_reads} and tasks {open_tasks} open; expected it to "
                "end when nothing is open, and not before"
            )
        if step.done:
            return program.answer()
        if provoke:
            _provoke(program, query, open_reads, open_tasks)
        everything = [(True, tag) for tag in open_reads] + [(False, number) for number in open_tasks]
        least = 0 if step.resume else 1
        count = order.integers(least, len(everything) + 1)
        some = [everything[at] for at in order.permutation(len(everything))[:count]]
        reads = [name for is_read, name in some if is_read]
        tasks = [name for is_read, name in some if not is_read]
        open_reads = [tag for tag in open_reads if tag not in reads]
        open_tasks = [number for number in open_tasks if number not in tasks]
        step = program.receive(reads, tasks)


def _check_step(step: Step, query: int, open_reads: list[int], open_tasks: list[int]) -> None:
    if not isinstance(step, Step):
        raise PluginError(f"program: query {query} answered with a {type(step).__name__}, expected a Step")
    parts = step.parts()
    calls = [call for part in parts for call in part.calls]
    done = [*(part.work for part in parts), *(work for call in calls for work in (call.work, call.after))]
    for work in done:
        wrong_work = {name: count for name, count in work._asdict().items() if count < 0 or count != int(count)}
        if wrong_work:
            raise PluginError(f"program: query {query} has done {wrong_work}, expected whole numbers of at least 0")
    sizes_of_reads = [(read.tag, read.length_bytes) for part in parts for read in part.chain]
    sizes_of_reads += [(call.tag, min(call.request_bytes, call.reply_bytes)) for call in calls]
    tasks = [task for part in parts for task in part.tasks]
    for what, names, taken, sizes in (
        ("read", [tag for tag, _ in sizes_of_reads], open_reads, [size for _, size in sizes_of_reads]),
        ("task", [task.number for task in tasks], open_tasks, [task.neighbors for task in tasks]),
    ):
        for name, size in zip(names, sizes, strict=True):
            if not 0 <= name < _TAGS or name in taken or names.count(name) > 1:
                raise PluginError(
                    f"program: query {query} asks for {what} {name} with {taken} open; expected numbers in "
                    f"[0, {_TAGS}), each used once at a time"
                )
            if size < 1:
                raise PluginError(f"program: query {query}: {what} {name} has size {size}, expected at least 1")


def _provoke(program: Program, query: int, open_reads: list[int], open_tasks: list[int]) -> None:
    stranger = _TAGS - 1
    attempts = [([stranger], []), ([], [stranger]), ([*open_reads, stranger], open_tasks)]
    attempts += [(open_reads * 2, [])] if open_reads else []
    attempts += [(open_reads, open_tasks * 2)] if open_tasks else []
    for reads, tasks in attempts:
        try:
            program.receive(list(reads), list(tasks))
        except ProtocolError:
            continue
        raise PluginError(
            f"program: query {query} took in reads {reads} and tasks {tasks} with {open_reads} and {open_tasks} open; "
            "expected ProtocolError"
        )


def _check_answer(answer: Answer, query: int) -> None:
    ids, distances = answer.ids, answer.distances
    if ids.dtype != np.int32 or distances.dtype != np.float32 or ids.ndim != 1 or ids.shape != distances.shape:
        raise PluginError(
            f"program: query {query} returned ids {ids.dtype} {ids.shape} and distances {distances.dtype} "
            f"{distances.shape}, expected int32 (k,) and float32 (k,)"
        )
    found = ids >= 0
    size = int(found.sum())
    in_front = found[:size].all() and (ids[size:] == -1).all() and np.isinf(distances[size:]).all()
    if not in_front or len(set(ids[:size].tolist())) < size or (np.diff(distances[:size]) < 0).any():
        raise PluginError(
            f"program: query {query} returned ids {ids.tolist()} at {distances.tolist()}, expected different ids, "
            "nearest first, then -1 at infinity"
        )
    wrong = {name: count for name, count in answer.counts.items() if not isinstance(count, int) or count < 0}
    if wrong:
        raise PluginError(f"program: query {query} counted {wrong}, expected whole numbers of at least 0")
