"""The compiled engine numbers its events as the calendar does: the numbers are part of the order."""

from riftsim.calendar import EventKind
from riftsim.kernels import engine_events


def test_every_kind_has_the_calendars_number():
    assert {kind.name: getattr(engine_events, kind.name, None) for kind in EventKind} == {
        kind.name: kind.value for kind in EventKind
    }
