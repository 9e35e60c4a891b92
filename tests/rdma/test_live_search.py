"""Searches over a device: results of the local driver, replays, memory nodes that stop, die, or hold something else."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
import yaml
from live_experiments import D_HNSW, OTHER_INDEX, SYSTEMS, config_of, experiment, run
from nodes import NodeProcess, serving

from riftsim.assembly.live import make_memory_node
from riftsim.errors import TransportError
from riftsim.memnode.server import MemoryNodeSettings

pytestmark = pytest.mark.rdma

ONE = {"memory_nodes": 1}
SOME = {"measured_queries": 40}
"""Where it is not the queries that are tested."""
PATIENT = {"deadline_s": 120.0}
"""For emulated machines, where a pause may be long."""


@contextmanager
def in_thread(content, part=None):
    """A memory node of an experiment that serves from a thread of this process."""
    with serving(make_memory_node(config_of(content), part, MemoryNodeSettings(listen="127.0.0.1:0"))) as node:
        yield node


@pytest.fixture(scope="module")
def addresses():
    """Two memory nodes with a half of the index each, in threads of this process."""
    content = experiment("remote_vamana", {"kind": "local"})
    with in_thread(content, (0, 2)) as first, in_thread(content, (1, 2)) as second:
        yield [first.address, second.address]


class Served(NodeProcess):
    """``riftsim memnode serve`` as a process."""

    def __init__(self, folder, content):
        file = folder / f"memnode-{time.monotonic_ns()}.yaml"
        file.write_text(yaml.safe_dump(content))
        command = ["-m", "riftsim", "memnode", "serve", str(file), "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.first_line = self.process.stdout.readline()
        self.address = self.first_line.split()[-1]


def require_recall(system, found, local):
    if system == "riftann":
        assert abs(found.queries["recall"].mean() - local.queries["recall"].mean()) < 0.02
    else:
        assert np.array_equal(found.ids, local.ids)
        assert np.array_equal(found.queries["recall"], local.queries["recall"])


@pytest.mark.parametrize(
    ("system", "posting", "measured"),
    [*((system, "chained", 100) for system in SYSTEMS), ("async_vamana", "extended", 40)],
)
def test_a_hundred_queries_equal_the_local_driver_and_their_replay(tmp_path, addresses, system, posting, measured):
    local = run(experiment(system, {"kind": "local"}, measured_queries=measured))
    log = str(tmp_path / "log.parquet")
    driver = {"kind": "live", "memnodes": addresses, "posting": posting, "record": log, "queue_pairs": 2, **PATIENT}
    signalling = "last" if posting == "chained" else "every"
    found = run(experiment(system, driver, cluster={"signalling": signalling}, measured_queries=measured))
    require_recall(system, found, local)
    assert found.queries["retried"].sum() == 0
    replayed = run(experiment(system, {"kind": "replay", "log": log}))
    for query, ids in zip(found.queries["query"], found.ids, strict=True):
        again = replayed.ids[replayed.queries["query"] == query]
        assert (again == ids).all(axis=1).any()


def test_partitions_of_d_hnsw_are_read_from_two_memory_nodes():
    content = {**experiment("remote_vamana", {"kind": "local"}), "system": D_HNSW}
    local = run(content)
    with in_thread(content, (0, 2)) as first, in_thread(content, (1, 2)) as second:
        driver = {"kind": "live", "memnodes": [first.address, second.address], **PATIENT}
        found = run({**content, "driver": driver})
    assert np.array_equal(found.ids[np.argsort(found.queries["query"])], local.ids)
    assert found.facts["batches"][0]["partitions_read"] == 8, "the cache holds them all"


def test_searches_go_on_while_the_memory_node_s_process_is_stopped(tmp_path):
    content = experiment("async_vamana", {"kind": "local"}, cluster=ONE, **SOME)
    with Served(tmp_path, content) as node:
        assert "memory node 0 of 1" in node.first_line
        stopped_at = []

        def stop(done):
            if done == 20:
                node.signal(signal.SIGSTOP)
                while node.state() != "T":
                    pass
                stopped_at.append(node.cpu_ticks())

        live = {"kind": "live", "memnodes": [node.address], **PATIENT}
        found = run(experiment("async_vamana", live, cluster=ONE, **SOME), on_progress=stop)
        assert [node.cpu_ticks()] == stopped_at
        assert np.array_equal(found.ids, run(content).ids)
        node.signal(signal.SIGCONT)
        code, rest = node.end(signal.SIGINT)
        assert code == 0, rest
        assert rest.endswith("memory node: closed\n")


def in_process(folder, node):
    """The records of a memory node in a process of their own, which can be killed."""
    np.save(folder / "records.npy", node._memory)
    return NodeProcess(folder / "records.npy", "127.0.0.1:0", json.dumps(node.descriptor.content))


@pytest.mark.parametrize("system", ["remote_vamana", "riftann"])
def test_a_memory_node_killed_in_the_middle(tmp_path, system):
    """With a replica the queries go on, without one they end within a set time, and both name it."""
    content = experiment(system, {"kind": "local"}, cluster=ONE, **SOME)
    hasty = {"kind": "live", "timeout": 10, "retry_cnt": 2, **PATIENT}
    killed_at = []

    def kill(done):
        if done == 20:
            doomed.kill()
            killed_at.append(time.monotonic())

    with in_thread(content) as other, in_process(tmp_path, other) as doomed:
        driver = {**hasty, "memnodes": [doomed.address, other.address], "replicas": 2}
        found = run(experiment(system, driver, cluster=ONE, **SOME), on_progress=kill)
        require_recall(system, found, run(content))
        assert found.queries["retried"].sum() > 0
        assert found.facts["failures"]
        assert all(doomed.address in failure for failure in found.facts["failures"])

        with in_process(tmp_path, other) as doomed:
            alone = experiment(system, {**hasty, "memnodes": [doomed.address]}, cluster=ONE)
            first_cause = rf"memory node 0 \({doomed.address}\), queue pair \d+, .*RETRY_EXC_ERR"
            with pytest.raises(TransportError, match=first_cause):
                run(alone, on_progress=kill)
            assert time.monotonic() - killed_at[1] < 10


def test_another_index_is_found_out_in_the_handshake():
    other = experiment("remote_vamana", {"kind": "local"}, cluster=ONE, index=OTHER_INDEX)
    with in_thread(other) as node:
        live = {"kind": "live", "memnodes": [node.address], **PATIENT}
        with pytest.raises(TransportError, match=rf"memory node {node.address} serves another index .*index_hash"):
            run(experiment("remote_vamana", live, cluster=ONE))


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_thousand_queries_equal_the_local_driver(addresses, system):
    live = {"kind": "live", "memnodes": addresses, **PATIENT}
    found = run(experiment(system, live, measured_queries=1000))
    require_recall(system, found, run(experiment(system, {"kind": "local"}, measured_queries=1000)))
