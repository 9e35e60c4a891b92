"""Best-first search one node at a time that guesses the next from a list that lacks the present one's neighbours.

After CXL-ANNS (ATC'23): the guess is read at once, beside the node that is expanded; where the update of the list
leaves it the nearest, its record is there already.
"""

from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.candidates import TAKEN, id_of
from riftsim.kernels.traversal import admit_expansion
from riftsim.kernels.verification import next_untaken


@kernel
def pick(state):
    """Take the nearest candidate for expansion.

    Returns
    -------
    int
        1 + the node, 0 if none is left; GROW_TRAIL if nothing was changed.
    """
    numbers = state.numbers
    if numbers[q.EXPANSIONS] + 1 >= state.trail.shape[0]:
        return q.GROW_TRAIL
    at = next_untaken(state)
    if at < 0:
        return 0
    node = id_of(state.candidates[at])
    state.candidates[at] |= TAKEN
    admit_expansion(state)
    numbers[q.ROUNDS] += 1
    return 1 + node


@kernel
def guess(state):
    """The candidate that is the nearest now that one is taken: 1 + the node, 0 if there is none."""
    at = next_untaken(state)
    return 0 if at < 0 else 1 + id_of(state.candidates[at])


@kernel
def adopt(state, tag):
    """Let a read that was a guess serve the latest expansion."""
    numbers = state.numbers
    state.flight_expansions[tag & (state.flight_tags.shape[0] - 1)] = numbers[q.EXPANSIONS] - 1
    numbers[q.AWAITED] += 1
