"""Which keys a block of the schema has, and setting one of them in a plain mapping.

A tagged block (``system``, ``load``, ...) is one of several structures chosen by its ``kind``; these functions know
which one a mapping means, so that ``--set system.beam_width=8`` is checked against the system that is there.
"""

import types
from collections.abc import Iterable
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from riftsim.config.schema import ExperimentConfig
from riftsim.errors import ConfigError, did_you_mean
from riftsim.yaml_file import KeyPath, show_path

TAG = "kind"


def blocks_of(annotation: Any) -> tuple[type[msgspec.Struct], ...]:
    """Return the structures that a field's annotation allows (several for a tagged block, none for a value)."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return blocks_of(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return tuple(block for member in get_args(annotation) for block in blocks_of(member))
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return (annotation,)
    return ()


def tag_of(block: type[msgspec.Struct]) -> str | None:
    """Return the ``kind`` that selects a structure, or None if it is not one of several."""
    return block.__struct_config__.tag


def fields_of(block: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    """Return the fields of a structure by key."""
    return {field.encode_name: field for field in msgspec.structs.fields(block)}


def keys_of(block: type[msgspec.Struct]) -> list[str]:
    """Return the keys of a structure, ``kind`` included where it has one."""
    return ([TAG] if tag_of(block) is not None else []) + list(fields_of(block))


def select(blocks: tuple[type[msgspec.Struct], ...], value: Any) -> type[msgspec.Struct] | None:
    """Return the structure that a mapping means, or None if its ``kind`` is missing or unknown."""
    if len(blocks) == 1 and tag_of(blocks[0]) is None:
        return blocks[0]
    kind = value.get(TAG) if isinstance(value, dict) else None
    return next((block for block in blocks if tag_of(block) == kind), None)


def annotation_at(tree: Any, path: KeyPath) -> tuple[Any, Any]:
    """Follow a path through a mapping and the schema.

    Returns
    -------
    value : object
        What stands at the path, or None.
    annotation : object
        The schema's type there, or None outside the schema (inside ``options`` or ``sweep``).
    """
    annotation: Any = ExperimentConfig
    for part in path:
        block = select(blocks_of(annotation), tree)
        if block is not None and part in fields_of(block):
            annotation = fields_of(block)[part].type
        elif get_origin(annotation) is list and isinstance(part, int):
            annotation = get_args(annotation)[0]
        else:
            annotation = None
        if isinstance(tree, dict):
            tree = tree.get(part)
        elif isinstance(tree, list) and isinstance(part, int) and part < len(tree):
            tree = tree[part]
        else:
            tree = None
    return tree, annotation


def nearest(wanted: str, known: Iterable[str]) -> str:
    """End a message about an unknown name: the nearest of the known ones, if any is near, and all of them."""
    known = list(known)
    return f"{did_you_mean(wanted, known)}; expected one of: {', '.join(known) or 'none'}"


def unknown_key(path: KeyPath, key: str, block: type[msgspec.Struct]) -> str:
    """Write the message about a key that a block does not have."""
    owner = f" of {TAG} '{tag_of(block)}'" if tag_of(block) is not None else ""
    return f"{show_path(path)}{owner} has no key '{key}'{nearest(key, keys_of(block))}"


def split_key(dotted: str) -> KeyPath:
    """Split ``a.b`` into its parts; what follows ``sweep.`` is one part, since the keys of a sweep have dots."""
    parts = dotted.split(".")
    if not all(parts):
        raise ConfigError(f"'{dotted}': found an empty name between dots; expected a key such as search.L")
    if parts[0] == "sweep" and len(parts) > 2:
        parts = ["sweep", ".".join(parts[1:])]
    return tuple(int(part) if part.isdigit() else part for part in parts)


def set_key(tree: dict, path: KeyPath, value: Any) -> dict:
    """Return a copy of a mapping in which one key has another value.

    Blocks on the way that are missing are made; a tagged one gets the kind of the schema's default. Setting ``kind`` to
    another kind keeps the keys that the new kind also has and drops the others.

    Raises
    ------
    ConfigError
        The schema has no such key; names the path and the nearest valid key.
    """
    return _set(tree, ExperimentConfig, path, value, ())


def _set(node: Any, annotation: Any, path: KeyPath, value: Any, done: KeyPath) -> Any:
    if not path:
        return value
    part, rest = path[0], path[1:]
    blocks = blocks_of(annotation)
    if not blocks:
        return _set_free(node, annotation, path, value, done)
    node = dict(node) if isinstance(node, dict) else {}
    if part == TAG and tag_of(blocks[0]) is not None and not rest:
        return _switch(node, blocks, value)
    block = select(blocks, node)
    if block is None:
        kinds = [tag_of(candidate) for candidate in blocks]
        raise ConfigError(
            f"{show_path(done)}: found {TAG} {node.get(TAG)!r}{nearest(str(node.get(TAG)), kinds)}; "
            f"set {show_path((*done, TAG))[2:]} first"
        )
    fields = fields_of(block)
    if part not in fields:
        raise ConfigError(unknown_key(done, str(part), block))
    child = node.get(part)
    if child is None and rest:
        child = _empty(fields[part])
    node[part] = _set(child, fields[part].type, rest, value, (*done, part))
    return node


def _empty(field: msgspec.structs.FieldInfo) -> dict | None:
    """Return the mapping that a missing block starts from, None for a field that is no block."""
    if not blocks_of(field.type):
        return None
    kind = tag_of(type(field.default)) if isinstance(field.default, msgspec.Struct) else None
    return {} if kind is None else {TAG: kind}


def _switch(node: dict, blocks: tuple[type[msgspec.Struct], ...], kind: Any) -> dict:
    chosen = select(blocks, {TAG: kind})
    kept = node if chosen is None else {key: node[key] for key in node if key in fields_of(chosen)}
    return {**kept, TAG: kind}


def _set_free(node: Any, annotation: Any, path: KeyPath, value: Any, done: KeyPath) -> Any:
    """Set a key in a list or in a mapping whose keys the schema leaves open."""
    part, rest = path[0], path[1:]
    if get_origin(annotation) is dict or isinstance(node, dict):
        node = dict(node or {})
        node[str(part)] = _set(node.get(str(part)), None, rest, value, (*done, str(part)))
        return node
    if get_origin(annotation) is list or isinstance(node, list):
        items = list(node or [])
        if not isinstance(part, int) or part >= len(items):
            raise ConfigError(f"{show_path(done)} is a list of {len(items)}; found '{part}', expected a position in it")
        inner = get_args(annotation)[0] if get_origin(annotation) is list else None
        items[part] = _set(items[part], inner, rest, value, (*done, part))
        return items
    raise ConfigError(f"{show_path(done)} is a single value; it has no key '{part}'")
