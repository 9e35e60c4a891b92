"""Where data sets lie: data-set files by name, and the folder of vector files that belongs to one.

Names are looked up among the data-set files of the package and of the data directories. Data directories come from the
caller, else from the environment variable ``RIFTSIM_DATA_DIR`` (several joined by ``:``).
"""

import difflib
import hashlib
import importlib.resources
import os
from pathlib import Path

from riftsim.errors import DataError
from riftsim.workload.spec import DatasetSpec

DATA_DIR_VARIABLE = "RIFTSIM_DATA_DIR"


def data_dirs(data_dir: str | os.PathLike | None = None) -> list[Path]:
    """Return the data directories to be searched: the one given, else those of the environment variable."""
    if data_dir is not None:
        return [Path(data_dir)]
    return [Path(part) for part in os.environ.get(DATA_DIR_VARIABLE, "").split(os.pathsep) if part]


def dataset_files(data_dir: str | os.PathLike | None = None) -> dict[str, Path]:
    """Return all data-set files that can be named, by name.

    Parameters
    ----------
    data_dir : path-like, optional
        As `data_dirs`. A file there hides one of the package with the same name.

    Returns
    -------
    dict of str to pathlib.Path
        ``NAME.yaml`` of the package, then of every data directory and of its folders (``DIR/NAME/NAME.yaml``).
    """
    found: dict[str, Path] = {}
    for path in sorted(_package_folder("configs").joinpath("datasets").glob("*.yaml")):
        found[path.stem] = path
    for folder in reversed(data_dirs(data_dir)):
        for path in sorted([*folder.glob("*.yaml"), *folder.glob("*/*.yaml")]):
            if path.parent == folder or path.parent.name == path.stem:
                found[path.stem] = path
    return found


def find_spec(name: str | os.PathLike, data_dir: str | os.PathLike | None = None) -> Path:
    """Find a data-set file.

    Parameters
    ----------
    name : str or path-like
        A name, or a path (it ends in .yaml or .yml or has a folder in it).
    data_dir : path-like, optional
        As `data_dirs`.

    Returns
    -------
    pathlib.Path
        The YAML file.

    Raises
    ------
    DataError
        If there is none; names the nearest.
    """
    text = os.fspath(name)
    if text.endswith((".yaml", ".yml")) or os.sep in text:
        path = Path(text)
        if not path.is_file():
            raise DataError(f"{path}: no such data-set file")
        return path
    known = dataset_files(data_dir)
    if text not in known:
        close = difflib.get_close_matches(text, list(known), 1, 0.4)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise DataError(f"data set {text!r} is not known{hint}; expected one of: {', '.join(sorted(known))}, or a path")
    return known[text]


def find_folder(spec: DatasetSpec, spec_path: Path, data_dir: str | os.PathLike | None = None) -> Path:
    """Find the folder that holds the files of a data set.

    For each data directory its sub-folder of the data set and then the directory itself are tried, then the folder of
    the data-set file, then the data that come with the package. The first that has the base file is taken, so that all
    files come from one place.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    DataError
        Lists the folders that were tried, or names a file that is missing beside the base file.
    """
    sub = spec.folder or spec.name
    roots = [*data_dirs(data_dir), spec_path.parent, _package_folder("data")]
    tried = [folder for root in roots for folder in (root / sub, root)]
    first = spec.base_files[0]
    for folder in tried:
        if (folder / first).is_file():
            for name in spec.files:
                if not (folder / name).is_file():
                    raise DataError(f"{folder / name}: missing, though {first} of data set {spec.name!r} is there")
            return folder
    places = ", ".join(str(folder) for folder in tried)
    raise DataError(
        f"data set {spec.name!r}: no {first} found in {places}; name its folder (--data-dir) or set {DATA_DIR_VARIABLE}"
    )


def verify_files(spec: DatasetSpec, folder: Path, up_to_bytes: int | None = None) -> dict[str, str]:
    """Compare every file with the checksum that the data-set file states.

    Parameters
    ----------
    spec : DatasetSpec
        States the checksums.
    folder : pathlib.Path
        Where the files are.
    up_to_bytes : int, optional
        Pass over larger files.

    Returns
    -------
    dict of str to str
        ``"ok"``, ``"no checksum stated"`` or ``"not read"`` by file.

    Raises
    ------
    DataError
        Names the first file whose checksum differs.
    """
    report = {}
    for name in spec.files:
        expected = spec.sha256.get(name)
        if expected is None:
            report[name] = "no checksum stated"
            continue
        if up_to_bytes is not None and (folder / name).stat().st_size > up_to_bytes:
            report[name] = "not read"
            continue
        with (folder / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise DataError(f"{folder / name}: SHA-256 is {found}, expected {expected}: changed or damaged")
        report[name] = "ok"
    return report


def _package_folder(name: str) -> Path:
    return Path(str(importlib.resources.files("riftsim"))) / name
