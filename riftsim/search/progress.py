"""How a search develops from its first expansion to its last, over all queries of a run (RiftANN, section 4.6)."""

import numpy as np

from riftsim.kernels.query import TRAIL_BACKLOG, TRAIL_HIDDEN, TRAIL_INSERTED, TRAIL_NEW

PARTS = 10
"""A query's expansions are divided into so many parts of equal number."""


def progress_of(trails: list[np.ndarray]) -> dict:
    """Summarise the trails of queries.

    Parameters
    ----------
    trails : list of int32 (expansions, 4)
        As in ``Answer.trail``.

    Returns
    -------
    dict
        Per tenth of a search's expansions: ``evaluated`` and ``inserted`` neighbours, ``expansions``, and mean and
        median ``backlog`` at admission. Over all expansions: mean and 95th percentile of the ``hidden`` updates.
    """
    if not trails:
        return {}
    trail = np.concatenate(trails)
    part = np.concatenate([np.arange(len(own)) * PARTS // max(1, len(own)) for own in trails])
    backlog = [trail[part == i, TRAIL_BACKLOG] for i in range(PARTS)]
    hidden = trail[:, TRAIL_HIDDEN]
    return {
        "expansions": np.bincount(part, minlength=PARTS).tolist(),
        "evaluated": np.bincount(part, trail[:, TRAIL_NEW], PARTS).astype(int).tolist(),
        "inserted": np.bincount(part, trail[:, TRAIL_INSERTED], PARTS).astype(int).tolist(),
        "backlog_mean": [float(own.mean()) if len(own) else 0.0 for own in backlog],
        "backlog_median": [float(np.median(own)) if len(own) else 0.0 for own in backlog],
        "hidden_mean": float(hidden.mean()) if len(hidden) else 0.0,
        "hidden_p95": float(np.quantile(hidden, 0.95)) if len(hidden) else 0.0,
    }
