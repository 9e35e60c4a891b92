"""The event calendar: order, delta rounds, SimPy beside it, and what it refuses."""

import pytest

from riftsim.calendar import Calendar, EventKind
from riftsim.errors import ProtocolError


def log_events(calendar, log):
    return lambda argument: log.append((calendar.now, argument))


def test_order_is_time_kind_node_query_tag_whatever_was_scheduled_first():
    places = [
        (5, EventKind.COMPLETION, 0, 0, 0),
        (7, EventKind.COMPLETION, 1, 0, 0),
        (7, EventKind.REQUEST, 0, 0, 1),
        (7, EventKind.REQUEST, 0, 0, 2),
        (7, EventKind.REQUEST, 0, 1, 0),
        (7, EventKind.REQUEST, 1, 0, 0),
        (7, EventKind.THREAD, 0, 0, 0),
    ]
    for order in (places, places[::-1], places[3:] + places[:3]):
        calendar, log = Calendar(), []
        for place in order:
            calendar.at(*place, log.append, place)
        calendar.run()
        assert log == places
        assert calendar.executed == len(places)


def test_an_event_for_the_present_instant_waits_for_the_next_round():
    calendar, log = Calendar(), []

    def first(_):
        log.append("first")
        calendar.at(10, EventKind.COMPLETION, 0, 0, 0, second, None)  # a smaller kind than what is still to run

    def second(_):
        log.append("second")
        calendar.at(10, EventKind.COMPLETION, 0, 0, 0, log.append, "third")

    calendar.at(10, EventKind.DOORBELL, 0, 0, 0, first, None)
    calendar.at(10, EventKind.THREAD, 0, 0, 0, log.append, "same round as first")
    calendar.run()
    assert log == ["first", "same round as first", "second", "third"]
    assert calendar.now == 10


def test_events_of_one_round_are_sorted_too():
    calendar, log = Calendar(), []

    def cause(_):
        for tag in (3, 1, 2):
            calendar.at(4, EventKind.SEND, 0, 0, tag, log.append, tag)

    calendar.at(4, EventKind.DOORBELL, 0, 0, 0, cause, None)
    calendar.run()
    assert log == [1, 2, 3]


def test_the_past_is_refused_with_both_times():
    calendar = Calendar()
    calendar.at(9, EventKind.SEND, 0, 0, 0, lambda _: calendar.at(8, EventKind.SEND, 2, 3, 4, print, None), None)
    with pytest.raises(ProtocolError, match=r"SEND \(node 2, query 3, tag 4\) is scheduled for 8 ps.*now, 9 ps"):
        calendar.run()


@pytest.mark.parametrize("later", [True, False])
def test_two_events_in_one_place_are_refused(later):
    calendar = Calendar()

    def twice(_):
        for argument in (object(), object()):
            calendar.at(5 + later, EventKind.SEND, 1, 2, 3, print, argument)

    calendar.at(5, EventKind.DOORBELL, 0, 0, 0, twice, None)
    with pytest.raises(ProtocolError, match=r"SEND have the same place in the order: . ps, node 1, query 2, tag 3"):
        calendar.run()


def test_simpy_processes_share_the_clock_and_come_first_at_an_instant():
    calendar, log = Calendar(), []
    note = log_events(calendar, log)

    def process():
        for _ in range(3):
            yield calendar.timeout(10)
            log.append((calendar.now, "process"))
            calendar.at(calendar.now, EventKind.SAMPLE, 0, 0, 0, note, "caused")

    calendar.process(process())
    for time in (5, 10, 20, 25):
        calendar.at(time, EventKind.THREAD, 0, 0, 0, note, "event")
    assert calendar.peek() == 0
    calendar.run()
    assert log == [
        (5, "event"),
        (10, "process"),
        (10, "event"),
        (10, "caused"),
        (20, "process"),
        (20, "event"),
        (20, "caused"),
        (25, "event"),
        (30, "process"),
        (30, "caused"),
    ]


def test_an_event_can_wake_a_simpy_process():
    calendar, log = Calendar(), []
    bell = calendar.event()

    def process():
        yield bell
        log.append(calendar.now)
        yield calendar.timeout(3)
        log.append(calendar.now)

    calendar.process(process())
    calendar.at(7, EventKind.THREAD, 0, 0, 0, bell.succeed, None)
    calendar.at(8, EventKind.THREAD, 0, 0, 0, log.append, "between")
    calendar.run()
    assert log == [7, "between", 10]


def test_run_until_and_stop_leave_the_rest_scheduled():
    calendar, log = Calendar(), []
    note = log_events(calendar, log)
    for time in (1, 2, 3, 4):
        calendar.at(time, EventKind.THREAD, 0, 0, 0, note, None)
    calendar.at(3, EventKind.SAMPLE, 0, 0, 0, lambda _: calendar.stop(), None)
    calendar.run(until=2)
    assert (calendar.now, [time for time, _ in log]) == (2, [1])
    calendar.run()
    assert (calendar.now, [time for time, _ in log]) == (3, [1, 2, 3])
    calendar.run()
    assert [time for time, _ in log] == [1, 2, 3, 4]
    assert calendar.peek() == float("inf")
