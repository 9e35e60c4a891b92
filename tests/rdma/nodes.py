"""Memory nodes for the tests on a device: in a thread of the test, or in a process that can be stopped and killed."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from byte_node import pattern

from riftsim.memnode.server import MemoryNode, MemoryNodeSettings
from riftsim.rdma.reader import ReaderSettings, VerbsPort


@contextmanager
def node_in_thread(records: np.ndarray, content: dict | None = None, **settings):
    """A memory node that serves from a thread of this process."""
    with serving(MemoryNode(records, content or {}, MemoryNodeSettings(listen="127.0.0.1:0", **settings))) as node:
        yield node


@contextmanager
def serving(node: MemoryNode):
    """Let a memory node serve from a thread of this process."""
    thread = threading.Thread(target=node.serve)
    thread.start()
    try:
        yield node
    finally:
        node.stop()
        thread.join()
        node.close()


class NodeProcess:
    """``byte_node.py`` as a process."""

    def __init__(self, *arguments):
        command = [sys.executable, Path(__file__).with_name("byte_node.py"), *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def cpu_ticks(self) -> int:
        """Clock ticks that the process has used so far, in user and system mode."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def state(self) -> str:
        return Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]

    def end(self, number: int | None = None) -> tuple[int, str]:
        """End it gracefully, by SIGTERM or another signal; exit code and the rest of its output."""
        self.signal(number or signal.SIGTERM)
        rest = self.process.stdout.read()
        return self.process.wait(), rest

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
            self.kill()
        self.process.stdout.close()


@contextmanager
def port_to(
    addresses: list[str], *, parts: list[int] | None = None, slots: int = 32, slot_bytes: int = 1024, **settings
):
    """A port to memory nodes, which by default hold one part each."""
    parts = list(range(len(addresses))) if parts is None else parts
    port = VerbsPort(addresses, lambda descriptors: parts, slots, slot_bytes, ReaderSettings(**settings))
    try:
        yield port
    finally:
        port.close()


__all__ = ["NodeProcess", "node_in_thread", "pattern", "port_to"]
