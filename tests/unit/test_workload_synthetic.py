"""Generated vectors: repeatable, extendable, of about the intrinsic dimension that was asked for."""

import numpy as np
import pytest

from riftsim.errors import ConfigError
from riftsim.workload.groundtruth import exact_topk
from riftsim.workload.spec import SyntheticSpec
from riftsim.workload.synthetic import BLOCK_ROWS, synthetic_array, synthetic_blocks


def local_intrinsic_dimension(base, queries, k=50):
    """Maximum-likelihood estimate (Levina and Bickel, NIPS 2004), mean over the queries."""
    radii = np.sqrt(exact_topk(base, queries, k, "l2").distances)
    return float(np.mean(-1.0 / np.mean(np.log(radii[:, :-1] / radii[:, -1:]), axis=1)))


@pytest.mark.parametrize(("dtype", "wanted"), [("float32", 4), ("float32", 8), ("uint8", 8), ("int8", 8)])
def test_intrinsic_dimension(dtype, wanted):
    spec = SyntheticSpec(intrinsic_dimension=wanted, clusters=3, seed=1)
    base = synthetic_array(spec, 48, dtype, 30_000)
    queries = synthetic_array(spec, 48, dtype, 100, "queries")
    assert base.dtype == dtype
    # A finite sample of a Gaussian looks a little flatter than it is.
    assert 0.65 * wanted < local_intrinsic_dimension(base, queries) < 1.15 * wanted


def test_first_rows_do_not_depend_on_how_many_follow(tmp_path):
    spec = SyntheticSpec(intrinsic_dimension=3, clusters=5)
    rows = BLOCK_ROWS + 100
    many = synthetic_array(spec, 8, "uint8", rows)
    np.testing.assert_array_equal(synthetic_array(spec, 8, "uint8", 77), many[:77])
    np.testing.assert_array_equal(synthetic_array(spec, 8, "uint8", rows, scratch=tmp_path), many)
    assert list(tmp_path.iterdir()) == []
    assert [len(block) for block in synthetic_blocks(spec, 8, "uint8", rows)] == [BLOCK_ROWS, 100]
    assert not np.array_equal(synthetic_array(spec, 8, "uint8", 77, "queries"), many[:77])


def test_integers_fill_their_range():
    spec = SyntheticSpec(intrinsic_dimension=12, clusters=50)
    values = synthetic_array(spec, 24, "uint8", 5000)
    assert 110 < values.mean() < 145
    assert 20 < values.std() < 45
    assert ((values == 0) | (values == 255)).mean() < 0.01


def test_what_cannot_be_generated():
    spec = SyntheticSpec(intrinsic_dimension=9)
    with pytest.raises(ConfigError, match="at most 8"):
        synthetic_array(spec, 8, "uint8", 10)
    with pytest.raises(ConfigError, match="float64"):
        synthetic_array(spec, 16, "float64", 10)
