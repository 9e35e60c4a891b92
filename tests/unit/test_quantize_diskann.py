"""DiskANN's quantiser files: our own round trips, damage, and genuine files of the tool."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from riftsim.errors import IndexFileError
from riftsim.quantize.diskann_pq import read_codec, read_codes, rotation_path, write_codec, write_codes
from riftsim.quantize.pq import ProductCodec, chunk_starts_of

FORMATS = os.environ.get("RIFTSIM_FORMATS_DIR")
genuine = pytest.mark.skipif(not FORMATS, reason="RIFTSIM_FORMATS_DIR does not name the sample files of other tools")


def _codec(rotated=False):
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(11, 11)))[0] if rotated else None
    pivots, centroid = rng.normal(size=(256, 11)), rng.normal(size=11)
    return ProductCodec("l2", pivots, centroid, chunk_starts_of(11, 4), rotation)


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("with_permutation", [False, True])
def test_round_trip(tmp_path, rotated, with_permutation):
    codec, path = _codec(rotated), tmp_path / "x_pq_pivots.bin"
    write_codec(codec, path, with_permutation)
    again = read_codec(path, "l2")
    np.testing.assert_array_equal(again.parameters, codec.parameters)
    np.testing.assert_array_equal(again.chunk_starts, codec.chunk_starts)
    assert rotation_path(path).exists() == rotated
    vectors = np.random.default_rng(1).normal(size=(30, 11)).astype(np.float32)
    codes = codec.encode(vectors)
    write_codes(codes, tmp_path / "x_pq_compressed.bin")
    np.testing.assert_array_equal(read_codes(tmp_path / "x_pq_compressed.bin", again, 30), codes)


def test_layout_byte_by_byte(tmp_path):
    codec, path = _codec(), tmp_path / "x_pq_pivots.bin"
    write_codec(codec, path)
    content = path.read_bytes()
    offsets = [4096, 4096 + 8 + 256 * 11 * 4, 4096 + 8 + 256 * 44 + 8 + 44, 4096 + 8 + 256 * 44 + 8 + 44 + 8 + 20]
    assert np.frombuffer(content, "<u4", 2).tolist() == [4, 1]
    assert np.frombuffer(content, "<u8", 4, 8).tolist() == offsets
    assert content[40:4096] == bytes(4056)
    assert len(content) == offsets[3]
    assert np.frombuffer(content, "<u4", 7, offsets[2]).tolist() == [5, 1, 0, 3, 6, 9, 11]


def test_damage_is_refused_with_the_path_and_what_was_found(tmp_path):
    path = tmp_path / "x_pq_pivots.bin"
    write_codec(_codec(rotated=True), path)
    content = path.read_bytes()
    for damaged, message in [
        (content[:-4], "expected 15"),
        (content + b"\0", "truncated, or another format"),
        (content[:30], "expected 40"),
        (np.array([3, 1], "<u4").tobytes() + content[8:], "3x1 offsets"),
        (content[: 4096 + 8 + 256 * 44 + 60] + np.array([0, 3, 3, 9, 11], "<u4").tobytes(), "rising"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(IndexFileError, match=message) as refused:
            read_codec(path)
        assert str(path) in str(refused.value)
    path.write_bytes(content)
    rotation_path(path).write_bytes(rotation_path(path).read_bytes()[:-4])
    with pytest.raises(IndexFileError, match="rotation_matrix"):
        read_codec(path)
    with pytest.raises(IndexFileError, match="No such file"):
        read_codec(tmp_path / "none.bin")
    write_codes(np.zeros((5, 3), np.uint8), tmp_path / "codes.bin")
    with pytest.raises(IndexFileError, match="codes of 3 bytes, expected 4"):
        read_codes(tmp_path / "codes.bin", _codec())
    with pytest.raises(IndexFileError, match="codes of 5 vectors, expected 6"):
        read_codes(tmp_path / "codes.bin", n=6)


def _bin(path, dtype, skip=8):
    rows, columns = np.fromfile(path, "<u4", 2)
    return np.fromfile(path, dtype, offset=skip).reshape(rows, columns)


# Under DiskANN's own codes: which rows of which file were encoded.
SAMPLES = {
    "disk": ("diskann_disk/ann_pq_pivots.bin", "diskann_disk/ann_pq_compressed.bin", None),
    "sharded": ("diskann_disk_sharded/ann_pq_pivots.bin", "diskann_disk_sharded/ann_pq_compressed.bin", None),
    "opq": (
        "diskann_opq/ann_vectors.bin_opq7_pivots.bin",
        "diskann_opq/ann_vectors.bin_opq7_compressed.bin",
        "diskann_opq/ann.data",
    ),
    "plain": (
        "diskann_opq/plain_vectors.binpq7_pivots.bin",
        "diskann_opq/plain_vectors.binpq7_compressed.bin",
        "diskann_opq/ann.data",
    ),
}


@genuine
@pytest.mark.parametrize("sample", SAMPLES)
def test_our_encoder_agrees_with_the_tool(tmp_path, sample):
    pivots_name, codes_name, data_name = SAMPLES[sample]
    root = Path(FORMATS)
    expected = json.loads((root / "EXPECTED.json").read_text())
    codec = read_codec(root / pivots_name)
    assert codec.chunk_starts.tolist() == expected[pivots_name]["chunk_offsets"]
    assert (codec.rotation is not None) == (sample == "opq")
    codes = read_codes(root / codes_name, codec)
    vectors = _bin(root / (data_name or "vectors/base_2000.u8bin"), np.uint8)[: len(codes)]
    agreement = (codec.encode(vectors) == codes).mean()
    # What differs are ties of float32 sums, which another order of adding may break the other way.
    assert agreement >= expected[codes_name]["own_encoder_agreement"] - 5 / codes.size
    write_codec(codec, tmp_path / "pivots.bin")
    assert (tmp_path / "pivots.bin").read_bytes() == (root / pivots_name).read_bytes()
    if codec.rotation is not None:
        assert rotation_path(tmp_path / "pivots.bin").read_bytes() == rotation_path(root / pivots_name).read_bytes()
    write_codes(codes, tmp_path / "codes.bin")
    assert (tmp_path / "codes.bin").read_bytes() == (root / codes_name).read_bytes()
