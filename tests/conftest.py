"""What the tests share: the helpers' folder on the path, and one small index of real vectors."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A kernel that is compiled within an example takes seconds; time is no property here.
settings.register_profile("riftsim", deadline=None)
settings.load_profile("riftsim")

sys.path.insert(0, str(Path(__file__).parent / "helpers"))


@pytest.fixture(scope="session")
def photos():
    """2,000 bundled SIFT vectors with 60 queries, a Vamana graph (R=16, L=32) and 16-byte codes: a ``World``."""
    from search_worlds import make_world

    from riftsim.index.vamana import build_vamana
    from riftsim.quantize.pq import ProductCodec
    from riftsim.workload.datasets import load_dataset

    dataset = load_dataset("sift-photos-10k", n=2000, queries=60)
    graph, _ = build_vamana(dataset.base, 0, R=16, L=32)
    return make_world(dataset.base, dataset.queries, graph, codec=ProductCodec.train(dataset.base, "l2", 16))


@pytest.fixture(scope="session")
def exact_photos(photos):
    """The same with the vectors themselves for codes."""
    from search_worlds import make_world

    return make_world(photos.vectors, photos.queries, photos.graph)
