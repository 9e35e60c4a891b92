"""d-HNSW: balanced clusters, routing, the cache of partitions, and batches that read each partition once."""

from dataclasses import replace
from functools import partial

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_runs import answers_of, local_answers, simulate
from search_worlds import random_world

from riftsim.artifacts import ArtifactStore
from riftsim.computenode.batches import BatchNode
from riftsim.computenode.costs import CpuModel
from riftsim.config.systems import DHnswConfig
from riftsim.errors import BudgetError, ConfigError, IndexFileError
from riftsim.index.partitions import balanced_clusters, build_partitions, deserialised, stored_partitions
from riftsim.kernels.partition import assign_nearest_first
from riftsim.rdma.profiles import load_profile
from riftsim.rng import stream
from riftsim.search.partitioned import PartitionSearch
from riftsim.storage.partition_cache import PartitionCache
from riftsim.systems import d_hnsw
from riftsim.testing import check_program

WORLD = random_world(5, n=400, degree=6)


@pytest.fixture(scope="module")
def index():
    return build_partitions(WORLD.vectors, 0, partitions=8, M=8, ef_construction=40, seed=17)


def system_of(world=WORLD, list_size=64, k=10, context=None, **changes):
    import msgspec

    settings = msgspec.to_builtins(
        DHnswConfig(partitions=8, **({"routed": 3, "M": 8, "ef_construction": 40} | changes))
    )
    settings.pop("kind")
    build = partial(build_partitions, world.vectors, 0)
    return d_hnsw.build(world.context(list_size, k, partitions=build, **(context or {})), **settings)


# ---------------------------------------------------------------- clusters


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), points=st.integers(1, 40), centroids=st.integers(1, 8), near=st.integers(1, 5))
def test_points_go_to_centroids_nearest_first(seed, points, centroids, near):
    draw = np.random.default_rng(seed)
    near = min(near, centroids)
    distances = draw.integers(0, 20, (points, near)).astype(float)
    choices = np.array([draw.permutation(centroids)[:near] for _ in range(points)], np.int32)
    capacity = -(-points // centroids)
    order = np.argsort(distances, axis=None, kind="stable")
    sizes, part = np.zeros(centroids, np.int64), np.empty(points, np.int32)
    left = assign_nearest_first(order, choices, capacity, sizes, part)
    expected, room = {}, dict.fromkeys(range(centroids), capacity)
    for _, place in sorted((distances[p, j], p * near + j) for p in range(points) for j in range(near)):
        point, centroid = place // near, int(choices[place // near, place % near])
        if point not in expected and room[centroid]:
            expected[point] = centroid
            room[centroid] -= 1
    assert {point: int(part[point]) for point in range(points) if part[point] >= 0} == expected
    assert left == points - len(expected)


def test_clusters_are_balanced_and_repeatable():
    part, centroids = balanced_clusters(WORLD.vectors, 7, seed=17)
    sizes = np.bincount(part, minlength=7)
    assert sizes.sum() == 400
    assert sizes.max() <= 58
    again, _ = balanced_clusters(WORLD.vectors, 7, seed=17)
    assert np.array_equal(part, again)
    # Not worse than the same sizes dealt at random.
    points = WORLD.vectors.astype(float)
    spread = ((points - centroids[part]) ** 2).sum()
    dealt = stream(1, "dealt").permutation(part)
    means = np.array([points[dealt == number].mean(axis=0) for number in range(7)])
    assert spread < 0.8 * ((points - means[dealt]) ** 2).sum()


# ---------------------------------------------------------------- search


def test_routing_and_search_equal_brute_force_over_partitions(index):
    """With as many candidates as there are points an HNSW finds everything."""
    queries = np.ascontiguousarray(WORLD.queries, np.float32)
    search = PartitionSearch(index, queries, routed=3, ef=400, k=10)
    centroids = np.array([WORLD.vectors[index.part == number].astype(float).mean(axis=0) for number in range(8)])
    for query in range(len(queries)):
        routes, work = search.route(query)
        nearest = np.argsort(((centroids - queries[query]) ** 2).sum(axis=1))
        assert routes == nearest[:3].tolist()
        assert work.queries == 1
        assert 3 <= work.local_exact <= 8 * 3
        rows = np.flatnonzero(np.isin(index.part, routes))
        exact = WORLD.exact(query)[rows]
        answer = search.answer(query, routes)
        assert np.allclose(answer.distances, np.sort(exact)[:10])
        assert np.array_equal(WORLD.exact(query)[answer.ids], answer.distances)
        assert answer.counts["bytes_read"] == index.blob_bytes[routes].sum()


def test_partitions_lie_one_after_the_other_at_their_memory_nodes(index):
    search = PartitionSearch(index, WORLD.queries.astype(np.float32), 3, 20, 10, memory_nodes=3)
    for node in range(3):
        end = 0
        for partition in range(node, 8, 3):
            assert search.place(partition) == (node, end, index.blob_bytes[partition])
            end += index.blob_bytes[partition]


def test_the_program_keeps_the_contract():
    check_program(system_of().new_program, range(4))


def test_stored_partitions_are_those_that_were_built(index, tmp_path):
    build = partial(
        stored_partitions, WORLD.vectors, 0, fingerprint="w", partitions=8, M=8, ef_construction=40, seed=17
    )
    store = ArtifactStore(tmp_path)
    first, again = build(store=store), build(store=store)
    for name in ("part", "members", "starts", "blob_starts", "representative"):
        assert np.array_equal(getattr(first, name), getattr(again, name)), name
        assert np.array_equal(getattr(first, name), getattr(index, name)), name
    assert np.array_equal(np.sort(first.members), np.arange(400))


def test_bytes_that_are_no_index_are_refused(index):
    with pytest.raises(IndexFileError, match="is no serialised index"):
        deserialised(index.blobs[: index.blob_starts[1] // 2])
    assert isinstance(deserialised(index.blobs[: index.blob_starts[1]]), faiss.IndexHNSWFlat)


# ---------------------------------------------------------------- cache


def test_the_cache_drops_the_least_recently_used_and_keeps_what_is_in_use():
    cache = PartitionCache(2)
    assert cache.reserve(1)
    assert cache.reserve(2)
    cache.use(1, 2)
    assert cache.held == [2, 1]
    assert cache.reserve(3)
    assert cache.held == [1, 3]
    cache.use(3, 1)
    assert not cache.reserve(4), "both are in use"
    cache.release(1)
    assert not cache.reserve(4), "1 is to be searched once more"
    cache.release(1)
    assert cache.reserve(4)
    assert cache.held == [3, 4]


# ---------------------------------------------------------------- batches


@pytest.fixture
def nodes(monkeypatch):
    """Batch nodes that were made, with the partitions that each batch read."""
    made = []
    original_init, original_landed = BatchNode.__init__, BatchNode._landed

    def remember(self, *arguments, **named):
        original_init(self, *arguments, **named)
        self.landed = []
        made.append(self)

    def landed(self, partition):
        self.landed.append((self._batches, partition))
        original_landed(self, partition)

    monkeypatch.setattr(BatchNode, "__init__", remember)
    monkeypatch.setattr(BatchNode, "_landed", landed)
    return made


@pytest.mark.parametrize("cached", [1, 3, 8])
def test_each_partition_is_read_once_per_batch_and_answers_do_not_depend_on_it(nodes, cached):
    fixed = sum(size for name, size in system_of().memory_items.items() if name != "cached partitions")
    largest = system_of().facts["partition_bytes"]["max"]
    system = system_of(context={"memory_budget_bytes": fixed + cached * largest})
    assert system.facts["cached_partitions"] == cached
    run = simulate(system, concurrency=4, queries=4, measured=24, memory_nodes=1)
    node = nodes[0]
    assert len(set(node.landed)) == len(node.landed), "a partition was read twice for a batch"
    for query, answer in answers_of(run).items():
        assert np.array_equal(answer.ids, local_answers(system, 4)[query].ids)
    counters = run.facts["batches"][0]
    assert counters["partitions_read"] == len(node.landed) <= counters["partitions_wanted"]
    if cached == 8:
        assert len(node.landed) == len({partition for _, partition in node.landed}), "the cache holds them all"
    assert len(node._cache.held) <= cached
    for each in run.runs:
        assert each.end_ps - each.start_ps == each.evaluation_ps + sum(each.waited_ps)


def test_an_unloaded_query_takes_its_stages(nodes):
    system = system_of(context={"memory_budget_bytes": 10**6}, deserialize_ps_per_byte=1000, buffers=8)
    run = simulate(system, concurrency=1, queries=1, measured=1, warmup=0)
    counters = run.facts["batches"][0]
    largest = system.facts["partition_bytes"]["max"]
    assert counters["partitions_read"] == 3
    assert counters["deserialize_ps"] == 1000 * sum(run.runs[0].answer.counts["bytes_read"] for _ in range(1))
    latency = run.runs[0].end_ps - run.runs[0].start_ps
    assert counters["routing_ps"] + 1000 * largest < latency < counters["routing_ps"] + 3 * 1000 * largest + 10**8


def test_busy_threads_of_a_batch_slow_one_another(nodes):
    """Three queries are routed at once: each finds one thread more busy; a thread alone is slowed by nobody."""
    cpu = CpuModel.of(load_profile("connectx5-100g").cpu, code_kind="pq", code_bytes=16, vector_bytes=128)

    def slowed(permille, **shape):
        prices = replace(cpu, contention_permille=permille)
        context = {"memory_budget_bytes": 10**6}
        return simulate(system_of(context=context), queries=3, warmup=0, cpu=prices, **shape)

    shape = {"threads": 4, "concurrency": 3, "measured": 3}
    quiet, busy = (slowed(permille, **shape) for permille in (0, 100))
    routed = [(one.evaluation_ps, other.evaluation_ps) for one, other in zip(quiet.runs, busy.runs, strict=True)]
    assert [found for _, found in routed] == [alone + alone * 100 * i // 1000 for i, (alone, _) in enumerate(routed)]
    quiet, busy = (run.facts["batches"][0] for run in (quiet, busy))
    for counter in ("search_ps", "deserialize_ps"):
        assert quiet[counter] < busy[counter] <= 1.2 * quiet[counter]
    alone = [slowed(permille, threads=2, concurrency=1, measured=3).facts["batches"] for permille in (0, 100)]
    assert alone[0] == alone[1]


def test_budgets_and_threads_are_enforced():
    with pytest.raises(BudgetError, match="does not hold one partition"):
        system_of(context={"memory_budget_bytes": 10_000})
    with pytest.raises(BudgetError, match=r"^system\.memory_bytes_per_vector: found 9, which does not hold one"):
        system_of(memory_bytes_per_vector=9.0)
    with pytest.raises(ConfigError, match=r"system\.routed"):
        system_of(routed=9)
    with pytest.raises(ConfigError, match=r"cluster\.threads"):
        simulate(system_of(), threads=1)


def test_it_fills_no_more_than_it_may_of_a_larger_budget():
    least = system_of().memory_items["cached partitions"] // 8
    fixed = sum(system_of().memory_items.values()) - 8 * least
    share = (fixed + 3.5 * least) / len(WORLD.vectors)
    own = system_of(memory_bytes_per_vector=share)
    assert own.facts["cached_partitions"] == 3
    assert sum(own.memory_items.values()) <= share * len(WORLD.vectors)
    few = system_of(context={"memory_budget_bytes": fixed + 2 * least}, memory_bytes_per_vector=share)
    assert few.facts["cached_partitions"] == 2


def test_a_sampler_sees_batches():
    run = simulate(system_of(), concurrency=6, queries=4, measured=12, load={"sample_ps": 2_000_000})
    assert run.windows["queries_active"].max() == 6
    assert run.windows["busy_threads"].max() > 1
    assert run.windows["busy_workers"].max() == 0
