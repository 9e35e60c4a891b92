"""Strict YAML: no key twice, the scalars of YAML 1.2, finite numbers, and the line of every key.

PyYAML follows YAML 1.1, where ``1e6`` is a string, ``no`` is false and ``1:30`` is ninety; and it lets a later key
silently win over an earlier one of the same name. Neither should decide an experiment.
"""

import math
import re
from pathlib import Path
from typing import Any, ClassVar

import yaml

from riftsim.errors import ConfigError

KeyPath = tuple[str | int, ...]

_MAX_DEPTH = 64
_MAX_VALUES = 100_000
"""Values that a document may have once its aliases are written out; a few lines of aliases can mean billions."""

_SCALARS = (
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("tag:yaml.org,2002:int", r"[-+]?(?:0|[1-9][0-9_]*)|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "tag:yaml.org,2002:float",
        r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("tag:yaml.org,2002:merge", r"<<", ["<"]),
)


class _Strict(yaml.resolver.BaseResolver):
    """What both loaders share: which keys and scalars there are."""

    yaml_implicit_resolvers: ClassVar[dict] = {}
    key_tags = frozenset({"tag:yaml.org,2002:str"})

    def construct_mapping(self, node, deep=False):
        seen = {}
        for key_node, _ in node.value:
            key = key_node.value
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag not in self.key_tags:
                shown = f"the key {key!r}" if isinstance(key_node, yaml.ScalarNode) else "a list or mapping as key"
                raise yaml.MarkedYAMLError(problem=f"found {shown}, expected a name", problem_mark=key_node.start_mark)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key!r} is there twice (first in line {seen[key]}); expected once",
                    problem_mark=key_node.start_mark,
                )
            seen[key] = key_node.start_mark.line + 1
        return super().construct_mapping(node, deep)

    def construct_yaml_float(self, node):
        """Refuse infinities and not-a-number, also as ``1e400``: nothing that a file states is either."""
        value = super().construct_yaml_float(node)
        if not math.isfinite(value):
            raise yaml.MarkedYAMLError(
                problem=f"found {node.value}, expected a finite number", problem_mark=node.start_mark
            )
        return value


class _Loader(_Strict, yaml.SafeLoader):
    """Of the two the one whose errors name the line that a person would."""


class _FastLoader(_Strict, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Parses in C where PyYAML was built with libyaml: ten times faster."""


_INTEGER_KEYS = _Strict.key_tags | {"tag:yaml.org,2002:int"}


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers: ClassVar[dict] = {}

    def ignore_aliases(self, data):
        return True


for _class in (_Loader, _FastLoader):
    _class.add_constructor("tag:yaml.org,2002:float", _class.construct_yaml_float)
for _tag, _pattern, _first in _SCALARS:
    for _class in (_Strict, _Dumper):
        _class.add_implicit_resolver(_tag, re.compile(rf"^(?:{_pattern})$"), _first)


def _line_numbers(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int], depth: int) -> None:
    if depth > _MAX_DEPTH:  # as by an alias that contains itself
        raise yaml.MarkedYAMLError(
            problem=f"found values nested deeper than {_MAX_DEPTH} levels", problem_mark=node.start_mark
        )
    if len(lines) > _MAX_VALUES:
        raise yaml.MarkedYAMLError(
            problem=f"found more than {_MAX_VALUES:,} values, aliases written out", problem_mark=node.start_mark
        )
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            inner = (*path, key_node.value if isinstance(key_node, yaml.ScalarNode) else "?")
            lines[inner] = key_node.start_mark.line + 1
            _line_numbers(value_node, inner, lines, depth + 1)
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            lines[(*path, position)] = item.start_mark.line + 1
            _line_numbers(item, (*path, position), lines, depth + 1)


def parse(text: str, source: str, *, integer_keys: bool = False) -> tuple[Any, dict[KeyPath, int]]:
    """Read one YAML document.

    Parameters
    ----------
    text : str
        The document.
    source : str
        What to call it in errors, e.g. the file's path.
    integer_keys : bool
        Whether a key may also be an integer.

    Returns
    -------
    value : object
        Mappings, lists and scalars.
    lines : dict
        Line number (from 1) of each key path.

    Raises
    ------
    ConfigError
        Not YAML, a key twice in one mapping, a key that is not a name, a number that is not finite, or too many or too
        deeply nested values.
    """
    try:
        try:
            loader = _FastLoader(text)
            node = loader.get_single_node()
        except yaml.YAMLError:
            loader = _Loader(text)
            node = loader.get_single_node()
        if integer_keys:
            loader.key_tags = _INTEGER_KEYS
        if node is None:
            return None, {}
        lines: dict[KeyPath, int] = {}
        _line_numbers(node, (), lines, 0)
        return loader.construct_document(node), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source}:{mark.line + 1}" if mark else source
        raise ConfigError(f"{where}: {error.problem or 'not YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: not YAML: {error}") from None


def read(path: Path, *, integer_keys: bool = False) -> tuple[Any, dict[KeyPath, int]]:
    """Read one YAML file; see `parse`.

    Raises
    ------
    ConfigError
        Also when the file is missing, unreadable or not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; expected a YAML text file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    return parse(text, str(path), integer_keys=integer_keys)


def dump(value: Any) -> str:
    """Write plain mappings, lists and scalars as YAML that `parse` reads back to the same value."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def show_path(path: KeyPath) -> str:
    """Write a key path as ``$.search.L``, ``$.plots[0].kind`` or ``$.sweep["search.L"]``."""
    text = "$"
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isidentifier():
            text += f".{part}"
        else:
            text += f'["{part}"]'
    return text
