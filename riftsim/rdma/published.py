"""Published measurements of one-sided reads, to set beside the model. Sources are named per set.

Only ``SMART_DEPTH_ROWS`` is fitted to (``scripts/fit_congestion.py``); the rest is for comparison.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LatencySet:
    """Typical latency by read size on one device.

    Attributes
    ----------
    label : str
        Short heading.
    device, source : str
    points_us : dict of int to float
        Bytes to microseconds, one read outstanding, as a benchmark on the CPU sees it.
    """

    label: str
    device: str
    source: str
    points_us: dict[int, float]


LATENCY_SETS = (
    LatencySet(
        "CX-3 56G",
        "ConnectX-3 FDR 56G, MTU 2048",
        "ib_read_lat table",
        {
            8: 1.99, 64: 2.02, 128: 2.05, 256: 2.13, 512: 2.32, 1024: 2.70,
            2048: 3.45, 4096: 4.02, 8192: 5.08, 16384: 7.19, 65536: 20.00,
        },
    ),
    LatencySet(
        "CX-3 40G",
        "ConnectX-3 40G, MTU 4096",
        "ib_read_lat table",
        {
            8: 1.75, 64: 1.76, 128: 1.80, 256: 1.94, 512: 2.16, 1024: 2.59,
            2048: 3.42, 4096: 5.18, 8192: 6.36, 16384: 8.68, 65536: 23.40,
        },
    ),
    LatencySet("mlx5 IB", "mlx5 InfiniBand", "perftest issue 131", {8: 1.91}),
    LatencySet("mlx5 RoCE", "mlx5 RoCE, MTU 1024", "ib_read_lat in a pod, virtual function", {8: 2.69}),
    LatencySet("RiftANN", "ConnectX-5 100G", "RiftANN section 1 (M01): 2-3 us, here the middle", {128: 2.5}),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DepthRow:
    """A closed-loop rate: ``threads`` with ``depth`` reads of 8 bytes each outstanding."""

    threads: int
    depth: int
    rate_mops: float


SMART_DEPTH_ROWS = (
    DepthRow(12, 1, 5.17),
    DepthRow(12, 4, 13.6),
    DepthRow(12, 8, 21.8),
    DepthRow(12, 16, 31.1),
    DepthRow(12, 32, 40.4),
    DepthRow(96, 1, 33.0),
    DepthRow(96, 4, 81.6),
    DepthRow(96, 8, 111.0),
    DepthRow(96, 16, 78.1),
    DepthRow(96, 32, 55.2),
)
"""ConnectX-6 200G, 8-byte READ, doorbell per thread: artefact of SMART (ASPLOS 2024)."""

SMART_THROTTLED_MOPS = 109.0
"""The same device at 96 threads and any depth, when outstanding reads are held near the best number: a prediction."""
