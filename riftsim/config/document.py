"""An experiment before it is checked: plain mappings merged from files, and where each key came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riftsim.config.keys import TAG, nearest, set_key, split_key
from riftsim.errors import ConfigError
from riftsim.yaml_file import KeyPath, parse, read

BUNDLED = Path(__file__).resolve().parent.parent / "configs"
"""Folder of the configs that come with the package."""

_PATHS: tuple[KeyPath, ...] = (
    ("index", "path"),
    ("codes", "pivots"),
    ("codes", "codes"),
    ("driver", "log"),
    ("driver", "record"),
    ("driver", "folder"),
)
_NAMES_OR_PATHS: tuple[KeyPath, ...] = (("dataset", "name"), ("hardware",), ("system", "drive"))


@dataclass(frozen=True)
class Origin:
    """Where a key was written: a file with a line, or the word for a setting."""

    source: str
    line: int | None = None
    folder: Path | None = None
    """What a relative path at this key is relative to (None: the working directory)."""

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass(frozen=True)
class Document:
    """A tree of plain values with the origin of each key path."""

    tree: dict[str, Any]
    origins: dict[KeyPath, Origin]
    source: str

    def origin(self, path: KeyPath) -> Origin:
        """Return where a path, or the nearest block around it, was written."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        return Origin(self.source)

    def with_value(self, path: KeyPath, value: Any, origin: Origin) -> "Document":
        """Return a copy in which one key has another value; `riftsim.config.keys.set_key` names the errors."""
        try:
            tree = set_key(self.tree, path, value)
        except ConfigError as error:
            raise ConfigError(f"{origin}: {error}") from None
        kept = {key: where for key, where in self.origins.items() if key[: len(path)] != path}
        return Document(tree, {**kept, path: origin}, self.source)

    def resolved_paths(self) -> "Document":
        """Return a copy in which relative paths of files are relative to the file that names them."""
        document = self
        for path in _PATHS + _NAMES_OR_PATHS:
            value = _value_at(self.tree, path)
            if not isinstance(value, str) or not (path in _PATHS or looks_like_path(value)):
                continue
            origin = self.origin(path)
            absolute = (origin.folder or Path.cwd()) / Path(value).expanduser()
            document = document.with_value(path, str(absolute), origin)
        return document


def looks_like_path(name: str) -> bool:
    """Whether a data set or profile is named by a path rather than by a bundled name."""
    return "/" in name or name.endswith((".yaml", ".yml"))


def _value_at(tree: Any, path: KeyPath) -> Any:
    for part in path:
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def find_experiment(name: str | Path) -> Path:
    """Return the file that a name means: a path, or the name of an experiment bundled with the package.

    Raises
    ------
    ConfigError
        There is no such file; names the nearest bundled one.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        raise ConfigError(f"{path}: found a folder, expected an experiment file (YAML)")
    if path.exists():
        return path
    bundled = {file.stem: file for file in sorted(BUNDLED.glob("*.yaml"))}
    if len(path.parts) == 1 and path.stem in bundled:
        return bundled[path.stem]
    raise ConfigError(f"{path}: no such file, and no bundled experiment of that name{nearest(path.stem, bundled)}")


def load_document(source: str | Path | Mapping[str, Any]) -> Document:
    """Read an experiment with the fragments that it is based on.

    Parameters
    ----------
    source : path, name or mapping
        A YAML file, the name of a bundled experiment, or the content itself.

    Returns
    -------
    Document
        Later fragments win over earlier ones, the file over its fragments. A block whose ``kind`` changes is replaced
        whole.

    Raises
    ------
    ConfigError
        Missing file, not YAML, a key twice, or fragments that are based on each other.
    """
    if isinstance(source, Mapping):
        return _with_bases(dict(source), {}, "experiment", Path.cwd(), ())
    return _load_file(find_experiment(source), ())


def _load_file(path: Path, stack: tuple[Path, ...]) -> Document:
    resolved = path.resolve()
    if resolved in stack:
        chain = " -> ".join(file.name for file in (*stack, resolved))
        raise ConfigError(f"{path}: $.base: the files are based on each other: {chain}")
    tree, lines = read(path)
    if not isinstance(tree, dict):
        found = "nothing" if tree is None else type(tree).__name__
        raise ConfigError(f"{path}: found {found}, expected a mapping of keys such as name, dataset, system")
    origins = {key: Origin(str(path), line, resolved.parent) for key, line in lines.items()}
    return _with_bases(tree, origins, str(path), resolved.parent, (*stack, resolved))


def _with_bases(
    tree: dict, origins: dict[KeyPath, Origin], source: str, folder: Path, stack: tuple[Path, ...]
) -> Document:
    bases = tree.pop("base", [])
    bases = [bases] if isinstance(bases, str) else bases
    own = Document(tree, origins, source)
    if not isinstance(bases, list) or not all(isinstance(name, str) for name in bases):
        raise ConfigError(f"{own.origin(('base',))}: $.base: found {bases!r}, expected a list of files")
    merged = Document({}, {}, source)
    for position, name in enumerate(bases):
        candidates = [folder / name, BUNDLED / name]
        path = next((file for file in candidates if file.is_file()), None)
        if path is None:
            where = own.origin(("base", position))
            tried = " or ".join(str(file) for file in candidates)
            raise ConfigError(f"{where}: $.base[{position}]: no file '{name}'; expected {tried}")
        merged = merge(merged, _load_file(path, stack))
    return merge(merged, own)


def merge(base: Document, over: Document) -> Document:
    """Lay one document over another."""
    return Document(_merge(base.tree, over.tree), {**base.origins, **over.origins}, over.source)


def _merge(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    if TAG in over and over[TAG] != base.get(TAG, over[TAG]):
        return over
    return {**base, **{key: _merge(base[key], value) if key in base else value for key, value in over.items()}}


def parse_setting(text: str) -> tuple[KeyPath, Any]:
    """Read ``a.b=value`` of the command line; the value is YAML.

    Raises
    ------
    ConfigError
        No ``=``, an empty key, or a value that is not YAML.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {text}: expected key=value, such as search.L=40")
    return split_key(key.strip()), parse(value, f"--set {text}")[0]


def show_value(value: Any) -> str:
    """Write a found value for an error message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
