"""Which queued evaluation task a free worker takes (RiftANN, section 3.4)."""

from riftsim.kernels._jit import kernel


@kernel
def next_task(queued, running, allowance):
    """Choose the oldest task whose query has fewer tasks running than it may have.

    Parameters
    ----------
    queued : sequence of int
        Query slot of each queued task, oldest first.
    running, allowance : sequence of int
        Tasks running and T_q, by query slot.

    Returns
    -------
    int
        Position in ``queued``, -1 if no task may start.
    """
    for at in range(len(queued)):
        slot = queued[at]
        if running[slot] < allowance[slot]:
            return at
    return -1
