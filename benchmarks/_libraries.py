"""One job on one library: build an index of a set, or load it, and search. Run by the interpreter that has the library.

    python _libraries.py JOB.json ANSWER.json

Needs numpy and the library only. Times are CPU seconds of all threads of this process; memory is its largest resident
set, in MiB, before and after the build.
"""

import json
import os
import resource
import sys
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np

SUFFIXES = {".u8bin": np.uint8, ".i8bin": np.int8, ".fbin": np.float32}
PACKAGES = {"svs": "scalable-vs", "faiss": "faiss-cpu"}
"""Where a package is not named like its module."""
K = 10


def read_vectors(path, rows=None):
    """Read a big-ann file (u4 n, u4 d, values); with ``rows`` only its first rows."""
    n, d = np.fromfile(path, np.uint32, 2).tolist()
    rows = n if rows is None else min(rows, n)
    return np.fromfile(path, SUFFIXES[Path(path).suffix], rows * d, offset=8).reshape(rows, d)


def read_set(folder, rows):
    """Read base vectors, queries and the true ids of a set that holds ``gt_<rows>.ibin``."""
    folder = Path(folder)
    base, queries = (next(p for p in folder.glob(f"{name}.*bin") if p.suffix in SUFFIXES) for name in ("base", "query"))
    truth = np.fromfile(folder / f"gt_{rows}.ibin", np.int32)
    count, k = truth[:2]
    return read_vectors(base, rows), read_vectors(queries), truth[2 : 2 + count * k].reshape(count, k)


def recall(ids, truth, k=K):
    """Mean share of the true k nearest among the first k returned."""
    hits = [len(np.intersect1d(found[:k], true[:k])) for found, true in zip(ids, truth, strict=True)]
    return float(np.mean(hits) / k)


def cpu_seconds(call):
    """Return the CPU seconds of all threads of this process during a call, and what it returned."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


class Riftsim:
    """Vamana of riftsim, on the vectors as they are."""

    def __init__(self, base, job):
        from riftsim.index.vamana import build_vamana

        self.base, self.job, self.file = base, job, Path(job["folder"]) / "graph.npz"
        build_vamana(base[:200].copy(), 0, R=8, L=8, threads=1)  # compiles, or loads the compiled kernels

    def build(self):
        from riftsim.index.vamana import build_vamana

        self.graph, _ = build_vamana(self.base, 0, R=self.job["R"], L=self.job["L"], threads=self.job["threads"])
        return lambda: np.savez(self.file, self.graph.neighbors, self.graph.degrees, self.graph.start)

    def load(self):
        from riftsim.index.graph import Graph

        with np.load(self.file) as kept:
            neighbors, degrees, start = (kept[name] for name in kept.files)
        self.graph = Graph(neighbors, degrees, int(start))

    def search(self, queries, L):
        from riftsim.index.search import search_batch

        graph = self.graph
        return search_batch(
            self.base, self.base.shape[1], 0, graph.neighbors, graph.degrees, graph.start, queries, L, K,
            threads=self.job["threads"],
        )[0]  # fmt: skip


class DiskANN:
    """StaticMemoryIndex of diskannpy, on the vectors as they are."""

    def __init__(self, base, job):
        self.base, self.job = base, job

    def build(self):
        import diskannpy

        job = self.job
        diskannpy.build_memory_index(
            data=self.base, distance_metric="l2", index_directory=job["folder"], complexity=job["L"],
            graph_degree=job["R"], num_threads=job["threads"], alpha=1.2, use_pq_build=False, num_pq_bytes=0,
            use_opq=False,
        )  # fmt: skip
        return self.load

    def load(self):
        import diskannpy

        self.index = diskannpy.StaticMemoryIndex(
            index_directory=self.job["folder"], num_threads=self.job["threads"],
            initial_search_complexity=max(self.job["search_L"]),
        )  # fmt: skip

    def search(self, queries, L):
        return self.index.batch_search(queries, K, L, self.job["threads"]).identifiers


class SVS:
    """Vamana of Scalable Vector Search, on the vectors as they are."""

    def __init__(self, base, job):
        self.base, self.job = base, job
        self.folders = [str(Path(job["folder"]) / name) for name in ("config", "graph", "data")]

    def build(self):
        import svs

        job = self.job
        parameters = svs.VamanaBuildParameters(graph_max_degree=job["R"], window_size=job["L"], alpha=1.2)
        self.index = svs.Vamana.build(parameters, self.base, svs.DistanceType.L2, num_threads=job["threads"])
        return lambda: self.index.save(*self.folders)

    def load(self):
        import svs

        config, graph, data = self.folders
        kind = getattr(svs, self.base.dtype.name)
        self.index = svs.Vamana(
            config, svs.GraphLoader(graph), svs.VectorDataLoader(data, kind), svs.DistanceType.L2,
            num_threads=self.job["threads"],
        )  # fmt: skip

    def search(self, queries, L):
        self.index.search_window_size = L
        return self.index.search(queries, K)[0]


class Faiss:
    """IndexHNSWFlat of faiss, on float32; M = R / 2, so that its lowest layer has degree R."""

    def __init__(self, base, job):
        import faiss

        faiss.omp_set_num_threads(job["threads"])
        self.faiss, self.base, self.job = faiss, base.astype(np.float32), job
        self.file = str(Path(job["folder"]) / "hnsw.faiss")

    def build(self):
        self.index = self.faiss.IndexHNSWFlat(self.base.shape[1], self.job["R"] // 2)
        self.index.hnsw.efConstruction = self.job["L"]
        self.index.add(self.base)
        return lambda: self.faiss.write_index(self.index, self.file)

    def load(self):
        self.index = self.faiss.read_index(self.file)

    def search(self, queries, L):
        self.index.hnsw.efSearch = L
        return self.index.search(queries.astype(np.float32), K)[1]


class HNSWLib:
    """hnswlib, on float32; M = R / 2, so that its lowest layer has degree R."""

    def __init__(self, base, job):
        import hnswlib

        self.base, self.job, self.file = base.astype(np.float32), job, str(Path(job["folder"]) / "hnsw.hnswlib")
        self.index = hnswlib.Index("l2", base.shape[1])

    def build(self):
        self.index.init_index(len(self.base), M=self.job["R"] // 2, ef_construction=self.job["L"])
        self.index.add_items(self.base, num_threads=self.job["threads"])
        return lambda: self.index.save_index(self.file)

    def load(self):
        self.index.load_index(self.file)

    def search(self, queries, L):
        self.index.set_ef(L)
        return self.index.knn_query(queries.astype(np.float32), K, num_threads=self.job["threads"])[0]


LIBRARIES = {"riftsim": Riftsim, "diskannpy": DiskANN, "svs": SVS, "faiss": Faiss, "hnswlib": HNSWLib}


def _peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(job):
    """Do a job; times, memory, and recall and throughput by list size."""
    base, queries, truth = read_set(job["set"], job["rows"])
    library = LIBRARIES[job["library"]](base, job)
    answer = {}
    if job["build"]:
        before = _peak_mib()
        answer["build_cpu_s"], finish = cpu_seconds(library.build)
        answer |= {"memory_before_mib": before, "memory_mib": _peak_mib()}
        finish()
    else:
        library.load()
    library.search(queries[:2], max(job["search_L"]))
    found, spent = {}, {L: [] for L in job["search_L"]}
    for _ in range(job.get("passes", 1)):
        for L, times in spent.items():
            took, found[L] = cpu_seconds(lambda L=L: library.search(queries, L))
            times.append(took)
    curve = [
        {"L": L, "recall": recall(found[L], truth), "qps": len(queries) / median(times)} for L, times in spent.items()
    ]
    try:
        answer["version"] = version(PACKAGES.get(job["library"], job["library"]))
    except Exception:  # run from a checkout that is not installed
        answer["version"] = "checkout"
    return answer | {"curve": curve, "affinity": len(os.sched_getaffinity(0))}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(run(json.loads(Path(sys.argv[1]).read_text()))))
