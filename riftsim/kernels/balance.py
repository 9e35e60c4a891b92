"""One step of feedback-driven pipeline balancing (RiftANN, section 3.4, Algorithm 1).

Thresholds are parts per million and are compared as integers, so that every engine decides alike.
"""

from riftsim.kernels._jit import kernel

BALANCE_FIXED = 0
BALANCE_DEFER_RATIO = 1

PER_UNIT = 1_000_000


@kernel
def defer_ratio_step(
    unfinished,
    generated,
    allowance,
    window,
    free_workers,
    theta_low_ppm,
    theta_high_ppm,
    min_allowance,
    max_allowance,
    min_window,
    max_window,
):
    """Move a query's set-point by one step.

    Parameters
    ----------
    unfinished, generated : int
        Evaluations queued or running, and those generated since the last control point; their ratio is r.
    allowance, window : int
        T_q and W_R now.
    free_workers : int
        Workers of the pool without a task.
    theta_low_ppm, theta_high_ppm : int
        Thresholds of r, times 1e6.
    min_allowance, max_allowance, min_window, max_window : int
        Bounds.

    Returns
    -------
    allowance, window : int
    """
    if generated == 0:
        return allowance, window
    if unfinished * PER_UNIT > theta_high_ppm * generated:
        if free_workers > 0 and allowance < max_allowance:
            return allowance + 1, window
        return allowance, max(min_window, window - 1)
    if unfinished * PER_UNIT < theta_low_ppm * generated:
        if allowance > min_allowance:
            return allowance - 1, window
        return allowance, min(max_window, window + 1)
    return allowance, window
