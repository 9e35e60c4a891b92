"""Timelines keep to the trace-event format, and their durations add up to the latency."""

import json

import jsonschema
import msgspec
import pytest
from traced_runs import WARMUP, traced_run

from riftsim.config.systems import AdaptiveBalancing
from riftsim.results.chrome_trace import chrome_trace, write_chrome_trace
from riftsim.results.timeline import main_thread
from riftsim.results.trace import BLOCKED_GATE, trace_of

EVENT = {
    "complete": {
        "required": ["name", "pid", "tid", "ts", "dur"],
        "properties": {"ph": {"const": "X"}, "ts": {"minimum": 0}, "dur": {"minimum": 0}, "args": {"type": "object"}},
    },
    "counter": {
        "required": ["name", "pid", "ts", "args"],
        "properties": {"ph": {"const": "C"}, "args": {"additionalProperties": {"type": "number"}, "minProperties": 1}},
    },
    "metadata": {
        "required": ["name", "pid", "args"],
        "properties": {
            "ph": {"const": "M"},
            "name": {"enum": ["process_name", "thread_name", "thread_sort_index"]},
        },
    },
}
"""Events of the trace-event format ("Trace Event Format", Google) that a timeline may have."""

TYPES = {
    "name": {"type": "string", "minLength": 1},
    "ph": {"type": "string"},
    "pid": {"type": "integer"},
    "tid": {"type": "integer"},
    "ts": {"type": "number"},
    "dur": {"type": "number"},
    "args": {"type": "object"},
}
SCHEMA = {
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
        "traceEvents": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "properties": TYPES, "required": ["ph"], "oneOf": list(EVENT.values())},
        },
    },
}


@pytest.fixture(scope="module", params=["riftann", "remote"])
def trace(request):
    return trace_of(traced_run(request.param).trace, WARMUP)


def test_timelines_keep_to_the_format(trace, tmp_path):
    write_chrome_trace(trace.of(3), {"run": "a run"}, tmp_path / "trace.json")
    found = json.loads((tmp_path / "trace.json").read_text())
    jsonschema.validate(found, SCHEMA)
    assert found["otherData"]["run"] == "a run"


def test_durations_add_up_to_the_latency(trace):
    for row in trace.queries["row"]:
        one = trace.of(row)
        facts = one.queries.iloc[0]
        latency_us = (facts.end_ps - facts.arrival_ps) / 1e6
        events = chrome_trace(one, {})["traceEvents"]
        names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        total = dict.fromkeys(names.values(), 0.0)
        for event in events:
            if event["ph"] == "X":
                total[names[event["tid"]]] += event["dur"]
        assert total["query"] == pytest.approx(latency_us)
        assert total["main thread"] + total.get("waits for", 0.0) == pytest.approx(latency_us)
        assert total["critical path"] == pytest.approx(latency_us)


def test_slices_of_a_track_nest(trace):
    """Overlapping slices that do not nest would be drawn wrongly."""
    for row in trace.queries["row"]:
        events = [event for event in chrome_trace(trace.of(row), {})["traceEvents"] if event["ph"] == "X"]
        for track in {event["tid"] for event in events}:
            open_ends: list[float] = []
            for event in (event for event in events if event["tid"] == track):
                while open_ends and open_ends[-1] <= event["ts"] + 1e-9:
                    open_ends.pop()
                end = event["ts"] + event["dur"]
                assert not open_ends or end <= open_ends[-1] + 1e-9
                open_ends.append(end)


def test_every_read_and_task_is_there(trace):
    one = trace.of(2)
    events = chrome_trace(one, {})["traceEvents"]
    reads = [event for event in events if event["name"].startswith("read of ")]
    assert len(reads) == len(one.reads)
    busy = sum(event["dur"] for event in events if event["name"] == "evaluation" and event["tid"] >= 200)
    by_workers = one.tasks[~one.tasks["by_main"].astype(bool)]
    assert busy == pytest.approx((by_workers["ended_ps"] - by_workers["started_ps"]).sum() / 1e6)
    assert len(main_thread(one))


def test_every_decision_of_the_gate_is_there(trace):
    one = trace.of(2)
    events = chrome_trace(one, {})["traceEvents"]
    held = [event["args"]["value"] for event in events if event["name"] == "gate holds an expansion back"]
    assert held == list((one.steps["blocked"] == BLOCKED_GATE).astype(int))


@pytest.mark.parametrize(("counter", "column"), [("window W_R", "window"), ("worker allowance T_q", "allowance")])
def test_every_control_point_is_there(counter, column):
    often = msgspec.to_builtins(AdaptiveBalancing(interval=2))
    trace = trace_of(traced_run("riftann", balancing=often).trace, WARMUP)
    for row in trace.queries["row"]:
        one = trace.of(row)
        found = [event for event in chrome_trace(one, {})["traceEvents"] if event["name"] == counter]
        points = one.control.sort_values("at_ps", kind="stable")
        assert points[column].nunique() > 1
        assert [event["args"]["value"] for event in found] == points[column].tolist()
        since_us = (points["at_ps"] - one.queries["arrival_ps"].iloc[0]) / 1e6
        assert [event["ts"] for event in found] == pytest.approx(since_us.tolist())
