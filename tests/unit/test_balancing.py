"""When the controller acts: control points of a compute node whose queries several event loops drive."""

from types import SimpleNamespace

from riftsim.computenode.balancing import Balancer, Balancing, ControlPoints
from riftsim.controller.protocol import ControlView, SetPoint


class NarrowEveryTime:
    def decide(self, view: ControlView) -> SetPoint:
        return SetPoint(view.allowance, view.window - 1)


class Search:
    def __init__(self):
        self.window = 8

    def counters(self) -> tuple[int, int, int]:
        return 0, 0, self.window

    def apply(self, window: int) -> None:
        self.window = window


def event_loop(balancing, points, slot):
    query = SimpleNamespace(program=Search(), slot=slot, allowance=1, lists=0, defer_ratio=0.0)
    balancer = Balancer(balancing, {slot: query}, free_workers=lambda: 0, allow=lambda *_: None, points=points)
    return balancer, query


def test_event_loops_share_the_control_points_of_their_compute_node():
    balancing, points = Balancing(NarrowEveryTime(), interval=32), ControlPoints(32)
    (one, first), (other, second) = (event_loop(balancing, points, slot) for slot in range(2))
    assert one.count(first, 20) == 0
    assert other.count(second, 20) == 1
    assert (first.program.window, second.program.window) == (8, 7)  # each loop controls what it drives
    assert one.catch_up() == 1
    assert (first.program.window, second.program.window) == (7, 7)
    assert one.catch_up() == other.catch_up() == 0


def test_queries_that_count_for_themselves_share_nothing():
    balancing, points = Balancing(NarrowEveryTime(), interval=32, per_query=True), ControlPoints(32)
    (one, first), (other, second) = (event_loop(balancing, points, slot) for slot in range(2))
    assert one.count(first, 20) == other.count(second, 20) == 0
    assert one.count(first, 12) == 1
    assert other.catch_up() == 0
    assert (first.program.window, second.program.window) == (7, 8)
