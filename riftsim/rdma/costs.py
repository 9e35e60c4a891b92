"""The arithmetic of the latency model: pure functions over integers, in picoseconds and bytes.

No function here knows objects, clocks or events, so that a compiled engine can use the same source. Rates are
picoseconds per KiB: exact enough for 400 Gb/s, and a whole number.
"""


def transfer_ps(length_bytes, rate_ps_per_kib):
    """Time of ``length_bytes`` at a rate, rounded to the nearest picosecond."""
    return (length_bytes * rate_ps_per_kib + 512) >> 10


def pieces(length_bytes, piece_bytes):
    """How many packets of at most ``piece_bytes`` carry ``length_bytes``; at least one."""
    return max(1, (length_bytes + piece_bytes - 1) // piece_bytes)


def framed_bytes(length_bytes, piece_bytes, header_bytes):
    """Bytes on a link whose every packet of at most ``piece_bytes`` carries a header."""
    return length_bytes + pieces(length_bytes, piece_bytes) * header_bytes


def last_packet_bytes(length_bytes, mtu_bytes):
    """Payload of the last packet of a message."""
    return length_bytes - (pieces(length_bytes, mtu_bytes) - 1) * mtu_bytes


def tail_ps(start_ps, whole_ps, tail_before_ps, last_ps):
    """When the last packet has passed a stage.

    Not before the stage has served the whole message, and not before the last packet, which left the stage before at
    ``tail_before_ps``, has been served too.
    """
    return max(start_ps + whole_ps, tail_before_ps + last_ps)


def work_request_ps(service_ps, miss_ps, cached_requests, outstanding):
    """Service time of one work request at the requester's NIC with ``outstanding`` reads posted and not completed.

    The NIC keeps ``cached_requests`` request contexts on chip. With more outstanding, a request finds its own there
    with probability cached / outstanding, and costs ``miss_ps`` more otherwise; charged as the expectation.
    """
    if outstanding <= cached_requests:
        return service_ps
    return service_ps + miss_ps * (outstanding - cached_requests) // outstanding


def mix32(value):
    """Scatter a 32-bit value (a bijection; multipliers below 2**31, so that products fit a signed 64-bit integer)."""
    value = (value ^ (value >> 16)) & 0xFFFFFFFF
    value = (value * 0x21F0AAAD) & 0xFFFFFFFF
    value = value ^ (value >> 15)
    value = (value * 0x735A2D97) & 0xFFFFFFFF
    return value ^ (value >> 15)


def uniform20(seed, query, tag):
    """A number in [0, 2**20) that depends on nothing but its arguments."""
    value = mix32(seed & 0xFFFFFFFF)
    value = mix32(value ^ (query & 0xFFFFFFFF))
    value = mix32(value ^ (tag & 0xFFFFFFFF))
    return value >> 12


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
