"""The arithmetic of the latency model: pure functions over integers, in picoseconds and bytes.

What is asked for every read is shared with the compiled engine and has its source in ``kernels.prices``; what is asked
once per length of a read is here. Rates are picoseconds per KiB: exact enough for 400 Gb/s, and a whole number.
"""

from riftsim.kernels import prices

tail_ps = prices.tail_ps.py_func
work_request_ps = prices.work_request_ps.py_func
uniform20 = prices.uniform20.py_func
tail_excess_ps = prices.tail_excess_ps.py_func


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
