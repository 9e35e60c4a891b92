"""The impact gate: whether the next expansion may start while evaluations are unfinished (RiftANN, sections 3.3 and
4.6).

All policies compare integers, so that every engine on every machine decides alike.
"""

from riftsim.kernels._jit import kernel

GATE_WAIT_ALL = 0  # U = 0
GATE_BACKLOG = 1  # U-only: U <= B
GATE_RATIO = 2  # rho-only: rho <= theta
GATE_IMPACT = 3  # rho * U <= epsilon and U <= U_max
GATE_UNGATED = 4
GATE_EXTERNAL = 5  # a policy in Python has answered
GATE_ORACLE = 6  # at most epsilon unfinished evaluations would insert: no real system knows, see ``eager``

# Parts of epsilon and theta are given per million.
PER_UNIT = 1_000_000


@kernel(inline=True)
def gate_open(kind, bound, limit_ppm, inserted, completed, unfinished):
    """Decide.

    Parameters
    ----------
    kind : int
        Policy.
    bound : int
        B (``GATE_BACKLOG``), U_max (``GATE_IMPACT``), or the answer of ``GATE_EXTERNAL`` (not 0 is open).
    limit_ppm : int
        theta (``GATE_RATIO``) or epsilon (``GATE_IMPACT``), times 1e6.
    inserted, completed : int
        Of the last ``completed`` evaluations, how many inserted into the candidate list; their ratio is rho.
    unfinished : int
        U: evaluations queued or running.

    Returns
    -------
    bool
        With nothing unfinished every policy is open.
    """
    if unfinished == 0 or kind == GATE_UNGATED:
        return True
    if kind == GATE_EXTERNAL:
        return bound != 0
    if kind == GATE_BACKLOG:
        return unfinished <= bound
    if kind == GATE_RATIO:
        return inserted * PER_UNIT <= limit_ppm * completed
    if kind == GATE_IMPACT:
        return unfinished <= bound and inserted * unfinished * PER_UNIT <= limit_ppm * completed
    return False
