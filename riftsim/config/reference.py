"""The schema for people and editors: JSON Schema and the tables of ``docs/configuration.md``, both from the source."""

import ast
import functools
import inspect
import itertools
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from riftsim.config.keys import TAG, blocks_of, fields_of, tag_of
from riftsim.config.schema import ExperimentConfig

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@functools.cache
def _field_texts(block: type[msgspec.Struct]) -> dict[str, str]:
    """Read the string that follows each field in a structure's source, by field."""
    body = ast.parse(inspect.getsource(block)).body[0].body
    texts = {}
    for field, text in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            texts[field.target.id] = " ".join(text.value.value.split())
    return texts


def _all_blocks(annotation: Any) -> Iterator[type[msgspec.Struct]]:
    """Every structure that an annotation leads to."""
    if get_origin(annotation) is list:
        yield from _all_blocks(get_args(annotation)[0])
    for block in blocks_of(annotation):
        yield block
        for field in fields_of(block).values():
            yield from _all_blocks(field.type)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of an experiment file, for completion and checking in editors.

    Besides the keys of `ExperimentConfig` it knows ``base``, the files that a file starts from. Since a base may
    hold any key, no key of the top level is required.
    """
    document = msgspec.json.schema(ExperimentConfig)
    definitions = document["$defs"]
    for block in _all_blocks(ExperimentConfig):
        for field, text in _field_texts(block).items():
            definitions[block.__name__]["properties"][field]["description"] = text
    top = definitions["ExperimentConfig"]
    top["properties"]["base"] = {
        "description": "Files that this one starts from, in order; relative to this file or bundled with riftsim.",
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    }
    top.pop("required", None)
    return {"$schema": SCHEMA_DIALECT, "title": "riftsim experiment", **document}


def reference_markdown() -> str:
    """Return the reference part of ``docs/configuration.md``: a table of keys per block."""
    lines: list[str] = []
    _describe(ExperimentConfig, "Top level", lines)
    for key, field in fields_of(ExperimentConfig).items():
        _describe_field(key, field.type, lines)
    return "\n".join(lines)


def _describe_field(path: str, annotation: Any, lines: list[str]) -> None:
    for block in blocks_of(annotation):
        tag = tag_of(block)
        _describe(block, f"`{path}`" if tag is None else f"`{path}` of kind `{tag}`", lines)
        for key, field in fields_of(block).items():
            _describe_field(f"{path}.{key}", field.type, lines)
    if get_origin(annotation) is list:
        _describe_field(f"{path}[]", get_args(annotation)[0], lines)


def _describe(block: type[msgspec.Struct], title: str, lines: list[str]) -> None:
    lines += [f"### {title}", "", inspect.getdoc(block) or "", ""]
    if not fields_of(block):
        lines += ["No further keys.", ""]
        return
    lines += ["| key | value | default | meaning |", "|---|---|---|---|"]
    for key, field in fields_of(block).items():
        text = _field_texts(block).get(key, "").replace("|", "\\|")
        lines.append(f"| `{key}` | {_type_text(field.type)} | {_default_text(field)} | {text} |")
    lines.append("")


def _type_text(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        meta = arguments[1]
        limits = [
            f"{sign} {limit:g}"
            for sign, limit in ((">", meta.gt), (">=", meta.ge), ("<", meta.lt), ("<=", meta.le))
            if limit is not None
        ]
        return " ".join([_type_text(arguments[0]), *limits])
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in arguments)
    blocks = blocks_of(annotation)
    if blocks:
        return f"block by `{TAG}`" if tag_of(blocks[0]) is not None else "block"
    if origin in (Union, types.UnionType):
        return " or ".join(_type_text(member) for member in arguments)
    if origin is list:
        return "list" if blocks_of(arguments[0]) or arguments[0] is Any else f"list of {_type_text(arguments[0])}"
    if origin is dict:
        return "mapping"
    names = {int: "integer", float: "number", str: "text", bool: "true or false", type(None): "none", Any: "anything"}
    return names[annotation]


def _default_text(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if isinstance(default, msgspec.Struct):
        tag = tag_of(type(default))
        return "its defaults" if tag is None else f"`{tag}`"
    if default is None:
        return "none"
    return (
        f"`{msgspec.json.encode(default).decode()}`" if not isinstance(default, str) else f"`{default}`" * bool(default)
    )
