"""Compute node and memory node on two machines, of which the memory node's loses its power.

``tests/vm`` runs it, with ``scripts/rdma_vm.sh --nodes 2`` and ``byte_node.py`` on the other machine.
"""

import os
import socket
import time
from pathlib import Path

import numpy as np
import pytest
from nodes import pattern, port_to

from riftsim.errors import TransportError
from riftsim.rdma.queue_pairs import Retries
from riftsim.transport.pipeline import ReadPipeline
from riftsim.transport.port import Read

PORT = 7471
BYTES = 1 << 16

pytestmark = [
    pytest.mark.rdma,
    pytest.mark.skipif(
        os.environ.get("RDMA_VM_PEER") == os.environ.get("RDMA_VM_ADDRESS"), reason="needs two machines (tests/vm)"
    ),
]


def test_a_memory_node_s_machine_that_loses_its_power_is_noticed():
    host = os.environ["RDMA_VM_PEER"]
    until = time.monotonic() + 120
    while time.monotonic() < until:  # the other machine boots at its own pace
        try:
            socket.create_connection((host, PORT), 1).close()
            break
        except OSError:
            continue
    region, waited_s = pattern(BYTES), 0.0
    with port_to([f"{host}:{PORT}"], retries=Retries(timeout=14, retry_cnt=6)) as port:
        pipeline = ReadPipeline(port, signal_last_only=True)
        completed: list[int] = []
        for _ in range(20):
            pipeline.submit(0, reads := [Read(slot, 1000 * slot, 516) for slot in range(32)])
            while pipeline.in_flight:
                completed += pipeline.poll().completed
            for read in reads:
                landed = port.buffer[read.slot * port.slot_bytes :][:516]
                assert np.array_equal(landed, region[read.remote_offset :][:516])
        assert len(completed) == 640

        Path(os.environ["RDMA_VM_CONTROL"]).write_text("power-off memory\n")
        lost: list[int] = []
        begin = time.monotonic()
        while not lost and time.monotonic() - begin < 60:
            pipeline.submit(0, [Read(0, 0, 516)])
            posted = time.monotonic()
            while pipeline.in_flight and not lost and time.monotonic() - posted < 30:
                lost += pipeline.poll().lost
            waited_s = time.monotonic() - posted
        assert lost == [0]
        assert waited_s < 10
        with pytest.raises(TransportError, match=rf"memory node 0 \({host}:{PORT}\), queue pair .*RETRY_EXC_ERR"):
            pipeline.submit(0, [Read(0, 0, 516)])
