"""What is said where a graph, a region or an exported index does not fit on its drive: a real one of 256 KiB."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ON_A_SMALL_DRIVE = r"""
import sys
from pathlib import Path

import numpy as np

from riftsim.artifacts import Artifact, ArtifactStore
from riftsim.errors import message_of
from riftsim.index.diskann_disk_io import write_disk_index
from riftsim.index.graph import Graph
from riftsim.memnode.region import build_region
from riftsim.memnode.shards import contiguous
from riftsim.workload.formats.vectors import write_vectors

drive = Path(sys.argv[1])
n = 4000
vectors = np.zeros((n, 64), np.float32)
graph = Graph(np.full((n, 8), -1, np.int32), np.zeros(n, np.int32), 0)


def kept():
    ArtifactStore(drive).get_or_make("graph", {}, lambda: Artifact({"neighbors": vectors}))


for attempt in (
    kept,
    lambda: build_region(vectors, graph.neighbors, graph.degrees, contiguous(n, 1), drive / "scratch"),
    lambda: write_disk_index(drive / "a_disk.index", graph, vectors),
    lambda: write_vectors(drive / "base.npy", vectors),
):
    try:
        attempt()
    except Exception as error:
        print(message_of(error))
print(sorted(str(path.relative_to(drive)) for path in drive.rglob("*") if path.is_file() and path.stat().st_size))
"""


def test_a_full_drive_names_the_file_what_it_needs_and_what_is_free(tmp_path):
    mounted = 'mount -t tmpfs -o size=256k none "$0" && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, str(tmp_path)]
    if not shutil.which("unshare") or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("no drive can be mounted here")
    run = [*command, sys.executable, "-c", ON_A_SMALL_DRIVE, str(tmp_path)]
    said = subprocess.run(run, capture_output=True, text=True, timeout=60, cwd=Path(__file__).parents[2])
    *messages, left = said.stdout.splitlines()
    assert len(messages) == 4, said.stderr
    expected = (
        ("neighbors.npy: cannot write to the cache (", "1,024,000); set RIFTSIM_CACHE_DIR to a folder with room"),
        ("scratch: ", "1,168,000; expected room"),
        ("a_disk.index: ", "1,175,552; expected room"),
        ("base.npy: ", "1,024,000; expected room"),
    )
    for message, (start, end) in zip(messages, expected, strict=True):
        assert f"{start}No space left on device: found 2" in message
        assert f" bytes free, expected {end}" in message
        assert message.startswith(str(tmp_path))
    assert left == "[]", "nothing half written stays"
