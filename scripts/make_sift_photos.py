#!/usr/bin/env python3
"""Make the set sift-photos: SIFT descriptors (128-d, uint8) of photographs in Debian 12 packages, about 1 million.

One thread, deterministic: pictures in a fixed order, parts by name hash, one seed. About 700 MB are downloaded; the
whole takes some five minutes. --textures adds game textures to the base (several million vectors). Another CPU or
OpenCV may round a few values differently. Needs opencv-python-headless. Licences of the photographs: docs/datasets.md.
"""

import argparse
import hashlib
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from photographs import (
    PHOTO_PACKAGES,
    TEXTURE_PACKAGES,
    CopyFilter,
    Pixels,
    decode,
    grey_of,
    looks_photographic,
    part_of,
    pictures,
)
from sources import SourceError, distinct_rows, need_module, unpack_debian_packages

from riftsim.errors import RiftsimError
from riftsim.files import atomic_write
from riftsim.workload.publish import publish_dataset

SEED = 20240601
MAX_SIDE = 3072
CONTRAST_THRESHOLD = 0.02
MAX_DESCRIPTORS = 12_000
MIN_DESCRIPTORS = 10


def descriptors_of(sift, pixels: Pixels) -> np.ndarray:
    """Compute the SIFT descriptors of a picture, strongest MAX_DESCRIPTORS in the detector's order, uint8 (m, 128)."""
    cv2 = need_module("cv2", "opencv-python-headless==5.0.0.93")
    grey, opaque = grey_of(pixels), pixels.opaque
    scale = MAX_SIDE / max(grey.shape)
    if scale < 1:
        grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        if opaque is not None:
            opaque = cv2.resize(opaque, (grey.shape[1], grey.shape[0]), interpolation=cv2.INTER_NEAREST)
    if opaque is not None:
        opaque = cv2.erode(opaque, np.ones((17, 17), np.uint8))
    points, found = sift.detectAndCompute(grey, opaque)
    if found is None:
        return np.zeros((0, 128), np.uint8)
    if len(points) > MAX_DESCRIPTORS:
        strength = np.array([point.response for point in points], np.float32)
        found = found[np.sort(np.argsort(-strength, kind="stable")[:MAX_DESCRIPTORS])]
    return np.clip(np.rint(found), 0, 255).astype(np.uint8)


def collect(folder: Path, packages: dict[str, str], work: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """Compute the descriptors of all photographs; return them by part, and a line about each picture."""
    cv2 = need_module("cv2", "opencv-python-headless==5.0.0.93")
    cv2.setNumThreads(1)
    sift = cv2.SIFT_create(nfeatures=0, contrastThreshold=CONTRAST_THRESHOLD)
    cache = work / f"sift-{cv2.__version__}"
    copies = CopyFilter()
    parts: dict[str, list[np.ndarray]] = {"base": [], "query": [], "calib": []}
    lines = []
    for picture in pictures(folder, packages):
        if not copies.is_new_file(picture.data):
            continue
        pixels = decode(picture.data)
        if pixels is None or not looks_photographic(picture, pixels):
            continue
        picture_hash = copies.hash_of(grey_of(pixels))
        if copies.is_copy(picture_hash):
            continue
        digest = hashlib.sha1(picture.data).hexdigest()
        cached = cache / f"{digest}.npy"
        if cached.exists():
            found = np.load(cached)
        else:
            found = descriptors_of(sift, pixels)
            with atomic_write(cached) as partial, partial.open("wb") as file:
                np.save(file, found)
        if len(found) < MIN_DESCRIPTORS:
            continue
        copies.keep(picture_hash)
        part = part_of(picture)
        parts[part].append(found)
        lines.append(f"{picture.name}\t{digest}\t{part}\t{len(found)}\n")
        if len(lines) % 50 == 0:
            print(
                f"{len(lines)} pictures, {sum(len(v) for vectors in parts.values() for v in vectors)} descriptors",
                flush=True,
            )
    for part, vectors in parts.items():
        if not vectors:
            raise SourceError(f"no picture of {', '.join(packages)} falls into the part {part!r}: use more packages")
    return {part: np.concatenate(vectors) for part, vectors in parts.items()}, lines


def draw(parts: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Drop repeated descriptors over all parts, then shuffle each part and take its first vectors."""
    order = ("base", "calib", "query")
    everything = np.concatenate([parts[part] for part in order])
    owner = np.repeat(np.arange(3), [len(parts[part]) for part in order])
    kept = distinct_rows(everything)
    # One generator used in turn, so that the published sets can be made again.
    generator = np.random.default_rng(SEED)
    drawn = {}
    for number, part in enumerate(order):
        vectors = everything[kept][owner[kept] == number]
        drawn[part] = vectors[generator.permutation(len(vectors))][: sizes[part]]
    return drawn


def main() -> int:
    """Make the set; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True, type=Path, help="folder for downloads and intermediate files, kept")
    parser.add_argument("--out", required=True, type=Path, help="folder for the set")
    parser.add_argument("--name", default="sift-photos-1m", help="name of the set")
    parser.add_argument("--base", type=int, default=1_000_000, help="base vectors, at most")
    parser.add_argument("--queries", type=int, default=10_000, help="query vectors, at most")
    parser.add_argument("--calib", type=int, default=5_000, help="calibration vectors, at most")
    parser.add_argument(
        "--truth", type=int, nargs="*", default=[10_000, 100_000], help="more base sizes for ground truth"
    )
    parser.add_argument("--packages", nargs="+", metavar="NAME", help="only these packages, for a trial")
    parser.add_argument("--textures", action="store_true", help="add game textures to the base")
    arguments = parser.parse_args()
    packages = PHOTO_PACKAGES | (TEXTURE_PACKAGES if arguments.textures else {})
    unknown = sorted(set(arguments.packages or ()) - set(packages))
    if unknown:
        parser.error(f"unknown packages {', '.join(unknown)}; known: {', '.join(packages)}")
    if arguments.packages:
        packages = {name: packages[name] for name in arguments.packages}
    try:
        need_module("cv2", "opencv-python-headless==5.0.0.93")
        folder = unpack_debian_packages(packages, arguments.work)
        parts, lines = collect(folder, packages, arguments.work)
        sizes = {"base": arguments.base, "query": arguments.queries, "calib": arguments.calib}
        vectors = draw(parts, sizes)
        pooled = len(vectors["query"]) + len(vectors["calib"])
        publish_dataset(
            arguments.out,
            arguments.name,
            f"{len(vectors['base']):,} SIFT descriptors of {len(lines)} pictures in Debian packages",
            "descriptors computed from freely licensed photographs, see docs/datasets.md",
            vectors,
            "uint8",
            arguments.truth,
            calibration=min(1000, pooled // 3),
            say=lambda line: print(line, flush=True),
        )
        with atomic_write(arguments.out / "images.tsv") as partial:
            partial.write_text("".join(lines), encoding="utf-8")
    except (SourceError, RiftsimError) as error:
        print(f"make_sift_photos: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
