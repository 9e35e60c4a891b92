"""The data-set file: a small YAML that names vector files, metric, ground truths, checksums and the split."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml
from msgspec import Meta

from riftsim import yaml_file
from riftsim.errors import ConfigError, did_you_mean

Positive = Annotated[int, Meta(gt=0)]
NonNegative = Annotated[int, Meta(ge=0)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
TruthFiles = dict[Positive, str]


class _Block(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Base of all blocks."""


class PooledSplit(_Block, kw_only=True, frozen=True, tag_field="kind", tag="pooled"):
    """Put all query and calibration vectors together and split them at random, so that both are exchangeable."""

    seed: NonNegative = 0
    calibration: Positive = 1000
    """How many of the pooled vectors calibrate; the others are evaluated."""


class SplitByFile(_Block, kw_only=True, frozen=True, tag_field="kind", tag="by-file"):
    """Keep the query and the calibration file apart, e.g. to study a shift of distribution between them."""


class SyntheticSpec(_Block, kw_only=True, frozen=True):
    """Vectors that are generated: Gaussian clusters, each on its own linear patch of the given dimension."""

    intrinsic_dimension: Positive
    clusters: Positive = 100
    spread: Annotated[float, Meta(gt=0.0)] = 0.5
    """Standard deviation within a cluster, relative to that between cluster centres (per latent axis)."""
    queries: Positive = 2000
    """Vectors drawn besides the base; the split makes calibration and evaluated queries of them."""
    seed: NonNegative = 0


class DatasetSpec(_Block, kw_only=True, frozen=True):
    """One data-set file."""

    name: Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    description: str = ""
    licence: str
    metric: Literal["l2", "ip", "cosine"]
    dtype: Literal["uint8", "int8", "float16", "float32"]
    """Of the base file; float16 is read as float32."""
    dimension: Positive
    n: Positive
    """Rows of the base file(s) together."""
    folder: str | None = None
    """Folder below a data directory in which the files lie (default: the name)."""
    base: str | list[str] = []
    """Base file; several are read one after another."""
    queries: str | None = None
    calibration: str | None = None
    truth: TruthFiles = {}
    """Ground truth of the query file by number of base rows."""
    calibration_truth: TruthFiles = {}
    """Ground truth of the calibration file by number of base rows."""
    split: PooledSplit | SplitByFile = PooledSplit()
    sha256: dict[str, Sha256] = {}
    """Checksums by file."""
    synthetic: SyntheticSpec | None = None
    """Instead of files."""

    @property
    def base_files(self) -> list[str]:
        """Base files in order."""
        return [self.base] if isinstance(self.base, str) else list(self.base)

    @property
    def files(self) -> list[str]:
        """Every file that the data set names, each once."""
        named = [*self.base_files, self.queries, self.calibration]
        named += [*self.truth.values(), *self.calibration_truth.values()]
        return list(dict.fromkeys(name for name in named if name))


def read_spec(path: Path) -> DatasetSpec:
    """Read a data-set file.

    Parameters
    ----------
    path : pathlib.Path
        The YAML.

    Returns
    -------
    DatasetSpec
        Checked against its schema.

    Raises
    ------
    ConfigError
        If the file cannot be read; names file, path of the key, and for an unknown key the nearest one that exists.
    """
    content, _ = yaml_file.read(path, integer_keys=True)
    try:
        spec = msgspec.convert(content, DatasetSpec)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {_explain(str(error))}") from None
    _check(spec, path)
    return spec


def spec_yaml(spec: DatasetSpec) -> str:
    """Write a data-set file; default values are left out."""
    content = {key: value for key, value in msgspec.to_builtins(spec).items() if value not in ("", None, [], {})}
    return yaml.safe_dump(content, sort_keys=False, width=110, allow_unicode=True)


def _check(spec: DatasetSpec, path: Path) -> None:
    if spec.synthetic is not None:
        if spec.files:
            raise ConfigError(f"{path}: 'synthetic' and files ({spec.files[0]}) are both given, expected one of them")
        if spec.dtype == "float16":
            raise ConfigError(f"{path}: dtype: 'float16' cannot be generated, expected uint8, int8 or float32")
        if isinstance(spec.split, SplitByFile):
            raise ConfigError(f"{path}: split.kind: 'by-file' needs files, expected 'pooled' for generated vectors")
        return
    if not spec.base_files or spec.queries is None:
        missing = "base" if not spec.base_files else "queries"
        raise ConfigError(f"{path}: {missing!r} is missing, expected base and query files or 'synthetic'")
    if isinstance(spec.split, SplitByFile) and spec.calibration is None:
        raise ConfigError(f"{path}: split.kind is 'by-file' but there is no 'calibration' file")
    if spec.calibration_truth and spec.calibration is None:
        raise ConfigError(f"{path}: 'calibration_truth' is given without a 'calibration' file")
    for key in spec.sha256:
        if key not in spec.files:
            raise ConfigError(f"{path}: sha256: {key!r} is no file of this data set{_nearest(key, spec.files)}")
    for key, truths in (("truth", spec.truth), ("calibration_truth", spec.calibration_truth)):
        for n in truths:
            if n > spec.n:
                raise ConfigError(f"{path}: {key}: for {n} base rows, but the data set has {spec.n}")


_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>[^`]*)`(?: - at `(?P<place>[^`]*)`)?")
_BLOCKS: dict[str, tuple[type, ...]] = {
    "": (DatasetSpec,),
    "split": (PooledSplit, SplitByFile),
    "synthetic": (SyntheticSpec,),
}


def _explain(message: str) -> str:
    """Give msgspec's message the path without its `$` and, for an unknown key, the nearest valid one."""
    unknown = _UNKNOWN.search(message)
    if not unknown:
        return message.replace("`$.", "`").replace(" - at `$`", "")
    place = (unknown["place"] or "$").removeprefix("$").removeprefix(".")
    key = unknown["key"]
    fields = {name for block in _BLOCKS.get(place, ()) for name in block.__struct_fields__}
    path = f"{place}.{key}" if place else key
    return f"unknown key {path!r}{_nearest(key, sorted(fields))}"


def _nearest(key: str, names: list[Any]) -> str:
    return f"{did_you_mean(key, names)}; expected one of: {', '.join(names)}"
