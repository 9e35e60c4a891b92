"""Units of the simulator: time is an integer number of picoseconds, sizes are integer bytes.

Floating-point seconds never enter the event calendar, so that two engines can agree to the last bit. Constants come in
the units in which sources publish them (ns, us, Gb/s) and are converted once, when a profile is loaded.
"""

PS_PER_NS = 1_000
PS_PER_US = 1_000_000
PS_PER_MS = 1_000_000_000
PS_PER_S = 1_000_000_000_000
US_PER_S = 1_000_000

MAX_PS = 2**62
"""Latest time of a simulation, 53 days: what is added to it in one step cannot overflow 64 bits."""

KIB = 1024
MIB = 1024**2
GIB = 1024**3


def format_bytes(size_bytes: int) -> str:
    """Write a size for people: the largest binary unit that leaves at least one whole unit."""
    for name, unit in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if abs(size_bytes) >= unit:
            return f"{size_bytes / unit:.1f} {name}"
    return f"{size_bytes} B"
