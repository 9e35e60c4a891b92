"""The arithmetic of the latency model."""

import inspect

import numpy as np
import pytest

from riftsim.kernels import prices
from riftsim.rdma import costs


def test_packets_and_headers_of_a_message():
    assert [costs.pieces(size, 1024) for size in (1, 1024, 1025, 4096)] == [1, 1, 2, 4]
    assert [costs.last_packet_bytes(size, 1024) for size in (1, 1024, 1025, 4096)] == [1, 1024, 1, 1024]
    assert costs.framed_bytes(1025, 1024, 86) == 1025 + 2 * 86


def test_a_transfer_is_rounded_to_the_nearest_picosecond():
    rate = 81920  # ps per KiB: 100 Gb/s
    assert costs.transfer_ps(128, rate) == 128 * 80
    assert costs.transfer_ps(1, 1535) == 1
    assert costs.transfer_ps(1, 1536) == 2


def test_the_price_of_a_work_request_grows_with_the_share_of_missing_contexts():
    price = [costs.work_request_ps(9_000, 16_000, 1000, outstanding) for outstanding in (1, 1000, 2000, 4000, 10**9)]
    assert price == [9_000, 9_000, 17_000, 21_000, 24_999]


def test_the_tail_has_the_published_quantiles():
    typical = 2_000_000
    uniform = np.arange(0, 1 << 20, 16)
    excess = np.array([costs.tail_excess_ps(typical, 50, 1500, int(u)) for u in uniform])
    assert np.all(np.diff(excess) >= 0)
    assert np.quantile(excess, 0.5) == 0
    assert np.quantile(excess, 0.99) / typical == pytest.approx(0.05, rel=0.03)
    assert np.quantile(excess, 0.999) / typical == pytest.approx(1.5, rel=0.01)


def test_draws_are_uniform_and_depend_on_every_argument():
    draws = np.array([costs.uniform20(7, query, tag) for query in range(40) for tag in range(250)])
    counts = np.bincount(draws >> 16, minlength=16)  # 16 equal cells of 625: chi-square with 15 degrees of freedom
    assert ((counts - 625) ** 2 / 625).sum() < 37.7  # exceeded once in 1,000
    assert len({costs.uniform20(*key) for key in ((1, 2, 3), (2, 1, 3), (3, 2, 1), (1, 3, 2), (0, 0, 0))}) == 5


@pytest.mark.parametrize(
    "name", ["tail_ps", "work_request_ps", "uniform20", "tail_excess_ps", "contended_ps", "post_ps", "poll_ps"]
)
def test_kernels_and_their_sources_give_the_same_numbers(name):
    kernel = getattr(prices, name)
    arity = len(inspect.signature(kernel.py_func).parameters)
    draw = np.random.Generator(np.random.Philox(5))
    for _ in range(50):
        arguments = draw.integers(1, 2**20, size=arity).tolist()
        assert kernel(*arguments) == kernel.py_func(*arguments), arguments


def test_a_piece_of_work_is_priced_alike_from_arrays_and_from_tuples():
    draw = np.random.Generator(np.random.Philox(6))
    work, each = draw.integers(0, 2**20, (2, 10))
    assert prices.alone_ps(work, each) == prices.alone_ps.py_func(tuple(work.tolist()), tuple(each.tolist()))
