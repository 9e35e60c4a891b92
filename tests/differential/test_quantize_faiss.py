"""Our product quantiser against faiss with the same centroids: codes, tables, distances."""

import faiss
import numpy as np
import pytest

from riftsim.quantize.pq import ProductCodec


@pytest.mark.parametrize(("d", "m"), [(24, 4), (96, 4)])
def test_codes_and_tables_equal_those_of_faiss(d, m):
    rng = np.random.default_rng(d)
    centres = rng.normal(0, 3, (20, d))
    vectors = (centres[rng.integers(0, 20, 1200)] + rng.normal(size=(1200, d))).astype(np.float32)
    codec = ProductCodec.train(vectors, "l2", m)
    quantizer = faiss.ProductQuantizer(d, m, 8)
    books = codec.pivots.reshape(256, m, d // m).transpose(1, 0, 2)
    faiss.copy_array_to_vector(np.ascontiguousarray(books).ravel(), quantizer.centroids)
    centred = vectors - codec.centroid

    codes = codec.encode(vectors)
    theirs = quantizer.compute_codes(centred)
    assert (codes == theirs).mean() > 0.999  # sums in another order may break a tie the other way

    tables = np.empty((10, m * 256), np.float32)
    quantizer.compute_distance_tables(10, faiss.swig_ptr(centred), faiss.swig_ptr(tables))
    for query, table in zip(vectors, tables, strict=False):
        np.testing.assert_allclose(codec.table(query), table, rtol=1e-4, atol=1e-4)
        sums = table.reshape(m, 256)[np.arange(m), codes.astype(int)].sum(axis=1, dtype=np.float64)
        np.testing.assert_allclose(codec.distances(query, codes), sums, rtol=1e-4, atol=1e-4)
