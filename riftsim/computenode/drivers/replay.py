"""The replay driver: what a live run told its searches is told to them again; they must decide the same.

A difference means that the code of the search is at fault, not the network or the clock.
"""

from collections.abc import Callable
from pathlib import Path

from riftsim.computenode import completion_log as log
from riftsim.computenode.completion_log import Call, requests_of
from riftsim.errors import ProtocolError
from riftsim.search.messages import Answer, Program


def run_replay(
    path: str | Path, new_program: Callable[[], Program], on_progress: Callable[[int], None] | None = None
) -> tuple[list[int], list[Answer]]:
    """Replay a completion log.

    Parameters
    ----------
    path : path-like
        The log.
    new_program : callable
        Makes a search program of the system that was recorded.
    on_progress : callable or None
        Told the number of searches that have ended.

    Returns
    -------
    queries : list of int
        The evaluated query of every recorded search that ended, in the order of their ends; warm-up included.
    answers : list of Answer
        Of these.

    Raises
    ------
    ProtocolError
        At the first request or result that differs: names the call, what was found and what was recorded.
    """
    active: dict[int, tuple[int, Program]] = {}
    idle: list[Program] = []
    queries: list[int] = []
    answers: list[Answer] = []
    for number, call in enumerate(log.read_log(path)):
        if call.call == log.START:
            active[call.search] = call.number, idle.pop() if idle else new_program()
        query, program = active[call.search]
        where = f"{path}: row {number} ({call.call} of search {call.search}, query {query})"
        if call.call == log.ANSWER:
            answer = program.answer()
            _require_same(where, "results", answer.ids.tolist(), call.ids)
            queries.append(query)
            answers.append(answer)
            idle.append(active.pop(call.search)[1])
            if on_progress:
                on_progress(len(answers))
        else:
            _require_same(where, "requests", _repeat(program, call), call.requests)
    return queries, answers


def _repeat(program: Program, call: Call) -> list[list[int]]:
    """Make a call once more; the requests that it leads to."""
    if call.call == log.START:
        return requests_of(program.start(call.number))
    if call.call == log.RECEIVE:
        return requests_of(program.receive(call.reads, call.tasks))
    if call.call == log.RETRY:
        return requests_of(program.retry(call.reads))
    program.apply(call.number)
    return []


def _require_same(where: str, what: str, found: list, recorded: list) -> None:
    if found != recorded:
        raise ProtocolError(f"{where}: found {what} {found}, but {recorded} were recorded")
