"""From a data-set file to vectors in memory: base, evaluated and calibration queries, and their exact neighbours."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from riftsim.errors import DataError
from riftsim.rng import stream
from riftsim.workload.distances import unit_vectors
from riftsim.workload.formats import annbench_metric, open_vectors, read_annbench_truth, read_truth_file, read_vectors
from riftsim.workload.formats.checks import check_finite, row_chunks
from riftsim.workload.formats.vectors import SUFFIXES, in_memory
from riftsim.workload.groundtruth import DEFAULT_K, GroundTruth, exact_topk
from riftsim.workload.locate import find_folder, find_spec, verify_files
from riftsim.workload.spec import DatasetSpec, PooledSplit, read_spec
from riftsim.workload.synthetic import synthetic_array
from riftsim.workload.truth_check import adopt_truth

if TYPE_CHECKING:
    from riftsim.artifacts import ArtifactStore

_MAX_ROWS = 2**31 - 1
_HASHED_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class Dataset:
    """Vectors and ground truth, ready to be indexed and searched. Under cosine all vectors are float32 of length 1."""

    name: str
    metric: str
    """"l2", "ip" or "cosine"."""
    base: np.ndarray
    """uint8, int8 or float32 (n, d), contiguous; mapped copy-on-write where the file allows."""
    queries: np.ndarray
    """(nq, d), evaluated queries."""
    calibration: np.ndarray
    """(nc, d), calibration queries; none of them is evaluated."""
    truth: GroundTruth
    calibration_truth: GroundTruth
    fingerprint: str
    """SHA-256 of metric, type, shape and content of the base."""
    query_rows: np.ndarray
    """int64 (nq,): place of each evaluated query in the pool (query file, then calibration file)."""
    calibration_rows: np.ndarray
    """int64 (nc,): place of each calibration query in the pool."""

    @property
    def n(self) -> int:
        """Number of base vectors."""
        return self.base.shape[0]

    @property
    def dimension(self) -> int:
        """Number of elements of a vector."""
        return self.base.shape[1]


class _Part(NamedTuple):
    """Some query vectors with the neighbours that a file gives for them."""

    vectors: np.ndarray
    truth: GroundTruth | None


def load_dataset(
    name: str | os.PathLike,
    n: int | None = None,
    queries: int | None = None,
    split_seed: int | None = None,
    data_dir: str | os.PathLike | None = None,
    artifacts: "ArtifactStore | None" = None,
    depth: int = 1,
) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name : str or path-like
        Name of a data-set file (`locate.dataset_files` lists them) or path to one.
    n : int, optional
        Take the first ``n`` base vectors.
    queries : int, optional
        Take the first ``queries`` evaluated queries of the split.
    split_seed : int, optional
        Seed of the pooled split, instead of the one in the file.
    data_dir : path-like, optional
        Where the files are, instead of ``RIFTSIM_DATA_DIR``.
    artifacts : ArtifactStore, optional
        Keeps computed ground truth and generated vectors; without it they are made anew.
    depth : int
        Neighbours per query that are needed at least. A file that gives fewer is passed over, and they are computed.

    Returns
    -------
    Dataset
        Checked: sizes, types, finite values, ground truth against the vectors; stated checksums of files up to 1 GiB.

    Raises
    ------
    DataError
        Names file and row, what was found and what was expected.
    ConfigError
        If the data-set file itself is wrong.
    """
    path = find_spec(name, data_dir)
    spec = read_spec(path)
    rows = _requested_rows(spec, n)
    if spec.synthetic is None:
        folder = find_folder(spec, path, data_dir)
        verify_files(spec, folder, up_to_bytes=_HASHED_BYTES)
        _check_hdf5_metric(spec, folder)
        base = _read_base(spec, folder, rows)
        parts = _read_parts(spec, folder)
    else:
        base, pool = _generate(spec, rows, artifacts)
        parts = [(pool, None)]
    fingerprint = _fingerprint(spec, base)
    if spec.metric == "cosine":
        only_file = folder / spec.base_files[0] if len(spec.base_files) == 1 else f"{spec.name} base"
        base = unit_vectors(base, only_file)
        parts = [(unit_vectors(v, source or f"{spec.name} queries"), source) for v, source in parts]
    known = [_Part(v, _truth_of_part(spec, i, base, v, source, rows)) for i, (v, source) in enumerate(parts)]
    return _split(spec, base, known, fingerprint, queries, split_seed, artifacts, depth)


def verify_checksums(name: str | os.PathLike, data_dir: str | os.PathLike | None = None) -> dict[str, str]:
    """Compare every file of a data set with its stated checksum.

    Parameters
    ----------
    name, data_dir
        As `load_dataset`.

    Returns
    -------
    dict of str to str
        ``"ok"`` or ``"no checksum stated"`` by file; empty for generated vectors.

    Raises
    ------
    DataError
        Names the first file that differs.
    """
    path = find_spec(name, data_dir)
    spec = read_spec(path)
    return {} if spec.synthetic is not None else verify_files(spec, find_folder(spec, path, data_dir))


def _requested_rows(spec: DatasetSpec, n: int | None) -> int:
    rows = spec.n if n is None else n
    if not 1 <= rows <= spec.n:
        raise DataError(f"data set {spec.name!r}: n is {rows}, expected between 1 and {spec.n}, the rows it has")
    if rows > _MAX_ROWS:
        raise DataError(f"data set {spec.name!r}: n is {rows}, expected at most {_MAX_ROWS}: ids are int32")
    return rows


def _typed(name: str, dtype: str) -> np.dtype | None:
    """Return the type to ask of a file: suffixes that stand for one are asked for nothing else."""
    stored = SUFFIXES.get(Path(name).suffix.lower())
    return np.dtype(dtype) if stored is None or stored.family == "matrix" else None


def _check_shape(array: np.ndarray, path: Path, spec: DatasetSpec) -> None:
    if array.shape[1] != spec.dimension:
        raise DataError(f"{path}: vectors have {array.shape[1]} dimensions, the data set says {spec.dimension}")
    if array.dtype.name != spec.dtype:
        raise DataError(f"{path}: vectors are {array.dtype.name}, the data set says {spec.dtype}")


def _check_hdf5_metric(spec: DatasetSpec, folder: Path) -> None:
    for name in spec.files:
        if name.lower().endswith((".hdf5", ".h5")):
            found = annbench_metric(folder / name)
            if found != spec.metric:
                raise DataError(f"{folder / name}: is for metric {found!r}, the data set says {spec.metric!r}")


def _read_base(spec: DatasetSpec, folder: Path, rows: int) -> np.ndarray:
    """Open the base files and take a prefix; mapped if it comes from one file as it is, else copied."""
    opened = []
    for name in spec.base_files:
        array = open_vectors(folder / name, _typed(name, spec.dtype))
        _check_shape(array, folder / name, spec)
        opened.append(array)
    total = sum(len(array) for array in opened)
    if total != spec.n:
        raise DataError(f"{folder / spec.base_files[0]}: the base has {total} rows, the data set says {spec.n}")
    if len(opened[0]) >= rows:
        base = opened[0][:rows]
        source = folder / spec.base_files[0]
        if base.dtype == np.float16 or not base.flags.c_contiguous:
            return in_memory(base, source)
        check_finite(base, source)
        return base
    kind = np.float32 if spec.dtype == "float16" else spec.dtype
    base = np.empty((rows, spec.dimension), kind)
    first = 0
    for array, name in zip(opened, spec.base_files, strict=True):
        part = array[: rows - first]
        base[first : first + len(part)] = part
        check_finite(base[first : first + len(part)], folder / name)
        first += len(part)
    return base


def _read_parts(spec: DatasetSpec, folder: Path) -> list[tuple[np.ndarray, Path | None]]:
    parts = []
    for name in (spec.queries, spec.calibration):
        if name is not None:
            path = folder / name
            _check_shape(open_vectors(path, _typed(name, spec.dtype), part="test"), path, spec)
            parts.append((read_vectors(path, _typed(name, spec.dtype), part="test"), path))
    return parts


def _generate(spec: DatasetSpec, rows: int, artifacts: "ArtifactStore | None") -> tuple[np.ndarray, np.ndarray]:
    what, shape = spec.synthetic, (spec.dimension, spec.dtype)
    pool = synthetic_array(what, *shape, what.queries, "queries")
    if artifacts is None:
        return synthetic_array(what, *shape, rows), pool
    from riftsim.artifacts import Artifact

    recipe = {
        "intrinsic_dimension": what.intrinsic_dimension,
        "clusters": what.clusters,
        "spread": what.spread,
        "seed": what.seed,
        "dimension": spec.dimension,
        "dtype": spec.dtype,
        "n": rows,
    }
    scratch = artifacts.root / "scratch"
    made = artifacts.get_or_make(
        "synthetic", recipe, lambda: Artifact({"base": synthetic_array(what, *shape, rows, scratch=scratch)})
    )
    return made.arrays["base"], pool


def _fingerprint(spec: DatasetSpec, base: np.ndarray) -> str:
    """Hash metric, type, shape and content; of a base above 1 GiB the stated checksums stand for the content."""
    digest = hashlib.sha256(f"{spec.metric}/{base.dtype.str}/{base.shape[0]}x{base.shape[1]}/".encode())
    stated = [spec.sha256.get(name) for name in spec.base_files]
    if base.nbytes > _HASHED_BYTES and stated and all(stated):
        digest.update("/".join(stated).encode())
    else:
        for _, chunk in row_chunks(base):
            digest.update(np.ascontiguousarray(chunk))
    return digest.hexdigest()


def _truth_of_part(
    spec: DatasetSpec, index: int, base: np.ndarray, vectors: np.ndarray, source: Path | None, rows: int
) -> GroundTruth | None:
    files = (spec.truth, spec.calibration_truth)[index]
    if source is None or rows not in files:
        return None
    path = source.parent / files[rows]
    is_hdf5 = path.suffix.lower() in (".hdf5", ".h5")
    found = read_annbench_truth(path) if is_hdf5 else read_truth_file(path)
    return adopt_truth(found.ids, found.distances, base, vectors, spec.metric, path)


def _split(
    spec: DatasetSpec,
    base: np.ndarray,
    parts: list[_Part],
    fingerprint: str,
    queries: int | None,
    split_seed: int | None,
    artifacts: "ArtifactStore | None",
    needed: int,
) -> Dataset:
    pool = np.concatenate([part.vectors for part in parts])
    if isinstance(spec.split, PooledSplit):
        seed = spec.split.seed if split_seed is None else split_seed
        wanted = spec.split.calibration
        if wanted >= len(pool):
            raise DataError(
                f"data set {spec.name!r}: split.calibration is {wanted}, expected below {len(pool)}, the number of "
                f"pooled queries"
            )
        order = stream(seed, "query split").permutation(len(pool))
        calibration_rows, query_rows = order[:wanted], order[wanted:]
    else:
        query_rows, calibration_rows = np.split(np.arange(len(pool)), [len(parts[0].vectors)])
    if queries is not None:
        if not 1 <= queries <= len(query_rows):
            raise DataError(
                f"data set {spec.name!r}: {queries} queries are asked for, expected between 1 and {len(query_rows)}, "
                f"the evaluated ones"
            )
        query_rows = query_rows[:queries]
    if needed > len(base):
        raise DataError(
            f"data set {spec.name!r}: {needed} neighbours per query (search.k) are asked for, expected at most "
            f"{len(base)}, the rows there are"
        )
    parts = [_Part(v, None if truth is not None and truth.depth < needed else truth) for v, truth in parts]
    depth = max(needed, min([DEFAULT_K, len(base)] + [part.truth.depth for part in parts if part.truth is not None]))

    def truth(rows: np.ndarray) -> GroundTruth:
        return _truth_of_rows(base, parts, rows, depth, spec.metric, fingerprint, artifacts)

    return Dataset(
        name=spec.name,
        metric=spec.metric,
        base=base,
        queries=pool[query_rows],
        calibration=pool[calibration_rows],
        truth=truth(query_rows),
        calibration_truth=truth(calibration_rows),
        fingerprint=fingerprint,
        query_rows=query_rows,
        calibration_rows=calibration_rows,
    )


def _truth_of_rows(
    base: np.ndarray,
    parts: list[_Part],
    rows: np.ndarray,
    depth: int,
    metric: str,
    fingerprint: str,
    artifacts: "ArtifactStore | None",
) -> GroundTruth:
    """Gather the neighbours of pooled rows from the files of their parts; compute those that no file gives."""
    ids = np.empty((len(rows), depth), np.int32)
    distances = np.empty((len(rows), depth), np.float32)
    first = 0
    for part in parts:
        members = np.flatnonzero((rows >= first) & (rows < first + len(part.vectors)))
        inside = rows[members] - first
        first += len(part.vectors)
        if len(members) == 0:
            continue
        if part.truth is not None:
            found = part.truth.take(inside)
        else:
            found = _computed(base, part.vectors[inside], depth, metric, fingerprint, artifacts)
        ids[members] = found.ids[:, :depth]
        distances[members] = found.distances[:, :depth]
    return GroundTruth(ids, distances, metric)


def _computed(
    base: np.ndarray,
    vectors: np.ndarray,
    depth: int,
    metric: str,
    fingerprint: str,
    artifacts: "ArtifactStore | None",
) -> GroundTruth:
    if artifacts is None:
        return exact_topk(base, vectors, depth, metric)
    from riftsim.artifacts import Artifact

    def make() -> Artifact:
        found = exact_topk(base, vectors, depth, metric)
        return Artifact({"ids": found.ids, "distances": found.distances})

    recipe = {
        "base": fingerprint,
        "queries": hashlib.sha256(np.ascontiguousarray(vectors)).hexdigest(),
        "k": depth,
        "metric": metric,
    }
    stored = artifacts.get_or_make("ground-truth", recipe, make)
    return GroundTruth(stored.arrays["ids"], stored.arrays["distances"], metric)
