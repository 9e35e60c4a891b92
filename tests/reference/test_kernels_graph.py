"""Pruning, best-first search and the whole build against slow oracles in plain Python.

The oracles are written from the rules rather than from the kernels: occlusion is pushed, not pulled; lists are sorted
anew after every insertion.
"""

import heapq

import numpy as np
import pytest

from riftsim.index import vamana
from riftsim.index.graph import unreachable
from riftsim.index.search import search_batch
from riftsim.kernels.candidates import pack, unpack
from riftsim.kernels.greedy import best_first
from riftsim.kernels.prune import robust_prune
from riftsim.rng import stream


def true_distance(metric: int, a: np.ndarray, b: np.ndarray) -> float:
    """Internal distance, exact for bytes."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(((a - b) ** 2).sum()) if metric == 0 else -float((a * b).sum())


def slow_search(metric, vectors, lists, start, query, L):
    """Sequential best-first search.

    Returns the final list of (distance, id), the expanded nodes in order, and counts (expansions, evaluations,
    insertions).
    """
    candidates = [(true_distance(metric, query, vectors[start]), start)]
    visited, expanded = {start}, []
    evaluations = insertions = 1
    while True:
        open_ones = [entry for entry in candidates if entry[1] not in expanded]
        if not open_ones:
            return candidates, expanded, (len(expanded), evaluations, insertions)
        node = open_ones[0][1]
        expanded.append(node)
        for other in lists[node]:
            if other in visited:
                continue
            visited.add(other)
            evaluations += 1
            entry = (true_distance(metric, query, vectors[other]), other)
            if len(candidates) < L or entry < candidates[-1]:
                candidates = sorted([*candidates, entry])[:L]
                insertions += 1


def slow_prune(metric, vectors, pool, limit, alpha):
    """Keep neighbours as DiskANN does: every kept candidate pushes occlusion onto all later ones.

    ``pool`` is a sorted list of (distance, id). A candidate's factor is the largest a at which it is not yet occluded.
    """
    pool = list(pool)
    level = [0] * len(pool)  # 0 free, 1 occluded at factor 1, 2 occluded at alpha or kept
    kept = []
    for allowed in (0, 1):
        for at, (_, node) in enumerate(pool):
            if len(kept) == limit:
                return kept
            if level[at] > allowed:
                continue
            level[at] = 2
            kept.append(node)
            for later in range(at + 1, len(pool)):
                far, other = pool[later]
                between = true_distance(metric, vectors[node], vectors[other])
                bound = np.float32(far) / np.float32(alpha) if far >= 0 else np.float32(far) * np.float32(alpha)
                copy = metric == 0 and between == 0
                if between < bound or copy:
                    level[later] = max(level[later], 2)
                elif between < far:
                    level[later] = max(level[later], 1)
        if alpha <= 1:
            break
    return kept


def slow_build(metric, vectors, order, R, L, alpha, slack, share):
    """Batch insertion; returns one list of neighbours per row, before any repair."""
    n = len(vectors)
    width = int(np.ceil(slack * R))
    lists = [[] for _ in range(n)]
    most = max(1, int(n * share))

    def pool_of(node, others):
        return heapq.nsmallest(
            len(others), [(true_distance(metric, vectors[node], vectors[o]), int(o)) for o in others]
        )

    done = 1
    while done < n:
        batch = order[done : done + min(done, most)]
        chosen = {}
        for node in batch:
            _, expanded, _ = slow_search(metric, vectors, lists, order[0], vectors[node], L)
            chosen[node] = slow_prune(metric, vectors, pool_of(node, expanded), R, alpha)
        incoming = {}
        for node in batch:
            lists[node] = chosen[node]
            for target in chosen[node]:
                incoming.setdefault(target, []).append(node)
        for target, sources in incoming.items():
            lists[target] = lists[target] + sources
            if len(lists[target]) > width:
                lists[target] = slow_prune(metric, vectors, pool_of(target, lists[target]), R, alpha)
        done += len(batch)
    return [
        slow_prune(metric, vectors, pool_of(v, row), R, alpha) if len(row) > R else row for v, row in enumerate(lists)
    ]


def pruned(metric, vectors, pool, limit, alpha):
    """Run the kernel on a list of (distance, id)."""
    keys = np.array([pack(np.float32(distance), node) for distance, node in pool], np.uint64)
    kept, scratch = np.full(limit, -1, np.int32), np.empty((2, len(pool)), np.int32)
    count = robust_prune(
        metric, vectors.reshape(-1), vectors.shape[1], keys, len(keys), limit, np.float32(alpha), kept, *scratch
    )
    return kept[:count].tolist()


def pool_of(metric, vectors, node):
    others = [(true_distance(metric, vectors[node], vectors[o]), o) for o in range(len(vectors)) if o != node]
    return sorted(others)


@pytest.mark.parametrize("metric", [0, 1])
@pytest.mark.parametrize(("limit", "alpha"), [(5, 1.2), (40, 1.2), (12, 1.0), (40, 2.0), (1, 1.2)])
def test_same_as_pushing_occlusion(metric, limit, alpha):
    rng = np.random.default_rng(limit)
    for d in (2, 7, 40):
        vectors = rng.integers(0, 30, (80, d)).astype(np.uint8)
        pool = pool_of(metric, vectors, 0)
        assert pruned(metric, vectors, pool, limit, alpha) == slow_prune(metric, vectors, pool, limit, alpha)


def test_second_round_fills_places_that_the_first_left():
    vectors = np.array([[0], [10], [21]], np.uint8)  # 21 is nearer to 10 (121) than to 0 (441)
    pool = pool_of(0, vectors, 0)
    assert pruned(0, vectors, pool, 2, 1.2) == [1]
    assert pruned(0, vectors, pool, 2, 4.0) == [1, 2]  # 4 x 121 > 441: not occluded at factor 4


def test_copies_of_a_neighbor_are_dropped():
    vectors = np.array([[3, 3]] * 6 + [[200, 3]], np.uint8)
    assert pruned(0, vectors, pool_of(0, vectors, 0), 4, 1.2) == [1, 6]


def test_empty_pool():
    assert pruned(0, np.zeros((1, 4), np.uint8), [], 3, 1.2) == []


def random_graph(seed, n, width):
    """Random lists of random lengths, as arrays and as lists."""
    rng = np.random.default_rng(seed)
    degrees = rng.integers(1, width + 1, n).astype(np.int32)
    neighbors = np.full((n, width), -1, np.int32)
    for row, degree in enumerate(degrees):
        neighbors[row, :degree] = rng.permutation(n - 1)[:degree]
    neighbors[neighbors >= np.arange(n)[:, None]] += 1
    return neighbors, degrees, [neighbors[row, :degree].tolist() for row, degree in enumerate(degrees)]


@pytest.mark.parametrize("metric", [0, 1])
@pytest.mark.parametrize("L", [1, 5, 30, 500])
def test_same_as_the_sequential_rule(metric, L):
    rng = np.random.default_rng(L)
    n, d, k = 300, 5, min(L, 10)
    vectors = rng.integers(0, 20, (n, d)).astype(np.uint8)  # many equal distances
    neighbors, degrees, lists = random_graph(L, n, 9)
    queries = rng.integers(0, 20, (12, d)).astype(np.uint8)
    ids, distances, counts = search_batch(vectors, d, metric, neighbors, degrees, 7, queries, L, k, threads=1)
    for at, query in enumerate(queries):
        candidates, _, expected_counts = slow_search(metric, vectors, lists, 7, query, L)
        assert list(zip(distances[at].tolist(), ids[at].tolist(), strict=True)) == candidates[:k]
        assert tuple(counts[at, :3]) == expected_counts
        assert counts[at, 3] >= counts[at, 1] - 1  # every neighbour evaluated was looked at


def test_dropped_candidates_that_were_expanded_complete_the_pool():
    rng = np.random.default_rng(0)
    n, d, L = 400, 6, 8
    vectors = rng.integers(0, 50, (n, d)).astype(np.uint8)
    neighbors, degrees, lists = random_graph(1, n, 8)
    dropped_in_all = 0
    keys, evicted, counts = np.empty(L, np.uint64), np.empty(50, np.uint64), np.empty(5, np.int64)
    marks, epoch, fresh = np.zeros(n, np.uint8), np.zeros(1, np.uint8), np.empty(8, np.int32)
    flat, flat_lists = vectors.reshape(-1), neighbors.reshape(-1)
    for row in range(300):  # more than 255 searches: the visited marks wrap
        size = best_first(
            0, flat, d, flat_lists, 8, degrees, 3, flat, row * d, keys, L, marks, epoch, fresh, evicted, counts
        )
        _, expanded, _ = slow_search(0, vectors, lists, 3, vectors[row], L)
        dropped_in_all += counts[4]
        pool = np.concatenate([keys[:size], evicted[: counts[4]][::-1]])
        assert (np.diff(pool.astype(object)) > 0).all()
        assert set(unpack(pool, len(pool))[0].tolist()) == set(expanded)
    assert dropped_in_all > 0


@pytest.mark.parametrize(("R", "L", "slack"), [(6, 10, 1.3), (4, 4, 1.0)])
def test_same_graph_as_plain_python(monkeypatch, R, L, slack):
    monkeypatch.setattr(vamana, "_BATCH_SHARE", 0.05)
    monkeypatch.setattr(vamana, "repair", lambda graph, *_: (graph, 0))
    rng = np.random.default_rng(R)
    vectors = rng.integers(0, 60, (260, 4)).astype(np.uint8)
    graph, report = vamana.build_vamana(vectors, 0, R=R, L=L, slack=slack, seed=5, threads=1)
    order = stream(5, "insertion order").permutation(len(vectors))
    order = [graph.start, *order[order != graph.start].tolist()]
    expected = slow_build(0, vectors, order, R, L, 1.2, slack, 0.05)
    found = [graph.neighbors[row, :degree].tolist() for row, degree in enumerate(graph.degrees)]
    assert found == expected
    assert report.unreachable_before_repair == len(unreachable(graph))
