"""Slow oracles of graph search and building in plain Python, written from the rules rather than from the kernels."""

import heapq

import numpy as np


def distance(metric: int, a: np.ndarray, b: np.ndarray) -> float:
    """Internal distance, exact for bytes."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(((a - b) ** 2).sum()) if metric == 0 else -float((a * b).sum())


def search(metric, vectors, lists, start, query, L):
    """Sequential best-first search.

    Returns the final list of (distance, id), the expanded nodes in order, and counts (expansions, evaluations,
    insertions).
    """
    candidates = [(distance(metric, query, vectors[start]), start)]
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
            entry = (distance(metric, query, vectors[other]), other)
            if len(candidates) < L or entry < candidates[-1]:
                candidates = sorted([*candidates, entry])[:L]
                insertions += 1


def prune(metric, vectors, pool, limit, alpha):
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
                between = distance(metric, vectors[node], vectors[other])
                bound = np.float32(far) / np.float32(alpha) if far >= 0 else np.float32(far) * np.float32(alpha)
                copy = metric == 0 and between == 0
                if between < bound or copy:
                    level[later] = max(level[later], 2)
                elif between < far:
                    level[later] = max(level[later], 1)
        if alpha <= 1:
            break
    return kept


def build(metric, vectors, order, R, L, alpha, slack, share):
    """Batch insertion; returns one list of neighbours per row, before any repair."""
    n = len(vectors)
    width = int(np.ceil(slack * R))
    lists = [[] for _ in range(n)]
    most = max(1, int(n * share))

    def pool_of(node, others):
        return heapq.nsmallest(len(others), [(distance(metric, vectors[node], vectors[o]), int(o)) for o in others])

    done = 1
    while done < n:
        batch = order[done : done + min(done, most)]
        chosen = {}
        for node in batch:
            _, expanded, _ = search(metric, vectors, lists, order[0], vectors[node], L)
            chosen[node] = prune(metric, vectors, pool_of(node, expanded), R, alpha)
        incoming = {}
        for node in batch:
            lists[node] = chosen[node]
            for target in chosen[node]:
                incoming.setdefault(target, []).append(node)
        for target, sources in incoming.items():
            lists[target] = lists[target] + sources
            if len(lists[target]) > width:
                lists[target] = prune(metric, vectors, pool_of(target, lists[target]), R, alpha)
        done += len(batch)
    return [prune(metric, vectors, pool_of(v, row), R, alpha) if len(row) > R else row for v, row in enumerate(lists)]
