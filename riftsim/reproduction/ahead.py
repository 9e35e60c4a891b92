"""Runs that a reproduction needs, made by several processes before the score is kept.

Measuring functions ask for one run after another, often by what the last one found, so that a single search for an L
cannot be divided. Claims of different experiments can, and so can the sizes of the scale study: each piece is measured
by a process of its own, only for the runs that it leaves behind. The score is then kept from what is recorded, by one
process and in the order of the claims, whatever was run where.
"""

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from riftsim.experiments.pool import WorkerDied, run_tasks
from riftsim.reproduction import scale, sensitivity
from riftsim.reproduction.claims import Claim, load_claims
from riftsim.reproduction.fit import RECALL, VECTORS
from riftsim.reproduction.lab import Lab
from riftsim.reproduction.measuring import MEASURES
from riftsim.reproduction.scoreboard import evaluate

Piece = Callable[[Lab], object]
"""Measures something; picklable. What it returns is not looked at."""


def make_runs(lab: Lab, pieces: Sequence[Piece], jobs: int) -> None:
    """Make the missing runs of pieces, which may share runs, by several processes; with one there is nothing to divide.

    Parameters
    ----------
    lab : Lab
        Is told which runs are new.
    pieces : sequence of callable
        The longest first, so that no process is left with it alone.
    jobs : int
        Processes. A piece whose process dies, or that fails, is left to whoever measures it again.
    """
    if jobs == 1 or not lab.may_run:
        return
    for _, made in run_tasks(_make, [(lab.afresh(), piece) for piece in pieces], jobs):
        if isinstance(made, WorkerDied):
            lab.say(f"{made}; its runs are made later")
        else:
            lab.made |= made


def _make(task: tuple[Lab, Piece]) -> set[Path]:
    lab, piece = task
    with contextlib.suppress(Exception):  # it goes wrong again, and is reported, when the score is kept
        piece(lab)
    return lab.made


# ---------------------------------------------------------------- pieces


def of_claims(lab: Lab, claims: Sequence[Claim], chosen: set[str]) -> list[Piece]:
    """Divide claims: one piece per size of the scale study, from the largest, and one per experiment, from that of most
    claims."""
    groups: dict[str, set[str]] = {}
    for claim in claims:
        if claim.id in chosen:
            groups.setdefault(MEASURES[claim.id].experiment, set()).add(claim.id)
    at_sizes = groups.pop(scale.EXPERIMENT, set())
    sizes = sorted(lab.level.base_sizes, reverse=True) if at_sizes else []
    pieces: list[Piece] = [partial(_at_size, size, at_sizes) for size in sizes]
    return pieces + [partial(_measure, ids) for ids in sorted(groups.values(), key=len, reverse=True)]


def of_fit(lab: Lab) -> list[Piece]:
    """Divide what `riftsim fit` measures by the sizes of the scale study."""
    return [partial(_section2, size) for size in sorted(lab.level.base_sizes, reverse=True)]


def of_sensitivity() -> list[Piece]:
    """Divide a sensitivity study by its conclusions."""
    return [
        partial(_conclude, position, study)
        for study in (sensitivity.hypercube, sensitivity.one_at_a_time)
        for position in range(len(sensitivity.CONCLUSIONS))
    ]


def _measure(ids: set[str], lab: Lab) -> None:
    evaluate(lab, load_claims(), ids)


def _at_size(size: int, ids: set[str], lab: Lab) -> None:
    lab.only_size = size
    _measure(ids, lab)


def _section2(size: int, lab: Lab) -> None:
    lab.only_size = size
    scale.section2_at(lab, RECALL, VECTORS)


def _conclude(position: int, study: Callable[..., object], lab: Lab) -> None:
    study(lab, sensitivity.CONCLUSIONS[position : position + 1])
