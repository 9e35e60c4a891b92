"""A configuration that runs in a moment, for tests that change one thing of it."""

SMALL = {
    "name": "small",
    "dataset": {"name": "sift-photos-10k", "n": 2000, "queries": 40},
    "index": {"kind": "vamana", "R": 16, "L": 32},
    "codes": {"kind": "pq", "bytes": 16},
    "search": {"k": 10, "L": 20},
    "cluster": {"threads": 8},
    "load": {"kind": "closed", "concurrency": 8},
    "system": {"kind": "riftann"},
}
