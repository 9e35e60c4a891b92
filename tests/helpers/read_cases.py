"""Cases that every port must pass, the one on a device and the fake one.

``port_on(regions, **settings)`` is a context manager that gives a port with one memory node per region; settings are
``slots``, ``slot_bytes``, ``queue_pairs`` and ``depth``. Each case checks what landed and returns how many reads it
asked for.
"""

import time

import numpy as np

from riftsim.transport.pipeline import ReadPipeline
from riftsim.transport.port import Read

SIZES = [1, 2, 3, 4, 7, 8, 63, 64, 65, 128, 255, 256, 388, 516, 1023, 1024, 1025, 4095, 4096, 4097, 8192, 65536]
UNTOUCHED = 0xEE


def complete(pipeline, count, limit_s=30):
    """Poll until so many reads are over."""
    completed, lost, until = [], [], time.monotonic() + limit_s
    while len(completed) + len(lost) < count and time.monotonic() < until:
        progress = pipeline.poll()
        completed += progress.completed
        lost += progress.lost
    return completed, lost


def require_bytes(port, reads, region):
    for read in reads:
        landed = port.buffer[read.slot * port.slot_bytes :][: read.length_bytes]
        assert np.array_equal(landed, region[read.remote_offset :][: read.length_bytes]), read


def every_size_and_offset_brings_its_bytes_and_no_more(port_on, region):
    with port_on([region], slots=2, slot_bytes=1 << 17) as port:
        pipeline = ReadPipeline(port)
        for size in SIZES:
            for offset in (0, 1, 3, 64, 4095, len(region) - size):
                port.buffer[: size + 8] = UNTOUCHED
                read = Read(0, offset, size)
                pipeline.submit(0, [read])
                assert complete(pipeline, 1) == ([0], [])
                require_bytes(port, [read], region)
                assert (port.buffer[size : size + 8] == UNTOUCHED).all()
        return pipeline.posted


def chains_of_any_length_use_their_requests_again(port_on, region, last_only):
    rng = np.random.default_rng(5)
    with port_on([region], queue_pairs=2, depth=16) as port:
        pipeline = ReadPipeline(port, signal_last_only=last_only)
        for length in [1, 2, 3, 8, 16, 31, 32] * 4:
            slots = rng.permutation(32)[:length].tolist()
            reads = [Read(slot, int(rng.integers(0, 1 << 17)), int(rng.choice([128, 388, 516]))) for slot in slots]
            pipeline.submit(0, reads)
            completed, lost = complete(pipeline, length)
            assert sorted(completed) == sorted(slots)
            assert not lost
            require_bytes(port, reads, region)
        assert pipeline.in_flight == 0
        return pipeline.posted


def one_port_signals_as_each_chain_asks(port_on, region):
    reads = [Read(slot, 64 * slot, 64) for slot in range(4)]
    with port_on([region]) as port:
        for last_only in (True, False, True):
            port.post(0, reads, last_only=last_only)
            found, until = [], time.monotonic() + 30
            while (not found or found[-1].wr != 3) and time.monotonic() < until:
                found += port.poll()
            assert [entry.wr for entry in found] == ([3] if last_only else [0, 1, 2, 3])
    return 3 * len(reads)


def several_memory_nodes_are_told_apart(port_on, region, others):
    with port_on([region, others], queue_pairs=2) as port:
        pipeline = ReadPipeline(port)
        for _ in range(20):
            pipeline.submit(0, first := [Read(slot, 100 * slot, 516) for slot in range(16)])
            pipeline.submit(1, then := [Read(slot, 100 * slot, 516) for slot in range(16, 32)])
            assert complete(pipeline, 32)[1] == []
            require_bytes(port, first, region)
            require_bytes(port, then, others)
        return pipeline.posted
