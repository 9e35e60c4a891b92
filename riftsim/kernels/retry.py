"""Reads that failed: ask for the same fields again."""

from riftsim.kernels import query as q
from riftsim.kernels._jit import kernel
from riftsim.kernels.traversal import post


@kernel
def retry_reads(state, index, tags, count):
    """Post failed reads again under new tags; nothing of them was taken in.

    Parameters
    ----------
    tags : int64 (count,)
        Tags of reads in flight, each once.

    Returns
    -------
    int
        ``count``, the requests in ``state.outbox``; UNKNOWN_TAG if nothing was changed.
    """
    slots = state.flight_tags.shape[0]
    for i in range(count):
        if tags[i] < 0 or state.flight_tags[tags[i] & (slots - 1)] != tags[i]:
            return q.UNKNOWN_TAG
        for j in range(i):
            if tags[j] == tags[i]:
                return q.UNKNOWN_TAG
    for i in range(count):
        slot = tags[i] & (slots - 1)
        expansion = state.flight_expansions[slot]
        state.flight_tags[slot] = -1
        state.numbers[q.IN_FLIGHT] -= 1
        if expansion >= 0:
            state.numbers[q.AWAITED] -= 1
        post(state, index, i, state.flight_nodes[slot], state.flight_kinds[slot], expansion)
    state.numbers[q.RETRIED] += count
    state.numbers[q.CHAINS] += 1
    return count
