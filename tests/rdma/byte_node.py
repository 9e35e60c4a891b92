"""A memory node as a process that starts quickly: ``python byte_node.py BYTES|RECORDS.npy [HOST:PORT [CONTENT]]``.

It serves bytes that follow from their place, or the records in a file, whose content (JSON) it then says.
"""

import json
import sys

import numpy as np

from riftsim.memnode.server import MemoryNode, MemoryNodeSettings


def pattern(size: int) -> np.ndarray:
    """Bytes that differ between neighbours and between places 256 apart."""
    at = np.arange(size, dtype=np.uint64)
    return ((at * np.uint64(2654435761)) >> np.uint64(16)).astype(np.uint8)


def main() -> None:
    """Serve, by default on a free port of the loopback; the first line says which."""
    what = sys.argv[1]
    listen = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1:0"
    content = sys.argv[3] if len(sys.argv) > 3 else "{}"
    records = pattern(int(what)) if what.isdigit() else np.load(what)
    node = MemoryNode(records, json.loads(content), MemoryNodeSettings(listen=listen))
    node.stop_on_signals()
    print(node.address, flush=True)
    node.serve(lambda text: print(text, flush=True))
    node.close()
    node.close()
    print("closed", flush=True)


if __name__ == "__main__":
    main()
