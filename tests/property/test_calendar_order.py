"""Any events in any order of scheduling run in the one total order."""

from hypothesis import given
from hypothesis import strategies as st

from riftsim.calendar import Calendar

place = st.tuples(st.integers(0, 6), st.integers(0, 11), st.integers(0, 2), st.integers(0, 2), st.integers(0, 3))


@given(st.lists(place, unique=True, max_size=40).flatmap(lambda places: st.tuples(*[st.permutations(places)] * 2)))
def test_scheduling_order_has_no_effect(orders):
    logs = []
    for order in orders:
        calendar, log = Calendar(), []
        for key in order:
            calendar.at(*key, log.append, key)
        calendar.run()
        logs.append(log)
    # At the start the clock stands at 0: what is scheduled for 0 runs, sorted, before everything else.
    assert logs[0] == logs[1] == sorted(orders[0])
