"""The model of an SSD against its data sheet, queueing theory, and laws that hold for any queue."""

import dataclasses
import math

import numpy as np
import pytest
from completion_times import CompletionTimes

from riftsim.calendar import Calendar, EventKind
from riftsim.errors import ConfigError, ProtocolError
from riftsim.index.sectors import SECTOR_BYTES
from riftsim.rng import stream
from riftsim.storage.profile import load_ssd_profile
from riftsim.storage.ssd import SimulatedSsds
from riftsim.transport.wr import Chain, WorkRequest

SAMSUNG = load_ssd_profile("samsung-980pro")


def read(tag, sector, sectors=1, drive=0):
    return WorkRequest(tag, drive, sector * SECTOR_BYTES, sectors * SECTOR_BYTES)


def closed_loop(profile, depth, reads, seed=0):
    """Mean latency in us and rate in reads/s of ``depth`` readers of random sectors, each with a queue of its own."""
    calendar = Calendar()
    ssds = SimulatedSsds(calendar, profile, 1)
    sectors = iter(stream(seed, "sectors").integers(0, 1 << 24, reads).tolist())
    latencies = []

    def reader(number):
        def submit():
            sector = next(sectors, None)
            if sector is not None:
                started.append(calendar.now)
                ssds.post(queue, Chain(number, [read(len(started), sector)]))

        def done():
            latencies.append(calendar.now - started[-1])
            submit()

        started = []
        queue = ssds.create_qp(0, 0, CompletionTimes(calendar, done))
        submit()

    for number in range(depth):
        reader(number)
    calendar.run()
    assert len(latencies) == reads
    return np.mean(latencies) / 1e6, reads / calendar.now * 1e12


def test_a_lone_read_takes_what_the_data_sheet_says_at_queue_depth_one():
    latency_us, _ = closed_loop(SAMSUNG, 1, 50)
    assert latency_us == pytest.approx(44.5) == SAMSUNG.unloaded_ps() / 1e6
    host_us = (SAMSUNG.submit_ps + SAMSUNG.enter_ps + SAMSUNG.poll_ps + SAMSUNG.reap_ps) / 1e6
    assert 1e6 / (latency_us + host_us) == pytest.approx(22_000, rel=0.02)


def test_the_rate_rises_with_the_queue_depth_up_to_the_data_sheets():
    depths = (1, 4, 16, 64, 512)
    latencies, rates = zip(*(closed_loop(SAMSUNG, depth, 4000) for depth in depths), strict=True)
    assert list(rates) == sorted(rates)
    assert list(latencies) == sorted(latencies)
    assert rates[1] == pytest.approx(4 * rates[0], rel=0.05)
    assert 0.93e6 < rates[-1] <= 1e6
    # Readers that meet at random units, as a closed network: at least n / (n + units - 1) of what the units can do.
    of_units = SAMSUNG.units / SAMSUNG.media_ps * 1e12
    for depth, rate in zip(depths, rates, strict=True):
        assert rate <= min(depth / SAMSUNG.unloaded_ps() * 1e12, 1e6)
        assert rate >= 0.8 * min(depth / (depth + SAMSUNG.units - 1) * of_units, 1e6)


def test_the_link_bounds_the_throughput_of_long_reads():
    calendar = Calendar()
    ssds = SimulatedSsds(calendar, SAMSUNG, 1)
    log = CompletionTimes(calendar)
    queue = ssds.create_qp(0, 0, log)
    ssds.post(queue, Chain(0, [read(tag, 32 * tag, 32) for tag in range(1000)]))
    calendar.run()
    assert 1000 * 32 * SECTOR_BYTES / (calendar.now / 1e12) == pytest.approx(7e9, rel=0.02)


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_waiting_for_the_units_is_that_of_as_many_m_d_1_queues(load):
    """Poisson arrivals at random places are an independent Poisson stream for each unit."""
    units, media = 4, 40_000_000
    profile = dataclasses.replace(SAMSUNG, units=units, command_ps=0, ps_per_kib=0)
    draw = stream(1, f"m/d/c {load}")
    reads = 15_000
    instants = np.cumsum(np.rint(draw.exponential(media / units / load, reads)).astype(int)).tolist()
    sectors = draw.integers(0, 1 << 24, reads).tolist()
    calendar = Calendar()
    ssds = SimulatedSsds(calendar, profile, 1)
    log = CompletionTimes(calendar)
    queue = ssds.create_qp(0, 0, log)
    for number, instant in enumerate(instants):
        chain = Chain(number, [read(number, sectors[number])])
        calendar.at(instant, EventKind.RING, 0, number, 0, lambda posted: ssds.post(queue, posted), chain)
    calendar.run()
    waits = np.array([done - instants[tag] for tag, done in log.entries]) - profile.unloaded_ps()
    theory = load * media / (2 * (1 - load))
    blocks = waits[: reads - reads % 50].reshape(50, -1).mean(axis=1)
    error = blocks.std() / math.sqrt(len(blocks))
    assert waits.min() == 0
    assert error < 0.1 * theory
    assert abs(waits.mean() - theory) < 4 * error


def test_littles_law_holds_exactly():
    calendar = Calendar()
    ssds = SimulatedSsds(calendar, SAMSUNG, 1)
    draw = stream(3, "little")
    submitted, logs = [], []
    for number in range(20):
        logs.append(CompletionTimes(calendar))
        queue = ssds.create_qp(0, 0, logs[-1])

        def submit(chain, queue=queue):
            submitted.extend([calendar.now] * len(chain))
            ssds.post(queue, chain)

        for instant in np.unique(draw.integers(0, 500_000_000, 5)).tolist():
            sectors = draw.integers(0, 1000, draw.integers(1, 30)).tolist()
            requests = [read(instant * 100 + i, sector, 1 + i % 3) for i, sector in enumerate(sectors)]
            calendar.at(instant, EventKind.RING, 0, number, instant, submit, Chain(number, requests))
    calendar.run()
    done = [instant for log in logs for _, instant in log.entries]
    (counted,) = ssds.counters()["drives"]
    assert len(done) == len(submitted) == counted["reads"]
    assert counted["outstanding_mean"] * calendar.now == pytest.approx(sum(done) - sum(submitted), rel=1e-12)


def test_a_full_submission_queue_holds_reads_back_at_the_host():
    profile = dataclasses.replace(SAMSUNG, queue_depth=2)
    calendar = Calendar()
    ssds = SimulatedSsds(calendar, profile, 1)
    log = CompletionTimes(calendar)
    ssds.post(ssds.create_qp(0, 0, log), Chain(0, [read(tag, 4 * tag) for tag in range(6)]))
    calendar.run()
    unloaded = profile.unloaded_ps()
    instants = [instant for _, instant in log.entries]
    assert instants[:2] == [unloaded, unloaded + profile.command_ps]
    assert instants[2] == 2 * unloaded
    assert instants[4] == 3 * unloaded


def test_reads_complete_out_of_order_when_a_unit_is_busy():
    calendar = Calendar()
    ssds = SimulatedSsds(calendar, SAMSUNG, 1)
    log = CompletionTimes(calendar)
    ssds.post(ssds.create_qp(0, 0, log), Chain(0, [read(0, 0), read(1, 4 * SAMSUNG.units), read(2, 4)]))
    calendar.run()
    assert [tag for tag, _ in log.entries] == [0, 2, 1]


def test_reads_of_one_page_share_its_read_while_they_wait():
    calendar = Calendar()
    ssds = SimulatedSsds(calendar, SAMSUNG, 1)
    log = CompletionTimes(calendar)
    queue = ssds.create_qp(0, 0, log)
    ssds.post(queue, Chain(0, [read(0, 0), read(1, 1), read(2, 4 * SAMSUNG.units), read(3, 0)]))
    calendar.run()
    instants = dict(log.entries)
    assert instants[0] == SAMSUNG.unloaded_ps()
    assert instants[1] == instants[0] + SAMSUNG.transfer_ps(SECTOR_BYTES)
    assert instants[2] == instants[0] + SAMSUNG.media_ps
    assert instants[3] == instants[0] + 2 * SAMSUNG.media_ps
    begun = calendar.now
    ssds.post(queue, Chain(0, [read(4, 0)]))
    calendar.run()
    assert log.entries[-1][1] - begun == SAMSUNG.unloaded_ps()


def test_what_is_no_read_of_whole_sectors_is_refused():
    ssds = SimulatedSsds(Calendar(), SAMSUNG, 2, 2)
    queue = ssds.create_qp(1, 1, CompletionTimes(ssds.calendar))
    with pytest.raises(ProtocolError, match="empty chain"):
        ssds.post(queue, Chain(0, []))
    with pytest.raises(ProtocolError, match="queue of drive 1"):
        ssds.post(queue, Chain(0, [read(0, 0)]))
    for offset, length in ((1, SECTOR_BYTES), (0, 0), (0, 100)):
        with pytest.raises(ConfigError, match="whole sectors of 4096 bytes"):
            ssds.post(queue, Chain(0, [WorkRequest(0, 1, offset, length)]))
