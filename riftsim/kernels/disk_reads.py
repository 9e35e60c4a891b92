"""Reads of a file without the interpreter: what measuring a drive takes."""

from numba import types

from riftsim.kernels._jit import kernel

_pread = types.ExternalFunction("pread", types.int64(types.int32, types.int64, types.int64, types.int64))
_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.int64))
_CLOCK_MONOTONIC = 1


@kernel
def timed_reads(file, landing, length_bytes, offsets, took_ns, clock, clock_address):
    """Read places of a file one after the other.

    Parameters
    ----------
    file : int32
        Descriptor.
    landing : int
        Address that every read lands at.
    length_bytes : int
        Of each read.
    offsets, took_ns : int64 (n,)
        First byte of each read, and the time that it took.
    clock : int64 (2,)
        Scratch: a ``struct timespec`` (LP64).
    clock_address : int
        Where it lies.

    Returns
    -------
    int
        How many reads found all their bytes; it stops at the first that does not.
    """
    _clock_gettime(_CLOCK_MONOTONIC, clock_address)
    before = clock[0] * 1_000_000_000 + clock[1]
    for i in range(offsets.shape[0]):
        if _pread(file, landing, length_bytes, offsets[i]) != length_bytes:
            return i
        _clock_gettime(_CLOCK_MONOTONIC, clock_address)
        now = clock[0] * 1_000_000_000 + clock[1]
        took_ns[i] = now - before
        before = now
    return offsets.shape[0]
