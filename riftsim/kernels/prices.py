"""What things take, in integer picoseconds: the arithmetic that every engine shares.

A compiled engine calls the kernels; Python code calls their sources (``kernel.py_func``), which take tuples where the
kernels take arrays. No function here knows objects, clocks or events.
"""

from riftsim.kernels._jit import kernel

# ---------------------------------------------------------------- network


@kernel
def tail_ps(start_ps, whole_ps, tail_before_ps, last_ps):
    """When the last packet has passed a stage.

    Not before the stage has served the whole message, and not before the last packet, which left the stage before at
    ``tail_before_ps``, has been served too.
    """
    return max(start_ps + whole_ps, tail_before_ps + last_ps)


@kernel
def work_request_ps(service_ps, miss_ps, cached_requests, outstanding):
    """Service time of one work request at the requester's NIC with ``outstanding`` reads posted and not completed.

    The NIC keeps ``cached_requests`` request contexts on chip. With more outstanding, a request finds its own there
    with probability cached / outstanding, and costs ``miss_ps`` more otherwise; charged as the expectation.
    """
    if outstanding <= cached_requests:
        return service_ps
    return service_ps + miss_ps * (outstanding - cached_requests) // outstanding


@kernel
def uniform20(seed, query, tag):
    """A number in [0, 2**20) that depends on nothing but its arguments.

    Each argument is scattered by a bijection of 32-bit values, whose multipliers are below 2**31 so that products fit a
    signed 64-bit integer.
    """
    value = 0
    for word in (seed, query, tag):
        value = (value ^ word) & 0xFFFFFFFF
        value = (value ^ (value >> 16)) & 0xFFFFFFFF
        value = (value * 0x21F0AAAD) & 0xFFFFFFFF
        value = value ^ (value >> 15)
        value = (value * 0x735A2D97) & 0xFFFFFFFF
        value = value ^ (value >> 15)
    return value >> 12


@kernel
def tail_excess_ps(typical_ps, p99_permille, p999_permille, uniform):
    """Delay above the typical latency of one read.

    The quantile function is linear between the median (no excess), the 99th and the 99.9th percentile, and goes on with
    the last slope to the maximum. Below the median there is no excess.

    Parameters
    ----------
    typical_ps : int
        Unloaded latency of a small read.
    p99_permille, p999_permille : int
        Excess at the two percentiles, in thousandths of the typical latency.
    uniform : int
        From ``uniform20``.
    """
    million = (uniform * 1_000_000) >> 20
    if million < 500_000:
        return 0
    if million < 990_000:
        return typical_ps * (p99_permille * (million - 500_000) // 490_000) // 1000
    excess = p99_permille + (p999_permille - p99_permille) * (million - 990_000) // 9_000
    return typical_ps * excess // 1000


# ---------------------------------------------------------------- compute node


@kernel
def contended_ps(alone_ps, contention_permille, busy_cores):
    """Time of work that takes ``alone_ps`` on an idle node, while ``busy_cores`` cores, this one included, are busy."""
    return alone_ps + alone_ps * contention_permille * max(0, busy_cores - 1) // 1000


@kernel
def alone_ps(work, prices):
    """Time of a piece of work on an idle node.

    Parameters
    ----------
    work, prices : sequence of int (10,)
        Counts in the order of ``search.messages.Work``, and the price of one of each.
    """
    return (
        work[0] * prices[0]
        + work[1] * prices[1]
        + work[2] * prices[2]
        + work[3] * prices[3]
        + work[4] * prices[4]
        + work[5] * prices[5]
        + work[6] * prices[6]
        + work[7] * prices[7]
        + work[8] * prices[8]
        + work[9] * prices[9]
    )


@kernel
def post_ps(requests, build_wr_ps, doorbell_ps):
    """Time to build a chain of work requests and ring for it."""
    return requests * build_wr_ps + doorbell_ps


@kernel
def poll_ps(seen, poll_once_ps, cqe_ps):
    """Time to poll a completion queue once and take what it held."""
    return poll_once_ps + seen * cqe_ps
