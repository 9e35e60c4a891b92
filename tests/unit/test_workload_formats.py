"""Readers and writers of vector files: damage, wrong names, bad values, offsets beyond 2^31."""

import numpy as np
import pytest

from riftsim.errors import DataError
from riftsim.workload.formats import (
    RangeTruth,
    annbench_metric,
    open_vectors,
    read_annbench_truth,
    read_range_truth,
    read_truth_file,
    read_vectors,
    vector_writer,
    write_annbench,
    write_range_truth,
    write_truth_file,
    write_vectors,
)
from riftsim.workload.formats.matrix import matrix_bytes, matrix_header, open_matrix
from riftsim.workload.groundtruth import exact_topk

DTYPE_OF = {
    "fvecs": np.float32,
    "ivecs": np.int32,
    "bvecs": np.uint8,
    "fbin": np.float32,
    "u8bin": np.uint8,
    "i8bin": np.int8,
    "ibin": np.int32,
    "f16bin": np.float32,
    "npy": np.float32,
}


def vectors_of(dtype, rows=7, d=5):
    values = np.random.default_rng(3).integers(-100, 100, (rows, d))
    return np.abs(values).astype(dtype) if dtype == np.uint8 else values.astype(dtype)


@pytest.mark.parametrize("suffix", DTYPE_OF)
@pytest.mark.parametrize("change", [-1, 1, -5, 13])
def test_a_file_of_another_size_is_refused(tmp_path, suffix, change):
    path = tmp_path / f"x.{suffix}"
    write_vectors(path, vectors_of(DTYPE_OF[suffix]))
    content = path.read_bytes()
    path.write_bytes(content[:change] if change < 0 else content + b"\0" * change)
    with pytest.raises(DataError, match=r"x\." + suffix):
        read_vectors(path)


@pytest.mark.parametrize("suffix", DTYPE_OF)
@pytest.mark.parametrize("size", [0, 3, 7])
def test_a_file_without_a_whole_header_is_refused(tmp_path, suffix, size):
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(b"\1" * size)
    with pytest.raises(DataError):
        read_vectors(path)


def test_a_huge_header_costs_no_memory(tmp_path):
    path = tmp_path / "x.fbin"
    path.write_bytes(np.array([2**32 - 1, 2**32 - 1], "<u4").tobytes() + b"\0" * 64)
    with pytest.raises(DataError, match="truncated"):
        read_vectors(path)


@pytest.mark.parametrize(
    ("written", "named", "hint"),
    [
        ("u8bin", "fbin", "u8bin"),
        ("fbin", "u8bin", "fbin"),
        ("fbin", "f16bin", "fbin"),
        ("bvecs", "fvecs", "bvecs"),
        ("fvecs", "bvecs", "fvecs"),
        ("u8bin", "bvecs", "u8bin"),
        ("bvecs", "u8bin", "bvecs"),
        ("fvecs", "fbin", "fvecs"),
        ("fbin", "fvecs", "fbin"),
        ("ibin", "fbin", "int32"),
        ("ivecs", "fvecs", "int32"),
        ("npy", "fbin", "npy"),
    ],
)
def test_a_file_under_another_formats_name_is_refused(tmp_path, written, named, hint):
    path = tmp_path / f"x.{written}"
    write_vectors(path, np.abs(vectors_of(DTYPE_OF[written])))
    wrong = path.rename(tmp_path / f"y.{named}")
    with pytest.raises(DataError, match=hint):
        read_vectors(wrong)


def test_hdf5_and_npy_names_on_other_content_are_refused(tmp_path):
    for name, message in (("x.npy", "expected those of an npy file"), ("x.hdf5", "not a whole HDF5 file")):
        (tmp_path / name).write_bytes(b"\0" * 100)
        with pytest.raises(DataError, match=message):
            read_vectors(tmp_path / name)


def test_a_ground_truth_opened_as_vectors_is_named(tmp_path):
    write_truth_file(tmp_path / "gt.ibin", np.zeros((4, 3), np.int32), np.zeros((4, 3), np.float32))
    with pytest.raises(DataError, match="big-ann ground truth"):
        read_vectors(tmp_path / "gt.ibin")


def test_unknown_suffix_and_missing_type(tmp_path):
    with pytest.raises(DataError, match="unknown suffix"):
        read_vectors(tmp_path / "x.vec")
    with pytest.raises(DataError, match="dtype"):
        read_vectors(tmp_path / "x.bin")
    with pytest.raises(DataError, match="no such file"):
        read_vectors(tmp_path / "x.fbin")
    with pytest.raises(DataError, match="float32"):
        read_vectors(tmp_path / "x.fbin", np.uint8)


def test_bin_takes_its_type_from_the_caller(tmp_path):
    values = vectors_of(np.int8)
    write_vectors(tmp_path / "x.bin", values)
    np.testing.assert_array_equal(read_vectors(tmp_path / "x.bin", np.int8), values)
    with pytest.raises(DataError, match="truncated"):
        read_vectors(tmp_path / "x.bin", np.float32)


def test_cropped_names_of_big_ann_are_read(tmp_path):
    values = vectors_of(np.uint8)
    write_vectors(tmp_path / "base.u8bin", values)
    path = (tmp_path / "base.u8bin").rename(tmp_path / "base.1B.u8bin.crop_nb_7")
    np.testing.assert_array_equal(read_vectors(path), values)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("suffix", ["fbin", "fvecs", "f16bin", "npy"])
def test_values_that_are_not_finite_are_refused_by_row(tmp_path, suffix, bad):
    values = vectors_of(np.float32)
    path = tmp_path / f"x.{suffix}"
    write_vectors(path, values)
    content = np.fromfile(path, np.uint8)
    kind = np.float16 if suffix == "f16bin" else np.float32
    # the last value of the last row
    content[-np.dtype(kind).itemsize :] = np.frombuffer(kind(bad).tobytes(), np.uint8)
    content.tofile(path)
    with pytest.raises(DataError, match="row 6, column 4"):
        read_vectors(path)
    values[2, 3] = bad
    with pytest.raises(DataError, match="row 2, column 3"):
        write_vectors(tmp_path / f"y.{suffix}", values)
    assert not (tmp_path / f"y.{suffix}").exists()


def test_half_precision_overflow_is_refused_when_written(tmp_path):
    with pytest.raises(DataError, match="row 0, column 1"):
        write_vectors(tmp_path / "x.f16bin", np.array([[1.0, 1e6]], np.float32))


def test_a_row_of_another_length_is_named(tmp_path):
    path = tmp_path / "x.fvecs"
    write_vectors(path, vectors_of(np.float32))
    content = bytearray(path.read_bytes())
    content[24 * 4] = 9
    path.write_bytes(content)
    with pytest.raises(DataError, match="row 4 says 9 values, expected 5"):
        open_vectors(path)
    assert open_vectors(path, n=4).shape == (4, 5)


def test_prefix_and_too_many_rows(tmp_path):
    values = vectors_of(np.uint8)
    for suffix in ("u8bin", "bvecs"):
        write_vectors(tmp_path / f"x.{suffix}", values)
        np.testing.assert_array_equal(open_vectors(tmp_path / f"x.{suffix}", n=3), values[:3])
        with pytest.raises(DataError, match="has 7 rows, but 8"):
            open_vectors(tmp_path / f"x.{suffix}", n=8)


def test_mapped_vectors_can_be_written_to_without_changing_the_file(tmp_path):
    path = tmp_path / "x.u8bin"
    write_vectors(path, vectors_of(np.uint8))
    before = path.read_bytes()
    open_vectors(path)[:] = 0
    assert path.read_bytes() == before


def test_offsets_beyond_2_31(tmp_path):
    rows, d = 3_000_000, 1000
    path = tmp_path / "x.u8bin"
    with path.open("wb") as file:  # sparse: takes no room on the disk
        file.write(matrix_header(rows, d))
        file.seek(matrix_bytes(rows, d, 1) - 3)
        file.write(b"\5\6\7")
    array = open_matrix(path, np.dtype(np.uint8))
    assert array.nbytes == 3 * 10**9
    assert array[-1, -3:].tolist() == [5, 6, 7]
    assert matrix_bytes(2**32 - 1, 2**16, 4) == 8 + (2**32 - 1) * 2**18
    with pytest.raises(DataError, match="uint32"):
        matrix_header(2**32, 1)


def test_streamed_writing_equals_writing_at_once_and_leaves_no_half(tmp_path):
    values = vectors_of(np.float32, rows=50)
    for suffix in ("fbin", "fvecs"):
        write_vectors(tmp_path / f"a.{suffix}", values)
        with vector_writer(tmp_path / f"b.{suffix}", 5) as writer:
            for first in range(0, 50, 7):
                writer.append(values[first : first + 7])
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    for wrong, message in ((values[:, :4], "shape"), (values.astype(np.uint8), "uint8")):
        with pytest.raises(DataError, match=message):
            _write_two_blocks(tmp_path / "c.fbin", values, wrong)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.fbin", "a.fvecs", "b.fbin", "b.fvecs"]


def _write_two_blocks(path, first, second):
    with vector_writer(path, first.shape[1]) as writer:
        writer.append(first)
        writer.append(second)


def test_types_that_do_not_fit_the_name_are_not_written(tmp_path):
    with pytest.raises(DataError, match="float32"):
        write_vectors(tmp_path / "x.fbin", vectors_of(np.uint8))
    with pytest.raises(DataError, match="shape"):
        write_vectors(tmp_path / "x.fbin", np.zeros(4, np.float32))


def test_three_forms_of_ground_truth(tmp_path):
    ids = np.arange(12, dtype=np.int32).reshape(4, 3)
    distances = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)
    for parts in ((ids,), (ids, distances), (ids, distances, ids + 100)):
        write_truth_file(tmp_path / "gt.bin", *parts)
        found = read_truth_file(tmp_path / "gt.bin")
        for got, wanted in zip(found, (*parts, None, None), strict=False):
            if wanted is None:
                assert got is None
            else:
                np.testing.assert_array_equal(got, wanted)
        content = (tmp_path / "gt.bin").read_bytes()
        for damaged in (content[:-1], content + b"\0\0\0\0", content[:20]):
            (tmp_path / "bad.bin").write_bytes(damaged)
            with pytest.raises(DataError, match=r"bad\.bin"):
                read_truth_file(tmp_path / "bad.bin")


def test_range_truth_in_both_forms(tmp_path):
    starts = np.array([0, 2, 2, 5])
    ids = np.array([4, 1, 9, 8, 0], np.int32)
    for distances in (None, np.arange(5, dtype=np.float32)):
        write_range_truth(tmp_path / "r.ibin", RangeTruth(starts, ids, distances))
        found = read_range_truth(tmp_path / "r.ibin")
        np.testing.assert_array_equal(found.starts, starts)
        np.testing.assert_array_equal(found.ids, ids)
        assert (found.distances is None) == (distances is None)
        content = (tmp_path / "r.ibin").read_bytes()
        (tmp_path / "bad.ibin").write_bytes(content[:-4])
        with pytest.raises(DataError, match=r"truncated|add up"):
            read_range_truth(tmp_path / "bad.ibin")
    wrong_counts = bytearray(content)
    wrong_counts[8] = 7
    (tmp_path / "bad.ibin").write_bytes(wrong_counts)
    with pytest.raises(DataError, match="add up to 10, the header says 5"):
        read_range_truth(tmp_path / "bad.ibin")


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_annbench_round_trip(tmp_path, metric):
    draw = np.random.default_rng(1)
    base, queries = draw.normal(size=(60, 8)).astype(np.float32), draw.normal(size=(6, 8)).astype(np.float32)
    truth = exact_topk(base, queries, 5, "l2")
    path = tmp_path / "x.hdf5"
    write_annbench(path, base, queries, truth.ids, truth.distances, metric)
    assert annbench_metric(path) == metric
    np.testing.assert_array_equal(read_vectors(path), base)
    np.testing.assert_array_equal(read_vectors(path, part="test"), queries)
    found = read_annbench_truth(path)
    np.testing.assert_array_equal(found.ids, truth.ids)
    np.testing.assert_allclose(found.distances, truth.distances, rtol=1e-6)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"x\.hdf5"):
        read_vectors(path)


def test_annbench_refuses_inner_product(tmp_path):
    with pytest.raises(DataError, match="ip"):
        write_annbench(tmp_path / "x.hdf5", np.ones((2, 2)), np.ones((1, 2)), np.ones((1, 1)), np.ones((1, 1)), "ip")
