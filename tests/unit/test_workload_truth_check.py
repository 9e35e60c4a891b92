"""A ground truth of other vectors or another metric is noticed; usual forms of distance are recognised."""

import numpy as np
import pytest

from riftsim.errors import DataError
from riftsim.workload.distances import unit_vectors
from riftsim.workload.groundtruth import GroundTruth, exact_topk
from riftsim.workload.truth_check import adopt_truth, check_truth


@pytest.fixture(scope="module", params=["uint8", "float32"])
def vectors(request):
    draw = np.random.default_rng(4)
    base, queries = draw.integers(0, 200, (3000, 12)), draw.integers(0, 200, (40, 12))
    if request.param == "float32":
        return (base / 7).astype(np.float32), (queries / 7).astype(np.float32)
    return base.astype(np.uint8), queries.astype(np.uint8)


def test_the_right_one_passes(vectors):
    base, queries = vectors
    for metric in ("l2", "ip"):
        check_truth(exact_topk(base, queries, 50, metric), base, queries, metric)


def test_another_base_is_noticed(vectors):
    base, queries = vectors
    truth = exact_topk(base, queries, 10, "l2")
    with pytest.raises(DataError, match="another base"):
        check_truth(truth, base[::-1], queries, "l2", "gt.ibin")
    with pytest.raises(DataError, match="another base"):
        adopt_truth(truth.ids, None, base[::-1], queries, "l2", "gt.ibin")
    with pytest.raises(DataError, match=r"gt\.ibin: row \d+, place \d+: id"):
        check_truth(truth, base[:2000], queries, "l2", "gt.ibin")


@pytest.mark.parametrize("with_distances", [True, False])
def test_the_truth_of_a_part_of_the_base_is_noticed(vectors, with_distances):
    base, queries = vectors
    truth = exact_topk(base[:1000], queries, 10, "l2")
    with pytest.raises(DataError, match="nearer than the last neighbour"):
        adopt_truth(truth.ids, truth.distances if with_distances else None, base, queries, "l2", "gt")


def test_other_queries_and_other_metrics_are_noticed(vectors):
    base, queries = vectors
    truth = exact_topk(base, queries, 10, "l2")
    with pytest.raises(DataError, match="query file"):
        check_truth(truth, base, queries[::-1], "l2")
    with pytest.raises(DataError, match="has 40 rows, expected 39"):
        check_truth(truth, base, queries[1:], "l2")
    with pytest.raises(DataError, match="is for metric 'l2', but the vectors are compared by 'ip'"):
        check_truth(truth, base, queries, "ip")
    with pytest.raises(DataError, match="metric"):
        adopt_truth(truth.ids, None, base, queries, "ip", "gt")
    with pytest.raises(DataError, match="metric"):
        adopt_truth(truth.ids, truth.distances, base, queries, "ip", "gt")


def test_damaged_rows_are_named(vectors):
    base, queries = vectors
    truth = exact_topk(base, queries, 10, "l2")
    for place, value, message in ((3, -1, "row 7, place 3: id -1"), (3, truth.ids[7, 0], "row 7: id .* twice")):
        ids = truth.ids.copy()
        ids[7, place] = value
        with pytest.raises(DataError, match=message):
            check_truth(GroundTruth(ids, truth.distances, "l2"), base, queries, "l2")
    distances = truth.distances.copy()
    distances[5, 2] = np.nan
    with pytest.raises(DataError, match="row 5"):
        check_truth(GroundTruth(truth.ids, distances, "l2"), base, queries, "l2")
    order = truth.ids[:, ::-1]
    with pytest.raises(DataError, match="nearest first"):
        adopt_truth(order, None, base, queries, "l2", "gt")
    with pytest.raises(DataError, match="only 5 rows"):
        check_truth(truth, base[:5], queries, "l2")


@pytest.mark.parametrize(
    ("metric", "as_written"),
    [
        ("l2", lambda x: x),
        ("l2", np.sqrt),
        ("ip", lambda x: x),
        ("ip", lambda x: -x),
        ("cosine", lambda x: x),
        ("cosine", lambda x: x / 2),
        ("cosine", lambda x: 1 - x / 2),
        ("cosine", lambda x: x / 2 - 1),
    ],
)
def test_distances_are_recognised_in_their_usual_forms(vectors, metric, as_written):
    base, queries = vectors
    if metric == "cosine":
        base, queries = unit_vectors(base, "base"), unit_vectors(queries, "queries")
    truth = exact_topk(base, queries, 10, metric)
    found = adopt_truth(truth.ids, as_written(truth.distances), base, queries, metric, "gt")
    np.testing.assert_allclose(found.distances, truth.distances, rtol=1e-4, atol=1e-5)
    assert found.metric == metric


def test_fewer_queries_than_are_sampled():
    base = np.eye(5, dtype=np.float32)
    check_truth(exact_topk(base, base[:1], 2, "l2"), base, base[:1], "l2")
