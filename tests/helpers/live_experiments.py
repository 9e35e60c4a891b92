"""A small experiment for live runs, and what it needs of memory nodes: on a device, or in memory.

``python tests/helpers/live_experiments.py`` runs it in memory once: kernels, graph, codes and alpha are then in the
cache, where a virtual machine on this machine's files finds them.
"""

from typing import Any

import msgspec
from fake_port import FakeMemoryNode, FakePort

from riftsim import assembly
from riftsim.artifacts import ArtifactStore
from riftsim.assembly import live
from riftsim.assembly.index import load_configured_dataset, load_search_index
from riftsim.assembly.system import lay_out
from riftsim.config.check import problems
from riftsim.config.schema import ExperimentConfig
from riftsim.rdma.bootstrap import Descriptor
from riftsim.results.recorder import PointResult

SYSTEMS: dict[str, dict[str, Any]] = {
    "remote_vamana": {"kind": "remote_vamana"},
    "async_vamana": {"kind": "async_vamana", "beam_width": 8},
    "riftann": {"kind": "riftann", "workers": 2},
}
D_HNSW = {"kind": "d_hnsw", "partitions": 8, "routed": 3, "M": 8, "ef_construction": 40, "buffers": 2, "doorbell": 2}
"""Eight partitions of 149 KB."""
OTHER_INDEX = {"kind": "vamana", "R": 16, "L": 33}


def experiment(system: str, driver: dict, *, queries: int = 100, cluster: dict | None = None, **changes) -> dict:
    """The content of an experiment file over 2,000 bundled vectors, by default on two memory nodes."""
    return {
        "name": "live-test",
        "dataset": {"name": "sift-photos-10k", "n": 2000, "queries": queries},
        "index": {"kind": "vamana", "R": 16, "L": 32},
        "codes": {"kind": "pq", "bytes": 16},
        "search": {"k": 10, "L": 32},
        "system": SYSTEMS[system],
        "cluster": {"memory_nodes": 2, "threads": 8, "placement": {"kind": "hash"}, **(cluster or {})},
        "load": {"kind": "closed", "concurrency": 6},
        "driver": driver,
        **changes,
    }


def config_of(content: dict) -> ExperimentConfig:
    config = msgspec.convert(content, ExperimentConfig)
    assert not problems(config)
    return config


def run(content: dict, on_progress=None) -> PointResult:
    """Run an experiment in this process."""
    return assembly.run_point(config_of(content), artifacts=ArtifactStore(), on_progress=on_progress)


class FakeVerbs:
    """Memory nodes in memory, in the place of ``rdma.reader.VerbsPort``.

    Parameters
    ----------
    content : dict
        The experiment whose records they hold.
    replicas : int
        How many of each part.
    **port
        Settings of the ``FakePort``.
    """

    def __init__(self, content: dict, replicas: int = 1, **port):
        config, store = config_of(content), ArtifactStore()
        dataset = load_configured_dataset(config, None, store)
        index = load_search_index(config, dataset, store)
        region = lay_out(config, index, store)
        batched = live.batched_of(config, dataset, index, region, store)
        self.nodes: dict[str, FakeMemoryNode] = {}
        self.descriptors: dict[str, Descriptor] = {}
        for part in range(config.cluster.memory_nodes):
            for replica in range(replicas):
                address = f"fake-{part}-{replica}:1"
                records = live.bytes_of(region, part, batched).copy()
                self.nodes[address] = FakeMemoryNode(records, part, address)
                what = live.content_of(dataset, index, region, part, batched)
                self.descriptors[address] = Descriptor(what, 0, 0, records.nbytes, 16, 3, "fake0")
        self._port = {"seed": 0} | port

    @property
    def addresses(self) -> list[str]:
        return list(self.nodes)

    def __call__(self, addresses, accept, slots, slot_bytes, settings) -> FakePort:
        parts = accept([self.descriptors[address] for address in addresses])
        nodes = [self.nodes[address] for address in addresses]
        assert parts == [node.memory_node for node in nodes]
        counts = {"queue_pairs": settings.queue_pairs, "depth": settings.depth}
        return FakePort(nodes, slots, slot_bytes, **counts, **self._port)


def main() -> None:
    """Fill the caches with all that tests on a device make: under emulation a graph takes minutes."""
    run(experiment("remote_vamana", {"kind": "local"}, index=OTHER_INDEX))
    run({**experiment("remote_vamana", {"kind": "local"}), "system": D_HNSW})
    for system in SYSTEMS:
        content = experiment(system, {"kind": "local"})
        run(content)
        live.VerbsPort = fake = FakeVerbs(content)
        run(experiment(system, {"kind": "live", "memnodes": fake.addresses}))


if __name__ == "__main__":
    main()
