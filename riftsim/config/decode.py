"""From a document to the checked structures, and errors that a user can act on."""

import re
from typing import Any, get_args

import msgspec

from riftsim.config.check import problems
from riftsim.config.document import Document, show_value
from riftsim.config.keys import TAG, annotation_at, blocks_of, keys_of, nearest, select, tag_of, unknown_key
from riftsim.config.schema import ExperimentConfig
from riftsim.errors import ConfigError
from riftsim.yaml_file import KeyPath, show_path

_LOCATED = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")


def decode(document: Document) -> ExperimentConfig:
    """Convert a document by the schema.

    Raises
    ------
    ConfigError
        Names file and line, the path of the key, what was found and what was expected; for an unknown key the nearest
        valid one.
    """
    try:
        return msgspec.convert(document.tree, ExperimentConfig)
    except msgspec.ValidationError as error:
        raise ConfigError(_explain(document, str(error))) from None


def require_sound(config: ExperimentConfig, document: Document) -> None:
    """Refuse a configuration whose keys contradict each other (see `riftsim.config.check`).

    Raises
    ------
    ConfigError
        Lists every contradiction with the file, the line and the path of its key.
    """
    found = [f"{document.origin(path)}: {show_path(path)}: {what}" for path, what in problems(config)]
    if found:
        raise ConfigError("\n".join(found))


def _explain(document: Document, message: str) -> str:
    match = _LOCATED.match(message)
    what, path = match["what"], _path(document.tree, match["path"] or "")
    value, annotation = annotation_at(document.tree, path)
    blocks = blocks_of(annotation)
    unknown = re.match(r"Object contains unknown field `(.*)`", what)
    missing = re.match(r"Object missing required field `(.*)`", what)
    if unknown:
        path = (*path, unknown[1])
        text = unknown_key(path[:-1], unknown[1], select(blocks, value))
    elif missing and missing[1] == TAG and select(blocks, value) is None:
        text = f"{show_path(path)} lacks '{TAG}'; expected one of: {_kinds(blocks)}"
    elif missing:
        keys = ", ".join(keys_of(select(blocks, value)))
        text = f"{show_path(path)} lacks the required key '{missing[1]}'; its keys are: {keys}"
    elif what.startswith(("Invalid value", "Invalid enum value")):
        text = f"{show_path(path)}: found {show_value(value)}{nearest(str(value), _choices(document.tree, path))}"
    elif blocks and tag_of(blocks[0]) is not None:
        text = (
            f"{show_path(path)}: found {show_value(value)}, expected a mapping with '{TAG}', one of: {_kinds(blocks)}"
        )
    else:
        expected = re.sub(", got .*", "", what[0].lower() + what[1:]).replace("`", "")
        expected = expected.replace("object", "mapping").replace("array", "list")
        text = f"{show_path(path)}: found {show_value(value)}, {expected}"
    return f"{document.origin(path)}: {text}"


def _path(tree: Any, text: str) -> KeyPath:
    """Read msgspec's path; its ``[...]`` (some key of a mapping) becomes the first key that is no list."""
    path: KeyPath = ()
    for name, position in _STEP.findall(text):
        if name:
            path = (*path, name)
        elif position:
            path = (*path, int(position))
        else:
            mapping = annotation_at(tree, path)[0] or {}
            path = (*path, next((key for key, value in mapping.items() if not isinstance(value, list)), "?"))
    return path


def _kinds(blocks: tuple[type[msgspec.Struct], ...]) -> str:
    return ", ".join(tag_of(block) for block in blocks)


def _choices(tree: dict, path: KeyPath) -> list[str]:
    """Return the values that a field of fixed choices (or a ``kind``) allows."""
    _, owner = annotation_at(tree, path[:-1])
    blocks = blocks_of(owner)
    if path[-1] == TAG and blocks and tag_of(blocks[0]) is not None:
        return [tag_of(block) for block in blocks]
    return [str(choice) for choice in get_args(annotation_at(tree, path)[1])]
