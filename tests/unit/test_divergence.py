"""Where two traces of one query part."""

import pytest
from traced_runs import WARMUP, traced_run

from riftsim.results.divergence import events_of, first_difference
from riftsim.results.trace import trace_of


@pytest.fixture(scope="module")
def trace():
    return trace_of(traced_run().trace, WARMUP)


def test_a_query_agrees_with_itself(trace):
    found = first_difference(trace.of(1), trace.of(1))
    assert found.agree
    assert found.position == len(events_of(trace.of(1)))
    assert found.read_position == len(trace.of(1).reads)
    assert found.reads == (None, None)


def test_events_are_in_order_of_time_and_complete(trace):
    one = trace.of(1)
    events = events_of(one)
    assert [event.time_ps for event in events] == sorted(event.time_ps for event in events)
    assert events[-1].what == "ends"
    assert len(events) == 1 + 3 * len(one.reads) + 3 * len(one.tasks) + len(one.control) + len(one.steps)


def test_the_first_other_event_and_the_first_other_read_are_named(trace):
    one, other = trace.of(1), trace.of(1)
    late = other.reads["tag"] == 3
    other.reads.loc[late, ["visible_ps", "seen_ps"]] += 7
    found = first_difference(one, other)
    assert found.events[0].what == "read 3 is visible"
    assert found.events[0].time_ps == int(one.reads.loc[late, "visible_ps"].iloc[0] - one.queries["arrival_ps"].iloc[0])
    assert found.reads == (None, None)
    assert not found.agree
    other.reads.loc[late, "node"] = 59
    found = first_difference(one, other)
    assert found.read_position == 3
    assert [read.what.rsplit(" ", 1)[1] for read in found.reads] == [str(one.reads["node"][3]), "59"]


def test_a_run_that_ends_sooner_is_named(trace):
    one, other = trace.of(1), trace.of(1)
    shorter = other.__class__(
        **{**vars(other), "reads": other.reads.iloc[:-1], "steps": other.steps.iloc[:-1], "tasks": other.tasks}
    )
    found = first_difference(one, shorter)
    assert found.reads[1] is None
    assert found.reads[0].what.startswith("posts a read of the")
